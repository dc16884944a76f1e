"""Which column belongs to which joint, by the names or numbers in the names of columns."""

import re
from collections.abc import Sequence

from dynid.findings import Finding


def joint_order(names: Sequence[str], joints: Sequence[str]) -> tuple[int, ...] | None:
    """Places of columns in the order of the joints, by their names; None where names and numbers say nothing.

    Args:
        names: Names of the columns of one quantity, one per joint.
        joints: Names of the joints.

    >>> joint_order(["q_wrist_joint", "q_elbow_joint"], ["elbow_joint", "wrist_joint"])
    (1, 0)
    >>> joint_order(["q_3", "q_1", "q_2"], ["base", "upper", "fore"])
    (1, 2, 0)
    """
    if len(names) != len(joints) or len(joints) < 2:
        return None
    owners = [joint_of(name, joints) for name in names]
    if sorted(owner for owner in owners if owner is not None) == list(range(len(joints))):
        return tuple(owners.index(k) for k in range(len(joints)))
    return _by_number(names, joints) if all(owner is None for owner in owners) else None


def joint_of(name: str, joints: Sequence[str]) -> int | None:
    """Index of the one joint that a column is named after; None where it is none, or several."""
    for known, end in ((joints, "0-9"), (_short(joints), "a-z0-9")):
        found = [k for k, joint in enumerate(known) if joint and speaks_of(name, joint, known, end)]
        if len(found) == 1:
            return found[0]
    return None


def speaks_of(name: str, joint: str, joints: Sequence[str], end: str = "0-9") -> bool:
    """Whether a column's name holds a joint's name, and no longer one of another joint around it.

    Args:
        name: The column's name.
        joint: The joint's name.
        joints: Names of all joints.
        end: Characters, as in a regular expression, that must not follow.
    """
    text, own = name.lower(), joint.lower()
    longer = (other.lower() for other in joints if own in other.lower() and other != joint)
    return bool(re.search(rf"(?<![a-z0-9]){re.escape(own)}(?![{end}])", text)) and not any(
        other in text for other in longer
    )


def _short(joints: Sequence[str]) -> list[str]:
    """Names of joints without words that all of them begin or end with; empty where that leaves no words."""
    words = [re.split(r"[_\W]+", joint) for joint in joints]
    first, last = (_shared([each[::step] for each in words]) for step in (1, -1))
    short = ["_".join(each[first : len(each) - last]) for each in words]
    return short if all(re.search("[a-zA-Z]{2}", each) for each in short) else [""] * len(joints)


def _shared(words: Sequence[Sequence[str]]) -> int:
    """How many words all begin with."""
    return next((k for k, each in enumerate(zip(*words, strict=False)) if len(set(each)) > 1), 0)


def _by_number(names: Sequence[str], joints: Sequence[str]) -> tuple[int, ...] | None:
    """The order by the one number in which names differ, from 0 or from 1; by that of joints where these have them."""
    numbers = _numbers(names)
    if numbers is None or sorted(numbers) not in (list(range(len(names))), list(range(1, len(names) + 1))):
        return None
    own = _numbers(joints)
    wanted = own if own is not None and sorted(own) == sorted(numbers) else sorted(numbers)
    return tuple(numbers.index(number) for number in wanted)


def _numbers(names: Sequence[str]) -> list[int] | None:
    """The number of each name, where the names differ in nothing else."""
    parts = [re.split(r"(\d+)", name) for name in names]
    if len({len(part) for part in parts}) > 1:
        return None
    differing = [k for k, values in enumerate(zip(*parts, strict=True)) if len(set(values)) > 1]
    if len(differing) != 1 or differing[0] % 2 == 0:
        return None
    return [int(part[differing[0]]) for part in parts]


def findings_on_order(
    role: str, names: Sequence[str], positions: Sequence[int], joints: Sequence[str], is_stated: bool
) -> tuple[Finding, ...]:
    """Findings on columns that were put in another order than the file's, or are named after other joints.

    Args:
        role: What the columns hold.
        names: Their names, in the order that was used.
        positions: Their places in the file.
        joints: The joints that they were taken for.
        is_stated: Whether the order was stated, column by column.
    """
    if len(names) != len(joints):
        return ()
    subject = f"columns of {role}"
    owners = [joint_of(name, joints) for name in names]
    wrong = {names[k]: joints[k] for k, owner in enumerate(owners) if owner not in (None, k)}
    if wrong:
        return (Finding.of("columns-named-otherwise", subject, columns=wrong),)
    if is_stated or list(positions) == sorted(positions):
        return ()
    by = "names" if any(owner is not None for owner in owners) else "numbers"
    return (Finding.of("columns-ordered", subject, by=by, columns=list(names)),)
