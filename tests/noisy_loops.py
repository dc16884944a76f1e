"""Logs of robots whose controllers see noisy positions: torques react to the noise, so that least squares are biased.

A robot of which everything is known is simulated under the law

    u = kp (r - q_measured) + kd (r' - v_measured) + feed-forward,    q_measured = q + n,    v_measured = v + n_v

which is evaluated at 5 kHz and held. The noise n of positions is white at the ticks of the law; the log has the same
noise at its own samples. Velocities are those of an observer that knows the acceleration, as drives have: it follows
the motion without lag, and sees the derivative of n through a low-pass of second order at `OBSERVER` Hz. (A difference
of positions from tick to tick would make 1.2 rad/s of the noise of 0.01 degrees.) As noise only adds the torque
-kp n - kd n_v to the law, it is passed to the simulation as a feed-forward torque, which is exact.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from scipy.signal import bilinear, lfilter

from dynid import DynamicModel, Log, Robot, load_robot
from dynid.arrays import Array, frozen
from dynid.excitation.trajectories.family import ParametricTrajectory
from dynid.excitation.trajectories.fourier import Fourier
from dynid.model.terms import Term, parse_terms
from dynid.robot import inertia
from dynid.robot.assembly import assemble
from dynid.simulation import ControlInput, SimulatedRobot, roll_out

CONTROL_RATE = 5000.0
"""Ticks of the control law [Hz]."""

LOG_RATE = 1000.0
"""Sampling rate of logs [Hz]."""

PERIOD = 5.0
"""Period of the motion [s]."""

PERIODS = 2
"""Periods in a log, after one more that is not logged."""

BANDWIDTH = 10.0
"""Natural frequency of the control loop [Hz], at the mean inertia of each joint; it is critically damped."""

OBSERVER = 50.0
"""Natural frequency of the observer of velocities [Hz], with a damping of 0.7."""

FEED_FORWARD = 0.8
"""Share of the torques along the reference that the feed-forward has, as a rough model in the controller gives."""

GUESS = 0.15
"""Largest relative error of parameters that estimators start from."""


@dataclass(frozen=True)
class Noise:
    """A case of noise.

    Attributes:
        name: Its name.
        position: Standard deviation of positions [deg].
        torque: Standard deviation of torques [N m].
    """

    name: str
    position: float
    torque: float


NOISES = (
    Noise("low", 1e-4, 0.05),
    Noise("standard", 1e-3, 0.05),
    Noise("high position", 1e-2, 0.05),
    Noise("high torque", 1e-3, 0.1),
    Noise("both", 1e-2, 0.1),
)
"""The cases of BIRDy's protocol."""


