"""Simulated logs with known truth: analytic motions of arms, and sensors with every kind of error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.signal import butter, lfilter, sosfilt

from dynid import DynamicModel, Log, Result, Robot, load_robot
from dynid.arrays import Array, frozen
from dynid.robot import inertia
from dynid.robot.assembly import assemble
from dynid.robot.description import BodyDescription, Description, JointDescription
from dynid.robot.joints import JointKind, Limits
from tests.strategies import random_inertia, random_pose

Rng = np.random.Generator
Noise = Callable[[Rng, int, int, float], Array]
"""Noise of a generator, a number of samples, a number of joints and a sampling rate [Hz]: (samples, joints)."""


def random_arm(seed: int, joints: int = 4, sliding: float = 0.0) -> Robot:
    """A chain of joints with random physical links, in random and right-angled poses.

    Args:
        seed: Of everything random.
        joints: Number of joints.
        sliding: Probability that a joint is prismatic; the others are revolute.
    """
    rng, slides = np.random.default_rng(seed), np.random.default_rng((seed, 1))
    bodies = [BodyDescription("base", frozen(random_inertia(rng)))]
    chain = []
    for k in range(joints):
        bodies.append(BodyDescription(f"link_{k + 1}", frozen(random_inertia(rng))))
        placement = random_pose(rng, right_angles=bool(rng.integers(2)))
        chain.append(
            JointDescription(
                name=f"joint_{k + 1}",
                kind=JointKind.PRISMATIC if k and slides.random() < sliding else JointKind.REVOLUTE,
                parent=bodies[k].name,
                child=bodies[k + 1].name,
                placement=frozen(placement),
                axis=frozen(np.eye(3)[rng.integers(3)]),
                limits=Limits(-2.5, 2.5, 5.0, effort=200.0),
            )
        )
    return assemble(Description(f"random_{seed}", "random", tuple(bodies), tuple(chain), frozen((0.0, 0.0, -9.81))))


@dataclass(frozen=True)
class Motion:
    """Sums of sines.

    Attributes:
        seconds: Length [s].
        frequency: Lowest frequency [Hz].
        harmonics: Multiples of it.
        size: Amplitude [rad] of the lowest; the others fall with their multiple.
        resting: Joints that do not move, counted from 0.
        drift: Amplitude [rad] of those, at the lowest frequency; zero where they are at rest.
    """

    seconds: float = 20.0
    frequency: float = 0.1
    harmonics: tuple[int, ...] = (1, 2, 3, 5)
    size: float = 1.0
    resting: tuple[int, ...] = ()
    drift: float = 0.0

    @property
    def still(self) -> tuple[int, ...]:
        """Joints that do not move at all."""
        return () if self.drift else self.resting

    def states(self, t: Array, joints: int, seed: int) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times [s], each of shape (samples, joints).

        Joints at rest hold the same position whatever the seed.
        """
        rng = np.random.default_rng(seed)
        multiples = np.array(self.harmonics, dtype=float)
        w = 2 * np.pi * self.frequency * multiples
        sizes = rng.uniform(0.4, 1.0, (joints, len(w))) * self.size / multiples
        sizes *= rng.choice([-1.0, 1.0], sizes.shape)
        phases = rng.uniform(0.0, 2 * np.pi, sizes.shape)
        sizes[list(self.resting)] = 0.0
        sizes[list(self.resting), 0] = self.drift
        angle = np.multiply.outer(t, w)[:, None] + phases
        middle = np.random.default_rng(99).uniform(-1.0, 1.0, joints)
        q = middle + (sizes * np.sin(angle)).sum(axis=2)
        return q, (sizes * w * np.cos(angle)).sum(axis=2), -(sizes * w**2 * np.sin(angle)).sum(axis=2)


def white(size: float) -> Noise:
    """White noise of a standard deviation."""
    return lambda rng, n, joints, _: size * rng.normal(size=(n, joints))


def correlated(size: float, seconds: float) -> Noise:
    """First-order autoregressive noise of a standard deviation and a correlation time [s]."""

    def noise(rng: Rng, n: int, joints: int, rate: float) -> Array:
        c = np.exp(-1.0 / (rate * seconds))
        x = rng.normal(size=(n + 200, joints)) * np.sqrt(1.0 - c**2)
        return size * np.asarray(lfilter([1.0], [1.0, -c], x, axis=0))[200:]

    return noise


