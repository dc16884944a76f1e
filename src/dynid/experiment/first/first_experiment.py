"""A first experiment for a robot and its logs: what was guessed, what is open, and the file that says both."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dynid.errors import InvalidRequestError
from dynid.experiment.experiment import Experiment
from dynid.experiment.first.command_columns import control_lines, findings_on_gains
from dynid.experiment.first.experiment_text import header, lock_lines, log_lines, marked, quoted, relative, sampling
from dynid.experiment.first.floating import refuse_moving_base, with_held_base, without_base
from dynid.experiment.first.guesses import STILL, Group, Layout, Unit
from dynid.experiment.first.layout import layout_of
from dynid.experiment.first.needed_drives import drive_table, findings_on_drives, with_sides_settled
from dynid.experiment.first.questions import Answers, Columns, Question, answers_of
from dynid.experiment.first.recordings import recordings
from dynid.experiment.first.series import Series, looked_at, series_of
from dynid.experiment.reading import ExperimentError, parse_experiment
from dynid.files import FileKind, kind_of, write_text
from dynid.findings import Finding, Severity
from dynid.logs import COMMANDS, Progress, RecordingError, data_set_of, files_of, is_capture, is_url, local_file, silent
from dynid.robot import Robot, load_robot

FilePath: TypeAlias = str | os.PathLike[str]

FEW = 8
"""Logs of one name up to which each has a table of its own, so that one is easily held out."""

_UNLIKE = (
    "its logs are not laid out alike, so that one table of the experiment cannot state them; name those that are by a "
    "pattern of their names, and init each part"
)

SAMPLES = 20
"""Samples below which a log is of no use."""


@dataclass(frozen=True)
class FirstExperiment:
    """A first experiment: what dynid saw in a robot and its logs.

    Attributes:
        robot: The robot, as `load_robot` takes it.
        name: The robot's own name.
        files: The files of the logs.
        layouts: What was found in each log.
        held: Joints of the robot that the logs do not have, or that were stated, and where they are held [rad or m].
        folder: Folder that paths in the text are relative to.
        findings: What was guessed (notes), and what must be stated before results mean anything (warnings).
        exact_frames: Whether right angles that the robot's file rounds are kept as they are.
        resting: Joints that do not move in the logs, with where they rest and how far they range [rad or m]; they are
            locked there, and the layouts are without them.
        stated: Joints whose locking was stated.
        base: The word that locks a floating base; empty for other robots.
        series: The logs as a series that one table states, of which the layouts are a sample; None where each log has a
            table of its own.
    """

    robot: str
    name: str
    files: tuple[Path, ...]
    layouts: tuple[Layout, ...]
    held: Mapping[str, float]
    folder: Path
    findings: tuple[Finding, ...]
    exact_frames: bool = False
    resting: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    stated: tuple[str, ...] = ()
    base: str = ""
    series: Series | None = None

    @property
    def text(self) -> str:
        """The experiment file."""
        return self.written(self.folder)

    def written(self, folder: Path) -> str:
        """The experiment file, with paths relative to a folder."""
        return _text(self, folder)

    @property
    def experiment(self) -> Experiment:
        """The experiment that the file states.

        Raises:
            ExperimentError: If a question without a guess is open; it names the line.
        """
        return parse_experiment(self.text, self.folder / "experiment.toml")

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that the logs have."""
        return self.layouts[0].joints

    @property
    def locked(self) -> tuple[str, ...]:
        """Joints that are locked: those that the logs do not have, and those that do not move in them."""
        return (*self.held, *self.resting)

    @property
    def count(self) -> int:
        """How many logs there are."""
        return len(self.layouts) if self.series is None else len(self.series.files)

    @property
    def is_unsigned(self) -> bool:
        """Whether torques of the logs have no signs."""
        return all(layout.is_unsigned for layout in self.layouts)

    @property
    def questions(self) -> tuple[Question, ...]:
        """What is open, in the order of the file; each once, though it is open for several logs."""
        found = {(one.code, one.key, one.candidates): one for layout in self.layouts for one in layout.questions}
        return tuple(found.values())

    @property
    def guesses(self) -> tuple[str, ...]:
        """What was guessed, in sentences."""
        return tuple(f"{f.subject}: {f.text}" for f in self.findings if f.severity is Severity.NOTE)

    @property
    def needed(self) -> tuple[str, ...]:
        """What no file says and must be stated before results mean anything, in sentences."""
        return tuple(f"{f.subject}: {f.text}" for f in self.findings if f.severity is not Severity.NOTE)

    def line_of(self, question: Question) -> int:
        """Line of the text, from 1, that a question is about."""
        lines = self.text.splitlines()
        return 2 + lines.index(marked(question)) if marked(question) in lines else 1

    @property
    def held_out(self) -> tuple[tuple[Path, ...], int]:
        """Files of the log that is suggested to be held out for validation, the last one, and the line of its table."""
        lines, last = self.text.splitlines(), self.layouts[-1]
        groups = (last.position, last.torque, last.time)
        files = tuple(dict.fromkeys(group.file for group in groups if group is not None))
        return files, len(lines) - lines[::-1].index("[[log]]")

    def save(self, path: FilePath, *, overwrite: bool = False) -> Path:
        """Write the experiment file, with paths relative to its folder.

        Raises:
            InvalidRequestError: If the name does not end in `.toml`, by which experiments are known.
            OutputExistsError: If the file exists and may not be replaced.
        """
        path = Path(path)
        if path.suffix.lower() != ".toml":
            raise InvalidRequestError(f"the experiment file '{path}' must end in .toml, as all experiments do")
        write_text(path, self.written(path.parent), overwrite=overwrite)
        return path

    def __repr__(self) -> str:
        needed = f", {len(self.needed)} things to state" if self.needed else ""
        open_ = f", {len(self.questions)} open questions" if self.questions else ""
        samples = sum(layout.samples for layout in self.layouts)
        size = f"{samples} samples" if self.series is None else f"{self.count} logs"
        return f"FirstExperiment of {self.robot}: {len(self.joints)} joints, {size}{needed}{open_}"


