"""A first experiment from captures: a body with markers, and the force plates that it stands on."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from dynid.errors import InvalidRequestError
from dynid.experiment.first.experiment_text import comment, header, marked, quoted, relative
from dynid.experiment.first.first_experiment import FirstExperiment
from dynid.experiment.first.questions import Question
from dynid.findings import Finding
from dynid.logs import Capture, Progress, is_capture, read_capture
from dynid.logs.captures import findings_on_size, has_plates_alone, labels_in, of_robot, subjects_in
from dynid.robot import Robot, load_robot

OF_BODY = ("capture-mass-differs", "capture-size-differs", "capture-without-plates")
"""Codes of what makes results of another body, or none."""


@dataclass(frozen=True)
class CapturedExperiment(FirstExperiment):
    """A first experiment from captures.

    Attributes:
        captures: What was captured, as it is read; of a file of several persons, of the first of them.
        stated_keys: Keys of `capture` besides the files, with their values: "unit", "up" and "subject".
        plates: Tables of what the force plates of each measured, where these are files of their own.
        asked: What is open, or was guessed and should be looked at.
        body: Names of the joints of the robot.
    """

    captures: tuple[Capture, ...] = ()
    stated_keys: Mapping[str, str] | None = None
    plates: tuple[Path, ...] = ()
    asked: tuple[Question, ...] = ()
    body: tuple[str, ...] = ()

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints whose motion the markers show."""
        return self.body

    @property
    def count(self) -> int:
        """How many captures there are."""
        return len(self.files)

    @property
    def is_unsigned(self) -> bool:
        """Whether torques have no signs: there are none."""
        return False

    @property
    def questions(self) -> tuple[Question, ...]:
        """What is open, or should be looked at."""
        return self.asked

    @property
    def guesses(self) -> tuple[str, ...]:
        """What was noticed and mended, in sentences."""
        return tuple(f"{f.subject}: {f.text}" for f in self.findings if f.code not in OF_BODY)

    @property
    def needed(self) -> tuple[str, ...]:
        """What must be put right before results mean anything, in sentences."""
        return tuple(f"{f.subject}: {f.text}" for f in self.findings if f.code in OF_BODY)

    @property
    def held_out(self) -> tuple[tuple[Path, ...], int]:
        """The capture that is suggested to be held out for validation, the last one, and the line of its table."""
        lines = self.text.splitlines()
        return (self.files[-1],), len(lines) - lines[::-1].index("[[log]]")

    def written(self, folder: Path) -> str:
        """The experiment file, with paths relative to a folder."""
        logs = [line for k in range(len(self.files)) for line in ("", *self._log_lines(k, folder))]
        return "\n".join([*self._head(folder), *logs, ""])

    def _head(self, folder: Path) -> Iterator[str]:
        yield from header(self.name, self.files, is_open=bool(self.asked), is_needed=bool(self.needed))
        is_built_in = self.robot.startswith("builtin:")
        yield f"robot = {quoted(self.robot if is_built_in else relative(Path(self.robot), folder))}"
        yield "floating_base = true"
        yield from ["exact_frames = true   # as stated"] if self.exact_frames else []
        if self.held:
            yield f"lock = [{', '.join(map(quoted, self.held))}]   # as stated"
        yield "terms = []   # forces between links, such as friction, do not reach the force plates"

    def _log_lines(self, k: int, folder: Path) -> Iterator[str]:
        yield "[[log]]"
        if k < len(self.captures):
            capture = self.captures[k]
            yield comment(repr(capture).removeprefix(f"Capture '{capture.name}': "))
        if k == 0:
            yield from (comment(f"NEEDED: {text}") for text in self.needed)
            yield from map(marked, self.asked)
        keys = {"plates": relative(self.plates[k], folder)} if self.plates else {}
        keys |= dict(self.stated_keys or {})
        keys |= {question.key: question.guess for question in self.asked if question.guess is not None}
        file = quoted(relative(self.files[k], folder))
        is_open = any(question.is_open for question in self.asked)
        if not keys and not is_open:
            yield f"capture = {file}"
            return
        keys |= {question.key: question.candidates[0] for question in self.asked if question.is_open}
        table = ", ".join([f"file = {file}", *(f"{key} = {quoted(value)}" for key, value in keys.items())])
        yield f"{'# ' if is_open else ''}capture = {{ {table} }}"

    def __repr__(self) -> str:
        open_ = f", {len(self.asked)} open questions" if self.asked else ""
        plural = "" if self.count == 1 else "s"
        return f"FirstExperiment of {self.robot}: {len(self.body)} joints, {self.count} capture{plural}{open_}"