def vibration(size: float, frequency: float, width: float = 1.0) -> Noise:
    """Narrow-band noise about a frequency [Hz]: what a drive or a gripping hand adds."""

    def noise(rng: Rng, n: int, joints: int, rate: float) -> Array:
        band = [frequency - width / 2, min(frequency + width / 2, 0.49 * rate)]
        sos = butter(2, band, "bandpass", fs=rate, output="sos")
        x = np.asarray(sosfilt(sos, rng.normal(size=(n + int(10 * rate), joints)), axis=0))[int(10 * rate) :]
        return size * x / np.std(x, axis=0)

    return noise


def both(*kinds: Noise) -> Noise:
    """The sum of several kinds of noise."""
    return lambda rng, n, joints, rate: sum((kind(rng, n, joints, rate) for kind in kinds), np.zeros((n, joints)))


@dataclass(frozen=True)
class Sensors:
    """How a motion is measured.

    Attributes:
        rate: Sampling rate [Hz].
        position: Noise of positions [rad].
        step: Step of the encoders [rad]; zero where they have none.
        torque: Noise of torques, in shares of each joint's root mean square torque.
        velocity: Which velocities are logged: none, "exact" (with noise of 0.2 %), "coarse" (in steps of a fiftieth of
            the top speed), "late" (low-passed at 3 Hz by the drive, one way) or "differences" of the positions.
        uneven: Standard deviation of the times of sampling, in periods; the stamps are right.
        stamps: Standard deviation of errors of the stamps, in periods; sampling is even.
    """

    rate: float = 100.0
    position: Noise = field(default_factory=lambda: white(0.0))
    step: float = 0.0
    torque: Noise = field(default_factory=lambda: white(0.0))
    velocity: str = ""
    uneven: float = 0.0
    stamps: float = 0.0

    def log(self, states: Callable[[Array], tuple[Array, Array, Array]], model: Truth, rng: Rng, seconds: float) -> Log:
        """A log of a motion."""
        n = round(seconds * self.rate)
        t = np.arange(n) / self.rate
        t = t + np.clip(self.uneven * rng.normal(size=n), -0.45, 0.45) / self.rate
        q, v, a = states(t)
        joints = q.shape[1]
        tau = model.torques(q, v, a)
        tau = tau + self.torque(rng, n, joints, self.rate) * np.sqrt(np.mean(tau**2, axis=0))
        measured = q + self.position(rng, n, joints, self.rate)
        if self.step:
            measured = self.step * np.round(measured / self.step)
        stamps = t + np.clip(self.stamps * rng.normal(size=n), -0.45, 0.45) / self.rate
        return Log(time=stamps, position=measured, torque=tau, velocity=self._velocities(v, measured, t, rng))

    def _velocities(self, v: Array, q: Array, t: Array, rng: Rng) -> Array | None:
        top = np.abs(v).max(axis=0)
        if self.velocity == "exact":
            return v + 0.002 * top * rng.normal(size=v.shape)
        if self.velocity == "coarse":
            step = np.where(top > 0.0, top, 1.0) / 50.0
            return step * np.round(v / step)
        if self.velocity == "late":
            sos = butter(1, 3.0, fs=self.rate, output="sos")
            return sosfilt(sos, v - v[0], axis=0) + v[0]
        if self.velocity == "differences":
            return np.vstack([np.zeros((1, q.shape[1])), np.diff(q, axis=0) / np.diff(t)[:, None]])
        return None