def init(
    robot: FilePath,
    *logs: FilePath | Sequence[FilePath],
    position: Columns | None = None,
    velocity: Columns | None = None,
    torque: Columns | None = None,
    time: Columns | None = None,
    position_command: Columns | None = None,
    velocity_command: Columns | None = None,
    torque_command: Columns | None = None,
    kp: Columns | float | None = None,
    kd: Columns | float | None = None,
    columns: Columns | None = None,
    unit: Mapping[str, str | Sequence[str]] | None = None,
    lock: Mapping[str, float | None] | Sequence[str] | None = None,
    rate: float | None = None,
    folder: FilePath = ".",
    exact_frames: bool = False,
    up: str | None = None,
    subject: str | None = None,
    progress: Progress = silent,
) -> FirstExperiment:
    """Look at a robot and its logs, and write what an experiment of both looks like.

    What names and numbers do not decide is left open: `questions` of the result, and comments in its text. `position`,
    `velocity`, `torque` and `time` answer them with names of columns, patterns ("ActualPos*"), positions from 0, ranges
    ("q1..q6", "1..6"), several of these separated by commas or in a list; of bags, with topics.

    Args:
        robot: The robot, as `load_robot` takes it.
        *logs: The logs: tables, bags, or tables that each hold some of the quantities; also patterns, folders and
            addresses of these.
        position: Columns of positions.
        velocity: Columns of velocities.
        torque: Columns of torques, forces or currents.
        time: Column of time stamps.
        position_command: Columns of commanded positions, where no torque was measured.
        velocity_command: Columns of commanded velocities.
        torque_command: Columns of torques that were added to those of the controller.
        kp: Gain of positions: columns, or a number for all joints [N m/rad or N/m].
        kd: Gain of velocities: columns, or a number for all joints [N m s/rad or N s/m].
        columns: Names for the columns of files that have none, such as "t,q1..q6,tau1..tau6"; "_" for one that is not
            needed.
        unit: Units by quantity, such as `{"torque": "mA", "position": "deg"}`.
        lock: Joints to lock, by name or pattern, and where [rad or m]; None for where they rest.
        rate: Sampling rate [Hz]; needed where there are no time stamps.
        folder: Folder that paths in the text are relative to.
        exact_frames: Keep right angles that the robot's file rounds; see `load_robot`.
        up: Of captures, the axis that points upward, such as "y", where the file states it wrongly.
        subject: Of captures with several persons, whose markers are wanted.
        progress: Callback; receives a short description of each step.

    Raises:
        RecordingError: If a log cannot be read, or is too short.
        InvalidRequestError: If there is no log, what was stated does not fit, or no experiment can be written.
        UnknownNameError: If there is no such unit, quantity or joint.
    """
    source = os.fspath(robot)
    _refuse_exchanged(source, logs)
    names, files = _named(logs, progress)
    options = {"folder": folder, "lock": lock, "exact_frames": exact_frames, "progress": progress}
    if (captured := _of_captures(source, files, unit, {"up": up, "subject": subject, **options})) is not None:
        return captured
    loaded = load_robot(source, exact_frames=exact_frames)
    free = loaded
    loaded, base, is_stated = with_held_base(free, lock)
    refuse_moving_base(files if base and not is_stated else (), loaded)
    stated = {"position": position, "velocity": velocity, "torque": torque, "time": time, "kp": kp, "kd": kd}
    stated |= dict(zip(COMMANDS[:3], (position_command, velocity_command, torque_command), strict=True))
    answers = answers_of(loaded, stated, unit, without_base(lock, free), columns, rate)
    is_series = len(names) == 1 and not is_url(os.fspath(names[0])) and _is_long(files)
    layouts = look_at(looked_at(files) if is_series else files, loaded, answers, progress)
    held = {
        joint.name: _held_at(loaded, joint.name, answers)
        for joint in loaded.independent_joints
        if joint.name not in layouts[0].joints
    }
    held = {base: 0.0, **held} if base else held
    resting = _resting_in_all(layouts)
    moving = tuple(layout.without(resting) for layout in layouts)
    rest = load_robot(source, lock=held | {name: at for name, (at, _) in resting.items()}, exact_frames=exact_frames)
    moving = tuple(with_sides_settled(layout, rest) for layout in moving)
    mute = [name for one in layouts[0].findings if one.code == "joints-without-torque" for name in one.values["joints"]]
    unsaid = [name for name in held if name not in answers.lock and name not in mute and name != base]
    series = series_of(os.fspath(names[0]), files, moving, progress) if is_series else None
    if series is None and is_series and len(files) > len(layouts):
        raise RecordingError(os.fspath(names[0]), _UNLIKE)
    findings = (*_findings_on_logs(moving, rest, series), *_findings_on_held(unsaid), *_findings_on_rest(resting))
    findings += (Finding.of("base-held", "lock"),) if base and not is_stated else ()
    told = (*answers.lock, base) if is_stated else tuple(answers.lock)
    made = FirstExperiment(
        source, loaded.name, files, moving, held, Path(folder), findings, exact_frames, resting, told, base, series
    )
    return _readable(made)