@dataclass(frozen=True, eq=False)
class TrueLoop:
    """A robot of which everything is known, in its control loop.

    Attributes:
        model: The robot with its friction and actuator terms.
        parameters: True standard parameters p, shape (parameters,).
        motion: What it follows where it is identified; periodic.
        other: What it follows where the result is tested; periodic.
        soft: Whether gains are for the inertia that a joint feels while all others are free, not while they are held.
    """

    model: DynamicModel
    parameters: Array
    motion: ParametricTrajectory
    other: ParametricTrajectory
    soft: bool = False

    @cached_property
    def gains(self) -> tuple[Array, Array]:
        """Gains on positions [N m/rad] and on velocities [N m s/rad], each of shape (joints,)."""
        q, _, _ = self.motion.states(np.linspace(0.0, PERIOD, 50))
        M = self.model.mass_matrices(q, self.parameters)
        felt = 1.0 / np.diagonal(np.linalg.inv(M), axis1=1, axis2=2) if self.soft else np.diagonal(M, axis1=1, axis2=2)
        mean, w = felt.mean(axis=0), 2.0 * np.pi * BANDWIDTH
        return w**2 * mean, 2.0 * w * mean

    def control(self, motion: ParametricTrajectory, times: Array, rate: float | None = None) -> ControlInput:
        """The law along a motion at times [s], without noise."""
        q, v, a = motion.states(times)
        ahead = FEED_FORWARD * self.model.inverse_dynamics(q, v, a, self.parameters)
        return ControlInput(times, q, *self.gains, v, ahead, rate=rate)

    def log(self, noise: Noise, seed: int) -> Log:
        """A log of the motion, with noise that the law reacts to.

        Commands change from tick to tick of the law, and the log has every fifth of them.
        """
        rng = np.random.default_rng((seed, 24))
        every, n = round(CONTROL_RATE / LOG_RATE), self.model.robot.nv
        ticks = round((1 + PERIODS) * PERIOD * CONTROL_RATE)
        times = np.arange(ticks + every + 1) / CONTROL_RATE
        law = self.control(self.motion, times, CONTROL_RATE)
        errors = math.radians(noise.position) * rng.normal(size=(len(times), n))
        reaction = -self.gains[0] * errors - self.gains[1] * observed_velocity(errors)
        assert law.torque is not None
        shaken = replace(law, torque=law.torque + reaction)
        run = roll_out(self.true_robot, shaken, law.position[0], step=1.0 / CONTROL_RATE)
        assert run.ended is None
        kept = np.arange(round(PERIOD * CONTROL_RATE), ticks, every)
        torque = run.torque[kept + 1]  # that of the tick which begins at the sample
        kp, kd = self.gains
        return Log(
            time=times[kept] - times[kept[0]],
            position=(run.q + errors)[kept],
            torque=torque + noise.torque * rng.normal(size=torque.shape),
            position_command=law.position[kept],
            velocity_command=None if law.velocity is None else law.velocity[kept],
            torque_command=law.torque[kept],
            kp=kp,
            kd=kd,
            name=f"{noise.name} {seed}",
        )

    @cached_property
    def true_robot(self) -> SimulatedRobot:
        """The robot."""
        return SimulatedRobot.of(self.model, self.parameters)

    def tracked(self, parameters: Array) -> Array | None:
        """Positions of a robot with standard parameters on the other motion, shape (samples, joints).

        The law is the same without noise. None where the robot flies off.
        """
        law = self.control(self.other, np.arange(0.0, PERIOD, 1.0 / LOG_RATE))
        _, v0, _ = self.other.states(np.zeros(1))
        run = roll_out(SimulatedRobot.of(self.model, parameters), law, law.position[0], v0[0], step=1.0 / LOG_RATE)
        return run.q if run.ended is None else None

    @cached_property
    def true_track(self) -> Array:
        """The same of the true robot."""
        track = self.tracked(self.parameters)
        assert track is not None
        return track

    def position_error(self, parameters: Array) -> float:
        """Root mean square difference [rad] to the true robot on the other motion; infinite where it flies off."""
        track = self.tracked(parameters)
        return math.inf if track is None else float(np.sqrt(np.mean((track - self.true_track) ** 2)))

    def torque_error(self, parameters: Array) -> float:
        """Relative error of torques of exact states on the other motion, each joint in units of its own torques."""
        states = self.other.states(np.arange(0.0, PERIOD, 0.01))
        true = self.model.inverse_dynamics(*states, self.parameters)
        found = self.model.inverse_dynamics(*states, parameters)
        rms = np.sqrt(np.mean(true**2, axis=0))
        return float(np.linalg.norm((found - true) / rms) / np.linalg.norm(true / rms))

    def guess(self, seed: int, largest: float = GUESS) -> tuple[Robot, tuple[Term, ...]]:
        """The robot and its terms, whose file states parameters that are off.

        Every parameter has a relative error of its own, uniform up to `largest`; links stay physically consistent.
        """
        p, rng = self.parameters.copy(), np.random.default_rng((seed, 7))
        robot, size = self.model.robot, len(self.model.robot.parameters)
        for block in (slice(k, k + inertia.SIZE) for k in range(0, size, inertia.SIZE)):
            p[block] = _off(self.parameters[block], rng, largest)
        p[size:] *= rng.uniform(1.0 - largest, 1.0 + largest, len(p) - size)
        stated = dict(zip(self.model.names, p.tolist(), strict=True))
        return with_links(robot, p[:size]), tuple(with_values(term, stated) for term in self.model.terms)


def observed_velocity(errors: Array) -> Array:
    """What errors of positions, shape (ticks, joints), add to the velocities of an observer [rad/s]."""
    w = 2.0 * np.pi * OBSERVER
    over, under = bilinear([w**2, 0.0], [1.0, 1.4 * w, w**2], CONTROL_RATE)
    return np.asarray(lfilter(over, under, errors, axis=0))


