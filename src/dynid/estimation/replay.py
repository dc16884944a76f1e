"""Logs with predictions: measured torques beside those of the model, processed as for the estimate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dynid.arrays import Array, Flags
from dynid.estimation.factors.decimation import counted_rows
from dynid.logs import Log, PreparedLog, check_time, decimated, sample_of, step_of, stretches_of
from dynid.machine import single_threaded_blas
from dynid.model import Chunk, DynamicModel, Term, TorqueRows, checked, loaded

if TYPE_CHECKING:
    from dynid.logs import StoredLog

PREDICTED_SAMPLES = 20_000
"""Samples that are predicted at a time."""


@dataclass(frozen=True, eq=False)
class Segment:
    """An even part of a log with what the model says of it.

    Attributes:
        time: Time since the log's first sample [s], shape (samples,).
        rate: Sampling rate [Hz].
        q: Positions, shape (samples, nq).
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
        measured: Measured torques [N m or N], shape (samples, rows).
        predicted: What the model says, of the same shape.
        carried: The same without friction and offsets.
        was_measured: Rows that anything was measured of, of the same shape.
        keep: Rows that count for the estimate, of the same shape: none that was not measured.
    """

    time: Array
    rate: float
    q: Array
    v: Array
    a: Array
    measured: Array
    predicted: Array
    carried: Array
    was_measured: Flags
    keep: Flags


@dataclass(frozen=True, eq=False)
class Replay:
    """A log with what a model predicts.

    Attributes:
        log: The log, as it was logged; stretches of a long one.
        prepared: The same, ready for the model.
        samples: Samples of the whole log.
        seconds: How long it is [s].
        rate: Sampling rate of the log [Hz].
        cutoff: Above this [Hz] torques were filtered away; None where they were not.
        segments: Even parts of it, processed as for the estimate.
    """

    log: Log
    prepared: PreparedLog
    samples: int
    seconds: float
    rate: float
    cutoff: float | None
    segments: tuple[Segment, ...]


def replayed(log: Log | StoredLog, prepared: PreparedLog, model: DynamicModel, parameters: Array) -> Replay:
    """Predict the torques of a log.

    Where the estimate decimated, so do measured and predicted torques here: the same filter on both.

    Args:
        log: The log.
        prepared: The same, ready for the model.
        model: The model.
        parameters: Standard parameters p, shape (parameters,).
    """
    ends = [float(log[k : k + 1].time[0]) for k in (0, len(log) - 1)]
    samples, log, (prepared,) = len(log), stretches_of(log), sample_of([prepared])
    processing = prepared.processing
    rate = prepared.sampling / step_of(prepared.sampling, processing.rate)
    segments = []
    for chunk, stamps in zip(map(loaded, prepared.segments), prepared.times, strict=True):
        segment = _predicted(model, chunk, parameters, float(stamps[0] - ends[0]), rate)
        segment = _decimated(segment, processing.decimate)
        keep = counted_rows(model.row_names, processing, segment.v[:, model.rows], segment.was_measured)
        segments.append(replace(segment, keep=keep))
    logged = check_time(log.time).rate
    return Replay(log, prepared, samples, ends[1] - ends[0], logged, processing.torque_lowpass, tuple(segments))


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
    rows = TorqueRows(model)
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
        was_measured=(every := np.ones(chunk.torque.shape, dtype=bool) if chunk.measured is None else chunk.measured),
        keep=every,
    )


def _pieces(chunk: Chunk) -> Iterator[Chunk]:
    for first in range(0, len(chunk), PREDICTED_SAMPLES):
        yield chunk[first : first + PREDICTED_SAMPLES]


def _decimated(segment: Segment, factors: tuple[int, ...]) -> Segment:
    step = int(np.prod(factors)) if factors else 1
    if step == 1:
        return segment
    q, v, a, measured, predicted, carried = (
        decimated(x, factors)
        for x in (segment.q, segment.v, segment.a, segment.measured, segment.predicted, segment.carried)
    )
    seen = segment.was_measured[::step]
    return Segment(segment.time[::step], segment.rate / step, q, v, a, measured, predicted, carried, seen, seen)
