"""From a recording to samples that a model can take: joints' side, filtered, with derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.logs.drive import Drive
from dynid.logs.log import Recording
from dynid.logs.processing import signals
from dynid.logs.timing import check_time, resampled
from dynid.model.chunks import Chunk

LONGEST_GAP = 20.0
"""Gaps of more periods than this are not interpolated across when a recording is resampled."""


@dataclass(frozen=True)
class Processing:
    """What is done to the signals of a recording.

    Attributes:
        resample: Rate [Hz] of even stamps to interpolate to first; as logged when None.
        median: Width of a running median on positions, in samples.
        lowpass: Cut-off [Hz] of the zero-phase low-pass on positions.
        torque_lowpass: The same for torques.
        order: Order of the low-passes.
        derivative: How velocities and accelerations come from positions.
        window: Window of Savitzky-Golay derivatives, in samples.
        degree: Degree of their polynomials.
        trim: Samples to drop at both ends after filtering.
        decimate: Factors of the parallel decimation of torques, velocities and all columns.
        rate: Rows a second [Hz] to keep instead, without a filter on the columns.
        velocity_threshold: Rows of a joint are dropped below this speed [rad/s or m/s]; one for each joint.
        unmeasured: Joints that move, but whose torque was not measured: their rows do not count.
    """

    resample: float | None = None
    median: int | None = None
    lowpass: float | None = None
    torque_lowpass: float | None = None
    order: int = 4
    derivative: str = "central"
    window: int = 11
    degree: int = 3
    trim: int = 0
    decimate: tuple[int, ...] = ()
    rate: float | None = None
    velocity_threshold: tuple[float, ...] | None = None
    unmeasured: tuple[str, ...] = ()


def processed(recording: Recording, drive: Drive, processing: Processing, delay: float = 0.0) -> list[Chunk]:
    """Segments of even samples on the joints' side, with velocities and accelerations.

    Args:
        recording: What was logged.
        drive: The drives between what was logged and the joints.
        processing: What to do with the signals.
        delay: Time [s] by which torques were logged later than positions.

    Raises:
        InvalidRequestError: If samples are not even and resampling was not asked for.
        TooShortError: If a segment is shorter than a filter needs.
    """
    segments, rate = even_segments(recording, processing)
    return [segment_of(segment, drive, processing, rate, delay) for segment in segments]


def even_segments(recording: Recording, processing: Processing) -> tuple[Sequence[Recording], float]:
    """Pieces of a recording with even samples, and their rate [Hz]; errors as `processed`."""
    timing = check_time(recording.time)
    segments: Sequence[Recording] = (recording,)
    if processing.resample is not None:
        segments = resampled(recording, processing.resample, longest_gap=LONGEST_GAP * timing.period)
    elif not timing.is_even:
        raise InvalidRequestError(
            f"samples are not evenly spaced (steps vary by {timing.jitter:.0%}, {len(timing.gaps)} gaps, the longest "
            f"step is {1000 * timing.largest_step:.3g} ms), and filters need that; set processing.resample = "
            f"{timing.rate:.0f}"
        )
    return segments, processing.resample or timing.rate


def segment_of(recording: Recording, drive: Drive, processing: Processing, rate: float, delay: float) -> Chunk:
    """The samples of one piece of a recording that are left after processing; arguments as `processed`."""
    q = drive.joint_positions(recording.q)
    torque = signals.delayed(drive.joint_torques(recording.torque), rate, -delay)
    if processing.median is not None:
        q = signals.median(q, processing.median)
    if processing.lowpass is not None:
        q = signals.lowpass(q, rate, processing.lowpass, processing.order)
    if processing.torque_lowpass is not None:
        torque = signals.lowpass(torque, rate, processing.torque_lowpass, processing.order)
    logged = None if recording.v is None else drive.joint_velocities(recording.v)
    q, v, a = _with_derivatives(q, logged, rate, processing)
    step = step_of(rate, processing.rate)
    q, v, a, torque = (signals.trimmed(x, processing.trim)[::step] for x in (q, v, a, torque))
    if processing.velocity_threshold is None or processing.decimate:
        return Chunk(q, v, a, torque)
    return Chunk(q, v, a, torque, np.abs(v) >= np.array(processing.velocity_threshold))


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
        return q, logged, signals.central_difference(logged, rate)
    if processing.derivative == "spline":
        return signals.smoothing_spline(q, rate)
    if processing.derivative == "savitzky_golay":
        v, a = (signals.savitzky_golay(q, rate, processing.window, processing.degree, k) for k in (1, 2))
        return q, v, a
    v = signals.central_difference(q, rate)
    return q, v, signals.central_difference(v, rate)
