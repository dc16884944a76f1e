"""Groups of columns of files, and fields of topics, that may hold a quantity, each one column per joint."""

import fnmatch
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.experiment.first.naming import (
    JOINT,
    KNOWN,
    NUMBER,
    Label,
    Quality,
    counted_from_zero,
    label_of,
    parts_of,
    quality_of,
    role_of_file,
    shared_start,
    stems,
)
from dynid.experiment.first.questions import SKIPPED, Answers, Question, found_columns, stated_role
from dynid.findings import Finding
from dynid.logs import FIELDS, Progress, Source, Topic, is_bag, read_columns, read_groups, source_of, topics_of, unit_in
from dynid.robot import Robot


@dataclass(frozen=True)
class Candidate:
    """Columns that may hold a quantity.

    Attributes:
        role: "time", "position", "velocity", "torque" or "current"; nothing for a list of numbers that may be any.
        file: The file.
        columns: Positions of the columns in the file; names of joints in messages of bags.
        labels: What each column's name says; empty where there are no names.
        numbers: The number of each column's joint by its name; None where it has none.
        quality: How well it serves as a measurement.
        words: Words of the columns, and of the file where it holds nothing else.
        names: Names of all columns of the file; None where it has none.
        width: For flat text of one number a line, how many make a sample.
        topic: The topic, in a bag.
        field: The field of its messages.
        is_ordered: Whether the columns were stated one by one, in the order of the joints.
        rank: Breaks ties; the least is the best.
    """

    role: str
    file: Path
    columns: tuple[int, ...] | tuple[str, ...]
    labels: tuple[Label, ...] = ()
    numbers: tuple[int | None, ...] = ()
    quality: Quality = Quality.PLAIN
    words: frozenset[str] = frozenset()
    names: tuple[str, ...] | None = None
    width: int | None = None
    topic: str | None = None
    field: str | None = None
    is_ordered: bool = False
    rank: int = 0

    def only(self, keep: Sequence[int]) -> "Candidate":
        """Some of the columns, in this order."""
        return replace(
            self,
            columns=tuple(self.columns[k] for k in keep),
            labels=tuple(self.labels[k] for k in keep) if self.labels else (),
            numbers=tuple(self.numbers[k] for k in keep) if self.numbers else (),
        )

    @property
    def pattern(self) -> str:
        """How the columns are stated: a pattern that matches them and no others, or a list."""
        if self.topic is not None:
            return f"{self.topic}/{self.field}"
        if self.names is None:
            at = [int(k) for k in self.columns]
            is_range = len(at) > 1 and at == list(range(at[0], at[-1] + 1))
            return f"{at[0]}..{at[-1]}" if is_range else ",".join(map(str, at))
        own = [self.names[int(k)] for k in self.columns]
        if len(own) == 1:
            return own[0]
        head = shared_start(own)
        tail = shared_start([name[len(head) :][::-1] for name in own])[::-1]
        for pattern in (f"{head}*{tail}", f"{head}?{tail}"):
            if len(head) + len(tail) and [n for n in self.names if fnmatch.fnmatchcase(n, pattern)] == sorted(
                own, key=self.names.index
            ):
                return pattern
        return ",".join(own)

    @property
    def shown(self) -> str:
        """How the columns are called in sentences."""
        own = self.pattern
        if ("," in own or "?" in own) and self.names is not None:
            own = f"{self.names[int(self.columns[0])]} .. {self.names[int(self.columns[-1])]}"
        return f"columns {own}" if self.names is None and self.topic is None else own

    @property
    def stated(self) -> tuple[str | int, ...]:
        """The columns as an experiment states them: by name, or by position where there are no names or not unique."""
        names = self.names
        chosen = [] if names is None else [names[int(k)] for k in self.columns]
        unique = names is not None and all(names.count(name) == 1 for name in chosen) and all(chosen)
        return tuple(chosen) if unique else tuple(self.columns)

    @property
    def spelled(self) -> list[str] | list[int]:
        """The columns as the file's reader calls them."""
        if self.topic is None:
            return [int(k) for k in self.columns]
        return [f"{self.topic}/{self.field}/{key}" for key in self.columns]

    def values(self) -> Array:
        """Its numbers as logged, shape (samples, columns)."""
        columns = None if self.width is not None else self.spelled
        return read_groups(self.file, [columns], width=self.width, finite=False).groups[0]


def has_names(source: Source) -> bool:
    """Whether columns have names that say something; those of one array, such as data[0], only count them."""
    arrays = {match[1] if (match := re.fullmatch(r"(.*)\[\d+\]", name)) else None for name in source.names}
    is_array = len(source.names) > 1 and len(arrays) == 1 and None not in arrays
    return source.named and not (is_array and not label_of(str(arrays.pop())).role)


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
    of_file = "" if alone else role_of_file(path.stem)
    if named:
        return _in_table(path, names, joints, of_file, None if alone else path.stem)
    return _unnamed(path, len(names), of_file, len(joints) - len(answers.lock)) if of_file else []


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
    found = stems(labels)
    if len(found) != 1:
        found = stems(labels, known_only=True)
    numbers = {k: number for members in found.values() for k, number in members} if len(found) == 1 else {}
    return tuple(numbers.get(k) for k in range(len(labels)))


