"""Guesses from the numbers of a log: units of positions and time, and which samples can be used."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from dynid.arrays import Array
from dynid.experiment.first.questions import Question
from dynid.findings import Finding
from dynid.logs import LENGTH, TURN, UNITS, standing_still
from dynid.robot import Joint, JointKind, Robot

Unit: TypeAlias = str | tuple[str, ...]
"""One unit for all joints, or one for each."""

POSTURES = 200
"""Positions along the motion that are kept to compute gravity torques."""


@dataclass(frozen=True)
class FirstGuessThresholds:
    """When columns, clocks and units of a log count as the same or as different.

    Shown by `tests/experiment/test_first_columns.py` and the public logs of `tests/experiment/test_init_files.py`.
    """

    alike: float = 0.02
    """Largest difference of two encoders of a joint, as a share of its range, with which either will do: gears twist by
    less."""

    clocks_apart: float = 0.1
    """Difference of the clocks of two files, in sampling periods, from which they are joined on time."""

    sweep: float = 0.5
    """Range of a joint that is a motion in radians, and hardly one in degrees."""

    follows: float = 0.5
    """Correlation with positions, as the median over joints, above which columns of actions are commanded positions:
    those of learning environments may be velocities, torques, or positions in units of their own."""

    full_scale: float = 0.05
    """Distance of the largest position from 100 below which positions in degrees may be normalised: LeRobot cuts those
    off at 100, the end of the calibrated range."""

    looked_at: int = 20
    """Logs of a series whose numbers are looked at, evenly spread; of the others, the columns and the sampling rate. By
    judgement: 20 logs take half a second, and one of another unit or with joints at rest is seldom alone."""

    rates_apart: float = 0.02
    """Difference of the sampling rates of two logs of a series, relative to the usual one, from which it is named:
    clocks differ by less."""

    dip: float = 0.1
    """Share of its largest torque below which each torque dips in a log without negative torques, for these to be taken
    as magnitudes: one that only carries weight stays away from zero."""

    total: float = 0.1
    """Difference of a commanded torque from that of the control law, relative to it (root mean square over all joints),
    below which it is the total of the law, and not added to it. By judgement: torques that are added, such as those of
    gravity, differ by as much as the law itself."""


THRESHOLDS = FirstGuessThresholds()


@dataclass(frozen=True)
class Group:
    """One quantity in a log.

    Attributes:
        columns: Its columns, by name or position, in the order of the joints; None for all that a topic has.
        unit: Its unit, as far as names and numbers show it; one for each joint where they differ.
        why: How both were guessed.
        topic: Its topic, in a bag.
        file: Its file.
        flat: Whether the file has one number a line.
        at_motor: Whether its name says that it was logged on the motors' side of the gears.
        field: The field of its topic, where that is not the usual one.
        clock: Column of the time stamps of its own file, where that is not sampled with the other files of the log.
        array: The array whose columns these are, all of them in their order; empty where they are not.
    """

    columns: tuple[str | int, ...] | None
    unit: Unit
    why: str
    topic: str | None = None
    file: Path = Path()
    flat: bool = False
    at_motor: bool = False
    field: str | None = None
    clock: str | int | None = None
    array: str = ""

    @property
    def shown(self) -> str:
        """The columns in a few words."""
        columns = self.columns or ()
        if self.topic is not None:
            return f"{self.topic}{f'/{self.field}' if self.field else ''}"
        if not columns or all(isinstance(column, int) for column in columns):
            at = f" {columns[0]}" if len(columns) == 1 else f"s {columns[0]} .. {columns[-1]}" if columns else "s"
            return f"column{at} of {self.file.name}" if columns else self.file.name
        return str(columns[0]) if len(columns) == 1 else f"{columns[0]} .. {columns[-1]}"

    def only(self, keep: Sequence[int]) -> Group:
        """The same for some of the joints, by index."""
        columns = None if self.columns is None else tuple(self.columns[k] for k in keep)
        unit = self.unit if isinstance(self.unit, str) else alike([self.unit[k] for k in keep])
        is_whole = self.columns is not None and len(keep) == len(self.columns)
        return replace(self, columns=columns, unit=unit, array=self.array if is_whole else "")


@dataclass(frozen=True, eq=False)
class Layout:
    """What was found in a log.

    Attributes:
        joints: Joints of the robot that the log has, in the robot's order.
        position: Where positions are; None where that is open.
        torque: Where torques or currents are; None where that is open.
        velocity: Where velocities are, if they were logged.
        time: Where time stamps are; None in bags, which have their own, and where there are none.
        stamps: Time stamps [s], shape (samples,); None where there are none.
        samples: Number of samples.
        rows: The longest part in which time advances; None for the whole log.
        rate: Sampling rate [Hz] as given, where there are no time stamps.
        silent: Joints that move, but whose torques are mostly exact zeros: their drives report nothing.
        postures: Some positions on the way [rad or m, of joints or motors], shape (postures, joints).
        largest: Each joint's largest torque or current on the way, shape (joints,).
        resting: Joints that do not move, with where they rest and how far they range [rad or m].
        questions: What is open.
        findings: Notes on columns that were passed over.
        commands: Where commands and gains are, by role, where they stand in for torques; gains may be numbers.
        is_unsigned: Whether torques have no signs: none is negative, and each dips to zero.
        beside: Where commanded positions are that were logged beside torques.
    """

    joints: tuple[str, ...]
    position: Group | None
    torque: Group | None
    velocity: Group | None
    time: Group | None
    stamps: Array | None
    samples: int
    rows: tuple[int, int] | None
    rate: float | None = None
    silent: tuple[str, ...] = ()
    postures: Array = field(default_factory=lambda: np.zeros((0, 0)))
    largest: Array = field(default_factory=lambda: np.zeros(0))
    resting: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    findings: tuple[Finding, ...] = ()
    commands: Mapping[str, Group | float] = field(default_factory=dict)
    is_unsigned: bool = False
    beside: Group | None = None

    @property
    def is_zero(self) -> bool:
        """Whether every torque is exactly zero."""
        return bool(self.silent) and not self.largest.any()

    @property
    def is_open(self) -> bool:
        """Whether a question must be answered before the log can be used."""
        return any(question.is_open for question in self.questions)

    def without(self, names: Collection[str]) -> Layout:
        """The same without the columns of some joints."""
        keep = [k for k, name in enumerate(self.joints) if name not in names]
        return replace(
            self,
            joints=tuple(self.joints[k] for k in keep),
            position=None if self.position is None else self.position.only(keep),
            torque=None if self.torque is None else self.torque.only(keep),
            velocity=None if self.velocity is None else self.velocity.only(keep),
            beside=None if self.beside is None else self.beside.only(keep),
            silent=tuple(name for name in self.silent if name not in names),
            postures=self.postures[:, keep] if self.postures.size else self.postures,
            largest=self.largest[keep] if self.largest.size else self.largest,
            commands={role: one.only(keep) if isinstance(one, Group) else one for role, one in self.commands.items()},
        )


def with_numbers(layout: Layout, q: Array | None, torque: Array | None) -> Layout:
    """A layout with what the numbers of its usable part show about drives.

    Args:
        layout: The layout.
        q: Positions as logged, shape (samples, joints).
        torque: Torques or currents, shape (samples, joints).
    """
    from dynid.logs.processing.automatic import THRESHOLDS as CHOICES

    part = slice(*(layout.rows or (0, layout.samples)))
    if q is None or layout.position is None or not len(q[part]):
        return layout
    q = _without_gaps(q[part])
    in_si = q * sizes_of("position", layout.position.unit)
    still = {} if layout.position.at_motor else _resting(layout, in_si)
    layout = replace(layout, postures=in_si[:: max(1, len(q) // POSTURES)], resting=still)
    if torque is None or layout.torque is None:
        return layout
    torque = _without_gaps(torque[part])
    zeros = np.mean(torque == 0.0, axis=0) > CHOICES.silent_share
    found = tuple(name for k, name in enumerate(layout.joints) if zeros[k] and np.ptp(q[:, k]) > 0.0)
    largest = np.abs(torque).max(axis=0) * sizes_of("torque", layout.torque.unit)
    return replace(layout, silent=found, largest=largest, is_unsigned=_is_unsigned(q, torque))


def _is_unsigned(q: Array, torque: Array) -> bool:
    """Whether torques of joints that move are magnitudes."""
    varies = (np.ptp(torque, axis=0) > 0.0) & (np.ptp(q, axis=0) > STILL)
    highest, lowest = torque.max(axis=0), torque.min(axis=0)
    return bool(varies.any() and lowest.min() >= 0.0 and (lowest <= THRESHOLDS.dip * highest)[varies].all())


def _without_gaps(values: Array) -> Array:
    """Values as if nothing was missing."""
    return np.where(np.isfinite(values), values, np.nanmedian(values, axis=0))


STILL = 0.01
"""Range of positions [rad or m] below which a joint only jitters or sags: no parameter is identifiable from it."""

MOVES = 10.0
"""Factor by which another joint must range farther, so that a log of small motions, or at rest, keeps its joints."""


def _resting(layout: Layout, q: Array) -> dict[str, tuple[float, float]]:
    """Joints that do not move while others do, with their mean position and their range without a few outliers."""
    lower, upper = np.quantile(q, [0.001, 0.999], axis=0)
    ranges = upper - lower
    still = [k for k, reach in enumerate(ranges) if reach < STILL and MOVES * max(reach, 1e-3) < ranges.max()]
    return {layout.joints[k]: (float(np.median(q[:, k])), float(ranges[k])) for k in still}


def sizes_of(role: str, unit: Unit) -> Array:
    """Units as multiples of SI units: one for all, or shape (joints,)."""
    return np.array(UNITS[role][unit] if isinstance(unit, str) else [UNITS[role][each] for each in unit])


def alike(units: Sequence[str]) -> Unit:
    """One unit where all are the same."""
    return units[0] if len(set(units)) == 1 else tuple(units)


def usable_rows(stamps: Array | None) -> tuple[int, int] | None:
    """The longest part of a log in which time advances; None for the whole log.

    Cells without a number do not matter: they are interpolated, or do not count, when the log is read.

    Args:
        stamps: Time stamps, shape (samples,), if there are any; NaN where they are missing.
    """
    if stamps is None:
        return None
    known = np.flatnonzero(np.isfinite(stamps))
    joined = (np.diff(stamps[known]) >= 0) & ~standing_still(stamps[known])[1:]  # a coarse clock is mended
    if joined.all():
        return None
    edges = np.concatenate([[0], np.flatnonzero(~joined) + 1, [len(known)]])
    best = int(np.argmax(np.diff(edges)))
    return int(known[edges[best]]), int(known[edges[best + 1] - 1]) + 1


@dataclass(frozen=True)
class UnitGuess:
    """A unit, by names and numbers.

    Attributes:
        unit: The unit.
        why: How it was found.
        other: The unit that numbers speak for where names say another; empty where both agree.
    """

    unit: Unit
    why: str
    other: str = ""


def time_unit(stamps: Array, said: str | None = None) -> UnitGuess:
    """Unit of time stamps: as the name says, or the largest that makes the sampling rate more than 2 Hz."""
    steps = np.diff(stamps[np.isfinite(stamps)])
    period = float(np.median(steps[steps > 0])) if np.any(steps > 0) else 1.0
    likely = next((unit for unit, size in UNITS["time"].items() if period * size < 0.5), "s")
    unit = said or likely
    seconds = period * UNITS["time"][unit]
    rate = 1.0 / seconds if seconds > 0.0 else math.inf  # the smallest steps are zero in other units
    why = f"the median step is {period:.4g}, which makes {rate:.4g} Hz in {unit}"
    if said is None:
        return UnitGuess(unit, why)
    return UnitGuess(unit, f"the name says {unit}; {why}", "" if 2.0 < rate < 1e5 else likely)


def position_unit(robot: Robot, joints: Sequence[str], q: Array, says: Sequence[str | None] = ()) -> UnitGuess:
    """Units of positions by the names of their columns, or by how far they go and the joints' limits.

    Args:
        robot: The robot.
        joints: The joints that the log has.
        q: Positions as logged, shape (samples, joints).
        says: The unit that each column's name says, or None; empty where there are no names.
    """
    turning = [k for k, name in enumerate(joints) if robot.joint(name).kind is not JointKind.PRISMATIC]
    sliding = [k for k in range(len(joints)) if k not in turning]
    units, why, other = ["rad"] * len(joints), [], ""
    for group, guess, fit in ((turning, _turn_unit, TURN), (sliding, _length_unit, LENGTH)):
        if not group:
            continue
        said = dict.fromkeys(says[k] for k in group if says and says[k] in fit)
        unit, reason, is_evident = guess([robot.joint(joints[k]) for k in group], q[:, group])
        if said:
            other = unit if is_evident and unit not in said else other
            reason = f"the names say {', '.join(str(one) for one in said)}" + (f", but {reason}" if other else "")
        for k in group:
            units[k] = str(says[k]) if says and says[k] in fit else unit
        why.append(reason)
    if turning and sliding and {*units} == {"rad", "m"}:
        return UnitGuess("rad", f"{why[0]} (metres where joints slide)", other)
    return UnitGuess(alike(units), "; ".join(why), other)


def _turn_unit(joints: Sequence[Joint], q: Array) -> tuple[str, str, bool]:
    """The unit of angles, why, and whether their size speaks against others."""
    largest = float(np.nanmax(np.abs(q)))
    beyond = sum(_beyond(joint, q[:, k]) for k, joint in enumerate(joints))
    if 7.0 < largest <= 720.0 and (beyond or largest > 20.0):
        return "deg", f"they reach {largest:.4g}, far beyond the limits in rad, so they are taken as degrees", True
    outside = f"; {beyond} joints go beyond their limits" if beyond else ""
    is_small = not beyond and float(np.max(np.nanmax(q, axis=0) - np.nanmin(q, axis=0))) > THRESHOLDS.sweep
    return "rad", f"they reach {largest:.4g}, which fits radians{outside}", is_small


def _length_unit(joints: Sequence[Joint], q: Array) -> tuple[str, str, bool]:
    largest = float(np.nanmax(np.abs(q)))
    if any(_beyond(joint, q[:, k]) and not _beyond(joint, 1e-3 * q[:, k]) for k, joint in enumerate(joints)):
        return "mm", f"lengths reach {largest:.4g}, far beyond the limits in m, so they are taken as millimetres", True
    return "m", "lengths are taken as metres", False


def _beyond(joint: Joint, q: Array) -> bool:
    lower, upper = joint.limits.lower, joint.limits.upper
    return bool(lower < upper and (np.nanmin(q) < lower - 0.05 or np.nanmax(q) > upper + 0.05))
