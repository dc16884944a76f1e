"""Reading trajectories: tables of any format that logs have, and the coefficients that `excite` writes.

A table has the columns `t` [s], `q_JOINT` [rad or m] and perhaps `v_JOINT`, `a_JOINT`; logs have `tau_JOINT`, too.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dynid.arrays import Array
from dynid.errors import DynidError, FileProblemError, InvalidRequestError, UnknownNameError
from dynid.excitation.collision.stated_collisions import SURROUNDINGS
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.stated_family import family_of_data
from dynid.excitation.trajectories.family import ParametricTrajectory
from dynid.excitation.trajectories.moves import Moves
from dynid.excitation.trajectories.sampled import Trajectory
from dynid.files import FileKind, is_file, kind_of, read_bytes
from dynid.logs import Log, read_groups, source_of
from dynid.robot import Joint, Robot, as_robot, without_gripper
from dynid.settings import checked

SCHEMA = "dynid-trajectory-1"
"""What a file of coefficients says of itself."""


@dataclass(frozen=True)
class TrajectoryFileThresholds:
    """Which columns of a trajectory file contradict each other, and are refused.

    Shown by `tests/excitation/test_trajectory_files.py`: rows may be few and positions rounded.
    """

    mimic_distance: float = 1e-3
    """Largest distance [rad or m, rad/s, ...] of a mimic joint's column from what its leader's says: files are
    rounded."""

    contradicting_share: float = 0.25
    """Share of a motion by which the integral of velocities may miss positions; rows far apart make it miss some."""

    still_distance: float = 1e-3
    """The same [rad or m] for a joint that does not move."""


THRESHOLDS = TrajectoryFileThresholds()


Followable: TypeAlias = Moves | Log | str | os.PathLike[str] | Sequence[Any]
"""A motion, the path of its file, a log of joint positions, or arrays (t, q) or (t, q, v, a)."""


class TrajectoryFileError(FileProblemError):
    """A file holds no trajectory that can be read."""


def as_motion(motion: Followable, robot: Robot) -> Moves:
    """The motion that a user means: an object, the path of a file, a log, or arrays.

    Raises:
        TrajectoryFileError: If a file holds none.
        InvalidRequestError: If it is nothing of that.
    """
    if isinstance(motion, str | os.PathLike):
        return read_trajectory(motion, robot)
    if isinstance(motion, Log):
        return Trajectory(motion.time, motion.position, motion.velocity, None, motion.torque)
    if isinstance(motion, Sequence) and 2 <= len(motion) <= 4:
        return Trajectory(*(None if part is None else np.asarray(part, dtype=float) for part in motion))  # type: ignore[arg-type]
    if isinstance(motion, Moves):
        return motion
    raise InvalidRequestError(
        f"a {type(motion).__name__} is no trajectory; give what dynid.excite returned, a file, or arrays (t, q, v, a)"
    )


def robot_of_motion(robot: Robot, motion: Followable) -> Robot:
    """The robot with the joints of its gripper locked that a motion has no column for, as `excite` locks them.

    A robot that moves otherwise, or a motion that does not name its joints, stays as it is.
    """
    if not isinstance(motion, str | os.PathLike):
        locked = getattr(getattr(motion, "robot", None), "locked", {})
        known = {joint.name for joint in robot.independent_joints}
        return as_robot(robot, lock={name: at for name, at in locked.items() if name in known})
    path = _file_of(Path(motion))
    is_json = path.suffix.lower() == ".json"
    names = read_coefficients(path)[1] if is_json else [n[2:] for n in source_of(path).names if n.startswith("q_")]
    keys = [{joint.name, str(joint.number)} for joint in robot.independent_joints]
    if not names or all(key & set(names) for key in keys):
        return robot
    missing = {joint.name for joint, key in zip(robot.independent_joints, keys, strict=True) if not key & set(names)}
    held, found = without_gripper(
        robot, [joint.name for joint in robot.independent_joints if joint.name not in missing]
    )
    return held if missing == {one.name for one in found} else robot


def _file_of(path: Path) -> Path:
    """The trajectory in a folder that `excite` wrote, or in that of a segment; any other path as it is.

    Raises:
        TrajectoryFileError: If the folder holds several.
    """
    if not path.is_dir() or FileKind.TRAJECTORY not in (kind_of(path), kind_of(path.parent)):
        return path
    found = next((file for suffix in (".csv", ".json") if is_file(file := path / f"trajectory{suffix}")), None)
    if found is None and (path / "segment_1").is_dir():
        raise TrajectoryFileError(path, f"holds several trajectories; name one of them, such as {path / 'segment_1'}")
    return found or path


def surroundings_of_motion(motion: Followable, robot: Robot) -> ExcitationSettings:
    """The settings of a design that say what its robot may not touch; the usual ones for any other motion.

    Args:
        motion: The motion; a file of a folder that `excite` wrote has the surroundings of that.
        robot: The robot; pairs of bodies that it does not have are left out.

    Raises:
        TrajectoryFileError: If the folder's `excitation.json` holds something else.
    """
    settings = getattr(motion, "settings", None)
    if isinstance(settings, ExcitationSettings) or not isinstance(motion, str | os.PathLike):
        return settings if isinstance(settings, ExcitationSettings) else ExcitationSettings()
    path = Path(motion)
    places = (path, path.parent, path.parent.parent)[: 3 if path.parent.name.startswith("segment_") else 2]
    found = next((file for folder in places if is_file(file := folder / "excitation.json")), None)
    if found is None:
        return ExcitationSettings()
    bodies = {body.name for body in robot.description.bodies}
    try:
        data: Any = json.loads(read_bytes(found).decode("utf-8")).get("surroundings") or {}
        stated = {key: data[key] for key in SURROUNDINGS if data.get(key) is not None}
        stated["ignore_pairs"] = [pair for pair in data.get("ignore_pairs", []) if bodies.issuperset(pair)]
        return checked(ExcitationSettings, stated)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, InvalidRequestError) as error:
        raise TrajectoryFileError(found, "holds no surroundings that dynid excite wrote; leave it out") from error


def read_trajectory(
    path: str | os.PathLike[str], robot: Robot, *, strict: bool = True
) -> Trajectory | ParametricTrajectory:
    """Read a trajectory: coefficients from a JSON file that `excite` wrote, samples from any other, as `read_table`.

    Raises:
        FileProblemError: If the file holds no trajectory.
        UnknownNameError: If it names a joint that the robot does not have.
    """
    path = _file_of(Path(path))
    if path.suffix.lower() != ".json":
        return read_table(path, robot, strict=strict)
    trajectory, names = read_coefficients(path)
    columns = {robot.joint(name).v.start: k for k, name in enumerate(names)}
    if sorted(columns) != list(range(robot.nv)) or len(names) != trajectory.joints:
        raise TrajectoryFileError(
            path, f"it moves {', '.join(names)}, and '{robot.name}' has other joints; give one for each joint"
        )
    order = [columns[k] for k in range(robot.nv)]
    return ParametricTrajectory(trajectory.family, trajectory.coefficients[:, order], trajectory.speed)


def read_table(path: str | os.PathLike[str], robot: Robot, *, strict: bool = True) -> Trajectory:
    """Read a trajectory from a table.

    Args:
        path: A table of any format that logs have; times in s, positions in rad or m.
        robot: The robot; JOINT in a column's name is a joint's name or number. Mimic joints need no columns, but may
            have them.
        strict: Whether columns must agree with each other and name the robot's joints. Otherwise, as for logs to look
            at, they need not be each other's derivatives, and other names count in their order where there are as
            many as joints.

    Raises:
        RecordingError: If the table cannot be read.
        TrajectoryFileError: If time does not advance, a column is missing, or columns contradict each other.
        UnknownNameError: If a column names a joint that the robot does not have.
    """
    path = Path(path)
    names = source_of(path).names
    wanted = [name for name in names if name == "t" or re.match(r"(q|v|a|tau)_", name)]
    if "t" not in wanted:
        listed = ", ".join(names[:20])
        raise TrajectoryFileError(path, f"there is no column 't' of times in s; the columns are {listed}")
    table = read_groups(path, [wanted])
    values = dict(zip(wanted, table.groups[0].T, strict=True))
    time = values["t"]
    late = np.flatnonzero(np.diff(time) <= 0.0)
    if len(late):
        row = table.first_row + int(late[0]) + 1
        problem = f"time does not advance in row {row}: {time[late[0] + 1]:g} s; sort the rows by 't', or cut the file"
        raise TrajectoryFileError(path, problem)
    columns = {what: _columns(path, values, what, robot, strict) for what in ("q", "v", "a", "tau")}
    if not columns["q"]:
        raise TrajectoryFileError(path, "there are no columns q_JOINT of positions; write one for each joint")
    for slower, faster, unit in (("q", "v", "rad/s or m/s"), ("v", "a", "rad/s^2 or m/s^2")) if strict else ():
        for key in columns[slower].keys() & columns[faster].keys():
            _check_slope(path, time, columns[slower][key], columns[faster][key], unit)
    q, v, a, torque = (_stacked(part) for part in columns.values())
    assert q is not None
    return Trajectory(time, q, v, a, torque)


LONGEST_MOTION = 20_000.0
"""Duration [s] of the longest trajectory that is read from coefficients: its samples must fit into memory."""

SHORTEST_CYCLE = 1e-3
"""The shortest cycle [s] that is read: nothing moves so fast."""


def read_coefficients(path: str | os.PathLike[str]) -> tuple[ParametricTrajectory, tuple[str, ...]]:
    """Read a trajectory and the names of its joints from a JSON file of coefficients.

    Raises:
        TrajectoryFileError: If the file is missing or holds something else.
    """
    path = Path(path)
    try:
        data: Any = json.loads(read_bytes(path).decode("utf-8"))
        if data["schema"] != SCHEMA:
            raise TrajectoryFileError(path, f"it says '{data['schema']}' instead of '{SCHEMA}'")
        family = family_of_data(data)
        coefficients = np.array(data["coefficients"], dtype=float).T
        found = ParametricTrajectory(family, coefficients, float(data["speed"]))
        if not found.duration <= LONGEST_MOTION:
            problem = f"it lasts {found.duration:.4g} s, and at most {LONGEST_MOTION:.0f} s are read; lower 'periods'"
            raise TrajectoryFileError(path, problem)
        shortest = min(family.cycle, family.cycle / found.speed)
        if not shortest >= SHORTEST_CYCLE:
            problem = f"it repeats after {shortest:.3g} s, and at least {SHORTEST_CYCLE:g} s are read"
            raise TrajectoryFileError(path, problem)
        return found, tuple(map(str, data["joints"]))
    except OSError as error:
        raise TrajectoryFileError(path, f"cannot be read ({error.strerror or error})") from error
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, InvalidRequestError) as error:
        raise TrajectoryFileError(path, "holds no trajectory; expected JSON that dynid excite wrote") from error
    except DynidError as error:
        if isinstance(error, TrajectoryFileError):
            raise
        raise TrajectoryFileError(path, f"holds no trajectory: {error}") from error


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of a table, with the joint that it is about."""

    name: str
    joint: Joint
    values: Array


