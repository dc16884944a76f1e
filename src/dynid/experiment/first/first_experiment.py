"""A first experiment file for a robot and a log, with comments that say what was guessed and why."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.errors import InvalidRequestError
from dynid.experiment.first.guesses import Group, Layout
from dynid.experiment.first.layout import layout_of
from dynid.experiment.first.needed_drives import drive_table, needed
from dynid.experiment.reading import ExperimentError
from dynid.logs.readers.source import Progress, RecordingError, silent
from dynid.logs.timing import check_time
from dynid.robot.loading import load_robot
from dynid.robot.robot import Robot

SAMPLES = 20
"""Samples below which no log tells anything."""


@dataclass(frozen=True)
class InitialExperiment:
    """A first experiment.

    Attributes:
        text: The file's text.
        joints: Joints that the log has.
        locked: Joints of the robot that the log does not have, held at zero or at the nearest limit.
        guesses: What was guessed, in sentences.
        needed: What no file tells and must be written before results mean anything, in sentences.
    """

    text: str
    joints: tuple[str, ...]
    locked: tuple[str, ...]
    guesses: tuple[str, ...]
    needed: tuple[str, ...] = ()


def initial_experiment(
    robot: str,
    log: Path | Sequence[Path],
    folder: Path,
    progress: Progress = silent,
    *,
    rate: float | None = None,
) -> InitialExperiment:
    """Look at a robot and a log, and write what an experiment of both looks like.

    Args:
        robot: The robot, as `load_robot` takes it.
        log: The log: a table, a bag, or several tables that each hold some of the quantities.
        folder: Folder of the file that is to be written; paths in it are relative to it.
        progress: Is told how far a long read has come.
        rate: Samples a second [Hz]; needed where there are no time stamps.

    Raises:
        RecordingError: If the log cannot be read, or its columns or rate cannot be told.
    """
    loaded = load_robot(robot)
    if any(joint.kind.nq > 1 for joint in loaded.joints):
        raise InvalidRequestError(
            f"'{loaded.name}' has a floating base or spherical joints, whose logs cannot be read yet"
        )
    if rate is not None and not 0 < rate < math.inf:
        raise InvalidRequestError(f"a rate of {rate:g} Hz is not positive; give the samples a second")
    files = (log,) if isinstance(log, Path) else tuple(log)
    layout = layout_of(files, loaded, rate, progress)
    _require_samples(files[0], layout)
    locked = tuple(joint.name for joint in loaded.independent_joints if joint.name not in layout.joints)
    name = robot if robot.startswith("builtin:") else _relative(Path(robot), folder)
    held = {joint: _rest(loaded, joint) for joint in locked}
    missing = needed(layout, load_robot(robot, lock=held))
    guesses = _guesses(layout, locked)
    text = "\n".join(
        [
            f"# A first experiment for {loaded.name}, from what dynid saw in {', '.join(file.name for file in files)}.",
            "# Check what is marked 'guess'; write what is marked 'NEEDED', which no file tells.",
            f"robot = {_quoted(name)}",
            *_terms(layout),
            *_lock(held),
            "",
            *drive_table(layout),
            "[[log]]",
            f"# {_sampling(layout)}",
            *(f"# NEEDED: {what}" for what in missing),
            *_log(layout, folder),
            "",
            "# Nothing below is needed: filters, thinning out, thresholds and delays are chosen by what the log shows,",
            "# and each choice is said with its reason. To decide yourself, remove the '#' and change the numbers:",
            "# [processing]",
            "# lowpass = 10                  # Hz, on positions",
            "# velocity_threshold = 0.05     # rad/s: rows of a joint are dropped below it",
            "#",
            "# [estimation]",
            '# robust = "huber"              # if single torques are far off',
            "",
        ]
    )
    _check(text, folder)
    return InitialExperiment(text, layout.joints, locked, guesses, missing)


def _require_samples(log: Path, layout: Layout) -> None:
    """Refuse a log of which nothing can be used."""
    first, last = layout.rows or (0, layout.samples)
    if last - first < SAMPLES:
        problem = f"its longest part without missing numbers in which time advances has {last - first} samples"
        raise RecordingError(log, f"{problem}, and at least {SAMPLES} are needed; record longer, or repair the log")


def _check(text: str, folder: Path) -> None:
    """Make sure that the text is an experiment."""
    from dynid.experiment.reading import parse_experiment

    try:
        parse_experiment(text, folder / "experiment.toml")
    except ExperimentError as error:
        raise InvalidRequestError(f"no experiment can be written for this robot and log: {error.problem}") from error


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _quoted(text: str) -> str:
    return json.dumps(text)


def _terms(layout: Layout) -> list[str]:
    """Friction, offsets and, with geared motors, their rotors, but for joints whose torques say nothing of them."""
    measured = [str(k) for k, name in enumerate(layout.joints, 1) if name not in layout.silent]
    of = ":" + ":".join(measured) if layout.silent and measured else ""
    rotors = ("armature",) if layout.torque.at_motor else ()
    terms = ", ".join(f'"{term}{of}"' for term in ("viscous", "coulomb", "offset", *rotors))
    return [f"terms = [{terms}]   # what joints add: docs/terms.md tells of more"]


def _rest(robot: Robot, name: str) -> float:
    """Where a joint is held [rad or m]: at zero, or at the nearest limit."""
    limits = robot.joint(name).limits
    return float(min(max(0.0, limits.lower), limits.upper)) if limits.lower <= limits.upper else 0.0


def _lock(held: Mapping[str, float]) -> list[str]:
    if not held:
        return []
    head = ["", "# guess: the log has nothing of these joints, so they are held where they are here", "[lock]"]
    return head + [f"{_quoted(name)} = {value!r}" for name, value in held.items()]


def _log(layout: Layout, folder: Path) -> list[str]:
    lines = [f"# guess: {layout.position.why}", f"position = {_table(layout.position, folder)}"]
    lines += [f"# guess: {layout.torque.why}", f"torque = {_table(layout.torque, folder)}"]
    if layout.velocity is not None:
        lines.append("# Velocities were logged, too; positions are differentiated without a delay unless you use them:")
        lines.append(f"# velocity = {_table(layout.velocity, folder)}")
    if layout.time is not None:
        lines += [f"# guess: {layout.time.why}", f"time = {_table(layout.time, folder)}"]
    elif layout.rate is not None:
        lines.append(f"rate = {layout.rate!r}   # Hz, as it was given")
    if layout.rows is not None:
        lines += [f"# {_cut(layout)}", f"rows = [{layout.rows[0]}, {layout.rows[1]}]"]
    return lines


def _cut(layout: Layout) -> str:
    first, last = layout.rows or (0, layout.samples)
    return (
        f"only {last - first} of {layout.samples} samples are used: before or after, numbers are missing or time does "
        "not advance; other parts can be used as further [[log]] tables"
    )


def _table(group: Group, folder: Path) -> str:
    parts = [f"file = {_quoted(_relative(group.file, folder))}"]
    if group.topic is not None:
        parts.append(f"topic = {_quoted(group.topic)}")
    if group.columns is not None:
        columns = ", ".join(_quoted(c) if isinstance(c, str) else str(c) for c in group.columns)
        parts.append(f"columns = [{columns}]")
    parts += ["flat = true"] if group.flat else []
    return f"{{ {', '.join(parts)}, unit = {_quoted(group.unit)} }}"


def _sampling(layout: Layout) -> str:
    if layout.stamps is None:
        seconds = layout.samples / (layout.rate or 1.0)
        return f"{layout.samples} samples in {seconds:.4g} s, at the rate of {layout.rate:g} Hz that was given"
    stamps = layout.stamps[slice(*(layout.rows or (0, layout.samples)))]
    timing = check_time(stamps)
    length = float(np.ptp(stamps))
    text = f"{len(stamps)} samples in {length:.4g} s, {timing.rate:.4g} Hz; steps vary by {timing.jitter:.1%}"
    if timing.gaps:
        text += f", {len(timing.gaps)} gaps, the longest of {1e3 * timing.largest_step:.3g} ms"
    return text


def _guesses(layout: Layout, locked: tuple[str, ...]) -> tuple[str, ...]:
    found = [_sampling(layout), f"positions: {layout.position.why}", f"torques: {layout.torque.why}"]
    if layout.time is not None:
        found.append(f"time: {layout.time.why}")
    if layout.rows is not None:
        found.append(_cut(layout))
    if layout.silent:
        found.append(f"torques of {', '.join(layout.silent)} are mostly exact zeros: taken as not measured")
    if locked:
        found.append(f"held still, because the log has nothing of them: {', '.join(locked)}")
    return tuple(found)
