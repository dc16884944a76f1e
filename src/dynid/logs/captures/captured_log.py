"""A capture to the log of a body with a floating base: motion by its markers, contacts by its force plates."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dynid.arrays import Array, Flags
from dynid.errors import InvalidRequestError
from dynid.findings import Finding
from dynid.logs import Contact, Log, LogSource, Progress, RecordingError
from dynid.logs.captures import Capture, MarkerMotion, contacts_of_plates, motion_of_markers, of_robot, read_capture
from dynid.logs.floating_body import base_positions, contact_torques
from dynid.logs.processing.signals import lowpass
from dynid.logs.quaternions import with_steady_signs
from dynid.model import DynamicModel
from dynid.robot import Robot


@dataclass(frozen=True)
class UnmeasuredContactThresholds:
    """When a part of the weight rests on something that was not measured.

    Shown by `tests/logs/captures/test_captured_log.py`: a foot beside the plates, and none.
    """

    lacking: float = 0.35
    """Vertical force that is lacking, in weights of the robot file, from which something else carries it: files are off
    by less. Calibrated on good captures."""

    shortest: float = 0.08
    """Time [s] that it lacks at least. By judgement."""

    around: float = 0.1
    """Time [s] before and after such a stretch that does not count either: the foot is put down then. By judgement."""

    most: float = 0.8
    """Share of the samples up to which such stretches are left out; where force is lacking in more of them, it is
    something else, such as a unit. By judgement."""

    cutoff: float = 6.0
    """Cut-off frequency [Hz] of the motion that this is looked at with. By judgement."""


THRESHOLDS = UnmeasuredContactThresholds()


def log_of_capture(
    robot: Robot, capture: Capture, motion: MarkerMotion | None = None, *, name: str | None = None
) -> Log:
    """The log of a body with a floating base: joint positions, the pose of the base, and contacts with their wrenches.

    Samples in which markers do not show the motion, or a foot stands beside the plates, are left out; findings say how
    many. The log is at the markers' times, with the wrenches of the plates without what is too fast for them.

    Args:
        robot: The robot, whose file has the markers as bodies, such as `dynid.human(...)`.
        capture: Markers and force plates, such as `dynid.read_capture` gives.
        motion: The motion of the markers, where it is known; found by inverse kinematics when None.
        name: What the log is called in reports; the name of the capture when None.

    Raises:
        InvalidRequestError: If the base of the robot is fixed, no marker is of the robot, or no plate is loaded.
    """
    if not robot.has_floating_base:
        raise InvalidRequestError(
            f"the base of '{robot.name}' is fixed, and a capture shows bodies that move freely; load the robot with "
            "floating_base=True (floating_base = true in the experiment)"
        )
    findings = tuple[Finding, ...]()
    if motion is None:
        capture, findings = of_robot(robot, capture)
        motion = motion_of_markers(robot, capture)
    seen = np.asarray(np.isfinite(np.hstack([motion.position, motion.base_pose])).all(axis=1))
    if not seen.any():
        raise InvalidRequestError(f"no sample of '{capture.name}' shows the whole motion of '{robot.name}'")
    q = _positions(robot, capture.time, motion, seen)
    contacts, notes = contacts_of_plates(robot, q, capture)
    lacking = _lacking(robot, capture.time, q, contacts)
    findings += (*motion.findings, *notes, *_findings(capture, seen, lacking))
    if np.mean(lacking) < THRESHOLDS.most:
        seen &= ~lacking
    own = np.where(seen[:, None], motion.position, np.nan), np.where(seen[:, None], motion.base_pose, np.nan)
    others: dict[str, Any] = {"contacts": contacts, "base_pose": own[1], "findings": (*capture.findings, *findings)}
    return Log.with_gaps(
        capture.time, own[0], name=capture.name if name is None else name, source=capture.source, **others
    )


def log_of_source(source: LogSource, robot: Robot | None, progress: Progress) -> Log:
    """The log of the capture that `[[log]]` states.

    Args:
        source: Where it is, and which part to read.
        robot: The robot, whose file has the markers.
        progress: Callback; receives a short description of each step.

    Raises:
        InvalidRequestError: If there is no robot, or the log cannot be made.
        RecordingError: If the file cannot be read, or nothing remains of a cut.
    """
    stated = source.capture
    assert stated is not None
    if robot is None:
        raise InvalidRequestError("a capture becomes a log with the robot whose markers it has; give the robot")
    options: dict[str, Any] = {} if stated.longest_gap is None else {"longest_gap": stated.longest_gap}
    options["unit"] = stated.unit if isinstance(stated.unit, str | None) else stated.unit[0]
    options |= {"up": stated.up, "subject": stated.subject, "name": source.name}
    options |= {} if stated.plates is None else {"plates": stated.plates.path}
    capture = read_capture(stated.path, progress=progress, **options)
    progress(f"{capture.name}: inverse kinematics")
    found = log_of_capture(robot, _cut(capture, source))
    return replace(found, weight=source.weight, load=source.carried, static=source.static)


def _cut(capture: Capture, source: LogSource) -> Capture:
    """The part of a capture that a log states.

    Raises:
        RecordingError: If nothing remains.
    """
    if source.rows is None and source.seconds is None:
        return capture
    kept = np.ones(len(capture), dtype=bool)
    if source.rows is not None:
        inside = np.zeros(len(capture), dtype=bool)
        inside[slice(*source.rows)] = True
        kept &= inside
    if source.seconds is not None:
        first, last = source.seconds
        kept &= (capture.time >= (-np.inf if first is None else first)) & (
            capture.time < (np.inf if last is None else last)
        )
    if not kept.any():
        raise RecordingError(capture.source[0], f"none of its {len(capture)} samples remains of the cut")
    return capture.at(kept)


def _positions(robot: Robot, time: Array, motion: MarkerMotion, seen: Flags) -> Array:
    """Positions of the whole robot at all samples, shape (samples, nq); where they are not known, those between."""
    whole = np.hstack([with_steady_signs(base_positions(robot, motion.base_pose[seen])), motion.position[seen]])
    return robot.normalised(np.column_stack([np.interp(time, time[seen], column) for column in whole.T]))


def _lacking(robot: Robot, time: Array, q: Array, contacts: tuple[Contact, ...]) -> Flags:
    """Samples in which far more force holds the body up than was measured, shape (samples,)."""
    nothing = np.zeros(len(time), dtype=bool)
    if len(time) < 30 or not robot.gravity.any() or not all(robot.links[i].has_inertia for i in robot.solid_links):
        return nothing
    rate = 1.0 / float(np.median(np.diff(time)))
    smooth = lowpass(q, rate, min(THRESHOLDS.cutoff, 0.3 * rate))
    first = np.gradient(smooth, time, axis=0)
    states = robot.motion_of(smooth, first, np.gradient(first, time, axis=0))
    needed = DynamicModel(robot).inverse_dynamics(*states)[:, :3]
    measured = np.sum([contact_torques(robot, one, states[0])[:, :3] for one in contacts], axis=0)
    mass = float(sum(robot.links[i].parameters[0] for i in robot.solid_links))
    weight = mass * float(np.linalg.norm(robot.gravity))
    missing = np.linalg.norm(needed, axis=1) - np.linalg.norm(measured, axis=1) > THRESHOLDS.lacking * weight
    for first_row, last in _runs(missing):
        if (last - first_row) / rate >= THRESHOLDS.shortest:
            margin = round(THRESHOLDS.around * rate)
            nothing[max(0, first_row - margin) : last + margin] = True
    return nothing


def _findings(capture: Capture, seen: Flags, lacking: Flags) -> Iterator[Finding]:
    """What of a capture does not count."""
    if not seen.all():
        yield Finding.of("capture-samples-unseen", "markers", share=float(1.0 - seen.mean()))
    if lacking.any() and np.mean(lacking) < THRESHOLDS.most:
        at = float(capture.time[np.flatnonzero(lacking)[0]])
        yield Finding.of("foot-beside-plates", "force plates", share=float(lacking.mean()), at=at)


def _runs(mask: Flags) -> Iterator[tuple[int, int]]:
    """Runs of true values: the first sample, and the first after them."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
