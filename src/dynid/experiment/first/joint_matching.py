"""Which joints of the robot the columns of a log belong to: by names, by numbers, or by how many there are."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.experiment.first.candidate import Candidate
from dynid.experiment.first.meanings import HAND, by_meaning
from dynid.experiment.first.naming import array_of, label_of, parts_of, stems
from dynid.findings import Finding
from dynid.robot import JointKind, Robot


@dataclass(frozen=True)
class Match:
    """Joints that columns belong to.

    Attributes:
        joints: The joints, in the robot's order.
        columns: For each, which of the candidate's columns is its own.
        by: "stated"; "count" where there are as many columns without names as joints; "names", "meaning", "numbers",
            "limits"; "part" where there are fewer or more columns than joints; or "order".
        rivals: Other joints that fit as well; then nothing decides.
    """

    joints: tuple[str, ...]
    columns: tuple[int, ...]
    by: str
    rivals: tuple[tuple[str, ...], ...] = ()


def matched(
    candidate: Candidate, robot: Robot, joints: Sequence[str], values: Callable[[], Array] | None = None
) -> Match | None:
    """The joints that the columns of a candidate belong to; None where nothing fits.

    Args:
        candidate: The columns.
        robot: The robot.
        joints: Names of its joints that are not locked.
        values: Reads the positions, shape (samples, columns), where limits must decide between joints.
    """
    if candidate.is_ordered and len(candidate.columns) == len(joints):
        return Match(tuple(joints), tuple(range(len(joints))), "stated")
    if not candidate.labels and len(candidate.columns) == len(joints):
        return Match(tuple(joints), tuple(range(len(joints))), "count")
    by_name = _by_name(candidate, robot, joints) or _by_word_and_number(candidate, joints)
    if by_name is None or len(by_name.joints) < len(candidate.columns):
        by_name = _by_meaning(candidate, joints) or by_name
    if by_name is not None:
        return by_name
    found = list(_sets(candidate, robot, joints))
    arms = [one for one in found if not all(_is_of_gripper(robot, name) for name in one[1])] or found
    best = min((rank for rank, _, _ in arms), default=0)
    fits = {names: by for rank, names, by in arms if rank == best}
    if len(fits) > 1 and values is not None:
        within = [names for names in fits if _is_within(robot, names, values())]
        fits = {within[0]: "limits"} if len(within) == 1 else {names: fits[names] for names in within or fits}
    if not fits:
        return None
    first, *rivals = fits
    order, is_numbered = _order(candidate, first)
    by = fits[first] if is_numbered or fits[first] != "numbers" else "order"
    return Match(first, order, by, tuple(rivals))


def _by_name(candidate: Candidate, robot: Robot, joints: Sequence[str]) -> Match | None:
    """By the names of joints in those of columns; columns that name none are left out."""
    everything = [joint.name for joint in robot.independent_joints]
    place = {name: k for k, name in enumerate(everything)}
    owners = [
        None if label.joint is None or label.joint >= len(everything) else label.joint for label in candidate.labels
    ]
    named = [owner for owner in owners if owner is not None]
    if not named or len(set(named)) < len(named):
        return None
    own = tuple(name for name in joints if place[name] in named)
    if not own:
        return None
    missing = [name for name in joints if name not in own and not _is_of_gripper(robot, name)]
    is_misspelt = 0 < len(missing) == owners.count(None)  # as many columns without a joint as joints without a column
    return Match(own, tuple(owners.index(place[name]) for name in own), "part" if is_misspelt else "names")


def _by_meaning(candidate: Candidate, joints: Sequence[str]) -> Match | None:
    """By what the names of an array's columns mean, where it has one for each joint."""
    labels = [(label.name, array_of(label.name, candidate.role)) for label in candidate.labels]
    if not all(array for _, array in labels):
        return None
    found = by_meaning([name.removeprefix(f"{array}.") for name, array in labels], joints)
    return None if found is None else Match(tuple(joints), found, "meaning")


def _by_word_and_number(candidate: Candidate, joints: Sequence[str]) -> Match | None:
    """By a word that some joints have, such as "left", and the number: LeftPos1 is of left_arm_joint_1."""
    if not candidate.labels or not all(label.own for label in candidate.labels):
        return None
    parts = {name: parts_of(name) for name in joints}
    shift = 1 if 0 in candidate.numbers else 0
    owners = []
    for label, number in zip(candidate.labels, candidate.numbers, strict=True):
        wanted = label.own if number is None else {*label.own, number + shift}
        owners.append([name for name in joints if wanted <= set(parts[name])])
    found = [own[0] for own in owners if len(own) == 1]
    if len(found) < len(owners) or len(set(found)) < len(found):
        return None
    own = tuple(name for name in joints if name in found)
    return Match(own, tuple(found.index(name) for name in own), "names")


