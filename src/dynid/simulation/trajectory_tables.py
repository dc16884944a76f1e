"""Trajectories from tables: each column belongs to one joint, and must agree with the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array, frozen
from dynid.logs.tables import RecordingError, read_groups
from dynid.robot.robot import Joint, Robot
from dynid.simulation.desired_motion import TableTrajectory

MIMICS = 1e-3
"""Largest distance [rad or m, rad/s, ...] of a mimic joint's column from what its leader's says."""

CONTRADICTS = 0.25
"""Share of a motion by which the integral of velocities may miss positions; rows far apart make it miss some."""

STILL = 1e-3
"""The same [rad or m] for a joint that does not move."""


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of a table, with the joint that it is about."""

    name: str
    joint: Joint
    values: Array


def read_trajectory(path: Path, robot: Robot) -> TableTrajectory:
    """Read a trajectory from a table with the columns t, q_JOINT and perhaps v_JOINT, a_JOINT.

    Args:
        path: A file of any format that logs have; times in s, positions in rad or m.
        robot: The robot; JOINT is a joint's name or number. Mimic joints need no columns, but may have them.

    Raises:
        RecordingError: If the file has no rows, time does not advance, a column is missing, or columns contradict
            each other.
        UnknownNameError: If a column names a joint that the robot does not have.
    """
    table = read_groups(path, [None])
    names, values = table.names[0], table.groups[0]
    if "t" not in names:
        raise RecordingError(path, f"there is no column 't' of times in s; the columns are {', '.join(names[:20])}")
    time = values[:, names.index("t")]
    late = np.flatnonzero(np.diff(time) <= 0.0)
    if len(late):
        row = table.first_row + int(late[0]) + 1
        raise RecordingError(path, f"time does not advance in row {row}: {time[late[0] + 1]:g} s; sort the rows by 't'")
    found = {what: _columns(path, names, values, what, robot) for what in "qva"}
    if not found["q"]:
        raise RecordingError(path, "there are no columns q_JOINT of positions; write one for each joint")
    for slower, faster, unit in (("q", "v", "rad/s or m/s"), ("v", "a", "rad/s^2 or m/s^2")):
        for key in found[slower].keys() & found[faster].keys():
            _check_slope(path, time, found[slower][key], found[faster][key], unit)
    q, v, a = (_stacked(columns) for columns in found.values())
    assert q is not None
    return TableTrajectory(frozen(time), q, v, a)


def _columns(path: Path, names: Sequence[str], values: Array, what: str, robot: Robot) -> dict[int, _Column]:
    """The column of each coordinate, in their order; none where the file has none of that kind."""
    given = [
        _Column(name, robot.joint(name[2:]), values[:, k])
        for k, name in enumerate(names)
        if name.startswith(f"{what}_")
    ]
    own: dict[int, _Column] = {}
    for column in (column for column in given if column.joint.leader is None):
        other = own.setdefault(column.joint.v.start, column)
        if other is not column:
            raise RecordingError(
                path, f"the columns '{other.name}' and '{column.name}' are both for one joint; leave one out"
            )
    if not given:
        return {}
    for joint in robot.independent_joints:
        if joint.v.start not in own:
            raise RecordingError(path, f"there is no column '{what}_{joint.name}'; give one for each joint")
    for column in (column for column in given if column.joint.leader is not None):
        _check_mimic(path, own[column.joint.v.start], column, what)
    return dict(sorted(own.items()))


def _check_mimic(path: Path, leader: _Column, follower: _Column, what: str) -> None:
    """Refuse a mimic joint's column that is not what its leader's says; it is not needed otherwise."""
    joint = follower.joint
    offset = joint.offset if what == "q" else 0.0
    away = float(np.abs(joint.ratio * leader.values + offset - follower.values).max())
    if away > MIMICS:
        raise RecordingError(
            path,
            f"joint '{joint.name}' follows '{leader.joint.name}', but column '{follower.name}' is up to {away:.3g} "
            f"away from {joint.ratio:g} times '{leader.name}'{f' and {offset:g}' if offset else ''}; leave it out",
        )


def _check_slope(path: Path, time: Array, column: _Column, slope: _Column, unit: str) -> None:
    """Refuse a column that is not the slope of another: its integral must give the other back."""
    steps = 0.5 * np.diff(time) * (slope.values[1:] + slope.values[:-1])
    moved = column.values - column.values[0]
    away = np.concatenate([[0.0], np.cumsum(steps)]) - moved
    size = float(np.sqrt(np.mean(moved**2)))
    if np.sqrt(np.mean(away**2)) > CONTRADICTS * size + STILL:
        raise RecordingError(
            path,
            f"column '{slope.name}' is not the slope of '{column.name}': its integral is up to "
            f"{np.abs(away).max():.3g} away, and '{column.name}' moves by {np.ptp(moved):.3g}; write {unit}, or leave "
            "it out",
        )


def _stacked(columns: Mapping[int, _Column]) -> Array | None:
    return frozen(np.column_stack([column.values for column in columns.values()])) if columns else None
