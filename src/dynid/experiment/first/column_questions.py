"""The questions that a choice of columns leaves open, and notes on columns that were passed over."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from dynid.experiment.first.candidate import Candidate
from dynid.experiment.first.joint_matching import Match
from dynid.experiment.first.naming import MOTOR_SIDE, Quality, quality_of, shared_start
from dynid.experiment.first.questions import Question
from dynid.experiment.first.unnamed_tables import has_names
from dynid.findings import Finding, Severity
from dynid.logs import RecordingError, is_bag, listed, source_of, topics_of


def which(
    key: str, options: Sequence[Candidate], taken: Candidate, paths: Sequence[Path], code: str = "choose-columns"
) -> Question:
    """Which of several groups of columns hold a quantity.

    Args:
        key: The quantity.
        options: The groups, of which one is taken.
        taken: That one.
        paths: Files of the recording.
        code: The finding.
    """
    shown = [_shown(one, paths) for one in options]
    finding = Finding.of(code, key, quantity=key, taken=_shown(taken, paths), candidates=shown)
    other = next((one for one in options if one is not taken), taken)
    patterns = [_pattern(one, paths) for one in options]
    return Question(
        finding, key, tuple(patterns), _pattern(taken, paths), f"--{key} {shlex.quote(_pattern(other, paths))}"
    )


def _shown(candidate: Candidate, paths: Sequence[Path]) -> str:
    """How columns are called in sentences: with their file, where there are several."""
    return candidate.shown if len(paths) == 1 else f"{candidate.shown} of {candidate.file.name}"


def _pattern(candidate: Candidate, paths: Sequence[Path]) -> str:
    """How an option states columns: with their file, where there are several."""
    return candidate.pattern if len(paths) == 1 else f"{candidate.file.name}:{candidate.pattern}"


def for_missing(key: str, paths: Sequence[Path], pool: Sequence[Candidate], found: Sequence[Candidate]) -> Question:
    """Where a quantity is of which nothing that can be used was found.

    Raises:
        RecordingError: If a bag has nothing that it could be.
    """
    if is_bag(paths[0]):
        pool = pool or [one for one in found if not one.role]
        if not pool:
            raise RecordingError(paths[0], _nothing_fits(paths[0], key, found))
    names = [_shown(one, paths) for one in pool] if pool else _all_names(paths)
    finding = Finding.of("choose-missing", key, Severity.WARNING, quantity=key, columns=names)
    candidates = tuple(_pattern(one, paths) for one in pool)
    option = f"--{key} {shlex.quote(candidates[0]) if candidates else 'COLUMNS'}"
    drafts = tuple((one.file, one.stated) for one in pool if one.topic is None)
    return Question(finding, key, candidates, None, option, drafts or tuple((path, ("...",)) for path in paths[:1]))


def about_joints(candidate: Candidate, match: Match, joints: Sequence[str]) -> list[Question]:
    """Which joints columns belong to, where nothing, or only their order, says so."""
    count = len(candidate.columns)
    if match.rivals:
        shown = tuple(_span(names) for names in (match.joints, *match.rivals))
        others = [name for names in match.rivals for name in names if name not in match.joints]
        finding = Finding.of("choose-joints", "position", Severity.WARNING, count=count, sets=list(shown))
        return [Question(finding, "position", shown, None, f"--lock {shlex.quote(_lock_of(others, joints))}")]
    if match.by not in ("order", "part"):
        return []
    taken = candidate.only(match.columns)
    names = ",".join(map(str, taken.stated))
    option = f"--position {shlex.quote(names)}"
    if match.by == "order":
        finding = Finding.of("choose-order", "position", columns=count, joints=list(match.joints))
        return [Question(finding, "position", (names,), names, option)]
    locked = [name for name in joints if name not in match.joints]
    option = f"--lock {shlex.quote(','.join(locked))}" if locked else option
    values = {"columns": count, "robot": len(joints), "joints": list(match.joints)}
    return [Question(Finding.of("choose-part", "position", **values), "position", (names,), names, option)]


def passed_over(
    key: str, taken: Candidate, pool: Sequence[Candidate], why: str, paths: Sequence[Path]
) -> list[Finding]:
    """A note on columns that could have been meant, with the reason against each."""
    others = [
        f"{_shown(one, paths)} ({_reason(one, taken)})"
        for one in pool
        if not (one.file == taken.file and one.topic == taken.topic and set(taken.columns) <= set(one.columns))
    ]
    values = {"quantity": key, "taken": _shown(taken, paths), "others": others, "reason": why}
    return [Finding.of("columns-passed-over", f"{key}s", **values)] if others else []


_SPELLED = {"ext": "external", "g": "gravity", "grav": "gravity", "fric": "friction", "err": "error"}
"""Words for abbreviations in names."""


def _reason(one: Candidate, taken: Candidate) -> str:
    """Why columns were passed over."""
    if one.quality is Quality.PART:
        found = sorted(word for word in one.words if quality_of(("", word)) is Quality.PART)
        return ", ".join(_SPELLED.get(word, word) for word in found)
    if one.role == "current" and taken.role == "torque":
        return "currents"
    if one.words & MOTOR_SIDE and not taken.words & MOTOR_SIDE:
        return "motor side"
    if len(one.columns) != len(taken.columns):
        return "1 column" if len(one.columns) == 1 else f"{len(one.columns)} columns"
    return "the same kind" if one.quality is taken.quality else one.quality.name.lower()


def misfit(role: str, given: Candidate, joints: Sequence[str], match: Match | None) -> str:
    """Which joints lack a column among those that were stated, or how many are too many."""
    names = given.names or ()
    shown = [names[int(k)] if names and isinstance(k, int) else str(k) for k in given.columns]
    count = "1 column" if len(shown) == 1 else f"{len(shown)} columns"
    problem = f"{role}: {count} ({', '.join(shown[:12])}) for {len(joints)} joints ({', '.join(joints[:12])})"
    if len(shown) >= len(joints):
        return f"{problem}; name one column for each joint, in the order of the joints"
    without = [name for name in joints if match is not None and name not in match.joints]
    if match is None or not match.joints or len(without) != len(joints) - len(shown):
        return f"{problem}; add the columns that lack, or lock {len(joints) - len(shown)} joints with --lock"
    lock = shlex.quote(",".join(without))
    return f"{problem}; {', '.join(without)} have none: add their columns, or lock these joints with --lock {lock}"


def _nothing_fits(path: Path, role: str, found: Sequence[Candidate]) -> str:
    """Why a bag cannot be used."""
    topics = topics_of(path)
    problems = "".join(f"{topic.problem}; " for topic in topics if topic.problem)
    half = next((one for one in found if one.role == "position"), None)
    if half is not None and role == "torque":
        problem = f"topic {half.topic} has positions, but its efforts are empty: record torques or currents, too"
        return f"{problem}; {problems}topics: {listed(topics)}"
    return f"no topic has positions and efforts of joints; {problems}topics: {listed(topics)}"


def _all_names(paths: Sequence[Path]) -> list[str]:
    found = []
    for path in paths:
        source = source_of(path)
        last = len(source.names) - 1
        found += source.names if has_names(source) else [f"{path.name}: columns 0 to {last} without names"]
    return found


def _span(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} .. {names[-1]}"


def _lock_of(names: Sequence[str], joints: Sequence[str]) -> str:
    """Joints as an option states them: by a pattern that matches no others, or one by one."""
    head = shared_start(names)
    if head and [name for name in joints if name.startswith(head)] == sorted(names, key=list(joints).index):
        return f"{head}*"
    return ",".join(names)
