"""What is drawn of logs: torques, friction and spectra with fewer points, without losing an extreme."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.estimation import Replay, Segment
from dynid.model import DynamicModel
from dynid.report.drawn_lines import (
    Flags,
    Line,
    broken_line,
    joined,
    peaks_by_decade,
    spread_indices,
    standing,
    sticking_outlines,
)
from dynid.robot import CHANNELS, Robot

BUCKETS = 1500
"""Buckets of a drawn line over all logs: two points each."""

DRAWN = 20
"""Logs that are drawn and listed one by one; of more, those with the largest errors."""

CLOUD = 1200
"""Points of the cloud behind a friction curve."""


@dataclass(frozen=True, eq=False)
class JointTrace:
    """Torques of one row of the dynamics over time [N m or N].

    Attributes:
        measured: As measured.
        predicted: As predicted while the joint moves; a gap where it sticks.
        sticking: Outlines of what the model allows where the joint sticks, with NaN between them; empty where it does
            not, or where the model has no dry friction.
        residual: Of the rows that count for the estimate.
    """

    measured: Line
    predicted: Line
    sticking: Line
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
        names: Whose signals they are, where they are not those of the rows.
    """

    frequency: tuple[Array, ...]
    amplitude: tuple[Array, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class DrawnLog:
    """A log that is drawn.

    Attributes:
        name: Its name.
        start: Where it begins on the common time axis [s].
        seconds: From its first to its last sample [s], as logged.
        rate: Its sampling rate [Hz], as logged.
        samples: Its number of samples, as logged.
    """

    name: str
    start: float
    seconds: float
    rate: float
    samples: int


@dataclass(frozen=True, eq=False)
class Signals:
    """All that is drawn of some logs.

    Attributes:
        logs: The logs.
        samples: Number of processed samples of all logs.
        factor: Largest number of samples per drawn point.
        traces: Torques of each row.
        clouds: Friction of each row.
        positions: Spectrum of the positions of the first log, as logged.
        torques: Spectrum of its torques, as logged.
        residuals: Spectrum of the residuals of its processed torques.
        posture: Middle of the motion, shape (nq,).
    """

    logs: tuple[DrawnLog, ...]
    samples: int
    factor: int
    traces: tuple[JointTrace, ...]
    clouds: tuple[Cloud, ...]
    positions: Spectrum
    torques: Spectrum
    residuals: Spectrum
    posture: Array

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the logs."""
        return tuple(log.name for log in self.logs)


def drawn(
    replays: Iterable[Replay], logs: int, model: DynamicModel, parameters: Array, rng: np.random.Generator
) -> Signals:
    """Reduce logs to what is drawn, one after the other; nothing else of them is kept in memory.

    Args:
        replays: The logs.
        logs: How many there are.
        model: The model.
        parameters: Standard parameters p of the prediction, shape (parameters,).
        rng: Chooses the points of clouds.
    """
    shown: list[DrawnLog] = []
    samples, factor, first = 0, 1, None
    pieces: list[list[tuple[Line, ...]]] = [[] for _ in range(model.row_count)]
    clouds: list[list[Cloud]] = [[] for _ in range(model.row_count)]
    middles, start = [], 0.0
    for replay in replays:
        count = sum(len(segment.time) for segment in replay.segments)
        shown.append(_shown_log(replay, start, len(shown) + 1))
        for segment in replay.segments:
            share = len(segment.time) / count / logs
            buckets = max(int(BUCKETS * share), 2)
            factor = max(factor, -(-len(segment.time) // (2 * buckets)))
            still = standing(segment, model, replay.prepared.processing.thresholds)
            for row in range(model.row_count):
                outline = sticking_outlines(segment, row, model, parameters, still, buckets)
                lines = _lines(segment, row, still[:, row] & bool(len(outline.time)), buckets)
                pieces[row].append(tuple(Line(start + one.time, one.values) for one in (*lines, outline)))
                clouds[row].append(_cloud(segment, row, model, max(int(CLOUD * share), 50), rng))
            middles.append(0.5 * (segment.q.min(axis=0) + segment.q.max(axis=0)))
        samples += count
        start += max(segment.time[-1] for segment in replay.segments) + 1.0
        if first is None:
            first = _spectra(replay, model)
    if first is None:
        raise ValueError("there are no logs to draw")
    return Signals(
        tuple(shown),
        samples,
        factor,
        tuple(_trace(of_row) for of_row in pieces),
        tuple(
            Cloud(np.concatenate([c.velocity for c in of_row]), np.concatenate([c.torque for c in of_row]))
            for of_row in clouds
        ),
        *first,
        model.robot.normalised(np.mean(middles, axis=0)[None])[0],
    )


def _shown_log(replay: Replay, start: float, number: int) -> DrawnLog:
    log = replay.log
    name = log.name or (log.source[0].name if log.source else f"log {number}")
    return DrawnLog(name, start, replay.seconds, replay.rate, replay.samples)


def _trace(pieces: Sequence[tuple[Line, ...]]) -> JointTrace:
    measured, predicted, residual, sticking = (joined([piece[k] for piece in pieces]) for k in range(4))
    return JointTrace(measured, predicted, sticking, residual)


def _lines(segment: Segment, row: int, still: Flags, buckets: int) -> tuple[Line, Line, Line]:
    """Measured torque, predicted torque while the joint moves, and residual where it counts."""
    measured, predicted = segment.measured[:, row], segment.predicted[:, row]
    return (
        broken_line(segment.time, measured, segment.was_measured[:, row], buckets),
        broken_line(segment.time, predicted, ~still, buckets),
        broken_line(segment.time, measured - predicted, segment.keep[:, row], buckets),
    )


def _cloud(segment: Segment, row: int, model: DynamicModel, points: int, rng: np.random.Generator) -> Cloud:
    chosen = spread_indices(len(segment.time), points, rng)
    chosen = chosen[segment.was_measured[chosen, row]]
    v = segment.v[:, model.rows][chosen, row]
    return Cloud(v, (segment.measured - segment.carried)[chosen, row])


def _spectra(replay: Replay, model: DynamicModel) -> tuple[Spectrum, Spectrum, Spectrum]:
    longest = max(replay.segments, key=lambda segment: len(segment.time))
    log, robot = replay.log, model.robot
    positions, torques = _position_names(robot), [joint.name for joint in robot.axes]
    measured = log.torque
    if robot.has_quaternions:
        wrenches = [(one.body, one.wrench) for one in log.contacts or () if one.wrench is not None]
        has_torques = log.has_torques
        measured = np.hstack([*([log.torque] if has_torques else []), *(wrench for _, wrench in wrenches)])
        channels = [f"{body} {channel}" for body, _ in wrenches for channel in CHANNELS]
        torques = [*(torques if has_torques else []), *channels]
    return (
        replace(spectrum(log.position, replay.rate), names=tuple(positions)),
        replace(spectrum(measured, replay.rate), names=tuple(torques)),
        spectrum(np.where(longest.keep, longest.measured - longest.predicted, 0.0), longest.rate),
    )


def _position_names(robot: Robot) -> list[str]:
    """Names of a log's positions: those of joints, and numbered where a joint has several."""
    kinds = [(joint.name, joint.kind.nq) for joint in robot.logged_joints]
    return [name if count == 1 else f"{name}[{k}]" for name, count in kinds for k in range(count)]


def spectrum(signals: Array, rate: float) -> Spectrum:
    """Amplitude densities by Welch's method; signals of shape (samples, rows)."""
    from scipy.signal import welch

    frequency, power = welch(signals, rate, nperseg=min(len(signals), 8192), axis=0, detrend="linear")
    reduced = [peaks_by_decade(frequency[1:], np.sqrt(power[1:, row])) for row in range(signals.shape[1])]
    return Spectrum(tuple(pair[0] for pair in reduced), tuple(pair[1] for pair in reduced))
