"""A first experiment for a robot and a log, with comments that say what was guessed and why."""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from dynid.errors import InvalidRequestError
from dynid.experiment.experiment import Experiment
from dynid.experiment.first.guesses import Group, Layout
from dynid.experiment.first.layout import layout_of
from dynid.experiment.first.needed_drives import drive_table, findings_on_drives
from dynid.experiment.reading import ExperimentError, parse_experiment
from dynid.files import FileKind, kind_of, write_text
from dynid.findings import Finding, Severity
from dynid.logs import Progress, RecordingError, check_time, silent
from dynid.robot import Robot, load_robot

FilePath: TypeAlias = str | os.PathLike[str]

SAMPLES = 20
"""Samples below which a log is of no use."""


@dataclass(frozen=True)
class FirstExperiment:
    """A first experiment: what dynid saw in a robot and a log.

    Attributes:
        robot: The robot, as `load_robot` takes it.
        name: The robot's own name.
        files: The files of the log.
        layout: What was found in the log.
        held: Joints of the robot that the log does not have, and where they are held [rad or m].
        folder: Folder that paths in the text are relative to.
        findings: What was guessed (notes), and what must be stated before results mean anything (warnings).
        exact_frames: Whether right angles that the robot's file rounds are kept as they are.
        resting: Joints that do not move in the log, with where they rest and how far they range [rad or m]; they are
            locked there, and the layout is without them.
    """

    robot: str
    name: str
    files: tuple[Path, ...]
    layout: Layout
    held: Mapping[str, float]
    folder: Path
    findings: tuple[Finding, ...]
    exact_frames: bool = False
    resting: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The experiment file."""
        return _text(self, self.folder)

    @property
    def experiment(self) -> Experiment:
        """The experiment that the file states."""
        return parse_experiment(self.text, self.folder / "experiment.toml")

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that the log has."""
        return self.layout.joints

    @property
    def locked(self) -> tuple[str, ...]:
        """Joints that are locked: those that the log does not have, and those that do not move in it."""
        return (*self.held, *self.resting)

    @property
    def guesses(self) -> tuple[str, ...]:
        """What was guessed, in sentences."""
        return tuple(f"{f.subject}: {f.text}" for f in self.findings if f.severity is Severity.NOTE)

    @property
    def needed(self) -> tuple[str, ...]:
        """What no file says and must be stated before results mean anything, in sentences."""
        return tuple(f"{f.subject}: {f.text}" for f in self.findings if f.severity is not Severity.NOTE)

    def save(self, path: FilePath, *, overwrite: bool = False) -> Path:
        """Write the experiment file, with paths relative to its folder.

        Raises:
            OutputExistsError: If the file exists and may not be replaced.
        """
        path = Path(path)
        write_text(path, _text(self, path.parent), overwrite=overwrite)
        return path

    def __repr__(self) -> str:
        needed = f", {len(self.needed)} things to state" if self.needed else ""
        return f"FirstExperiment of {self.robot}: {len(self.joints)} joints, {self.layout.samples} samples{needed}"


