"""What files may hold: groups of columns and fields of topics, by their names, or as they were stated."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dynid.errors import InvalidRequestError
from dynid.experiment.first import naming
from dynid.experiment.first.candidate import Candidate
from dynid.experiment.first.naming import GAINS, JOINT, KNOWN, NUMBER, Label, Quality, counted_from_zero, label_of
from dynid.experiment.first.questions import SKIPPED, Answers, found_columns, stated_role
from dynid.experiment.first.unnamed_tables import has_names, unnamed_in
from dynid.logs import FIELDS, Progress, Topic, is_bag, source_of, topics_of, unit_in


def candidates_in(
    path: Path, joints: Sequence[str], answers: Answers, progress: Progress, *, alone: bool
) -> list[Candidate]:
    """What a file may hold.

    Args:
        path: The file or bag.
        joints: Names of the robot's joints.
        answers: What was stated about columns.
        progress: Callback; receives a short description of each step.
        alone: Whether the file is a whole recording, so that its own name says nothing.

    Raises:
        RecordingError: If it cannot be read.
        InvalidRequestError: If more columns are named than it has.
    """
    if is_bag(path):
        return list(_in_bag(path, joints))
    source = source_of(path, progress=progress)
    names, named = source.names, has_names(source)
    if answers.names and named:
        raise InvalidRequestError(f"{path.name} names its columns itself; use --position, --torque and --time instead")
    if answers.names and len(answers.names) > len(names):
        raise InvalidRequestError(
            f"{len(answers.names)} columns are named ({', '.join(answers.names[:4])}, ...), but {path.name} has "
            f"{len(names)}; name as many, with '_' for those that are not needed"
        )
    if answers.names:
        called = tuple("" if name in SKIPPED else name for name in answers.names)
        labelled = _in_table(path, (*called, *[""] * (len(names) - len(called))), joints, "")
        return [replace(each, names=None) for each in labelled]
    of_file = "" if alone else naming.role_of_file(path.stem)
    if named:
        return _in_table(path, names, joints, of_file, None if alone else path.stem)
    return unnamed_in(path, len(names), of_file, len(joints) - len(answers.lock)) if of_file else []


def stated(path: Path, joints: Sequence[str], answers: Answers, role: str) -> Candidate:
    """The columns of a file that were stated for a quantity.

    Raises:
        InvalidRequestError: If there is no such column.
    """
    source, called = source_of(path), tuple("" if name in SKIPPED else name for name in answers.names)
    is_named = has_names(source)
    names = (*called, *[""] * (len(source.names) - len(called))) if called and not is_named else source.names
    named = is_named or bool(called)
    own_prefix = f"{path.name}:"
    items = [item.removeprefix(own_prefix) if isinstance(item, str) else item for item in answers.columns[role]]
    columns = tuple(found_columns(path, names, named, items, role))
    labels = tuple(counted_from_zero([label_of(names[k], joints) for k in columns])) if named else ()
    numbers = _numbers_of(labels)
    words = frozenset(word for label in labels for word in label.words)
    unit = unit_in(labels[0].name, "torque", joints) if labels and role == "torque" else None
    is_current = role == "torque" and (any(label.role == "current" for label in labels))
    own = "current" if is_current and "torque" not in answers.units else role
    own = stated_role(answers, unit) if own == "torque" else own
    is_ordered = len(answers.columns[role]) > 1 or not named
    return Candidate(
        own, path, columns, labels, numbers, words=words, names=source.names if is_named else None,
        is_ordered=is_ordered,
    )  # fmt: skip


def stated_topic(path: Path, found: Sequence[Candidate], items: Sequence[str | int], role: str) -> Candidate:
    """The topic, or field of a topic, that was stated for a quantity.

    Raises:
        InvalidRequestError: If there is no such topic or field.
    """
    wanted = [str(item).rstrip("/") for item in items]
    kinds = ("torque", "current") if role == "torque" else (role,)
    exact = [one for one in found if one.pattern in wanted]
    own = exact or [one for one in found if one.topic in wanted and one.role in kinds]
    listed = next((one for one in found if one.role in kinds and set(wanted) <= set(map(str, one.columns))), None)
    if not own and listed is not None:  # joints of messages, in the order of the robot's
        keys = list(map(str, listed.columns))
        return replace(listed.only([keys.index(key) for key in wanted]), is_ordered=True)
    if not own:
        known = list(dict.fromkeys(one.pattern for one in found))
        raise InvalidRequestError(
            f"{role}: there is no topic or field {', '.join(wanted)} with numbers of joints in {path.name}; it has "
            f"{', '.join(known[:12]) or 'none'}"
        )
    return replace(own[0], role=own[0].role if own[0].role in kinds else role)


def _numbers_of(labels: Sequence[Label]) -> tuple[int | None, ...]:
    found = naming.stems(labels)
    if len(found) != 1:
        found = naming.stems(labels, known_only=True)
    numbers = {k: number for members in found.values() for k, number in members} if len(found) == 1 else {}
    return tuple(numbers.get(k) for k in range(len(labels)))


def _in_table(
    path: Path, names: Sequence[str], joints: Sequence[str], of_file: str, file: str | None = None
) -> list[Candidate]:
    """Groups of named columns; the file's name gives a role to columns whose names say nothing."""
    labels = [_of_array(label) for label in counted_from_zero([label_of(name, joints) for name in names])]
    known = {label.role for label, name in zip(labels, names, strict=True) if name} - {"", "time"}
    if of_file and of_file != "time" and len(known) <= 1:  # columns that are called q in a file of torques are torques
        labels = [
            label if label.role == "time" or not label.name or _is_index(label) else replace(label, role=of_file)
            for label in labels
        ]
    words = (
        frozenset(str(part) for part in naming.parts_of(file)) if file is not None and len(known) <= 1 else frozenset()
    )
    found: list[Candidate] = []
    for role in ("position", "velocity", "torque", "current", *GAINS):
        own = [k for k, label in enumerate(labels) if label.role == role and label.name]
        found += _grouped(path, tuple(names), role, [(k, labels[k]) for k in own], words, len(joints))
    times = [k for k, label in enumerate(labels) if label.role == "time" and label.name]
    found += [
        Candidate("time", path, (k,), (labels[k],), (None,), labels[k].quality, labels[k].words, tuple(names))
        for k in times
    ]
    return found


