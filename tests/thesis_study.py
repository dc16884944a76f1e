"""Four cases on the UR5: without and with friction, without and with noise; the whole arm in one step.

The cases, the trajectory (Tables 4.1 and 4.2) and the noise (equations 4.7 to 4.9) are those of "Dynamic
identification of the UR5" (master's thesis), which could only identify the two halves of the arm, each as if the other
were not there. The robot is `builtin:ur5`; where the thesis prints motor inertias of 1.87e-8 kg m^2, which are not
credible, it has 1.87e-5. The trajectory starts in motion; the robot comes to it in three seconds that are not logged.

`benchmarks/seed_002.py` prints all numbers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from dynid import DynamicModel, Robot, find_base_parameters, load_robot
from dynid.arrays import Array
from dynid.estimation.factors.accumulation import factorise
from dynid.estimation.factors.reduced_logs import findings_on_friction, probed
from dynid.estimation.least_squares import ordinary_least_squares, weighted_least_squares
from dynid.excitation.trajectories.fourier import fourier_motion
from dynid.excitation.trajectories.moves import Moves
from dynid.findings import Finding
from dynid.identification.predictions import Prediction, predict
from dynid.logs.drive import Transmission
from dynid.logs.processing.states import processed
from dynid.logs.settings import Processing
from dynid.model.chunks import Chunk
from dynid.model.terms import Armature, Coulomb, Term, Viscous
from dynid.robot.assembly import assemble
from dynid.robot.formats.denavit_hartenberg import parse_table
from dynid.simulation.closed_loop import Run, SimulatedRobot, follow
from dynid.simulation.sensors import measure
from dynid.simulation.settings import Controller, Sensors
from tests.thesis_motions import printed

RATE = 125.0
VISCOUS = np.array([8.0, 8.0, 6.0, 1.5, 1.5, 1.5])
"""Viscous friction [N m s/rad]; the thesis has none, so it is chosen of the size of its Coulomb friction at 1 rad/s."""

SENSORS = Sensors(signal_to_noise=50.0, torque_constant_error=0.01)
"""Equations 4.7 to 4.9: white noise on currents 50 dB below them, and torque constants that are off by 1 %."""

PROCESSING = Processing(derivative="savitzky_golay", window=7, degree=5, trim=10)
CONTROLLER = Controller()
"""It holds torques for a period: on average they act half a period after they are logged, and are shifted so."""


def training(periods: int = 3) -> Moves:
    """The thesis's trajectory."""
    return printed(slice(0, 6), periods)


def unseen(seed: int = 1) -> Moves:
    """Another periodic motion within the limits, to validate on."""
    rng = np.random.default_rng(seed)
    harmonics = np.arange(1, 6)
    sine, cosine = 0.25 * rng.normal(size=(2, 6, 5)) / harmonics
    return fourier_motion(10.0, np.array([0, -1.2, 1, 0.3, 0.5, 0]), -cosine, sine)


@dataclass(frozen=True, eq=False)
class Case:
    """One case.

    Attributes:
        name: Its letter.
        friction: Whether the robot has viscous and Coulomb friction.
        noisy: Whether currents and torque constants are wrong.
    """

    name: str
    friction: bool
    noisy: bool

    @property
    def robot(self) -> SimulatedRobot:
        """The simulated robot."""
        model = DynamicModel(load_robot("builtin:ur5"), terms(self.friction))
        p = np.nan_to_num(model.reference)
        for k, value in enumerate(VISCOUS):
            if self.friction:
                p[model.names.index(f"fv{k + 1}")] = value
        return SimulatedRobot.of(model, p)

    def run(self, trajectory: Moves) -> Run:
        """What the robot does."""
        return follow(self.robot, trajectory, CONTROLLER, nominal=self.robot, log_rate=RATE, lead_in=3.0)

    def log(self, run: Run, seed: int, specimen: int = 0) -> tuple[list[Chunk], Array]:
        """Samples of a log after differentiation, and the exact torques beside them, shape (samples, 6)."""
        sensors = (SENSORS if self.noisy else Sensors(), Sensors())
        drive = Transmission.of([1.0] * 6, positions_at_motor=False)
        logged, exact = (
            processed(measure(run, each, seed=seed, specimen=specimen), drive, PROCESSING, -0.5 / CONTROLLER.rate)
            for each in sensors
        )
        return logged, exact[0].torque


