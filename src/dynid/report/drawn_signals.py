"""What is drawn of logs: torques, friction and spectra with fewer points, without losing an extreme."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation import Replay, Segment
from dynid.logs import Log
from dynid.model import DynamicModel

Indices = NDArray[np.intp]

BUCKETS = 1500
"""Buckets of a drawn line over all logs: two points each."""

CLOUD = 1200
"""Points of the cloud behind a friction curve."""


@dataclass(frozen=True, eq=False)
class Line:
    """A signal with fewer points; NaN where segments end.

    Attributes:
        time: Time [s], shape (points,).
        values: Values, shape (points,).
    """

    time: Array
    values: Array


@dataclass(frozen=True, eq=False)
class JointTrace:
    """Torques of one row of the dynamics over time [N m or N]."""

    measured: Line
    predicted: Line
    residual: Line


@dataclass(frozen=True, eq=False)
class Cloud:
    """Friction of one row as measured: the torque less the predicted gravity and inertia torques.

    Attributes:
        velocity: Velocities [rad/s or m/s], shape (points,).
        torque: Torques [N m or N], shape (points,).
    """

    velocity: Array
    torque: Array


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Amplitude densities of a signal of each row.

    Attributes:
        frequency: Frequencies [Hz] of each row.
        amplitude: Roots of the power spectral densities, in units of the signal per root hertz.
    """

    frequency: tuple[Array, ...]
    amplitude: tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class Signals:
    """All that is drawn of some logs.

    Attributes:
        names: Names of the logs.
        starts: Where each log begins on the common time axis [s].
        samples: Number of samples of all logs.
        factor: Largest number of samples per drawn point.
        traces: Torques of each row.
        clouds: Friction of each row.
        positions: Spectrum of the positions of the first log, as logged.
        torques: Spectrum of its torques, as logged.
        residuals: Spectrum of the residuals of its processed torques.
        posture: Middle of the motion, shape (nq,).
    """

    names: tuple[str, ...]
    starts: tuple[float, ...]
    samples: int
    factor: int
    traces: tuple[JointTrace, ...]
    clouds: tuple[Cloud, ...]
    positions: Spectrum
    torques: Spectrum
    residuals: Spectrum
    posture: Array