def _of_array(label: Label) -> Label:
    """A label with the role of the array that its column is of: of efforts.elbow.pos, torque."""
    roles = (role for role in ("position", "velocity", "torque", "current", *GAINS) if role != label.role)
    other = next((role for role in roles if "." in label.name and naming.array_of(label.name, role)), "")
    return replace(label, role=other) if other else label


def _is_index(label: Label) -> bool:
    """Whether a column only counts the rows."""
    counting = {"index", "idx", "row", "sample", "frame", "seq", "unnamed"}
    return bool(label.words) and label.words <= counting and label.joint is None


def _grouped(
    path: Path,
    names: tuple[str, ...],
    role: str,
    columns: Sequence[tuple[int, Label]],
    of_file: frozenset[str],
    joints: int,
) -> Iterator[Candidate]:
    """Columns of one role by the stems of their names; by words with a meaning where no stem has several columns."""
    labels = [label for _, label in columns]
    arrays = _arrays(names, role, columns)
    for array, places in arrays.items():
        own = [labels[k] for k in places]
        words = naming.label_of(array).words | of_file
        quality = naming.quality_of(("", *sorted(words)))
        at = tuple(columns[k][0] for k in places)
        yield Candidate(role, path, at, tuple(own), _numbers_of(own), quality, words, names)
    rest = [k for k in range(len(labels)) if not any(k in places for places in arrays.values())]
    columns, labels = [columns[k] for k in rest], [labels[k] for k in rest]
    groups = _with_strangers(naming.stems(labels))
    if joints > 1 and len(columns) > 1 and all(len(group) == 1 for group in groups):
        groups = list(naming.stems(labels, known_only=True).values())
    for group in groups:
        own = [labels[k] for k, _ in group]
        words = frozenset(word for label in own for word in label.words) | of_file
        quality = max(*(label.quality for label in own), naming.quality_of(("", *sorted(of_file & KNOWN))))
        if quality is Quality.PLAIN and min(label.quality for label in own) is Quality.MEASURED:
            quality = Quality.MEASURED
        places = tuple(columns[k][0] for k, _ in group)
        yield Candidate(role, path, places, tuple(own), tuple(n for _, n in group), quality, words, names)


def _arrays(names: Sequence[str], role: str, columns: Sequence[tuple[int, Label]]) -> dict[str, list[int]]:
    """Places of columns by the array of the file that they all make, such as positions.elbow, positions.jaw."""
    found: dict[str, list[int]] = {}
    for k, (_, label) in enumerate(columns):
        if array := naming.array_of(label.name, role):
            found.setdefault(array, []).append(k)
    whole = {array: sum(name.startswith(f"{array}.") for name in names) for array in found}
    return {array: places for array, places in found.items() if len(places) == whole[array] > 1}


def _with_strangers(groups: dict[tuple[str, ...], list[tuple[int, int | None]]]) -> list[list[tuple[int, int | None]]]:
    """Groups, with single columns of unknown names put to those named after joints: a misspelt one, or none."""

    def known(stem: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(part for part in stem if part in KNOWN)

    named = {known(stem): members for stem, members in groups.items() if JOINT in stem}
    found = []
    for stem, members in groups.items():
        is_strange = len(members) == 1 and JOINT not in stem and NUMBER not in stem and known(stem) != stem
        if is_strange and known(stem) in named:
            named[known(stem)].extend(members)
        else:
            found.append(members)
    return found


def _in_bag(path: Path, joints: Sequence[str]) -> Iterator[Candidate]:
    """Fields of topics, by the usual names of fields, or of topics; without a role where these say none."""
    usual = {name: role for role, names in FIELDS.items() for name in names}
    for topic in topics_of(path):
        if topic.problem:
            continue
        for field in topic.fields:
            label = label_of(f"{topic.name}/{field}")
            role = usual.get(field) or label.role
            keys = _often(topic, field)
            if role == "time" or not keys:
                continue
            labels = tuple(counted_from_zero([label_of(key, joints) for key in keys]))
            quality = Quality.COMMANDED if field.startswith("output") else label.quality
            rank = 0 if topic.kind.endswith("/JointState") else 1
            yield Candidate(
                role, path, keys, labels, _numbers_of(labels), quality, label.words, None, None, topic.name, field,
                rank=rank,
            )  # fmt: skip


def _often(topic: Topic, field: str) -> tuple[str, ...]:
    """Keys of a list of numbers that come about as often as the others."""
    is_list = any(own.name == field and own.is_list for own, _ in topic.columns)
    return topic.keys_at_similar_rates(field) if is_list else ()
