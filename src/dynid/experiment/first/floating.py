"""Floating bases in a first experiment: held where the robot file draws them, unless the log has their motion."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from dynid.errors import InvalidRequestError
from dynid.experiment.first.guesses import STILL
from dynid.experiment.first.naming import label_of
from dynid.logs import is_bag, read_groups, source_of
from dynid.logs.sources import require_single_axes
from dynid.robot import Robot, as_robot

BASES = frozenset(("base", "root", "trunk", "torso", "pelvis", "floating"))
"""Words for the base of a robot in the names of columns."""

Lock = Mapping[str, float | None] | Sequence[str] | None
"""Joints to lock, and where [rad or m]."""


def with_held_base(robot: Robot, lock: Lock) -> tuple[Robot, str, bool]:
    """A robot whose floating base is held, the word that locks it, and whether that was stated; no word for others.

    Raises:
        InvalidRequestError: If it has other joints of several degrees of freedom that are not locked.
    """
    if not robot.has_floating_base:
        require_single_axes(robot)
        return robot, "", False
    base = robot.joints[0]
    words = ("base", robot.links[0].name, base.name)
    taken = {joint.name for joint in robot.joints[1:]}
    word = next(word for word in words if word not in taken)
    held = as_robot(robot, lock=[base.name])
    require_single_axes(held)
    return held, word, any(name in words and name not in taken for name in lock or ())


def without_base(lock: Lock, robot: Robot) -> Lock:
    """What was stated to be locked, without words for the floating base of a robot."""
    if not robot.has_floating_base or not lock:
        return lock
    words = {"base", robot.links[0].name, robot.joints[0].name} - {joint.name for joint in robot.joints[1:]}
    stated = dict(lock) if isinstance(lock, Mapping) else dict.fromkeys([lock] if isinstance(lock, str) else lock)
    return {name: at for name, at in stated.items() if name not in words}


def refuse_moving_base(paths: Sequence[Path], robot: Robot) -> None:
    """Refuse logs that have the motion of a floating base: contact forces, which move it, were not measured.

    Args:
        paths: The logs.
        robot: The robot, with its base held.

    Raises:
        InvalidRequestError: If columns whose names speak of the base change.
    """
    joints = [joint.name for joint in robot.joints]
    for path in paths:
        if is_bag(path):
            continue
        source = source_of(path)
        labels = [label_of(name, joints) for name in source.names] if source.named else []
        own = [k for k, label in enumerate(labels) if label.joint is None and label.words & BASES]
        if not own:
            continue
        values = read_groups(path, [own], finite=False).groups[0]
        for k, column in zip(own, values.T, strict=True):
            known = column[np.isfinite(column)]
            if len(known) and float(np.ptp(known)) > STILL:
                raise InvalidRequestError(
                    f"by column '{source.names[k]}' of {path.name} the base of '{robot.name}' moves, and init writes "
                    "no experiment of a floating base; write one with floating_base = true, base_pose or stance, and "
                    "[[log.contact]] (docs/floating_bases.md), or, if the base was held, state that with --lock base"
                )
