"""The posture in which a robot stands before anything is designed: stated, or that of its SRDF file, or zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, RobotFileError
from dynid.robot import Robot, read_xml, srdf_file

_NAMES = ("half_sit", "stand", "home", "rest")
"""Beginnings of names of group states that may be standing postures, the best first."""


@dataclass(frozen=True, eq=False)
class StandingPosture:
    """Where all joints are in the beginning.

    Attributes:
        q: Positions with those of the base, which is upright, shape (nq,).
        source: Where they are from, in words.
    """

    q: Array
    source: str


def standing_posture(robot: Robot, stated: Mapping[str, float], srdf: str | None) -> StandingPosture:
    """The posture in which a robot stands.

    Args:
        robot: A robot with a floating base.
        stated: Positions of joints by name [rad or m].
        srdf: Path of an SRDF file; None looks for one beside the robot's file.

    Raises:
        UnknownNameError: If there is no joint of a name.
        InvalidRequestError: If a position is beyond its joint's range.
    """
    q = robot.neutral
    for joint in robot.independent_joints[1:]:
        q[joint.q] = joint.limits.rest
    name, of_file = _of_file(robot, srdf)
    for joint in robot.independent_joints:
        values = of_file.get(joint.name, [])
        if len(values) == joint.kind.nq == 1:
            q[joint.q] = min(max(values[0], joint.limits.lower), joint.limits.upper)
        elif len(values) == joint.kind.nq == 7 and np.linalg.norm(values[3:]) > 0.5:
            q[joint.q] = [*values[:3], *(np.array(values[3:]) / np.linalg.norm(values[3:]))]
    for key, value in stated.items():
        joint = robot.joint(key)
        if joint.kind.nv != 1 or joint.leader is not None:
            raise InvalidRequestError(
                f"the standing posture names '{joint.name}', which has no position of its own; name joints that turn "
                "or slide by themselves in [excitation.balance] posture"
            )
        if not joint.limits.lower <= value <= joint.limits.upper:
            raise InvalidRequestError(
                f"the standing posture puts joint '{joint.name}' at {value:g}, and its range is {joint.limits.lower:g} "
                f"to {joint.limits.upper:g}; state a position within it in [excitation.balance] posture"
            )
        q[joint.q] = value
    parts = [f"'{name}' of the SRDF file" if name else "zero, or the end of the range that is nearest"]
    parts += ["as stated"] if stated else []
    return StandingPosture(q, " and ".join(reversed(parts)))


def _of_file(robot: Robot, srdf: str | None) -> tuple[str, dict[str, list[float]]]:
    """The best standing posture of an SRDF file by joint, and its name; both empty where there is none."""
    source = Path(robot.description.source)
    path = Path(srdf) if srdf is not None else None
    if path is None and source.suffix.lower() in (".urdf", ".xacro"):
        path = srdf_file(source, robot.description.name)
    if path is None:
        return "", {}
    try:
        states = [one for one in read_xml(path).iter("group_state") if _rank(one.get("name", "")) < len(_NAMES)]
        best = min(states, key=lambda one: _rank(one.get("name", "")), default=None)
        if best is None:
            return "", {}
        rows = {one.get("name", ""): one.get("value", "") for one in best.iter("joint")}
        return best.get("name", ""), {name: [float(part) for part in text.split()] for name, text in rows.items()}
    except (RobotFileError, ValueError):  # it is only evidence
        return "", {}


def _rank(name: str) -> int:
    return next((k for k, begin in enumerate(_NAMES) if name.lower().startswith(begin)), len(_NAMES))
