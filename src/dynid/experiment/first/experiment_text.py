"""The text of a first experiment: short where all agrees, with a mark at every line that leaves a question open."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dynid.experiment.first.guesses import Group, Layout
from dynid.experiment.first.questions import Question
from dynid.findings import Finding
from dynid.logs import address_of, check_time

PLAIN = {"position": "rad", "velocity": "rad/s", "torque": "N m", "time": "s"}
"""Units of candidates."""

MARK = "# CHOOSE: "
"""Begins the comment above a line that leaves a question open."""


def header(name: str, files: Sequence[Path], *, is_open: bool, is_needed: bool) -> Iterator[str]:
    """The first lines."""
    names = ", ".join(file.name for file in files[:4]) + (", ..." if len(files) > 4 else "")
    yield comment(f"{name}: a first experiment from {names}, written by dynid init.")
    if is_open:
        yield "# Answer what is marked 'CHOOSE', here or with the option that stands beside it."
    if is_needed:
        yield "# State what is marked 'NEEDED', which no file says."


def comment(text: str) -> str:
    """A comment on one line, without characters that end it or that terminals obey."""
    return "# " + " ".join("".join(c if c.isprintable() else " " for c in text).split())


def marked(question: Question) -> str:
    """The comment that marks an open question."""
    return comment(f"{MARK.removeprefix('# ')}{question.text}; or: dynid init ... {question.option}")


def quoted(text: str) -> str:
    """A text as TOML has it: letters of all languages as they are."""
    return json.dumps(text, ensure_ascii=False)


def relative(path: Path, folder: Path) -> str:
    """A path as the experiment states it; of a fetched file, its address."""
    if address := address_of(path):
        return address
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # another drive of Windows
        return path.resolve().as_posix()


def lock_lines(
    held: Mapping[str, float], resting: Mapping[str, tuple[float, float]], stated: Sequence[str], base: str = ""
) -> Iterator[str]:
    """The table `[lock]`, or one line where only a floating base is held; `base` is the word for that."""
    if not held and not resting:
        return
    about = "as stated" if base in stated else "the log has no motion of the floating base, so it is held"
    if list(held) == [base] and not resting:
        yield f"lock = [{quoted(base)}]   # {about}"
        return
    yield from ("", "[lock]")
    if base:
        yield f"{quoted(base)} = 0.0   # {about}"
        held = {name: at for name, at in held.items() if name != base}
    own = {name: at for name, at in held.items() if name not in stated}
    if own:
        yield "# the log does not have these joints: they are held here"
        yield from (f"{quoted(name)} = {value!r}" for name, value in own.items())
    yield from (f"{quoted(name)} = {held[name]!r}   # as stated" for name in held if name in stated)
    if resting:
        yield "# these joints do not move in the log: they are locked where they rest, and their columns are left out"
        for name, (at, reach) in resting.items():
            yield f"{quoted(name)} = {float(f'{at:.6g}')!r}   # positions range over {reach:.2g} rad or m only"


def log_lines(layout: Layout, folder: Path, needed: Sequence[Finding] = (), count: int = 1) -> Iterator[str]:
    """One table `[[log]]`, of so many logs; keys that a question leaves open are commented out."""
    yield "[[log]]"
    yield from [f"# each of {count} logs; the first:"] if count > 1 else []
    yield comment(sampling(layout)) if layout.samples else "# nothing could be read yet"
    yield from (comment(f"NEEDED: {finding.subject}: {finding.text}") for finding in needed)
    open_keys = {question.key for question in layout.questions if question.is_open}
    groups = {"position": layout.position, "torque": layout.torque, "velocity": layout.velocity, "time": layout.time}
    for key, group in groups.items():
        if group is not None and layout.position is not None and group is not layout.position:
            # What names no topic is on that of positions, so that one edit changes both.
            group = replace(group, topic=None if group.topic == layout.position.topic else group.topic)
        own = [question for question in layout.questions if question.key == key]
        yield from map(marked, own)
        yield from (comment(note.text) for note in layout.findings if note.values.get("quantity") == key)
        if group is not None:
            yield f"{'# ' if key in open_keys else ''}{key} = {table(group, folder)}"
        for file, columns in own[0].drafts if own and group is None else ():
            yield comment(f"{key} = {table(Group(columns, PLAIN[key], '', file=file), folder)}")
    for key, command in layout.commands.items():
        yield f"{key} = {table(command, folder) if isinstance(command, Group) else repr(command)}"
    yield from _beside(layout, folder)
    yield from map(marked, (question for question in layout.questions if question.key == "rate"))
    if "rate" in open_keys:
        yield "# rate = 100.0"
    elif layout.rate is not None:
        yield f"rate = {float(layout.rate)!r}   # Hz, as stated"
    if layout.rows is not None:
        first, last = layout.rows
        yield comment(Finding.of("log-cut", "log", used=last - first, samples=layout.samples).text)
        yield f"rows = [{first}, {last}]"


def _beside(layout: Layout, folder: Path) -> Iterator[str]:
    """What was commanded beside torques, for those who want to identify from commands."""
    if layout.beside is not None:
        yield "# also logged: commands; in place of torque, with the gains of their controller in [control]"
        yield f"# position_command = {table(layout.beside, folder)}"


def table(group: Group, folder: Path) -> str:
    """Where a quantity is, as an inline table."""
    parts = [f"file = {quoted(relative(group.file, folder))}"]
    if group.topic is not None:
        parts.append(f"topic = {quoted(group.topic)}")
    if group.field is not None:
        parts.append(f"field = {quoted(group.field)}")
    if group.array:
        parts.append(f"columns = {quoted(group.array)}")
    elif group.columns is not None:
        columns = ", ".join(quoted(c) if isinstance(c, str) else str(c) for c in group.columns)
        parts.append(f"columns = [{columns}]")
    parts += ["flat = true"] if group.flat else []
    if group.clock is not None:
        parts.append(f"time = {quoted(group.clock) if isinstance(group.clock, str) else group.clock}")
    unit = quoted(group.unit) if isinstance(group.unit, str) else f"[{', '.join(map(quoted, group.unit))}]"
    return f"{{ {', '.join(parts)}, unit = {unit} }}"


def sampling(layout: Layout) -> str:
    """How the samples of a log lie in time."""
    if layout.stamps is None and layout.rate is None:
        return f"{layout.samples} samples"
    if layout.stamps is None:
        seconds = layout.samples / (layout.rate or 1.0)
        return f"{layout.samples} samples in {seconds:.4g} s, at the sampling rate of {layout.rate:g} Hz that was given"
    stamps = layout.stamps[slice(*(layout.rows or (0, layout.samples)))]
    stamps = stamps[np.isfinite(stamps)]
    timing = check_time(stamps)
    length = float(np.ptp(stamps))
    text = f"{len(stamps)} samples in {length:.4g} s, {timing.rate:.4g} Hz; steps vary by {timing.jitter:.1%}"
    if timing.gaps:
        text += f", {len(timing.gaps)} gaps, the longest of {1e3 * timing.largest_step:.3g} ms"
    return text