def init(
    robot: FilePath,
    *logs: FilePath | Sequence[FilePath],
    rate: float | None = None,
    folder: FilePath = ".",
    exact_frames: bool = False,
    progress: Progress = silent,
) -> FirstExperiment:
    """Look at a robot and a log, and write what an experiment of both looks like.

    Args:
        robot: The robot, as `load_robot` takes it.
        *logs: The log: a table, a bag, or several tables that each hold some of the quantities.
        rate: Sampling rate [Hz]; needed where there are no time stamps.
        folder: Folder that paths in the text are relative to.
        exact_frames: Keep right angles that the robot's file rounds; see `load_robot`.
        progress: Callback; receives a short description of each step.

    Raises:
        RecordingError: If the log cannot be read, or its columns or rate cannot be found.
        InvalidRequestError: If there is no log, or no experiment can be written for the robot.
    """
    source = os.fspath(robot)
    robots = [log for log in logs if isinstance(log, str | os.PathLike) and kind_of(log) is FileKind.ROBOT]
    if kind_of(source) is FileKind.LOG and robots:
        raise InvalidRequestError(
            f"{source} is a log and {robots[0]} is a robot, which comes first: 'dynid init {robots[0]} {source}'"
        )
    loaded = load_robot(source, exact_frames=exact_frames)
    if any(joint.kind.nq > 1 for joint in loaded.joints):
        raise InvalidRequestError(
            f"'{loaded.name}' has a floating base or spherical joints, whose logs cannot be read yet"
        )
    files = tuple(Path(file) for log in logs for file in ([log] if isinstance(log, str | os.PathLike) else log))
    if not files:
        raise InvalidRequestError("a first experiment needs a log; give its file or files")
    layout = look_at(files, loaded, rate, progress)
    held = {
        joint.name: _rest(loaded, joint.name) for joint in loaded.independent_joints if joint.name not in layout.joints
    }
    resting = {} if layout.position.flat or layout.torque.flat else layout.resting
    moving = layout.without(resting)
    lock = held | {name: at for name, (at, _) in resting.items()}
    rest = load_robot(source, lock=lock, exact_frames=exact_frames)
    findings = (*findings_on_layout(moving, rest), *_findings_on_held(held), *_findings_on_rest(layout))
    made = FirstExperiment(source, loaded.name, files, moving, held, Path(folder), findings, exact_frames, resting)
    try:
        made.experiment  # noqa: B018 (reading it is the check)
    except ExperimentError as error:
        raise InvalidRequestError(f"no experiment can be written for this robot and log: {error.problem}") from error
    return made


def look_at(files: Sequence[Path], robot: Robot, rate: float | None, progress: Progress) -> Layout:
    """What a log holds; arguments and errors as `init`."""
    if rate is not None and not 0 < rate < math.inf:
        raise InvalidRequestError(f"a rate of {rate:g} Hz is not positive; give the sampling rate")
    layout = layout_of(files, robot, rate, progress)
    first, last = layout.rows or (0, layout.samples)
    if last - first < SAMPLES:
        problem = f"its longest part without missing numbers in which time advances has {last - first} samples"
        raise RecordingError(
            files[0], f"{problem}, and at least {SAMPLES} are needed; record longer, or repair the log"
        )
    return layout


def findings_on_layout(layout: Layout, robot: Robot) -> Iterator[Finding]:
    """What was guessed about a log, and what must be stated about its drives.

    Args:
        layout: What was found in the log.
        robot: The robot, with joints held that the log does not have.
    """
    yield Finding.of("log-sampling", "log", description=_sampling(layout))
    yield Finding.of("columns-guessed", "positions", reason=layout.position.why)
    yield Finding.of("columns-guessed", "torques", reason=layout.torque.why)
    if layout.time is not None:
        yield Finding.of("columns-guessed", "time", reason=layout.time.why)
    if layout.rows is not None:
        used = layout.rows[1] - layout.rows[0]
        yield Finding.of("log-cut", "log", used=used, samples=layout.samples)
    if layout.silent:
        yield Finding.of("torques-silent", "drive.unmeasured", joints=list(layout.silent))
    yield from findings_on_drives(layout, robot)


def _findings_on_rest(layout: Layout) -> Iterator[Finding]:
    if layout.resting:
        ranges = {name: reach for name, (_, reach) in layout.resting.items()}
        yield Finding.of("joints-at-rest", "lock", joints=ranges)


def _findings_on_held(held: Mapping[str, float]) -> Iterator[Finding]:
    if held:
        yield Finding.of("joints-held", "lock", joints=list(held))


def _text(made: FirstExperiment, folder: Path) -> str:
    robot, layout = made.robot, made.layout
    name = robot if robot.startswith("builtin:") else _relative(Path(robot), folder)
    names = ", ".join(file.name for file in made.files)
    needed = [f for f in made.findings if f.severity is not Severity.NOTE]
    return "\n".join(
        [
            f"# A first experiment for {made.name}, from what dynid saw in {names}.",
            "# Check what is marked 'guess'; state what is marked 'NEEDED', which no file says.",
            f"robot = {_quoted(name)}",
            *(["exact_frames = true   # as it was given"] if made.exact_frames else []),
            *_terms(),
            *_lock(made),
            "",
            *drive_table(layout),
            "[[log]]",
            f"# {_sampling(layout)}",
            *(f"# NEEDED: {finding.subject}: {finding.text}" for finding in needed),
            *_log(layout, folder),
            "",
            "# Nothing below is needed: filters, decimation, thresholds and delays are chosen by what the log shows,",
            "# and each choice is reported with its reason. To decide yourself, remove the '#' and change the numbers:",
            "# [processing]",
            "# lowpass = 10                  # Hz, on positions",
            "# velocity_threshold = 0.05     # rad/s: rows of a joint are dropped below it",
            "#",
            "# [estimation]",
            '# robust = "huber"              # if single torques are far off',
            "",
        ]
    )


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _quoted(text: str) -> str:
    return json.dumps(text)


