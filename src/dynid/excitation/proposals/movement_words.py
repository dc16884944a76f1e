"""What movements of joints are called: of bodies with two sides in plain words, of others by the joint's name."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from dynid.robot import JointKind, Robot

_SIDES = {"left": "left", "l": "left", "right": "right", "r": "right"}


@dataclass(frozen=True)
class NamedJoint:
    """What a joint of a body is.

    Attributes:
        side: "left", "right", or nothing for the middle of the body.
        part: Part of the body, such as "shoulder".
        way: Which way it turns, such as "abduction"; nothing where it has one way only.
    """

    side: str
    part: str
    way: str


@cache
def _words() -> dict[str, Any]:
    return tomllib.loads(
        resources.files("dynid.excitation.proposals").joinpath("movement_words.toml").read_text(encoding="utf-8")
    )


def named_joints(robot: Robot) -> list[NamedJoint | None]:
    """What each of `robot.axes` is; None for all of a robot that has no two sides."""
    found = [named_joint(joint.name) for joint in robot.axes]
    sides = {joint.side for joint in found if joint is not None}
    return found if {"left", "right"} <= sides else [None] * len(found)


def named_joint(name: str) -> NamedJoint | None:
    """What a joint is by its name; None where the name does not say.

    >>> named_joint("left_shoulder_roll_joint"), named_joint("RKneePitch")
    (NamedJoint(side='left', part='shoulder', way='abduction'), NamedJoint(side='right', part='knee', way='flexion'))
    >>> named_joint("wrist_1_joint")
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name.replace("_", " "))
    tokens = [part.lower() for part in parts]
    if tokens and re.match(r"[LR][A-Z][a-z]", name):  # LKneePitch
        tokens = [name[0].lower(), *[p.lower() for p in re.findall(r"[A-Z][a-z]+", name[1:])]]
    side = next((_SIDES[token] for token in tokens if token in _SIDES), "")
    part = next((key for token in tokens for key, names in _words()["parts"].items() if token in names), "")
    way = next((key for token in tokens for key, names in _words()["ways"].items() if token in names), "")
    known = _words()["movements"].get(part)
    if known is None:
        return None
    if way not in known:
        way = next(iter(known)) if len(known) == 1 else ""
    if not way or bool(side) != any("{side}" in text for text in known.values()):
        return None
    return NamedJoint(side, part, way)


def words_of(robot: Robot, axis: int, named: NamedJoint | None, *, both: bool = False) -> str:
    """What to do with a joint, or with that of both sides.

    Args:
        robot: The robot.
        axis: Index of the joint among `robot.axes`.
        named: What it is.
        both: Whether both sides do it together.
    """
    if named is None:
        joint = robot.axes[axis]
        return f"{'Slide' if joint.kind is JointKind.PRISMATIC else 'Swing'} {joint.name}"
    words = _words()
    if both:
        return str(words["both"][named.part][named.way])
    return str(words["movements"][named.part][named.way]).format(side=named.side)


def range_text(robot: Robot, axis: int, low: float, high: float | None = None) -> str:
    """A joint with its position, or with both ends of its way, in degrees or centimetres."""
    joint = robot.axes[axis]
    scale, unit = (100.0, " cm") if joint.kind is JointKind.PRISMATIC else (57.29577951308232, "°")
    ends = [f"{scale * end:.0f}{unit}".replace("-0", "0").replace("-", "−") for end in (low, high) if end is not None]
    return f"{joint.name} {' to '.join(ends)}"
