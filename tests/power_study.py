"""The five cases of the power-model paper on a simulated TX40, and the power, energy and momentum of its real log.

"Dynamic parameter identification of a 6 DOF industrial robot using power model" (hal-00770758): 1 torques, all joints
moving at once; 2 torques, block-triangular set (joints k to 6 move, the others rest, k = 1 to 6); 3 power on the motion
of 1; 4 power on those of 2; 5 torques of joint 1 alone. Table IV compares how well each reconstructs torques.

The robot is `builtin:tx40` with the base parameters that were published for it as truth, in closed loop. Motions are
random Fourier series within the robot's velocities, for the paper prints none. Positions are logged on the motors' side
through encoders of 4096 steps. What makes the inverse dynamic model's error is one of

* white noise on the motors' torques, or
* errors of the model, as a real robot has: friction that falls with velocity (Stribeck) and changes with position.

Its size is the only number that is chosen: so that case 1 has the paper's error.

`benchmarks/seed_001.py` prints all numbers.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.arrays import Array
from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.row_forms import FormName, RowForm
from dynid.estimation.least_squares import (
    Estimate,
    essential_parameters,
    joint_fits,
    merge_logs,
    weighted_least_squares,
)
from dynid.excitation.trajectories.family import ParametricTrajectory
from dynid.excitation.trajectories.fourier import fourier_motion
from dynid.experiment.reading import read_experiment
from dynid.logs.drive import Transmission
from dynid.logs.processing.preparation import prepare
from dynid.logs.processing.states import processed
from dynid.logs.settings import Processing
from dynid.logs.sources import read_source
from dynid.model.base_parameters import BaseParameters
from dynid.model.chunks import Chunk
from dynid.model.stored_chunks import loaded
from dynid.model.terms import parse_terms
from dynid.simulation.closed_loop import Run, SimulatedRobot, follow
from dynid.simulation.sensors import measure
from dynid.simulation.settings import Controller, Sensors
from dynid.simulation.simulated_robot import with_made_up_bodies
from tests.datasets import example

RATE = 1000.0
PERIOD = 10.0
RATIO = 20.0
"""Of relative standard deviations of essential parameters, as in the paper."""

PAPER = {1: 0.0726, 2: 0.0765, 3: 0.5346, 4: 0.1545, 5: 0.7485}
"""Table IV: relative error of reconstructed torques."""

FORMS: tuple[FormName, ...] = ("torque", "power", "energy", "momentum")
TERMS = ("viscous", "coulomb", "offset", "armature", "coupling")
DRIVE = Transmission.of(
    [32, 32, 45, -48, 45, 32], [(5, 4, 32.0)], None, None, positions_at_motor=True, torques_at_motor=True
)
ENCODER = 2.0 * math.pi / 4096.0
PROCESSING = Processing(
    lowpass=50.0,
    trim=50,
    decimate=(10, 2),
    velocity_threshold=(0.05009095, 0.05009095, 0.07504916, 0.0715585, 0.05585054, 0.12217305),
)
CONTROLLER = Controller(rate=RATE, bandwidth=5.0)


@cache
def base_parameters() -> BaseParameters:
    """The TX40's 61 base parameters."""
    robot = load_robot("builtin:tx40")
    return find_base_parameters(DynamicModel(robot, parse_terms(TERMS, robot)))


@cache
def truth() -> Array:
    """Standard parameters with the published base parameters, shape (87,); links are given plain masses."""
    base = base_parameters()
    table = Path(os.environ["DYNID_DATASETS"]) / "tx40" / "published_base_parameters.csv"
    values = np.zeros(len(base))
    with table.open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            values[base.names.index(row["regrouping"].split()[0])] = float(row["wls"] or 0.0)
    links, _ = with_made_up_bodies(base.model.robot, np.zeros(len(base.model.robot.parameters)))
    near = np.concatenate([links, np.zeros(len(base.model.names) - len(links))])
    return base.to_standard(values, near)


def motion(first: int, seed: int, speed: float = 0.6) -> ParametricTrajectory:
    """A random Fourier motion of joints `first` to 6 that reaches part of their velocities; the others rest."""
    robot = base_parameters().model.robot
    rng = np.random.default_rng([seed, first])
    sine, cosine = rng.normal(size=(2, 6, 5))
    middle = rng.uniform(-0.5, 0.5, 6)
    times = np.linspace(0.0, PERIOD, 500)
    _, v, _ = fourier_motion(PERIOD, middle, cosine, sine).states(times)
    limits = np.array([joint.limits.velocity for joint in robot.joints])
    scale = speed * limits / np.abs(v).max(axis=0)
    scale[: first - 1] = 0.0
    return fourier_motion(PERIOD, middle, scale[:, None] * cosine, scale[:, None] * sine)


@dataclass(frozen=True)
class Flaws:
    """What makes the inverse dynamic model's error.

    Attributes:
        noise: White noise on the motors' torques, in parts of the root mean square of each motor's torque when all
            joints move.
        stribeck: Breakaway over kinetic friction, and the velocity [rad/s] that takes it away; none when None.
        ripple: Part of each joint's Coulomb friction that comes and goes three times a turn.
        encoder: Whether positions are rounded to the encoders' steps.
    """

    noise: float = 0.0
    stribeck: tuple[float, float] | None = None
    ripple: float = 0.0
    encoder: bool = True


@cache
def run(first: int, seed: int, stribeck: tuple[float, float] | None = None) -> Run:
    """What the robot does when joints `first` to 6 move."""
    robot = SimulatedRobot.of(base_parameters().model, truth(), stribeck=stribeck)
    return follow(robot, motion(first, seed), CONTROLLER, nominal=robot, lead_in=3.0)


