"""Friction runs: each joint moves to and fro at several constant speeds while the others stand still.

At constant speed only gravity and friction act on a joint, and gravity is the same in both directions, so the runs
determine friction apart from all inertias, and at speeds that an optimised motion hardly dwells at.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dynid.arrays import Array, finite_or_none
from dynid.errors import InvalidRequestError
from dynid.excitation.design import Design, fine_checks
from dynid.excitation.information import Expectation, Information, expected_stds, value_of
from dynid.excitation.limits.joint_bounds import JointBounds
from dynid.excitation.limits.stated import posture_of
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.stated_problem import moving_of
from dynid.excitation.trajectories.itinerary import Itinerary
from dynid.excitation.trajectories.moves import MovesSmoothly
from dynid.excitation.ways import (
    allowed_postures,
    keeps_limits,
    kept_way,
    profile_limits,
    standing_slacks,
    straight_way,
    with_whole_room,
)
from dynid.findings import Finding
from dynid.model import BaseParameters


@dataclass(frozen=True)
class FrictionRunThresholds:
    """Which constant speeds friction runs have, and how long."""

    slowest: float = 0.03
    """The slowest speed as a part of the velocity limit: about 0.05 rad/s for most arms, where Stribeck friction still
    acts and encoders still resolve velocity. By judgement; not calibrated."""

    longest: float = 2.0
    """Time [s] at constant speed, in each direction: 250 samples at 125 Hz. By judgement; `benchmarks/friction_runs.py`
    shows what it gains."""

    shortest: float = 0.2
    """Time [s] at constant speed below which a speed is left out: filters smear the ends. By judgement."""


THRESHOLDS = FrictionRunThresholds()

_LINE = 41
"""Positions of a joint at which limits are looked at."""

_STANDS = 30
"""Random postures that the one is chosen from in which the other joints stand."""

_GENTLER = (1.0, 0.5, 0.25, 0.1)
"""Parts of the acceleration limit that ramps are tried with, until torques keep their limits."""


@dataclass(frozen=True)
class Run:
    """A joint at one constant speed, to and fro.

    Attributes:
        joint: Name of the joint.
        speed: The speed [rad/s or m/s].
        seconds: How long it lasts in each direction [s].
        begins: When it begins to and fro [s]; empty where it is left out.
        dropped: Why it is left out: "range" where the range is too short, "torque" where the ramp needs too much.
    """

    joint: str
    speed: float
    seconds: float
    begins: tuple[float, ...] = ()
    dropped: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data for JSON."""
        return {**vars(self), "begins": list(self.begins)}


@dataclass(frozen=True, eq=False)
class Gain:
    """Expected standard deviations of one friction parameter.

    Attributes:
        name: The parameter.
        unit: Its unit.
        owner: Own name of its joint.
        motion: From the optimised motion alone, with what was known before; infinite where it is not excited.
        motion_as_long: From that motion, repeated for as long as the friction runs take.
        runs: From the friction runs alone, with what was known before.
        both: From the motion, once, and the runs.
    """

    name: str
    unit: str
    owner: str
    motion: float
    motion_as_long: float
    runs: float
    both: float

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data for JSON; None where nothing excites it."""
        return {key: finite_or_none(value) if isinstance(value, float) else value for key, value in vars(self).items()}


@dataclass(frozen=True, eq=False)
class FrictionStudy:
    """Friction runs, and what they gain.

    Attributes:
        runs: The runs, those that are left out among them.
        posture: Where the other joints stand [rad or m], shape (joints,).
        duration: How long all of it takes [s].
        compared: How long the optimised motion takes that they are compared with [s].
        gains: Expected standard deviations with and without them.
    """

    runs: tuple[Run, ...]
    posture: Array
    duration: float
    compared: float
    gains: tuple[Gain, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data for JSON."""
        return {
            "friction_runs": {
                "seconds": self.duration,
                "posture": self.posture.tolist(),
                "runs": [run.to_dict() for run in self.runs],
                "compared_with_seconds": self.compared,
                "parameters": [gain.to_dict() for gain in self.gains],
            }
        }

    def texts(self) -> dict[str, str]:
        """The runs as a table: when a joint has which speed."""
        lines = ["joint,direction,speed,t_begin,t_end"]
        for run in self.runs:
            for begin, sign in zip(run.begins, (1, -1), strict=False):
                lines.append(f"{run.joint},{sign},{sign * run.speed:.12g},{begin:.12g},{begin + run.seconds:.12g}")
        return {"friction_runs.csv": "\n".join(lines) + "\n"}


