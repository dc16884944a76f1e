"""From a log to samples that a model can take: joints' side, filtered, with derivatives."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing import signals
from dynid.logs.settings import Processing
from dynid.logs.timing import LONGEST_GAP, Timing, between_gaps, check_time, resampled
from dynid.model import Chunk

FEWEST_SAMPLES = 64
"""Samples of a segment between gaps that are worth filtering."""

SLOWER_SOURCE = 0.5
"""Share of decimated samples that mix measured and missing torques above which torques come from a slower source."""


def processed(log: Log, transmission: Transmission, processing: Processing, delay: float = 0.0) -> list[Chunk]:
    """Segments of even samples on the joints' side, with velocities and accelerations.

    Args:
        log: What was logged.
        transmission: The drives between what was logged and the joints.
        processing: What to do with the signals.
        delay: Time [s] by which torques were logged later than positions.

    Raises:
        InvalidRequestError: If samples are not even and resampling was not asked for.
        TooShortError: If a segment is shorter than a filter needs.
    """
    segments, rate = even_segments(log, processing)
    return [segment_of(segment, transmission, processing, rate, delay) for segment in segments]


def even_segments(log: Log, processing: Processing) -> tuple[Sequence[Log], float]:
    """Pieces of a log with even samples that are long enough for its filters, and their rate [Hz].

    Errors as `processed`. Of pieces that are all too short, the longest is given.
    """
    timing = check_time(log.time)
    longest_gap = LONGEST_GAP * timing.period
    if processing.resample is not None:
        segments = resampled(log, processing.resample, longest_gap=longest_gap)
    elif timing.is_even_between_gaps:
        segments = between_gaps(log, longest_gap)
    else:
        raise uneven(timing)
    if len(segments) > 1:
        fewest = fewest_samples(processing)
        segments = [piece for piece in segments if len(piece) >= fewest] or [max(segments, key=len)]
    return segments, processing.resample or timing.rate


def uneven(timing: Timing) -> InvalidRequestError:
    """What to say where samples are not even and are not to be resampled."""
    return InvalidRequestError(
        f"samples are not evenly spaced (steps vary by {timing.jitter:.0%}, {len(timing.gaps)} gaps, the longest "
        f"step is {1000 * timing.largest_step:.3g} ms), and filters need that; set processing.resample = "
        f"{timing.rate:.0f}"
    )


def fewest_samples(processing: Processing) -> int:
    """Samples that a segment needs for its filters, and to have rows left after them."""
    factors = processing.decimate
    rows = max(28 * int(np.prod(factors[:-1])), (2 * processing.row_trim + 1) * int(np.prod(factors))) if factors else 1
    return max(FEWEST_SAMPLES, 2 * processing.trim + rows)


def segment_of(log: Log, transmission: Transmission, processing: Processing, rate: float, delay: float) -> Chunk:
    """The samples of one piece of a log after processing; arguments as `processed`."""
    body = transmission.body
    q = positions_of(log, transmission)
    if processing.median is not None:
        q = signals.median(q, processing.median)
    if processing.lowpass is not None:
        q = signals.lowpass(q, rate, processing.lowpass, processing.order)
    torque = signals.delayed(_torques_of(log, transmission), rate, -delay)
    torque = torque if body is None else body.torques(log, torque, q)
    if processing.torque_lowpass is not None:
        torque = signals.lowpass(torque, rate, processing.torque_lowpass, processing.order)
    velocity = None if processing.velocity == "derived" else log.velocity
    logged = None if velocity is None else transmission.joint_velocities(velocity)
    q, v, a = _with_derivatives(q, logged, rate, processing)
    if body is not None:
        q, v, a = body.robot.motion_of(q, v, a)
    measured = _measured(log, transmission, rate, delay)
    step = step_of(rate, processing.rate)
    q, v, a, torque = (signals.trimmed(x, processing.trim)[::step] for x in (q, v, a, torque))
    measured = None if measured is None else measured[processing.trim : len(measured) - processing.trim : step]
    keep = None
    if processing.decimate:
        keep = _inner(torque.shape, processing)
    elif processing.velocity_threshold is not None:
        of_rows = v if body is None else v[:, list(body.model.row_indices)]
        keep = transmission.moving(of_rows, np.array(processing.velocity_threshold))
    if measured is not None:
        counted = measured | _slower_sources(measured, processing)
        keep = counted if keep is None else keep & counted
    return Chunk(q, v, a, torque, keep, measured=measured)


def positions_of(log: Log, transmission: Transmission) -> Array:
    """Positions of a log on the joints' side, with the pose of a floating base, shape (samples, nq)."""
    q = transmission.joint_positions(log.position[:, transmission.driven])
    return q if transmission.body is None else transmission.body.positions(log, q)