def _named(
    logs: Sequence[FilePath | Sequence[FilePath]], progress: Progress
) -> tuple[list[FilePath], tuple[Path, ...]]:
    """Names of logs one by one, and the files that they stand for.

    Raises:
        InvalidRequestError: If there is none.
    """
    names = [name for log in logs for name in ([log] if isinstance(log, str | os.PathLike) else log)]
    files = tuple(local_file(file.name, progress) for name in names for file in files_of(name))
    if not files:
        raise InvalidRequestError("a first experiment needs a log; give its file or files")
    return names, files


def _of_captures(
    source: str, files: Sequence[Path], unit: Mapping[str, str | Sequence[str]] | None, options: Mapping[str, Any]
) -> FirstExperiment | None:
    """A first experiment from captures; None where logs are none.

    Raises:
        InvalidRequestError: If what only captures have is stated of other logs.
    """
    if not is_capture(*files):
        from dynid.logs.captures import FORCES

        forces = next((file.name for file in files if file.suffix.lower() in FORCES), None)
        if forces is not None:
            problem = f"{forces} has what force plates measured, and no markers; name their file, too: MARKERS {forces}"
            raise InvalidRequestError(problem)
        if options["up"] is not None or options["subject"] is not None:
            problem = (
                "up and subject are of captures (C3D, TRC, tables of markers), and these logs are none; leave them out"
            )
            raise InvalidRequestError(problem)
        return None
    from dynid.experiment.first.captured_experiment import first_of_captures

    stated = None if unit is None else unit.get("position")
    lengths = stated if isinstance(stated, str | None) else stated[0]
    return _readable(first_of_captures(source, files, unit=lengths, **options))