def _sets(candidate: Candidate, robot: Robot, joints: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Sets of joints that may fit as many columns, with a rank of which the least is the most likely."""
    n, joints = len(candidate.columns), _with_words(candidate, joints) or joints
    if n == len(joints):
        yield 0, tuple(joints), "numbers"
        return
    yield from _numbered_sets(candidate, joints)
    for word in sorted({str(part) for name in joints for part in parts_of(name) if isinstance(part, str)}):
        names = tuple(name for name in joints if word in parts_of(name))
        if len(names) == n < len(joints):
            yield 1, names, "numbers"
    for chain in _chains(robot, joints):
        if len(chain) == n:
            yield 1, chain, "numbers"
        elif len(chain) > n:
            is_hand = all(_is_of_gripper(robot, name) for name in chain[n:])
            yield 2 if is_hand else 3, chain[:n], "numbers" if is_hand else "part"
    if n > len(joints):
        yield 4, tuple(joints), "part"


def _numbered_sets(candidate: Candidate, joints: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Joints whose names differ by numbers only: as many as columns, or those with the numbers of columns."""
    wanted = _shifted(candidate.numbers)
    for names, numbers in _families(joints):
        if len(names) == len(candidate.columns):
            yield 1, names, "numbers"
        elif wanted is not None and set(wanted) <= set(numbers) == set(_from_one(numbers)):
            yield 2, tuple(name for name, k in zip(names, numbers, strict=True) if k in wanted), "part"


def _with_words(candidate: Candidate, joints: Sequence[str]) -> list[str] | None:
    """Joints whose names have a word, such as "left", that all columns have, and other joints have not."""
    shared = frozenset.intersection(*(label.own for label in candidate.labels)) if candidate.labels else frozenset()
    names = [name for name in joints if shared <= set(map(str, parts_of(name)))]
    return names if shared and names else None


def _families(joints: Sequence[str]) -> Iterator[tuple[tuple[str, ...], tuple[int, ...]]]:
    """Joints whose names differ by a number only, with these numbers."""
    for group in stems([label_of(name) for name in joints]).values():
        members = [(k, number) for k, number in group if number is not None]
        if len(members) > 1:
            yield tuple(joints[k] for k, _ in members), tuple(number for _, number in members)


def _shifted(numbers: Sequence[int | None]) -> tuple[int, ...] | None:
    """Numbers of columns, counted from 1."""
    known = tuple(number for number in numbers if number is not None)
    if len(known) != len(numbers) or len(set(known)) < len(known) or not known:
        return None
    return tuple(number + 1 for number in known) if 0 in known else known


def _from_one(numbers: Sequence[int]) -> range:
    return range(1, len(numbers) + 1)


def _chains(robot: Robot, joints: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Joints from the base to each end of the robot."""
    parents = {joint.parent for joint in robot.joints}
    for k in range(len(robot.joints)):
        if k not in parents:
            names = [robot.joints[at].name for at in reversed(list(robot.chain(k)))]
            yield tuple(name for name in names if name in joints)


def _is_of_gripper(robot: Robot, name: str) -> bool:
    """Whether a joint at the end of an arm is one of its gripper: by its name, because it slides, or beside others."""
    joint = robot.joint(name)
    siblings = sum(other.parent == joint.parent for other in robot.joints)
    is_sliding = joint.kind is JointKind.PRISMATIC
    return bool(HAND & set(map(str, parts_of(name)))) or is_sliding or siblings > 1


def _order(candidate: Candidate, joints: Sequence[str]) -> tuple[tuple[int, ...], bool]:
    """For each joint, its column; and whether numbers say so."""
    wanted = _shifted(candidate.numbers)
    if wanted is None:
        return tuple(range(len(joints))), False
    for names, numbers in _families(joints):
        if names == tuple(joints) and set(numbers) == set(wanted):
            return tuple(wanted.index(number) for number in numbers), True
    by_number = sorted(range(len(wanted)), key=lambda k: wanted[k])
    return tuple(by_number[: len(joints)]), True


def _is_within(robot: Robot, names: Sequence[str], q: Array) -> bool:
    """Whether positions stay within the limits of joints, in radians or in degrees."""
    return any(beyond_limits(robot, names, scale * q) == 0 for scale in (1.0, math.pi / 180))


def beyond_limits(robot: Robot, names: Sequence[str], q: Array) -> int:
    """How many joints go beyond their limits; joints without limits never do.

    Args:
        robot: The robot.
        names: Joints.
        q: Positions [rad or m], shape (samples, joints).
    """
    count = 0
    for k, name in enumerate(names[: q.shape[1]]):
        limits = robot.joint(name).limits
        if limits.lower < limits.upper and np.isfinite(q[:, k]).any():
            count += bool(np.nanmin(q[:, k]) < limits.lower - 0.05 or np.nanmax(q[:, k]) > limits.upper + 0.05)
    return count


def in_order_of_depth(robot: Robot, names: Sequence[str]) -> tuple[str, ...]:
    """Joints by how many joints are below them, those of one depth in the robot's order, as some simulators count them.

    A robot file has a leg after the other; these have all hips first.
    """
    depths = {joint.name: len(list(robot.chain(k))) for k, joint in enumerate(robot.joints)}
    return tuple(sorted(names, key=lambda name: depths[name]))


def findings_on_depth(robot: Robot, names: Sequence[str], q: Array, by: str) -> tuple[Finding, ...]:
    """A doubt where positions break limits in the order of the robot file, and none in the order of depth.

    Args:
        robot: The robot.
        names: The joints that columns were taken for.
        q: Positions [rad or m], shape (samples, joints).
        by: How joints were matched, as in `Match`.
    """
    other = in_order_of_depth(robot, names)
    beyond = beyond_limits(robot, names, q) if by in ("numbers", "order", "count") and other != tuple(names) else 0
    if not beyond or beyond_limits(robot, other, q):
        return ()
    return (Finding.of("columns-by-depth", "position", count=beyond, joints=list(other)),)
