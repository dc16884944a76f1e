"""Logs once more: what was measured beside what the model says, as it was used for the estimate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.config import Experiment, LogTable
from dynid.data.accumulation import RowFactors
from dynid.data.chunks import Chunk, checked
from dynid.data.recording import Recording
from dynid.data.signals import decimated
from dynid.data.timing import check_time
from dynid.model.dynamic_model import DynamicModel
from dynid.model.terms import Term
from dynid.pipeline import processing_of, recording_of, segments_of
from dynid.threads import single_threaded_blas

PIECE = 20_000
"""Samples that are predicted at a time."""


@dataclass(frozen=True, eq=False)
class Segment:
    """An even part of a log with what the model says of it.

    Attributes:
        time: Time since the log's first sample [s], shape (samples,).
        rate: Samples a second [Hz].
        q: Positions, shape (samples, nq).
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
        measured: Measured torques [N m or N], shape (samples, rows).
        predicted: What the model says, of the same shape.
        carried: The same without friction and offsets.
        keep: Rows that count for the estimate, of the same shape.
    """

    time: Array
    rate: float
    q: Array
    v: Array
    a: Array
    measured: Array
    predicted: Array
    carried: Array
    keep: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Replay:
    """A log that was read again.

    Attributes:
        name: The log's name, or that of its file.
        recording: What was logged, as it was logged.
        rate: Samples a second of the recording [Hz].
        cutoff: Above this [Hz] torques were filtered away; None where they were not.
        segments: Even parts of it, processed as for the estimate.
    """

    name: str
    recording: Recording
    rate: float
    cutoff: float | None
    segments: tuple[Segment, ...]


def replayed(experiment: Experiment, log: LogTable, model: DynamicModel, parameters: Array) -> Replay:
    """Read a log again and predict its torques.

    Where the estimate decimated, so do measured and predicted torques here: the same filter on both.

    Args:
        experiment: The experiment that the log is of.
        log: The log.
        model: The model.
        parameters: Standard parameters p, shape (parameters,).
    """
    recording = recording_of(log, model.robot)
    chunks, _ = segments_of(experiment, log, model.robot)
    logged_rate = check_time(recording.time).rate
    rate = experiment.processing.resample or logged_rate
    if experiment.processing.rate is not None:
        rate = rate / round(rate / experiment.processing.rate)
    start = experiment.processing.trim / (experiment.processing.resample or logged_rate)
    segments = []
    for chunk in chunks:
        segment = _predicted(model, chunk, parameters, start, rate)
        start = segment.time[-1] + 1.0 / rate
        thresholds = processing_of(experiment, model.robot).velocity_threshold
        segments.append(_counted(_thinned(segment, experiment.processing.decimate), thresholds, model))
    name = log.name or Path(log.position.file).name
    return Replay(name, recording, logged_rate, experiment.processing.torque_lowpass, tuple(segments))


def is_frictional(term: Term) -> bool:
    """Whether a term depends on velocity only, or on nothing: what is drawn as friction."""
    return term.needs <= {"v"}


def friction_columns(model: DynamicModel) -> list[int]:
    """Indices of the parameters of such terms."""
    found, column = [], len(model.names) - sum(len(term.parameters(model.robot)) for term in model.terms)
    for term in model.terms:
        count = len(term.parameters(model.robot))
        found += list(range(column, column + count)) if is_frictional(term) else []
        column += count
    return found


def _predicted(model: DynamicModel, chunk: Chunk, parameters: Array, start: float, rate: float) -> Segment:
    rows = RowFactors(model)
    without = parameters.copy()
    without[friction_columns(model)] = 0.0
    whole, carried = rows.predictors(parameters), rows.predictors(without)
    predicted: list[tuple[Array, Array]] = []
    for piece in _pieces(checked(model, chunk)):
        with single_threaded_blas():
            matrices = rows.matrices(piece)
            both = [
                np.stack([W[:, :-1] @ b for W, b in zip(matrices, values, strict=True)], axis=1)
                for values in (whole, carried)
            ]
        predicted.append((both[0], both[1]))
    return Segment(
        time=start + np.arange(len(chunk)) / rate,
        rate=rate,
        q=chunk.q,
        v=chunk.v,
        a=chunk.a,
        measured=chunk.torque,
        predicted=np.concatenate([pair[0] for pair in predicted]),
        carried=np.concatenate([pair[1] for pair in predicted]),
        keep=np.ones(chunk.torque.shape, dtype=bool),
    )


def _pieces(chunk: Chunk) -> Iterator[Chunk]:
    for first in range(0, len(chunk), PIECE):
        yield chunk[first : first + PIECE]


def _thinned(segment: Segment, factors: tuple[int, ...]) -> Segment:
    step = int(np.prod(factors)) if factors else 1
    if step == 1:
        return segment
    q, v, a, measured, predicted, carried = (
        decimated(x, factors)
        for x in (segment.q, segment.v, segment.a, segment.measured, segment.predicted, segment.carried)
    )
    keep = np.ones(measured.shape, dtype=bool)
    return Segment(segment.time[::step], segment.rate / step, q, v, a, measured, predicted, carried, keep)


def _counted(segment: Segment, thresholds: tuple[float, ...] | None, model: DynamicModel) -> Segment:
    """The segment with rows that are slower than the thresholds marked as not counting."""
    if thresholds is None:
        return segment
    return replace(segment, keep=np.abs(segment.v[:, model.rows]) >= np.array(thresholds)[model.rows])
