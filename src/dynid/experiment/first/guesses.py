"""Guesses from the numbers of a log: units of positions and time, and which samples can be used."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from dynid.arrays import Array
from dynid.logs import LENGTH, TURN, UNITS, standing_still
from dynid.robot import Joint, JointKind, Robot

Unit: TypeAlias = str | tuple[str, ...]
"""One unit for all joints, or one for each."""

POSTURES = 200
"""Positions along the motion that are kept to compute gravity torques."""


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
    """

    columns: tuple[str | int, ...] | None
    unit: Unit
    why: str
    topic: str | None = None
    file: Path = Path()
    flat: bool = False
    at_motor: bool = False

    def only(self, keep: Sequence[int]) -> Group:
        """The same for some of the joints, by index."""
        columns = None if self.columns is None else tuple(self.columns[k] for k in keep)
        unit = self.unit if isinstance(self.unit, str) else alike([self.unit[k] for k in keep])
        return replace(self, columns=columns, unit=unit)


@dataclass(frozen=True, eq=False)
class Layout:
    """What was found in a log.

    Attributes:
        joints: Joints of the robot that the log has, in the robot's order.
        position: Where positions are.
        torque: Where torques or currents are.
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
    """

    joints: tuple[str, ...]
    position: Group
    torque: Group
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

    def without(self, names: Collection[str]) -> Layout:
        """The same without the columns of some joints."""
        keep = [k for k, name in enumerate(self.joints) if name not in names]
        return replace(
            self,
            joints=tuple(self.joints[k] for k in keep),
            position=self.position.only(keep),
            torque=self.torque.only(keep),
            velocity=None if self.velocity is None else self.velocity.only(keep),
            silent=tuple(name for name in self.silent if name not in names),
            postures=self.postures[:, keep],
            largest=self.largest[keep],
        )


def with_numbers(layout: Layout, q: Array, torque: Array) -> Layout:
    """A layout with what the numbers of its usable part show about drives.

    Args:
        layout: The layout.
        q: Positions as logged, shape (samples, joints).
        torque: Torques or currents, shape (samples, joints).
    """
    from dynid.logs.processing.automatic import THRESHOLDS

    part = slice(*(layout.rows or (0, layout.samples)))
    q, torque = q[part], torque[part]
    if not len(q):
        return layout
    q, torque = (np.where(np.isfinite(x), x, np.nanmedian(x, axis=0)) for x in (q, torque))  # as if nothing was missing
    zeros = np.mean(torque == 0.0, axis=0) > THRESHOLDS.silent_share
    found = tuple(name for k, name in enumerate(layout.joints) if zeros[k] and np.ptp(q[:, k]) > 0.0)
    postures = q[:: max(1, len(q) // POSTURES)] * _sizes("position", layout.position.unit)
    largest = np.abs(torque).max(axis=0) * _sizes("torque", layout.torque.unit)
    still = {} if layout.position.at_motor else _resting(layout, q * _sizes("position", layout.position.unit))
    return replace(layout, silent=found, postures=postures, largest=largest, resting=still)


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


def _sizes(role: str, unit: Unit) -> Array:
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


def time_unit(stamps: Array, said: str | None = None) -> tuple[str, str]:
    """Unit of time stamps: as the name says, or the largest that makes the sampling rate more than 2 Hz; and why."""
    steps = np.diff(stamps[np.isfinite(stamps)])
    period = float(np.median(steps[steps > 0])) if np.any(steps > 0) else 1.0
    likely = next((unit for unit, size in UNITS["time"].items() if period * size < 0.5), "s")
    unit = said or likely
    rate = 1.0 / (period * UNITS["time"][unit])
    why = f"the median step is {period:.4g}, which makes {rate:.4g} Hz in {unit}"
    if said is None:
        return unit, why
    doubt = "" if 2.0 < rate < 1e5 else f": CHECK THIS, for {likely} would be more usual"
    return unit, f"the name says {unit}; {why}{doubt}"


def position_unit(robot: Robot, joints: Sequence[str], q: Array, says: Sequence[str | None] = ()) -> tuple[Unit, str]:
    """Units of positions by the names of their columns, or by how far they go and the joints' limits; and why.

    Args:
        robot: The robot.
        joints: The joints that the log has.
        q: Positions as logged, shape (samples, joints).
        says: The unit that each column's name says, or None; empty where there are no names.
    """
    turning = [k for k, name in enumerate(joints) if robot.joint(name).kind is not JointKind.PRISMATIC]
    sliding = [k for k in range(len(joints)) if k not in turning]
    units, why = ["rad"] * len(joints), []
    for group, guess, fit in ((turning, _turn_unit, TURN), (sliding, _length_unit, LENGTH)):
        if not group:
            continue
        said = dict.fromkeys(says[k] for k in group if says and says[k] in fit)
        unit, reason = guess([robot.joint(joints[k]) for k in group], q[:, group])
        if said:
            doubt = "" if unit in said else f", although {reason}: CHECK THIS"
            reason = f"the names say {', '.join(str(one) for one in said)}{doubt}"
        for k in group:
            units[k] = str(says[k]) if says and says[k] in fit else unit
        why.append(reason)
    if turning and sliding and {*units} == {"rad", "m"}:
        return "rad", f"{why[0]} (metres where joints slide)"
    return alike(units), "; ".join(why)


def _turn_unit(joints: Sequence[Joint], q: Array) -> tuple[str, str]:
    largest = float(np.nanmax(np.abs(q)))
    beyond = sum(_beyond(joint, q[:, k]) for k, joint in enumerate(joints))
    if 7.0 < largest <= 720.0 and (beyond or largest > 20.0):
        return "deg", f"they reach {largest:.4g}, far beyond the limits in rad, so they are taken as degrees"
    outside = f"; {beyond} joints go beyond their limits: check" if beyond else ""
    return "rad", f"they reach {largest:.4g}, which fits radians{outside}"


def _length_unit(joints: Sequence[Joint], q: Array) -> tuple[str, str]:
    largest = float(np.nanmax(np.abs(q)))
    if any(_beyond(joint, q[:, k]) and not _beyond(joint, 1e-3 * q[:, k]) for k, joint in enumerate(joints)):
        return "mm", f"lengths reach {largest:.4g}, far beyond the limits in m, so they are taken as millimetres"
    return "m", "lengths are taken as metres"


def _beyond(joint: Joint, q: Array) -> bool:
    lower, upper = joint.limits.lower, joint.limits.upper
    return bool(lower < upper and (np.nanmin(q) < lower - 0.05 or np.nanmax(q) > upper + 0.05))