def _terms() -> list[str]:
    """Terms are chosen by what the log shows."""
    return [
        'terms = "auto"   # friction and actuator terms are chosen on held-out blocks of the log and reported; or',
        '# state them: terms = ["viscous", "coulomb", "offset", "armature"], see docs/terms.md',
    ]


def _rest(robot: Robot, name: str) -> float:
    """Where a joint is held [rad or m]: at zero, or at the nearest limit."""
    limits = robot.joint(name).limits
    return float(min(max(0.0, limits.lower), limits.upper)) if limits.lower <= limits.upper else 0.0


def _lock(made: FirstExperiment) -> list[str]:
    if not made.locked:
        return []
    lines = ["", "[lock]"]
    if made.held:
        lines.append("# guess: the log has nothing of these joints, so they are held where they are here")
        lines += [f"{_quoted(name)} = {value!r}" for name, value in made.held.items()]
    if made.resting:
        lines.append("# guess: these joints do not move in the log, so they are locked where they rest; their")
        lines.append("# columns are left out below; to let one move, remove its line here and add its columns there")
        for name, (at, reach) in made.resting.items():
            lines.append(f"{_quoted(name)} = {float(f'{at:.6g}')!r}   # positions range over {reach:.2g} rad or m only")
    return lines


def _log(layout: Layout, folder: Path) -> list[str]:
    lines = [f"# guess: {layout.position.why}", f"position = {_table(layout.position, folder)}"]
    lines += [f"# guess: {layout.torque.why}", f"torque = {_table(layout.torque, folder)}"]
    if layout.velocity is not None:
        lines.append("# velocities are used where they explain the torques better than derivatives of positions")
        lines.append(f"velocity = {_table(layout.velocity, folder)}")
    if layout.time is not None:
        lines += [f"# guess: {layout.time.why}", f"time = {_table(layout.time, folder)}"]
    elif layout.rate is not None:
        lines.append(f"rate = {layout.rate!r}   # Hz, as it was given")
    if layout.rows is not None:
        first, last = layout.rows
        cut = Finding.of("log-cut", "log", used=last - first, samples=layout.samples)
        lines += [f"# {cut.text}", f"rows = [{first}, {last}]"]
    return lines


def _table(group: Group, folder: Path) -> str:
    parts = [f"file = {_quoted(_relative(group.file, folder))}"]
    if group.topic is not None:
        parts.append(f"topic = {_quoted(group.topic)}")
    if group.columns is not None:
        columns = ", ".join(_quoted(c) if isinstance(c, str) else str(c) for c in group.columns)
        parts.append(f"columns = [{columns}]")
    parts += ["flat = true"] if group.flat else []
    unit = _quoted(group.unit) if isinstance(group.unit, str) else f"[{', '.join(map(_quoted, group.unit))}]"
    return f"{{ {', '.join(parts)}, unit = {unit} }}"


def _sampling(layout: Layout) -> str:
    if layout.stamps is None:
        seconds = layout.samples / (layout.rate or 1.0)
        return f"{layout.samples} samples in {seconds:.4g} s, at the sampling rate of {layout.rate:g} Hz that was given"
    stamps = layout.stamps[slice(*(layout.rows or (0, layout.samples)))]
    timing = check_time(stamps)
    length = float(np.ptp(stamps))
    text = f"{len(stamps)} samples in {length:.4g} s, {timing.rate:.4g} Hz; steps vary by {timing.jitter:.1%}"
    if timing.gaps:
        text += f", {len(timing.gaps)} gaps, the longest of {1e3 * timing.largest_step:.3g} ms"
    return text