def friction_columns(base: BaseParameters) -> list[int]:
    """Indices of the base parameters that are friction: those of terms that depend on velocity."""
    model = base.model
    names = {one.name for term in model.terms if "v" in term.needs for one in term.parameters(model.robot)}
    return [k for k, name in enumerate(base.names) if name in names]


def design_friction_runs(
    problem: ExcitationProblem, settings: ExcitationSettings, seed: int = 0
) -> tuple[Design, tuple[Run, ...], Array]:
    """The friction runs of all joints that move, within all limits of a problem.

    Args:
        problem: The problem of motions that the settings state for the robot.
        settings: The speeds, and the posture in which the others stand (`start`).
        seed: Seed of the postures that are tried.

    Returns:
        The motion, from and to the posture in which the others stand; its runs; and that posture, shape (joints,).

    Raises:
        InvalidRequestError: If no joint can reach any speed.
        NoMotionError: If the limits leave no room for any posture.
    """
    begin = time.monotonic()
    roomy = with_whole_room(problem, settings.margin)
    robot = problem.information.base.model.robot
    moving = [k for k, moves in enumerate(moving_of(settings, robot) or [True] * robot.nv) if moves]
    stand, ranges = _stand(roomy, posture_of(settings, robot), moving, np.random.default_rng(seed))
    pieces: list[MovesSmoothly] = []
    runs = [run for j in moving for run in _runs_of_joint(roomy, settings, stand, j, ranges[j], pieces)]
    if not pieces:
        raise InvalidRequestError(
            f"no joint of '{robot.name}' has room for a friction run of {THRESHOLDS.shortest:g} s at constant speed; "
            "widen --position, raise --acceleration, or state slower speeds ([excitation] speeds = [0.05])"
        )
    motion = Itinerary(tuple(pieces))
    M = problem.exact_matrix(motion)
    value, checks = value_of(problem.criterion, M), fine_checks(roomy, motion)
    return Design(problem, motion, M, value, checks, 1, time.monotonic() - begin, ()), tuple(runs), stand


def _stand(
    problem: ExcitationProblem, posture: Sequence[float | None], moving: Sequence[int], rng: np.random.Generator
) -> tuple[Array, dict[int, tuple[float, float]]]:
    """Where the others stand so that the joint with the least room has most, and the room of each joint [rad or m]."""
    fixed = {j: position for j, position in enumerate(posture) if position is not None}
    middle = problem.bounds.middle[0].copy()
    middle[list(fixed)] = list(fixed.values())
    tried = [middle] if standing_slacks(problem, middle[None])[0] > 0.0 else []
    if (problem.limits or not tried) and len(fixed) < len(middle):
        tried += list(allowed_postures(problem, _STANDS, rng, fixed))
    best: tuple[float, Array, dict[int, tuple[float, float]]] | None = None
    for stand in tried:
        ranges = {j: _range(problem, stand, j) for j in moving}
        room = min((high - low) / problem.bounds.half[0, j] for j, (low, high) in ranges.items())
        if best is None or room > 1.01 * best[0]:
            best = (room, stand, ranges)
    if best is None:
        raise InvalidRequestError("the start posture is not within the limits; state another in [excitation] start")
    return best[1], best[2]


def _range(problem: ExcitationProblem, stand: Array, joint: int) -> tuple[float, float]:
    """Positions of one joint [rad or m] around where it stands at which the robot may stand still."""
    bounds = problem.bounds
    room = min(float(bounds.room[0, joint]), 2.0 * math.pi)
    middle = float(bounds.middle[0, joint])
    line = np.sort(np.append(np.linspace(middle - room, middle + room, _LINE)[1:-1], stand[joint]))
    q = np.tile(stand, (len(line), 1))
    q[:, joint] = line
    allowed = standing_slacks(problem, q) > 0.0
    here = int(np.searchsorted(line, stand[joint]))
    low = here - int(np.argmin(np.append(allowed[here::-1], False))) + 1
    high = here + int(np.argmin(np.append(allowed[here:], False))) - 1
    if allowed.all():
        return middle - room * (1.0 - 1e-6), middle + room * (1.0 - 1e-6)
    return float(line[low]), float(line[high])


def speeds_of(settings: ExcitationSettings, limit: float) -> list[float]:
    """Speeds of the runs of one joint, slowest first, of its velocity limit [rad/s or m/s]."""
    parts = settings.speeds
    if isinstance(parts, int):
        parts = tuple(np.geomspace(THRESHOLDS.slowest, 1.0, parts).tolist()) if parts > 1 else (1.0,)
    return sorted(limit * part for part in parts)


