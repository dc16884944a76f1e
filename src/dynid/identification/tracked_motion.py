"""A motion that a log shows, with the torques that a model leaves unexplained on it: what simulated controllers track.

The residuals are held out: those of a log that the model was not identified from, or of stretches of its own logs, each
with a model that was fitted to all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Flags
from dynid.errors import DynidError, InvalidRequestError
from dynid.estimation import Replay, Segment, replayed
from dynid.excitation import Trajectory
from dynid.identification.held_out_logs import UnseenLog, unseen_logs
from dynid.identification.log_reading import name_of
from dynid.identification.observed_logs import ObservedLog, held_out_stretches
from dynid.identification.result import Result
from dynid.logs import Log
from dynid.model import loaded
from dynid.robot import Load, with_carried

Progress = Callable[[str], None]

FEWEST_SAMPLES = 20
"""Samples below which a log shows no motion to follow."""

LEAD_IN = 1.0
"""Time [s] in which a simulated robot comes from rest to the motion, and the disturbance fades in."""

EDGE = 3
"""Decimated samples at both ends of a part that are left out: the filter reaches beyond the part there."""


@dataclass(frozen=True, eq=False)
class TrackedMotion:
    """A part of a log as a motion to follow.

    Attributes:
        name: What the log is called.
        held_out: "log" where the model was not identified from it; "stretches" where residuals are those of models that
            were fitted to the other stretches.
        start: Where the part begins, since the first sample of the log [s].
        trajectory: The motion.
        time: Times since its beginning [s], shape (samples,).
        residual: Torques that the model leaves unexplained at these times [N m or N], shape (samples, nv).
        largest: Largest measured torque of each joint [N m or N], shape (nv,).
    """

    name: str
    held_out: str
    start: float
    trajectory: Trajectory
    time: Array
    residual: Array
    largest: Array

    def disturbance(self, times: Array) -> Array:
        """What acts on a robot that has the model's parameters, so that it is as measured [N m or N].

        Args:
            times: Times since the motion began [s], shape (samples,). Before, the first value fades in.

        Returns:
            Torques at the joints, shape (samples, nv).
        """
        faded = np.clip(1.0 + times / LEAD_IN, 0.0, 1.0)[:, None]
        torques = np.stack([np.interp(times, self.time, column) for column in self.residual.T], axis=1)
        return -(faded**2 * (3.0 - 2.0 * faded)) * torques


def motion_of_logs(
    result: Result,
    logs: Sequence[Log | str | Path | UnseenLog],
    parameters: Array,
    seconds: float,
    *,
    physical: bool,
    progress: Progress = lambda _: None,
) -> TrackedMotion:
    """The longest even part of some logs as a motion to follow.

    Args:
        result: The result.
        logs: Logs that it was not identified from; where there are none, its longest own one, in stretches.
        parameters: Standard parameters p that residuals are of, shape (parameters,).
        seconds: Longest duration [s].
        physical: Whether these are of physically consistent links: so are those that are fitted to other stretches.
        progress: Callback; receives a short description of each step.

    Raises:
        InvalidRequestError: If no log can be used; says why.
    """
    if not logs:
        return _own_motion(result, seconds, physical=physical, progress=progress)
    motions = []
    for one in unseen_logs(result, logs, progress):
        name = one.log.name or next((Path(file).name for file in one.log.source), "the log")
        if one.used:
            raise InvalidRequestError(
                f"the result was identified from '{name}', whose residuals are too small; without a log, its stretches "
                "are held out in turn (dynid report RESULT --control, in Python result.track())"
            )
        replay = replayed(one.log, one.prepared, result.model, parameters)
        motions.append(_longest(replay, name, "log", seconds, None))
    return max(motions, key=lambda motion: motion.trajectory.duration)


def _own_motion(result: Result, seconds: float, *, physical: bool, progress: Progress) -> TrackedMotion:
    logs = result.task.logs
    moving = [k for k, source in enumerate(logs) if not source.static]
    if not moving:
        raise InvalidRequestError(
            "the result has no log of motion that can be read again (logs in memory are not saved); name a log that "
            "was not used: dynid validate RESULT LOG --control (in Python: result.track(log))"
        )
    try:
        held = list(held_out_stretches(result, physical=physical, progress=progress))
    except DynidError as error:  # stretches may be too short for the filters, or not determine all parameters
        raise InvalidRequestError(
            "the logs of this result cannot be held out from its fit in parts, and residuals of the fit itself are too "
            "small; name a log that was not used: dynid validate RESULT LOG --control (in Python: result.track(log))"
        ) from error
    number = max(moving, key=lambda k: _length(held[k]))
    (replay,) = result.replays(progress, [number])
    name = name_of(logs[number], number + 1)
    return _longest(replay, name, "stretches", seconds, _Corrections(result, held[number]))


def _length(log: ObservedLog) -> float:
    return float(log.signals.time[-1] - log.signals.time[0])


@dataclass(frozen=True, eq=False)
class _Corrections:
    """From the residuals of a fit to those of models that were fitted without each stretch of time."""

    result: Result
    held: ObservedLog

    def added(self, replay: Replay, time: Array, states: Sequence[Array]) -> tuple[Array, Flags]:
        """What is added to residuals at times of the log [s], shape (samples, nv); and where there is a model."""
        model, load = self.result.model, replay.log.load
        fitted = self.result.standard_parameters()
        carried = np.zeros_like(fitted)
        if isinstance(load, Load):  # taken out of the torques, and part of the parameters of stretches
            carried = with_carried(carried, load, self.result.robot)
        added, known = np.zeros((len(time), model.robot.nv)), np.zeros(len(time), dtype=bool)
        for stretch in self.held.stretches:
            own = (time >= stretch.first) & (time < stretch.last)
            change = fitted - (stretch.parameters - carried)
            q, v, a = (x[own] for x in states)
            added[own] = model.inverse_dynamics(q, v, a, change)
            known |= own
        return added, known


def _longest(
    replay: Replay, name: str, held_out: str, seconds: float, corrections: _Corrections | None
) -> TrackedMotion:
    """The longest even part of a log; residuals are those of its processed rows, with straight lines between."""
    number, segment = _longest_segment(replay, name)
    edge = EDGE if replay.prepared.processing.decimate else 0  # rows that the filter of decimation spoils
    time = segment.time[edge : len(segment.time) - edge]
    own = slice(edge, edge + max(2, int(np.searchsorted(time, time[0] + seconds))))
    time, q, v, a = (x[own] for x in (segment.time, segment.q, segment.v, segment.a))
    residual, keep = (segment.measured - segment.predicted)[own], segment.keep[own]
    if corrections is not None:
        added, known = corrections.added(replay, time, (q, v, a))
        residual, keep = residual + added, keep & known[:, None]
    return TrackedMotion(
        name=name,
        held_out=held_out,
        start=float(time[0]),
        trajectory=_every_sample(replay, number, time[0], time[-1]),
        time=time - time[0],
        residual=_filled(time, residual, keep),
        largest=np.abs(segment.measured[own]).max(axis=0),
    )


def _every_sample(replay: Replay, number: int, first: float, last: float) -> Trajectory:
    """The motion of a segment between two times of the log [s], at the rate before rows were decimated."""
    segment, chunk = replay.segments[number], loaded(replay.prepared.segments[number])
    step = int(np.prod(replay.prepared.processing.decimate or (1,)))
    time = segment.time[0] + np.arange(len(chunk)) / (step * segment.rate)
    own = (time >= first - 1e-9) & (time <= last + 1e-9)
    return Trajectory(time[own], chunk.q[own])


def _longest_segment(replay: Replay, name: str) -> tuple[int, Segment]:
    if isinstance(replay.log.load, str):
        raise InvalidRequestError(
            f"'{name}' carries the load '{replay.log.load}', which is not known; use a log without it, or "
            "state the load"
        )
    number = max(range(len(replay.segments)), key=lambda k: len(replay.segments[k].time), default=-1)
    if number < 0 or len(replay.segments[number].time) < FEWEST_SAMPLES:
        raise InvalidRequestError(f"'{name}' has no even part of {FEWEST_SAMPLES} samples to follow; use another log")
    return number, replay.segments[number]


def _filled(time: Array, values: Array, keep: Iterable[Flags]) -> Array:
    """Values where rows count, and straight lines between: of slow joints, friction is not a number."""
    columns = zip(values.T, np.transpose(list(keep)), strict=True)
    filled = [np.interp(time, time[own], column[own]) if own.any() else np.zeros_like(time) for column, own in columns]
    return np.stack(filled, axis=1)
