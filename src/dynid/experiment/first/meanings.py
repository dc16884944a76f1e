"""Joints and columns whose names differ in their words and agree in what they mean: `Jaw` is the gripper."""

from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array
from dynid.experiment.first.naming import GENERIC, KNOWN, parts_of

HAND = frozenset(("finger", "fingers", "grip", "gripper", "hand", "jaw", "thumb", "knuckle", "grasp", "claw"))
"""Words in the names of joints of a gripper."""

_ALIKE = (
    HAND,
    frozenset(("pan", "yaw", "rotation", "rotate", "rotator", "waist", "base", "swivel", "turntable")),
    frozenset(("lift", "pitch", "flex", "flexion", "bend", "angle", "tilt")),
    frozenset(("roll", "rotate", "twist", "spin", "pronation")),
    frozenset(("shoulder", "upper", "upperarm")),
    frozenset(("elbow", "forearm", "lower", "lowerarm", "fore")),
    frozenset(("wrist", "hand")),
)
"""Words that may stand for one another in the names of an arm's joints."""

FEWEST = 2 / 3
"""Share of columns that must mean the joint that they are taken for."""

_SAME, _SIMILAR, _IN_PLACE = 1.0, 0.5, 0.01


def by_meaning(names: Sequence[str], joints: Sequence[str]) -> tuple[int, ...] | None:
    """For each joint, the column that is taken for it by the meaning of their names; None where these do not say.

    Every column is taken for one joint so that most words agree; where they leave a choice, in the order of the joints.

    Args:
        names: What columns are called beside the quantity that they hold.
        joints: Names of the joints, as many.

    >>> by_meaning(["Rotation", "Pitch", "Elbow", "Jaw"], ["shoulder_pan", "shoulder_lift", "elbow_flex", "gripper"])
    (0, 1, 2, 3)
    >>> by_meaning(["Jaw", "Elbow", "Rotation"], ["waist", "elbow_flex", "gripper"])
    (2, 1, 0)
    """
    from scipy.optimize import linear_sum_assignment

    if len(names) != len(joints) or len(joints) < 2:
        return None
    score = _scores([_words(name) for name in names], [_words(joint) for joint in joints])
    _, columns = linear_sum_assignment(-(score + _IN_PLACE * np.eye(len(joints))).T)
    means = [score[column, k] > 0.0 for k, column in enumerate(columns)]
    return tuple(int(column) for column in columns) if sum(means) >= FEWEST * len(joints) else None


def _scores(columns: Sequence[frozenset[str]], joints: Sequence[frozenset[str]]) -> Array:
    """How much the words of columns and joints agree, shape (columns, joints); words of all of them do not count."""
    common = frozenset.intersection(*columns) | frozenset.intersection(*joints)
    return np.array([[_agreement(one - common, other - common) for other in joints] for one in columns])


def _agreement(one: frozenset[str], other: frozenset[str]) -> float:
    same = one & other
    similar = sum(bool(words & (one - same)) and bool(words & (other - same)) for words in _ALIKE)
    return _SAME * len(same) + _SIMILAR * similar


def _words(name: str) -> frozenset[str]:
    """Words of a name that may mean a joint."""
    return frozenset(part for part in map(str, parts_of(name)) if part not in KNOWN | GENERIC)