@dataclass(frozen=True, eq=False)
class Truth:
    """A robot whose parameters are known.

    Attributes:
        robot: The robot.
        terms: Its friction and actuator terms: of "viscous", "coulomb", "offset", "armature".
        friction: Coulomb friction as a share of each joint's root mean square torque without friction.
        seed: Of what the robot file does not state.
    """

    robot: Robot
    terms: tuple[str, ...] = ("viscous", "coulomb")
    friction: float = 0.1
    seed: int = 0

    @cached_property
    def model(self) -> DynamicModel:
        """The model."""
        return DynamicModel(self.robot, self.terms)

    @cached_property
    def parameters(self) -> Array:
        """Standard parameters p, shape (parameters,)."""
        rng = np.random.default_rng(self.seed)
        model = self.model
        p, unknown = np.nan_to_num(model.reference).copy(), np.isnan(model.reference)
        solid = [k for k, parameter in enumerate(model.parameters) if parameter.name.startswith("Ixx")]
        for k in range(len(solid)):
            part = slice(inertia.SIZE * k, inertia.SIZE * (k + 1))
            if unknown[part].any() or not p[part].any():
                p[part] = random_inertia(rng)
        q, v, a = Motion().states(np.arange(0.0, 10.0, 0.05), self.robot.nv, 7)
        rms = np.sqrt(
            np.mean(DynamicModel(self.robot).inverse_dynamics(q, v, a, p[: len(solid) * inertia.SIZE]) ** 2, 0)
        )
        rms = np.maximum(rms, 0.1 * rms.max())
        sizes = {"fv": self.friction * rms, "fs": self.friction * rms, "off": 0.2 * self.friction * rms}
        for j in range(self.robot.nv):
            for symbol, size in (sizes | {"Ia": 0.02 * rms}).items():
                if f"{symbol}{j + 1}" in model.names:
                    p[model.names.index(f"{symbol}{j + 1}")] = size[j] * rng.uniform(0.7, 1.3)
        return p

    def torques(self, q: Array, v: Array, a: Array) -> Array:
        """Torques of states, without noise, shape (samples, joints)."""
        return self.model.inverse_dynamics(q, v, a, self.parameters)


@dataclass(frozen=True, eq=False)
class Practice:
    """A simulated identification: one motion to learn from, another to validate on.

    Attributes:
        truth: The robot.
        motion: The motion.
        sensors: How it is measured.
    """

    truth: Truth
    motion: Motion = field(default_factory=Motion)
    sensors: Sensors = field(default_factory=Sensors)

    def states(self, t: Array, seed: int) -> tuple[Array, Array, Array]:
        """True states at times [s] of the motion with a seed."""
        return self.motion.states(t, self.truth.robot.nv, seed)

    def log(self, seed: int, motion_seed: int | None = None) -> Log:
        """A log of the motion: other seeds have other motions and other noise."""
        which = seed if motion_seed is None else motion_seed
        rng = np.random.default_rng((seed, 17))
        return self.sensors.log(lambda t: self.states(t, which), self.truth, rng, self.motion.seconds)

    def but(self, **changes: object) -> Practice:
        """The same with other sensors."""
        return replace(self, sensors=replace(self.sensors, **changes))  # type: ignore[arg-type]


def builtin(name: str, *terms: str, friction: float = 0.1) -> Truth:
    """A built-in robot with links and joints that are known."""
    return Truth(load_robot(f"builtin:{name}"), terms or ("viscous", "coulomb"), friction)


EXACT_SHARE = 5e-4
"""Error that a parameter may have where data are exact, relative to its value ..."""

EXACT_LARGEST = 0.02
"""... or to this share of the largest of its unit, if that is more."""


def exact_practice(seed: int) -> Practice:
    """A random robot with friction whose log begins and ends in motion, without any noise."""
    rng = np.random.default_rng((seed, 2))
    terms = ("viscous", "coulomb", *(("offset",) if seed % 2 else ()), *(("armature",) if seed % 3 == 0 else ()))
    truth = Truth(random_arm(100 + seed, 2 + seed % 4, sliding=0.2), terms, seed=seed)
    motion = Motion(seconds=float(rng.uniform(15.0, 40.0)), frequency=float(rng.uniform(0.05, 0.2)))
    return Practice(truth, motion, Sensors(float(rng.choice([100.0, 125.0, 200.0, 500.0, 1000.0]))))


def exactness(result: Result, truth: Array) -> dict[str, float]:
    """Error of each base parameter in units of what exact data allow: all are at most one where numbers are right.

    Args:
        result: What was identified.
        truth: True standard parameters p, shape (parameters,).
    """
    base = result.base
    b, units = base.to_base(truth), np.array(base.units)
    largest = np.array([np.abs(b[units == unit]).max() for unit in units])
    allowed = EXACT_SHARE * np.maximum(np.abs(b), EXACT_LARGEST * largest)
    found = np.array([result.values[name] for name in base.names])
    return dict(zip(base.names, (np.abs(found - b) / allowed).tolist(), strict=True))