def _torques_of(log: Log, transmission: Transmission) -> Array:
    """Torques of a log on the joints' side, shape (samples, torque columns); spherical joints have no drives."""
    driven = transmission.joint_torques(log.torque[:, transmission.driven_rows])
    if transmission.body is None:
        return driven
    found = log.torque.copy()
    found[:, transmission.driven_rows] = driven
    return found


def _measured(log: Log, transmission: Transmission, rate: float, delay: float) -> NDArray[np.bool_] | None:
    """Which torques of joints were measured, shape (samples, joints); None for all."""
    if transmission.body is not None:
        whole = transmission.body.measured(log)
        if whole is None:
            return None
        missing = ~whole
    elif log.missing is None:
        return None
    else:
        missing = np.abs(log.missing.astype(float) @ transmission.joint_torques(np.eye(log.missing.shape[1]))) > 0.0
    early, late = math.floor(delay * rate), math.ceil(delay * rate)
    rows = np.arange(len(missing))
    return ~np.logical_or(*(missing[np.clip(rows + k, 0, len(rows) - 1)] for k in (early, late)))


def _slower_sources(measured: NDArray[np.bool_], processing: Processing) -> NDArray[np.bool_]:
    """Which joints' torques are missing so regularly that most decimated samples mix measured ones with others.

    They come from a source that is slower than the log, and none of its samples can be left out for that.
    """
    factor = int(np.prod(processing.decimate or (1,)))
    whole = len(measured) // factor * factor
    shares = measured[:whole].reshape(-1, factor, measured.shape[1]).mean(axis=1)
    return np.mean((shares > 0.0) & (shares < 1.0), axis=0) > SLOWER_SOURCE


def _inner(shape: tuple[int, ...], processing: Processing) -> NDArray[np.bool_] | None:
    """Which samples count, so that decimation drops as many of its samples at each end as stated; None for all.

    The ends still feed the filter of decimation, which sees only one side of them.
    """
    count = ends_of_rows(processing)
    if not count:
        return None
    keep = np.ones(shape, dtype=bool)
    keep[:count] = False
    keep[max(0, shape[0] - count) :] = False
    return keep


def ends_of_rows(processing: Processing) -> int:
    """Samples at each end of a segment that do not count, so that its first and last decimated ones are dropped."""
    if not (processing.decimate and processing.row_trim):
        return 0
    factor = int(np.prod(processing.decimate))
    return (processing.row_trim - 1) * factor + max(1, factor // 2)


def step_of(rate: float, wanted: float | None) -> int:
    """Every how many samples one is kept."""
    step = 1.0 if wanted is None else rate / wanted
    if step < 0.99 or abs(step - round(step)) > 0.05 * step:
        raise InvalidRequestError(
            f"processing.rate = {wanted:g} Hz does not divide the {rate:.6g} Hz of the samples; choose one that does"
        )
    return round(step)


def _with_derivatives(
    q: Array, logged: Array | None, rate: float, processing: Processing
) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations; velocities that were logged are filtered as positions are."""
    if logged is not None:
        if processing.lowpass is not None:
            logged = signals.lowpass(logged, rate, processing.lowpass, processing.order)
        difference = signals.eighth_order if processing.derivative == "eighth_order" else signals.central_difference
        return q, logged, difference(logged, rate)
    if processing.derivative == "eighth_order":
        return q, signals.eighth_order(q, rate), signals.eighth_order(q, rate, 2)
    if processing.derivative == "spline":
        return signals.smoothing_spline(q, rate)
    if processing.derivative == "savitzky_golay":
        v, a = (signals.savitzky_golay(q, rate, processing.window, processing.degree, k) for k in (1, 2))
        return q, v, a
    v = signals.central_difference(q, rate)
    return q, v, signals.central_difference(v, rate)