def _is_long(files: Sequence[Path]) -> bool:
    """Whether logs of one name need one table together: there are many, or they are the episodes of a data set."""
    return len(files) > FEW or (len(files) > 1 and data_set_of(files[0]) is not None)


def _readable(made: FirstExperiment) -> FirstExperiment:
    """A first experiment that can be read where nothing is open."""
    if any(layout.is_open for layout in made.layouts) or any(question.is_open for question in made.questions):
        return made
    try:
        made.experiment  # noqa: B018 (reading it is the check)
    except ExperimentError as error:
        raise InvalidRequestError(f"no experiment can be written for this robot and log: {error.problem}") from error
    return made


def _refuse_exchanged(robot: str, logs: Sequence[FilePath | Sequence[FilePath]]) -> None:
    """Refuse a log in the place of the robot, and the robot among the logs."""
    robots = [log for log in logs if isinstance(log, str | os.PathLike) and kind_of(log) is FileKind.ROBOT]
    if kind_of(robot) is FileKind.LOG and robots:
        raise InvalidRequestError(
            f"{robot} is a log and {robots[0]} is a robot, which comes first: 'dynid init {robots[0]} {robot}'"
        )


def _findings_on_logs(layouts: Sequence[Layout], robot: Robot, series: Series | None) -> list[Finding]:
    """Findings on all logs, without what is the same for the first: how columns were guessed, and what is needed."""
    found = list(findings_on_layout(layouts[0], robot))
    known = {finding.code for finding in found} - (set() if series is not None else {"log-sampling", "log-cut"})
    for layout in layouts[1:]:
        found += [finding for finding in findings_on_layout(layout, robot) if finding.code not in known]
        known |= {finding.code for finding in found} if series is not None else set()
    return [*found, *(() if series is None else series.findings())]


def look_at(
    files: Sequence[Path], robot: Robot, answers: Answers, progress: Progress, fewest: int = SAMPLES
) -> tuple[Layout, ...]:
    """What each recording holds; errors as `init`, also where one has fewer samples than `fewest`.

    Recordings of one robot have the same joints, and, where names of columns say none, the same units: a small motion
    in degrees looks like one in radians.
    """
    groups = recordings(files, robot, answers, progress)
    layouts = [_long_enough(layout_of(paths, robot, answers, progress), paths[0], fewest) for paths in groups]
    first = layouts[0]
    for other in layouts[1:]:
        if other.joints != first.joints and first.position is not None and other.position is not None:
            either = [
                name for name in (*first.joints, *other.joints) if (name in first.joints) != (name in other.joints)
            ]
            problem = f"it has other joints than {_file_of(first).name} ({', '.join(either[:8])} in one of them only)"
            raise RecordingError(_file_of(other), f"{problem}; lock them with --lock, or give logs of the same joints")
    for role, plain in (("position", "rad"), ("time", "s")):
        units = {group.unit for layout in layouts if (group := getattr(layout, role)) is not None}
        other_unit = next((unit for unit in units if unit != plain), plain)
        if len(units) == 2 and role not in answers.units:
            stated = replace(answers, units={**answers.units, role: other_unit})
            layouts = [layout_of(paths, robot, stated, progress) for paths in groups]
    return tuple(layouts)


def _long_enough(layout: Layout, path: Path, fewest: int) -> Layout:
    """A layout that has enough samples.

    Raises:
        RecordingError: If it has not.
    """
    first, last = layout.rows or (0, layout.samples)
    if last - first < fewest and (layout.position is not None or layout.torque is not None):
        count = "1 sample" if last - first == 1 else f"{last - first} samples"
        problem = f"its longest part in which time advances has {count}"
        advice = "record longer, or name another column of time with --time, or the sampling rate with --rate HZ"
        raise RecordingError(path, f"{problem}, and at least {fewest} are needed; {advice}")
    return layout


def _file_of(layout: Layout) -> Path:
    group = layout.position or layout.torque or layout.time
    return Path() if group is None else group.file