def _columns(path: Path, values: Mapping[str, Array], what: str, robot: Robot, strict: bool) -> dict[int, _Column]:
    """The column of each coordinate, in their order; none where the file has none of that kind."""
    names = [name for name in values if name.startswith(f"{what}_")]
    try:
        given = [_Column(name, robot.joint(name.removeprefix(f"{what}_")), values[name]) for name in names]
    except UnknownNameError:
        if strict or len(names) != robot.nv:
            raise
        pairs = zip(sorted(names, key=_natural), robot.independent_joints, strict=True)
        given = [_Column(name, joint, values[name]) for name, joint in pairs]
    own: dict[int, _Column] = {}
    for column in (column for column in given if column.joint.leader is None):
        other = own.setdefault(column.joint.v.start, column)
        if other is not column:
            raise TrajectoryFileError(
                path, f"the columns '{other.name}' and '{column.name}' are both for one joint; leave one out"
            )
    if not given:
        return {}
    for joint in robot.independent_joints:
        if joint.v.start not in own:
            raise TrajectoryFileError(path, f"there is no column '{what}_{joint.name}'; give one for each joint")
    for column in (column for column in given if strict and column.joint.leader is not None):
        _check_mimic(path, own[column.joint.v.start], column, what)
    return dict(sorted(own.items()))


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts names as people count: q_2 before q_10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _check_mimic(path: Path, leader: _Column, follower: _Column, what: str) -> None:
    """Refuse a mimic joint's column that is not what its leader's says; it is not needed otherwise."""
    joint = follower.joint
    offset = joint.offset if what == "q" else 0.0
    away = float(np.abs(joint.ratio * leader.values + offset - follower.values).max())
    if away > THRESHOLDS.mimic_distance:
        raise TrajectoryFileError(
            path,
            f"joint '{joint.name}' follows '{leader.joint.name}', but column '{follower.name}' is up to {away:.3g} "
            f"away from {joint.ratio:g} times '{leader.name}'{f' and {offset:g}' if offset else ''}; leave it out",
        )


def _check_slope(path: Path, time: Array, column: _Column, slope: _Column, unit: str) -> None:
    """Refuse a column that is not the derivative of another: its integral must give the other back."""
    steps = 0.5 * np.diff(time) * (slope.values[1:] + slope.values[:-1])
    moved = column.values - column.values[0]
    away = np.concatenate([[0.0], np.cumsum(steps)]) - moved
    size = float(np.sqrt(np.mean(moved**2)))
    if np.sqrt(np.mean(away**2)) > THRESHOLDS.contradicting_share * size + THRESHOLDS.still_distance:
        raise TrajectoryFileError(
            path,
            f"column '{slope.name}' is not the derivative of '{column.name}': its integral is up to "
            f"{np.abs(away).max():.3g} away, and '{column.name}' moves by {np.ptp(moved):.3g}; write {unit}, or leave "
            "it out",
        )


def _stacked(columns: Mapping[int, _Column]) -> Array | None:
    return np.column_stack([column.values for column in columns.values()]) if columns else None