def segments(first: int, seed: int, flaws: Flaws) -> list[Chunk]:
    """The log of a run, filtered and differentiated."""
    found = run(first, seed, flaws.stribeck)
    names, p = base_parameters().model.names, truth()
    friction = np.array([p[names.index(f"fs{k}")] for k in range(1, 7)])
    ripple = flaws.ripple * friction * np.sign(found.v) * np.sin(3.0 * found.q)
    at_motors = np.linalg.solve(DRIVE.matrix.T, run(1, seed, flaws.stribeck).torque.T)
    noise = tuple(flaws.noise * np.sqrt(np.mean(at_motors**2, axis=1)))
    sensors = Sensors(encoder=ENCODER if flaws.encoder else 0.0, noise=noise)
    log = measure(replace(found, torque=found.torque + ripple), sensors, DRIVE, seed=10 * seed + first)
    return processed(log, DRIVE, PROCESSING, -0.5 / RATE)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a case gave.

    Attributes:
        own: Relative error of the rows that were fitted.
        torques: Relative error of reconstructed torques, over all joints of the case's logs.
        estimate: All base parameters.
        essential: The essential ones.
        essential_torques: As `torques`, with the essential ones.
    """

    own: float
    torques: float
    estimate: Estimate
    essential: Estimate
    essential_torques: float


def outcome(
    logs: Sequence[list[Chunk]],
    form: RowForm,
    processing: Processing = PROCESSING,
    rate: float = RATE,
    only: str | None = None,
) -> Outcome:
    """Identify from logs by rows of a form; `only` keeps one joint's rows."""
    base = base_parameters()
    torques = merge_logs([RowForm().factors(base.model, log, processing, rate) for log in logs])
    factors = [form.factors(base.model, log, processing, rate) for log in logs]
    names = base.names
    if only is not None:
        factors = [Factors(one.names, {only: one.joints[only]}) for one in factors]
        names = told_by(factors[0], base)
    estimate = weighted_least_squares(factors, base, names)
    essential = essential_parameters(factors, base, RATIO, names=names)
    return Outcome(
        estimate.relative_error,
        _reconstruction(torques, estimate),
        estimate,
        essential,
        _reconstruction(torques, essential),
    )


def told_by(factors: Factors, base: BaseParameters) -> tuple[str, ...]:
    """Base parameters that rows tell apart, in their order: each is kept that is no sum of those before."""
    R = factors.stacked(base.names).R
    scale = np.linalg.norm(R, axis=0)
    kept: list[int] = []
    for k in np.flatnonzero(scale > 0.0):
        own = R[:, [*kept, int(k)]] / scale[[*kept, int(k)]]
        if np.linalg.svd(own, compute_uv=False)[-1] > 1e-8:
            kept.append(int(k))
    return tuple(base.names[k] for k in kept)


def _reconstruction(torques: Factors, estimate: Estimate) -> float:
    return joint_fits(torques, dict(zip(estimate.names, estimate.values.tolist(), strict=True)))[1]


def block_triangular(seed: int, flaws: Flaws) -> list[list[Chunk]]:
    """Logs in which joints k to 6 move, k = 1 to 6."""
    return [segments(first, seed, flaws) for first in range(1, 7)]


def cases(seed: int, flaws: Flaws) -> dict[int, Outcome]:
    """The paper's five cases."""
    triangular = block_triangular(seed, flaws)
    return {
        1: outcome(triangular[:1], RowForm()),
        2: outcome(triangular, RowForm()),
        3: outcome(triangular[:1], RowForm("power")),
        4: outcome(triangular, RowForm("power")),
        5: outcome(triangular[:1], RowForm(), only="joint_1"),
    }


def levelled(seed: int, flaws: Flaws, error: float = PAPER[1]) -> Flaws:
    """Flaws scaled (noise, or ripple where there is any) so that case 1 has about an error."""
    for _ in range(2):
        scale = error / outcome([segments(1, seed, flaws)], RowForm()).own
        flaws = (
            replace(flaws, ripple=scale * flaws.ripple) if flaws.ripple else replace(flaws, noise=scale * flaws.noise)
        )
    return flaws


def mean_difference(found: Estimate, other: Estimate) -> float:
    """Mean relative difference [%] of the essential parameters that both have (the paper's Table III)."""
    common = [name for name in found.names if name in other.names]
    x, y = (np.array([one.values[one.names.index(name)] for name in common]) for one in (found, other))
    return float(100.0 * np.mean(np.abs(x - y) / np.abs(y)))


def true_error(found: Estimate) -> float:
    """Median relative error [%] of the base parameters against the truth; tiny ones count as 0.001."""
    base = base_parameters()
    b = base.to_base(truth())[[base.names.index(name) for name in found.names]]
    return float(100.0 * np.median(np.abs(found.values - b) / np.maximum(np.abs(b), 1e-3)))


NOISE = Flaws(noise=0.35)
MODEL_ERRORS = Flaws(noise=0.02, stribeck=(1.3, 0.3), ripple=0.3)


def real_log() -> dict[str, Outcome]:
    """The real log of the TX40 by rows of every form, and by those of joint 1 alone."""
    experiment = read_experiment(example("tx40"))
    base = base_parameters()
    log = read_source(experiment.log[0], base.model.robot, drive=experiment.drive)
    ready = prepare(log, base.model, experiment.drive, experiment.processing)
    how = (ready.processing, ready.sampling)
    found = {name: outcome([[*map(loaded, ready.segments)]], RowForm(name), *how) for name in FORMS}
    return found | {"joint 1 alone": outcome([[*map(loaded, ready.segments)]], RowForm(), *how, only="joint_1")}