def drawn(replays: Iterable[Replay], logs: int, model: DynamicModel, rng: np.random.Generator) -> Signals:
    """Reduce logs to what is drawn, one after the other; nothing else of them is kept in memory.

    Args:
        replays: The logs.
        logs: How many there are.
        model: The model.
        rng: Chooses the points of clouds.
    """
    names, starts, samples, factor, first = [], [], 0, 1, None
    pieces: list[list[tuple[Line, Line, Line]]] = [[] for _ in range(model.row_count)]
    clouds: list[list[Cloud]] = [[] for _ in range(model.row_count)]
    middles, start = [], 0.0
    for replay in replays:
        count = sum(len(segment.time) for segment in replay.segments)
        names.append(_name(replay.log, len(names) + 1))
        starts.append(start)
        for segment in replay.segments:
            share = len(segment.time) / count / logs
            buckets = max(int(BUCKETS * share), 2)
            factor = max(factor, -(-len(segment.time) // (2 * buckets)))
            for row in range(model.row_count):
                pieces[row].append(_lines(segment, row, start, buckets))
                clouds[row].append(_cloud(segment, row, model, max(int(CLOUD * share), 50), rng))
            middles.append(0.5 * (segment.q.min(axis=0) + segment.q.max(axis=0)))
        samples += count
        start += replay.segments[-1].time[-1] + 1.0
        if first is None:
            first = _spectra(replay)
    if first is None:
        raise ValueError("there are no logs to draw")
    return Signals(
        tuple(names),
        tuple(starts),
        samples,
        factor,
        tuple(JointTrace(*(_joined([piece[k] for piece in of_row]) for k in range(3))) for of_row in pieces),
        tuple(
            Cloud(np.concatenate([c.velocity for c in of_row]), np.concatenate([c.torque for c in of_row]))
            for of_row in clouds
        ),
        *first,
        np.mean(middles, axis=0),
    )


def _name(log: Log, number: int) -> str:
    return log.name or (log.source[0].name if log.source else f"log {number}")


def _lines(segment: Segment, row: int, start: float, buckets: int) -> tuple[Line, Line, Line]:
    measured, predicted = segment.measured[:, row], segment.predicted[:, row]

    def line(values: Array, time: Array) -> Line:
        chosen = extreme_indices(values, buckets)
        return Line(start + time[chosen], values[chosen])

    counts = segment.keep[:, row]
    residual = line((measured - predicted)[counts], segment.time[counts])
    return line(measured, segment.time), line(predicted, segment.time), residual


def _joined(lines: Sequence[Line]) -> Line:
    """Lines one after the other, with a gap between them."""
    gap = np.array([np.nan])
    time = np.concatenate([part for line in lines for part in (line.time, line.time[-1:])])
    return Line(time, np.concatenate([part for line in lines for part in (line.values, gap)]))


def _cloud(segment: Segment, row: int, model: DynamicModel, points: int, rng: np.random.Generator) -> Cloud:
    chosen = spread_indices(len(segment.time), points, rng)
    v = segment.v[:, model.rows][chosen, row]
    return Cloud(v, (segment.measured - segment.carried)[chosen, row])


def _spectra(replay: Replay) -> tuple[Spectrum, Spectrum, Spectrum]:
    longest = max(replay.segments, key=lambda segment: len(segment.time))
    return (
        spectrum(replay.log.position, replay.rate),
        spectrum(replay.log.torque, replay.rate),
        spectrum(np.where(longest.keep, longest.measured - longest.predicted, 0.0), longest.rate),
    )


def spectrum(signals: Array, rate: float) -> Spectrum:
    """Amplitude densities by Welch's method; signals of shape (samples, rows)."""
    from scipy.signal import welch

    frequency, power = welch(signals, rate, nperseg=min(len(signals), 8192), axis=0, detrend="linear")
    reduced = [peaks_by_decade(frequency[1:], np.sqrt(power[1:, row])) for row in range(signals.shape[1])]
    return Spectrum(tuple(pair[0] for pair in reduced), tuple(pair[1] for pair in reduced))


def extreme_indices(y: Array, buckets: int) -> Indices:
    """Samples to draw: of each of some buckets of neighbours the smallest and the largest.

    A line through them covers what a line through all samples covers, so no peak is lost.

    Args:
        y: A signal, shape (samples,).
        buckets: How many buckets.

    Returns:
        Indices in ascending order, at most two per bucket; all where there are no more samples than that.

    >>> extreme_indices(np.array([0.0, 5.0, 1.0, 2.0, -3.0, 0.0, 1.0, 1.0]), 2).tolist()
    [0, 1, 4, 6]
    """
    if len(y) <= 2 * buckets:
        return np.arange(len(y))
    edges = np.linspace(0, len(y), buckets + 1).astype(np.intp)
    width = int(np.diff(edges).max())
    rows = np.minimum(edges[:-1, None] + np.arange(width), edges[1:, None] - 1)
    values = y[rows]
    first = np.arange(len(rows))
    pairs = np.stack([rows[first, values.argmin(axis=1)], rows[first, values.argmax(axis=1)]])
    return np.unique(pairs)


def spread_indices(count: int, wanted: int, rng: np.random.Generator) -> Indices:
    """Samples to draw of a cloud: a random choice of so many, in ascending order; all where there are fewer."""
    if count <= wanted:
        return np.arange(count)
    return np.sort(rng.choice(count, wanted, replace=False))


def peaks_by_decade(frequency: Array, amplitude: Array, points: int = 300) -> tuple[Array, Array]:
    """A spectrum on a logarithmic axis with fewer points: of each of some buckets the largest amplitude.

    Args:
        frequency: Frequencies [Hz], ascending and positive, shape (n,).
        amplitude: Amplitudes, shape (n,).
        points: How many buckets.
    """
    if len(frequency) <= points:
        return frequency, amplitude
    edges = np.geomspace(frequency[0], frequency[-1] * (1 + 1e-9), points + 1)
    bucket = np.searchsorted(edges, frequency, side="right")
    starts = np.flatnonzero(np.diff(bucket, prepend=-1))
    stops = [*starts[1:], len(frequency)]
    best = [start + int(np.argmax(amplitude[start:stop])) for start, stop in zip(starts, stops, strict=True)]
    return frequency[best], amplitude[best]