def _in_table(
    path: Path, names: Sequence[str], joints: Sequence[str], of_file: str, file: str | None = None
) -> list[Candidate]:
    """Groups of named columns; the file's name gives a role to columns whose names say nothing."""
    labels = counted_from_zero([label_of(name, joints) for name in names])
    known = {label.role for label, name in zip(labels, names, strict=True) if name} - {"", "time"}
    if of_file and of_file != "time" and len(known) <= 1:  # columns that are called q in a file of torques are torques
        labels = [
            label if label.role == "time" or not label.name or _is_index(label) else replace(label, role=of_file)
            for label in labels
        ]
    words = frozenset(str(part) for part in parts_of(file)) if file is not None and len(known) <= 1 else frozenset()
    found: list[Candidate] = []
    for role in ("position", "velocity", "torque", "current"):
        own = [k for k, label in enumerate(labels) if label.role == role and label.name]
        found += _grouped(path, tuple(names), role, [(k, labels[k]) for k in own], words, len(joints))
    times = [k for k, label in enumerate(labels) if label.role == "time" and label.name]
    found += [
        Candidate("time", path, (k,), (labels[k],), (None,), labels[k].quality, labels[k].words, tuple(names))
        for k in times
    ]
    return found


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
    groups = _with_strangers(stems(labels))
    if joints > 1 and len(columns) > 1 and all(len(group) == 1 for group in groups):
        groups = list(stems(labels, known_only=True).values())
    for group in groups:
        own = [labels[k] for k, _ in group]
        words = frozenset(word for label in own for word in label.words) | of_file
        quality = max(*(label.quality for label in own), quality_of(("", *sorted(of_file & KNOWN))))
        if quality is Quality.PLAIN and min(label.quality for label in own) is Quality.MEASURED:
            quality = Quality.MEASURED
        places = tuple(columns[k][0] for k, _ in group)
        yield Candidate(role, path, places, tuple(own), tuple(n for _, n in group), quality, words, names)


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


def _unnamed(path: Path, width: int, of_file: str, n: int) -> list[Candidate]:
    """A file without names of columns: one column of time, one per joint, or one number per line."""
    words = frozenset(str(part) for part in parts_of(path.stem))
    whole = Candidate(of_file, path, (), quality=quality_of(("", *sorted(words & KNOWN))), words=words)
    if of_file == "time":
        return [replace(whole, columns=(0,))]
    if width == 1 and n > 1:
        return [replace(whole, columns=tuple(range(n)), width=n)]
    if width == n + 1 and bool(np.all(np.diff(read_columns(path, columns=0)[:, 0]) > 0)):
        time = Candidate("time", path, (0,), words=words)
        return [time, replace(whole, columns=tuple(range(1, width)))]
    return [replace(whole, columns=tuple(range(width)))]


def by_width(path: Path, width: int, robot: Robot, joints: Sequence[str]) -> tuple[list[Candidate], Question | None]:
    """A table without names: time, positions, velocities and torques by their number, with the question that leaves.

    More blocks than these three are candidates for torques of which none is chosen.
    """
    chains = {len(list(robot.chain(k))) for k in range(len(robot.joints))}
    sizes = [n for n in (len(joints), *sorted(chains - {len(joints)}, reverse=True)) if n > 1 or len(joints) == 1]
    fits = [(n, first) for n in sizes for first in (1, 0) if width > n + first and (width - first) % n == 0]
    numbers = read_columns(path, columns=0)[:, 0] if fits else np.zeros(0)
    is_time = len(numbers) > 1 and bool(np.mean(np.diff(numbers) > 0) > 0.99)
    fits = [(n, first) for n, first in fits if bool(first) == is_time]
    if not fits:
        return [], None
    n, first = fits[0]
    blocks = [tuple(range(at, at + n)) for at in range(first, width, n)]
    made = [Candidate("position", path, blocks[0])]
    made += [Candidate("time", path, (0,))] if first else []
    rest = blocks[1:]
    if len(blocks) == 3 or (len(blocks) > 3 and _is_derivative(path, blocks[0], blocks[1], numbers if first else None)):
        made.append(Candidate("velocity", path, blocks[1]))
        rest = blocks[2:]
    quality = Quality.PLAIN if len(rest) == 1 else Quality.PART
    made += [Candidate("torque", path, block, quality=quality) for block in rest]
    named = [f"{one.role} {one.pattern}" for one in made if one.quality is Quality.PLAIN]
    finding = Finding.of("choose-by-width", "log", width=width, joints=len(joints), taken=named)
    letters = ("q", "v", "tau") if any(one.role == "velocity" for one in made) else ("q", "tau")
    example = ",".join([*(["t"] if first else []), *(f"{letter}1..{letter}{n}" for letter in letters)])
    return made, Question(finding, "position", tuple(named), made[0].pattern, f"--columns {example}")


def _is_derivative(path: Path, positions: tuple[int, ...], rates: tuple[int, ...], time: Array | None) -> bool:
    """Whether some columns move as the derivatives of others do."""
    q, v = read_groups(path, [positions, rates], finite=False).groups
    t = np.arange(len(q)) if time is None else time
    with np.errstate(all="ignore"):
        slope = np.diff(q, axis=0) / np.diff(t)[:, None]
    middle, good = 0.5 * (v[1:] + v[:-1]), np.isfinite(slope).all(axis=1)
    both = [np.corrcoef(slope[good, k], middle[good, k])[0, 1] for k in range(q.shape[1]) if np.ptp(q[:, k]) > 0]
    return bool(both) and float(np.nanmedian(both)) > 0.8


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
