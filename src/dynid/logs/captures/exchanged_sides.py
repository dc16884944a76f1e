"""Left and right of all labels exchanged: the capture then is of the body's mirror image, with the same distances.

Distances between markers do not show it. The markers near the base do: as points of a rigid body they fit the robot's
neutral posture, as it is or as its mirror image.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.logs.captures.first_postures import rigid_motions, segments_from_base
from dynid.logs.captures.marker_tree import MarkerTree
from dynid.robot import WORLD, Robot, as_robot


@dataclass(frozen=True)
class ExchangedSidesThresholds:
    """When left and right are said to be exchanged in all labels."""

    cost: float = 0.5
    """Squared distances from the neutral posture with the labels of the other side, in those with the labels as they
    are, below which sides are exchanged: 0.04 to 0.13 where they are, and the inverse where not. Calibrated by
    `benchmarks/capture_checks.py`; 0.48 at most where all joints of a person go through 90 % of their range at once."""

    pairs: int = 3
    """Pairs of markers left and right near the base that it takes. By judgement."""

    segments: int = 1
    """Segments between a marker and the base up to which it counts: those of pelvis, trunk and thighs. By judgement."""

    nearest: float = 0.1
    """Share of the samples, those nearest to the neutral posture, that decide: bodies bend. By judgement."""

    samples: int = 100
    """Samples that are looked at. By judgement."""


THRESHOLDS = ExchangedSidesThresholds()

SIDES = (
    (re.compile(r"^([lr])(?=.)", re.IGNORECASE), {"l": "r", "r": "l"}),
    (re.compile(r"(left|right)", re.IGNORECASE), {"left": "right", "right": "left"}),
    (re.compile(r"(?<=[_.\- ])([lr])$", re.IGNORECASE), {"l": "r", "r": "l"}),
)
"""How labels state a side, and the other one."""


def other_side(label: str, labels: Sequence[str]) -> str | None:
    """The label of the same place on the other side, if there is one.

    >>> other_side("LKNE", ["LKNE", "RKNE"]), other_side("knee_left", ["knee_left", "knee_right"])
    ('RKNE', 'knee_right')
    >>> other_side("C7", ["C7", "RBAK"])
    """
    for pattern, others in SIDES:
        found = pattern.sub(lambda match: _in_case_of(match[1], others[match[1].lower()]), label)  # noqa: B023
        if found != label and found in labels:
            return found
    return None


def _in_case_of(text: str, word: str) -> str:
    """A word in upper case, lower case or with a capital, as another text is."""
    return word.upper() if text.isupper() else word.capitalize() if text[0].isupper() else word


def exchanged_sides(robot: Robot, names: Sequence[str], markers: Array) -> dict[str, str] | None:
    """Labels and those of the other side, where the capture is of the robot's mirror image; None where it is not.

    Args:
        robot: The robot.
        names: Bodies of its file that stand for the markers.
        markers: Where they were seen [m], shape (samples, markers, 3); NaN where one was not.
    """
    free = as_robot(robot, floating_base=True)
    tree = MarkerTree.of(free, names)
    near = [k for k, link in enumerate(tree.links) if link != WORLD and _is_near(free, link)]
    others = {name: other for name in names if (other := other_side(name, names)) is not None}
    if sum(names[k] in others for k in near) < 2 * THRESHOLDS.pairs:
        return None
    on_robot = tree.positions(free.neutral[None])[0][near]
    as_they_are = [names[k] for k in near]
    of_sides = [others.get(name, name) for name in as_they_are]
    given, exchanged = (
        _cost(on_robot, markers[:, [names.index(name) for name in labels]]) for labels in (as_they_are, of_sides)
    )
    return others if exchanged < THRESHOLDS.cost * given else None


def _is_near(robot: Robot, link: int) -> bool:
    return segments_from_base(robot, link) <= THRESHOLDS.segments


def _cost(on_robot: Array, seen: Array) -> float:
    """Mean squared distance to markers of a rigid body, as near as it gets, in samples where it is small [m^2]."""
    some = seen[:: max(1, len(seen) // THRESHOLDS.samples)]
    weights = np.isfinite(some).all(axis=2).astype(float)
    some = some[(enough := weights.sum(axis=1) >= 2 * THRESHOLDS.pairs)]
    if not enough.any():
        return float("nan")
    weights, some = weights[enough], np.nan_to_num(some)
    R, p = rigid_motions(on_robot, some, weights)
    errors = some - (np.einsum("sij,mj->smi", R, on_robot) + p[:, None])
    costs = np.sum(weights * np.sum(errors**2, axis=2), axis=1) / weights.sum(axis=1)
    return float(np.quantile(costs, THRESHOLDS.nearest))