CASES = (Case("A", False, False), Case("B", True, False), Case("C", False, True), Case("D", True, True))


def terms(friction: bool) -> list[Term]:
    """What the model has beside rigid bodies."""
    return [Viscous(), Coulomb(), Armature()] if friction else [Armature()]


def moving(segments: list[Chunk], threshold: float = 0.02) -> list[Chunk]:
    """The same samples without the rows of joints that hardly move, where friction is not what the model says."""
    return [Chunk(s.q, s.v, s.a, s.torque, np.abs(s.v) > threshold) for s in segments]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What identification gave.

    Attributes:
        validation: On the unseen motion.
        floor: Relative error of the logged torques themselves there, shape (6,).
        findings: On missing friction.
        seconds: How long simulation and identification took [s].
    """

    validation: Prediction
    floor: Array
    findings: tuple[Finding, ...]
    seconds: float


def identify(case: Case, modelled: bool, specimen: int = 0) -> Outcome:
    """Identify the whole arm from a log of a case, and validate on another.

    Args:
        case: The case.
        modelled: Whether friction is in the model.
        specimen: Which robot, as torque constants differ.
    """
    start = time.perf_counter()
    model = DynamicModel(load_robot("builtin:ur5"), terms(modelled))
    base = find_base_parameters(model)
    segments, _ = case.log(case.run(training()), 1, specimen)
    probes = factorise(probed(model), moving(segments))
    estimate = weighted_least_squares(probes.restricted(model.names), base)
    other, exact = case.log(case.run(unseen()), 2, specimen)
    found = predict(base, estimate.values, [(moving(other), PROCESSING)])
    logged = other[0].torque
    kept = np.abs(other[0].v) > 0.02
    floor = np.sqrt(((logged - exact) ** 2 * kept).sum(axis=0) / (logged**2 * kept).sum(axis=0))
    return Outcome(found, floor, findings_on_friction([probes], base), time.perf_counter() - start)


def exact_difference(case: Case = CASES[0]) -> float:
    """Relative difference of base parameters identified from exact states: norm of the difference over the norm."""
    run = case.run(training())
    base = find_base_parameters(case.robot.model)
    keep = ~run.rests
    estimate = ordinary_least_squares(factorise(base.model, [Chunk(run.q, run.v, run.a, run.torque, keep)]), base)
    truth = base.to_base(case.robot.parameters)
    return float(np.linalg.norm(estimate.values - truth) / np.linalg.norm(truth))


def halves() -> tuple[Robot, Robot]:
    """The thesis's two arms: joints 1 to 3 with nothing beyond, and joints 4 to 6 on a vertical base."""
    from importlib import resources

    text = (resources.files("dynid.robot") / "builtin" / "ur5.toml").read_text(encoding="utf-8")
    head, *rows = text.split("[[joint]]")
    parts = [parse_table("[[joint]]".join([head, *half]), "half") for half in (rows[:3], rows[3:])]
    return assemble(parts[0]), assemble(parts[1])


def identify_halves(case: Case) -> Array:
    """Relative error of each joint on the unseen motion when each half is identified as if the other were not there."""
    segments, _ = case.log(case.run(training()), 1)
    other, _ = case.log(case.run(unseen()), 2)
    errors: list[float] = []
    for robot, part in zip(halves(), (slice(0, 3), slice(3, 6)), strict=True):
        base = find_base_parameters(DynamicModel(robot, terms(case.friction)))
        own = [
            [Chunk(s.q[:, part], s.v[:, part], s.a[:, part], s.torque[:, part]) for s in moving(log)]
            for log in (segments, other)
        ]
        estimate = weighted_least_squares(factorise(base.model, own[0]), base)
        found = predict(base, estimate.values, [(own[1], PROCESSING)])
        errors += [joint.relative_error for joint in found.joints]
    return np.array(errors)