def _runs_of_joint(
    problem: ExcitationProblem,
    settings: ExcitationSettings,
    stand: Array,
    joint: int,
    room: tuple[float, float],
    pieces: list[MovesSmoothly],
) -> list[Run]:
    """The runs of one joint, whose motions are added to the pieces; from and to where it stands."""
    name = problem.bounds.names[joint]
    limit = float(problem.bounds.room[1, joint])
    middle = (room[0] + room[1]) / 2
    at, runs = stand, []
    for speed in speeds_of(settings, limit):
        found = _fitting(problem, stand, joint, speed, room)
        if isinstance(found, str):
            runs.append(Run(name, speed, 0.0, dropped=found))
            continue
        length, seconds, ramp, bounds = found
        low, high = stand.copy(), stand.copy()
        low[joint], high[joint] = middle - length / 2, middle + length / 2
        if not np.array_equal(at, low):
            pieces.append(kept_way(problem, at, low))
        begin = sum(piece.duration for piece in pieces)
        there, back = straight_way(low, high, bounds), straight_way(high, low, bounds)
        runs.append(Run(name, speed, seconds, (begin + ramp, begin + there.duration + ramp)))
        pieces += [there, back]
        at = low
    if at is not stand:
        pieces.append(kept_way(problem, at, stand))
    return runs


def _fitting(
    problem: ExcitationProblem, stand: Array, joint: int, speed: float, room: tuple[float, float]
) -> tuple[float, float, float, JointBounds] | str:
    """Length, time at constant speed, time of a ramp and bounds of a run that fits; or why none does.

    Ramps are made gentler until torques keep their limits.
    """
    why = "range"
    for part in _GENTLER:
        half = problem.bounds.half.copy()
        half[1, joint] = speed / problem.bounds.factor[1]
        half[2:, joint] = part * profile_limits(problem.bounds)[1:, joint] / problem.bounds.factor[2:]
        bounds = replace(problem.bounds, half=half)
        ramp = _ramp(speed, *bounds.room[2:, joint].tolist())
        seconds = min(THRESHOLDS.longest, (room[1] - room[0]) / speed - ramp)
        if seconds < THRESHOLDS.shortest:
            break
        length = speed * (seconds + ramp)
        low, high = stand.copy(), stand.copy()
        low[joint], high[joint] = (room[0] + room[1] - length) / 2, (room[0] + room[1] + length) / 2
        if all(keeps_limits(problem, straight_way(*ends, bounds)) for ends in ((low, high), (high, low))):
            return length, seconds, ramp, bounds
        why = "torque"
    return why


def _ramp(speed: float, acceleration: float, jerk: float) -> float:
    """Time [s] from rest to a speed [rad/s or m/s]; ways of ramps are half that time times the speed."""
    if math.isinf(acceleration) or speed < acceleration**2 / jerk:
        return 2.0 * math.sqrt(speed / jerk)
    return speed / acceleration + acceleration / jerk


def study_friction_runs(
    runs: tuple[Run, ...], posture: Array, design: Design, motion: Design, measured: Information
) -> tuple[FrictionStudy, list[Finding]]:
    """What friction runs gain against an optimised motion, and what was noticed.

    Args:
        runs: The runs.
        posture: Where the other joints stand.
        design: Their motion.
        motion: The optimised motion.
        measured: Information of all base parameters with rows in units of noise, and what is known already.
    """
    base = measured.base
    known = measured.known.T @ measured.known
    alone = replace(measured, known=measured.known[:0])
    parts = {
        key: replace(one.problem, information=alone).exact_matrix(one.trajectory)
        for key, one in (("motion", motion), ("runs", design))
    }
    repeated = parts["motion"] * design.trajectory.duration / motion.trajectory.duration
    sums = {"motion": parts["motion"], "motion_as_long": repeated, "runs": parts["runs"]}
    sums["both"] = parts["motion"] + parts["runs"]
    stds: dict[str, tuple[Expectation, ...]] = {key: expected_stds(base, known + M) for key, M in sums.items()}
    gains = tuple(
        Gain(base.names[k], base.units[k], base.owners[k], **{key: found[k].std for key, found in stds.items()})
        for k in friction_columns(base)
    )
    study = FrictionStudy(runs, posture, design.trajectory.duration, motion.trajectory.duration, gains)
    dropped = [f"{run.joint} at {run.speed:.3g} ({run.dropped})" for run in runs if run.dropped]
    found = [Finding.of("speeds-left-out", "friction runs", speeds=dropped)] if dropped else []
    return study, found