def _resting_in_all(layouts: Sequence[Layout]) -> dict[str, tuple[float, float]]:
    """Joints that rest in every recording, and at the same place."""
    first = layouts[0]
    if any(group is not None and group.flat for group in (first.position, first.torque)):
        return {}
    found = {}
    for name, (at, reach) in first.resting.items():
        others = [layout.resting.get(name, (np.inf, 0.0)) for layout in layouts[1:]]
        if all(abs(there - at) < STILL for there, _ in others):
            found[name] = (at, max([reach, *(own for _, own in others)]))
    return found


def findings_on_layout(layout: Layout, robot: Robot) -> Iterator[Finding]:
    """What was guessed about a log, and what must be stated about its drives.

    Args:
        layout: What was found in the log.
        robot: The robot, with joints held that the log does not have.
    """
    if layout.samples:
        yield Finding.of("log-sampling", "log", description=sampling(layout))
    for subject, group in (("positions", layout.position), ("torques", layout.torque), ("time", layout.time)):
        if group is not None:
            reason = f": {group.why}" if group.why else ""
            unit = _in_words(group.unit)
            yield Finding.of("columns-guessed", subject, columns=group.shown, unit=unit, reason=reason)
    yield from layout.findings
    if layout.rows is not None:
        used = layout.rows[1] - layout.rows[0]
        yield Finding.of("log-cut", "log", used=used, samples=layout.samples)
    for role, group in layout.commands.items():
        if isinstance(group, Group):
            yield Finding.of("columns-guessed", role, columns=group.shown, unit=_in_words(group.unit), reason="")
    yield from findings_on_gains(bool(layout.commands), "kp" in layout.commands)
    if layout.is_unsigned:
        yield Finding.of("torques-without-sign", "torque")
    if layout.is_zero:
        yield Finding.of("torques-zero", "torque")
    elif layout.silent:
        yield Finding.of("torques-silent", "drive.unmeasured", joints=list(layout.silent))
    yield from findings_on_drives(layout, robot)


def _in_words(unit: Unit) -> str:
    return unit if isinstance(unit, str) else ", ".join(unit)


def _findings_on_rest(resting: Mapping[str, tuple[float, float]]) -> Iterator[Finding]:
    if resting:
        yield Finding.of("joints-at-rest", "lock", joints={name: reach for name, (_, reach) in resting.items()})


def _findings_on_held(held: Sequence[str]) -> Iterator[Finding]:
    if held:
        yield Finding.of("joints-held", "lock", joints=list(held))


def _held_at(robot: Robot, name: str, answers: Answers) -> float:
    """Where a joint is held [rad or m]: as stated, at zero, or at the nearest limit."""
    stated = answers.lock.get(name)
    if stated is not None:
        return float(stated)
    return robot.joint(name).limits.rest


def _terms_line(layout: Layout) -> str:
    if layout.commands:
        return 'terms = ["armature", "viscous", "coulomb", "offset"]   # links are known by the robot file'
    return 'terms = "auto"   # friction terms chosen by the log; or a list: docs/terms.md'


def _text(made: FirstExperiment, folder: Path) -> str:
    robot = made.robot
    name = robot if robot.startswith("builtin:") else relative(Path(robot), folder)
    needed = [f for f in made.findings if f.severity is not Severity.NOTE]
    first, *others = made.layouts if made.series is None else [made.series.stated(made.layouts[0])]
    asked = {marked(question) for question in first.questions}
    rest = (
        replace(other, questions=tuple(q for q in other.questions if q.is_open or marked(q) not in asked), findings=())
        for other in others
    )
    logs = [
        [*log_lines(first, folder, needed, made.count if made.series else 1), ""],
        *([*log_lines(other, folder), ""] for other in rest),
    ]
    return "\n".join(
        [
            *header(made.name, made.files, is_open=bool(made.questions), is_needed=bool(needed)),
            f"robot = {quoted(name)}",
            *(["exact_frames = true   # as stated"] if made.exact_frames else []),
            _terms_line(first),
            *(['torque = "magnitude"   # no torque is negative: signs are recovered'] if made.is_unsigned else []),
            *lock_lines(made.held, made.resting, made.stated, made.base),
            "",
            *drive_table(first),
            *control_lines("kp" in first.commands or not first.commands),
            *(line for lines in logs for line in lines),
        ]
    )