def _off(link: Array, rng: np.random.Generator, largest: float) -> Array:
    """A physically consistent link with every parameter off by itself, shape (10,)."""
    for attempt in range(2000):
        share = largest if attempt < 1000 else 0.2 * largest
        new = link * rng.uniform(1.0 - share, 1.0 + share, len(link))
        if not inertia.violations(new):
            return new
    return link * rng.uniform(1.0 - largest, 1.0 + largest)


def with_links(robot: Robot, parameters: Array) -> Robot:
    """A robot whose file states these inertial parameters, shape (10 * links,), of links that have one body each."""
    stated = {robot.links[i].name: p for i, p in zip(robot.solid_links, np.reshape(parameters, (-1, 10)), strict=True)}
    bodies = []
    for body in robot.description.bodies:
        bodies.append(replace(body, inertia=frozen(stated[body.name])) if body.name in stated else body)
    return assemble(replace(robot.description, bodies=tuple(bodies)))


def with_values(term: Term, stated: dict[str, float]) -> Term:
    """A term for which the robot's file states values, by name."""
    new, of_term = copy.copy(term), term.parameters
    vars(new)["parameters"] = lambda robot: tuple(
        replace(parameter, reference=stated[parameter.name]) for parameter in of_term(robot)
    )
    return new


def series(coefficients: object, periods: int = 1) -> ParametricTrajectory:
    """A Fourier series of `PERIOD` with coefficients [rad], shape (1 + 2 harmonics, joints)."""
    values = np.array(coefficients, dtype=float)
    return ParametricTrajectory(Fourier(2.0 * np.pi / PERIOD, (len(values) - 1) // 2, periods), values)


TX40_TERMS = ("viscous", "coulomb", "offset", "armature", "coupling")

TX40_LINKS = (
    (0.398, 0.0, 0.0, 0.0, 0.0002088, 0.0, 0.0002088, 0.0, 0.0, 0.0002088),
    (4.283, 0.6454, 0.03552, 0.2069, 0.01922, -0.00127, 0.1611, -0.04691, -5.518e-05, 0.1465),
    (4.948, 0.05605, -0.2182, 0.1957, 0.03339, 0.003131, 0.01149, -0.00238, 0.00922, 0.02638),
    (0.4954, -0.009523, -1.455e-05, -0.0001601, 0.0002149, -5.766e-06, 0.0003919, -7.775e-07, -3.196e-06, 0.0003979),
    (0.5476, -0.002612, -0.01066, 0.0008812, 0.0004264, -5.217e-05, 0.0002268, 5.296e-06, 2.023e-05, 0.0004301),
    (0.7002, -0.005643, -0.002787, 0.01435, 0.0005349, -2.145e-05, 0.0005773, 0.000131, 6.197e-05, 0.0003054),
)
"""Physically consistent links of the TX40, identified from its real log (`examples/tx40.toml`): m, mx, ..., Izz."""

TX40_JOINTS = (
    (8.086, 5.477, 1.967, 1.094, 1.843, 0.6432),
    (7.035, 8.326, 6.363, 2.57, 3.062, 0.3123),
    (0.4326, 0.2873, 0.1684, -0.06497, -0.02777, 0.1409),
    (0.7228, 0.5851, 0.09366, 0.03278, 0.04746, 0.01207),
    (0.01034, 0.6184, 0.1965),
)
"""Its viscous friction, Coulomb friction, offsets, motor inertia, and coupling of joints 5 and 6; likewise.

The coupled Coulomb friction is a tenth of what was identified: with all of it joints 5 and 6 stick to each other for a
tenth of the time, and the torques of no model of sliding friction fit.
"""

TX40_MOTION = (
    (0.3906, 0.178, -0.279, 1.749, 0.05317, -1.048),
    (0.5453, 1.022, 0.2277, 0.7325, -0.6144, -1.076),
    (-0.004648, 0.04352, 0.355, 0.1847, 0.4501, 0.3576),
    (-0.171, 0.2405, -0.3333, 0.03164, 0.2575, 0.0138),
    (0.05608, -0.1735, 0.1347, -0.09339, -0.1305, 0.01645),
    (0.00459, -0.02337, -0.03212, -0.01047, -0.05663, -0.02967),
    (0.01405, 1.131, -0.3081, -0.6248, 0.6838, 0.7747),
    (0.1913, -0.3233, 0.3497, -0.1777, 0.09466, -0.355),
    (-0.1951, -0.1172, 0.07491, 0.2671, -0.2319, -0.2852),
    (-0.1243, 0.009152, -0.1603, 0.1491, -0.02248, 0.1439),
    (0.1372, -0.0339, 0.005027, -0.08346, -0.01749, 0.04307),
)
"""What the TX40 follows: constant, five cosines, five sines of each joint [rad], by `dynid.excite`."""

TX40_OTHER = (
    (-0.5088, 0.1305, -0.1773, -0.1361, 0.07497, 0.2566),
    (0.4734, -1.53, 0.06753, -1.291, -0.1277, 0.7556),
    (0.06549, -0.2393, 0.2979, 0.06038, 0.1628, -0.1069),
    (0.009688, 0.2348, -0.2684, 0.2035, -0.2314, 0.272),
    (-0.04288, 0.08658, -0.04846, -0.1042, 0.1078, -0.03504),
    (-0.005458, -0.04045, 0.07728, 0.03538, -0.006644, -0.08862),
    (0.518, -0.06265, 0.8393, 0.5153, -1.795, -0.9853),
    (0.3319, 0.005856, -0.07774, -0.2469, -0.1033, 0.2831),
    (0.08997, 0.084, -0.1438, -0.1943, 0.1954, 0.2174),
    (-0.1275, -0.04371, 0.06855, 0.1093, 0.08737, -0.04003),
    (-0.1883, -0.005249, -0.1053, 0.02482, 0.2131, -0.01459),
)
"""What it is tested on: constant, five cosines, five sines of each joint [rad], by `dynid.excite`."""


@cache
def tx40_loop() -> TrueLoop:
    """The TX40 with the parameters that were identified from its real log."""
    robot = load_robot("builtin:tx40")
    p = np.concatenate([*(np.array(row) for row in (*TX40_LINKS, *TX40_JOINTS))])
    return TrueLoop(DynamicModel(robot, parse_terms(TX40_TERMS, robot)), p, series(TX40_MOTION), series(TX40_OTHER))


PANDA_MOTORS = (0.5, 0.5, 0.4, 0.4, 0.15, 0.15, 0.1)
"""Motor inertia of the Panda behind its gears [kg m^2], roughly."""


@cache
def panda_loop(*, motors: bool = True) -> TrueLoop:
    """The Panda of its file with viscous and Coulomb friction, on random series within its limits.

    Args:
        motors: Whether it has motor inertia. Links alone are so light about some directions that the law would have
            rates of 8000 /s at ticks of 0.2 ms; so gains are soft without motors.
    """
    robot = load_robot("builtin:panda")
    model = DynamicModel(robot, parse_terms(("viscous", "coulomb", *(["armature"] if motors else [])), robot))
    p = np.nan_to_num(model.reference)
    p[len(robot.parameters) :] = np.maximum(p[len(robot.parameters) :], 0.1)
    if motors:
        p[-robot.nv :] = PANDA_MOTORS
    return TrueLoop(model, p, random_series(robot, 0), random_series(robot, 1), soft=not motors)


def random_series(robot: Robot, seed: int) -> ParametricTrajectory:
    """A series of five random harmonics about the middle of each joint, within its range and 60 % of its speed."""
    rng, limits = np.random.default_rng((seed, 3)), [joint.limits for joint in robot.independent_joints]
    middle = np.array([0.5 * sum(limit.interval(2.0)) for limit in limits])
    found = series(np.vstack([middle, rng.normal(size=(10, robot.nv))]))
    q, v, _ = found.states(np.linspace(0.0, PERIOD, 500))
    room = np.array([0.45 * (limit.interval(2.0)[1] - limit.interval(2.0)[0]) for limit in limits])
    speed = np.array([0.6 * limit.velocity for limit in limits])
    shrunk = np.minimum(room / np.abs(q - middle).max(axis=0), speed / np.abs(v).max(axis=0))
    return series(np.vstack([middle, found.coefficients[1:] * shrunk]))