@dataclass(frozen=True, eq=False)
class _Looked:
    """A capture that was looked at, with what is asked about it."""

    capture: Capture | None
    asked: tuple[Question, ...]
    findings: tuple[Finding, ...]


def first_of_captures(
    source: str,
    files: Sequence[Path],
    *,
    folder: str | os.PathLike[str] = ".",
    lock: Mapping[str, float | None] | Sequence[str] | None = None,
    exact_frames: bool = False,
    unit: str | None = None,
    up: str | None = None,
    subject: str | None = None,
    progress: Progress,
) -> CapturedExperiment:
    """Look at a body and its captures, and write what an experiment of both looks like.

    Args:
        source: The robot, as `load_robot` takes it.
        files: The files of the captures, and tables of what force plates measured, where these are files of their own.
        folder: Folder that paths in the text are relative to.
        lock: Joints to lock at zero.
        exact_frames: Keep right angles that the robot's file rounds.
        unit: Unit of lengths, where files state it wrongly.
        up: The axis that points upward, where files state it wrongly.
        subject: Whose markers are wanted.
        progress: Callback; receives a short description of each step.

    Raises:
        RecordingError: If a capture cannot be read.
        InvalidRequestError: If files of columns are among captures, or no marker is of the robot.
    """
    files, plates = _files_of(files)
    locked = list(lock or ())
    robot = load_robot(source, floating_base=True, lock=locked, exact_frames=exact_frames)
    keys = {key: value for key, value in (("unit", unit), ("up", up), ("subject", subject)) if value is not None}
    looked = [_look_at(path, own, robot, keys, progress) for path, own in zip_longest(files, plates)]
    asked = {(one.code, one.key): one for each in looked for one in each.asked}
    findings = {(one.code, one.subject): one for each in looked for one in each.findings}
    axes = tuple(joint.name for joint in robot.axes)
    return CapturedExperiment(
        source,
        robot.name,
        files,
        (),
        dict.fromkeys(locked, 0.0),
        Path(folder),
        tuple(findings.values()),
        exact_frames,
        captures=tuple(one.capture for one in looked if one.capture is not None),
        stated_keys=keys,
        plates=plates,
        asked=tuple(asked.values()),
        body=axes,
    )


def _files_of(files: Sequence[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Files of captures, and those of their force plates, in the same order; none where captures have them, too.

    Raises:
        InvalidRequestError: If there are others, or not one for each capture.
    """
    captures = tuple(file for file in files if is_capture(file))
    plates = tuple(file for file in files if file not in captures and has_plates_alone(file))
    others = [file for file in files if file not in captures and file not in plates]
    if others:
        raise InvalidRequestError(
            f"{others[0].name} is no capture, and {captures[0].name} is one; init each kind alone"
        )
    if plates and len(plates) != len(captures):
        raise InvalidRequestError(
            f"{len(captures)} captures come with {len(plates)} tables of force plates; give one for each, in order"
        )
    return captures, plates


def _look_at(path: Path, plates: Path | None, robot: Robot, keys: Mapping[str, Any], progress: Progress) -> _Looked:
    """One capture, with what is asked about it."""
    subjects = () if "subject" in keys else subjects_in(labels_in(path, progress))
    asked = list[Question]()
    if len(subjects) > 1:
        finding = Finding.of("choose-subject", "capture", subjects=list(subjects))
        asked.append(Question(finding, "subject", tuple(subjects), None, f"--subject {subjects[0]}"))
        keys = {**keys, "subject": subjects[0]}
    capture = read_capture(path, plates=plates, progress=progress, **keys)
    fitted, notes = of_robot(robot, capture)
    findings = list(capture.findings)
    for finding in capture.findings:
        if finding.code in ("capture-up-guessed", "capture-axes-disagree"):
            axis = str(finding.values.get("axis") or finding.values["seen"])
            question = Finding.of("choose-up", "capture", evidence=finding.evidence)
            asked.append(Question(question, "up", (axis,), axis, f"--up {axis}"))
            findings.remove(finding)
    findings += [*notes, *findings_on_size(robot, fitted)]
    if not set(fitted.names) & _bodies(robot):
        names = ", ".join(fitted.names[:8])
        raise InvalidRequestError(
            f"no marker of {path.name} is a body of '{robot.name}' ({names}); add massless bodies of these names to "
            "its file, or name the robot whose markers they are (dynid convert human makes one with those of Plug-in "
            "Gait)"
        )
    if not capture.plates:
        findings.append(Finding.of("capture-without-plates", path.name))
    return _Looked(replace(capture, findings=()), tuple(asked), tuple(findings))


def _bodies(robot: Robot) -> set[str]:
    """Names of all bodies of a robot's file."""
    return {body.name for body in robot.description.bodies}
