"""Processing that a log itself suggests, where nobody said otherwise: each choice with its reason.

Rules of thumb of the field, with the numbers taken from the log. Positions are low-passed at ten times the motion's
bandwidth, or where motion drowns in noise if that comes first; rows are thinned out to what five times the bandwidth
needs; rows of a joint are dropped where its speed is no more than noise, or than a hundredth of its top speed, because
friction near standstill is not what the model says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.data import signals
from dynid.data.chunks import Chunk
from dynid.data.delay import Delay, estimated_delay
from dynid.data.drive import Drive
from dynid.data.outliers import outliers_in, repaired
from dynid.data.processing import LONGEST_GAP, Processing, processed
from dynid.data.recording import Recording
from dynid.data.spectra import Spectra, spectra_of
from dynid.data.timing import check_time, resampled
from dynid.model.dynamic_model import DynamicModel

KEYS = frozenset(
    (
        "resample",
        "outliers",
        "lowpass",
        "torque_lowpass",
        "trim",
        "idle",
        "velocity_threshold",
        "delay",
        "decimate",
        "unmeasured",
    )
)
"""What can be chosen automatically."""

FEWEST_SAMPLES = 500
"""Samples that thinning out leaves, if there are so many."""

SLOW = 0.01
"""Share of a joint's top speed below which friction is not taken to be what the model says."""

IDLE = 0.5
"""Ends at rest that are longer than this [s] are cut; half of it is kept, for filters."""

SILENT = 0.5
"""Share of torques that are exactly zero above which a drive is taken to report nothing."""

SURE = 5.0
"""Deviations of a delay from which it is sure."""

WORTH = 0.25
"""Share of the squared residual that a delay must explain to be taken off."""


@dataclass(frozen=True)
class Choice:
    """A choice and its reason.

    Attributes:
        key: What was chosen, as the experiment file calls it.
        text: What was chosen and why, in a sentence.
    """

    key: str
    text: str


@dataclass(frozen=True, eq=False)
class Prepared:
    """A log that is ready for the model.

    Attributes:
        segments: Its samples.
        times: Their stamps [s], as logged.
        processing: What was done to them, and how rows are thinned out yet.
        sampling: Samples a second [Hz] before rows are thinned out.
        delay: Time [s] by which torques were logged later than positions, taken off.
        choices: What was chosen automatically.
    """

    segments: tuple[Chunk, ...]
    times: tuple[Array, ...]
    processing: Processing
    sampling: float
    delay: float
    choices: tuple[Choice, ...]


def prepared(
    recording: Recording,
    drive: Drive,
    processing: Processing,
    model: DynamicModel,
    delay: float = 0.0,
    free: frozenset[str] = KEYS,
) -> Prepared:
    """Process a recording, with what is free chosen by what the log itself shows.

    Args:
        recording: What was logged.
        drive: The drives between what was logged and the joints.
        processing: What was stated about processing.
        model: The model, which tells a delay.
        delay: Time [s] by which torques were logged later than positions, if it was stated.
        free: Which of `KEYS` are to be chosen; the others stay as stated.
    """
    choices: list[Choice] = []
    if "unmeasured" in free:
        processing = replace(processing, unmeasured=_without_signal(recording, drive, model, choices))
    if "outliers" in free:
        recording = _without_outliers(recording, choices)
    timing = check_time(recording.time)
    if "resample" in free and not timing.is_even:
        rate = float(f"{timing.rate:.2g}") if abs(float(f"{timing.rate:.2g}") / timing.rate - 1) < 0.03 else timing.rate
        processing = replace(processing, resample=rate)
        why = f"steps vary by {timing.jitter:.0%} and {len(timing.gaps)} are gaps, and filters need even samples"
        choices.append(Choice("resample", f"interpolated to {rate:.6g} Hz: {why}"))
    rate = processing.resample or timing.rate
    spectra = spectra_of([drive.joint_positions(piece.q) for piece in _pieces(recording, processing)], rate)
    if spectra is not None:
        processing = _filters(processing, free, spectra, rate, len(recording), choices)
        recording = _moving(recording, drive, processing, spectra, free, rate, choices)
        processing = _threshold(recording, drive, processing, spectra, free, rate, choices)
        if "delay" in free:
            delay = _delay(recording, drive, processing, model, rate, choices)
    segments = processed(recording, drive, processing, delay)
    stamps = [signals.trimmed(piece.time, processing.trim) for piece in _pieces(recording, processing)]
    times = [stamp[:: max(1, round(len(stamp) / len(part)))] for stamp, part in zip(stamps, segments, strict=True)]
    return Prepared(tuple(segments), tuple(times), processing, rate, delay, tuple(choices))


def _without_signal(recording: Recording, drive: Drive, model: DynamicModel, choices: list[Choice]) -> tuple[str, ...]:
    """Joints whose torques are mostly exact zeros while they move: drives that report nothing."""
    zeros = np.mean(recording.torque == 0.0, axis=0)
    moves = np.ptp(recording.q, axis=0) > 0.0
    drives = drive.transmission != 0.0 if drive.torques_at_motor else np.eye(len(zeros), dtype=bool)
    found = [j for j in range(len(zeros)) if moves[j] and (zeros[drives[:, j]] > SILENT).all()]
    names = tuple(model.row_names[j] for j in found)
    if names:
        listed = ", ".join(f"'{name}' ({zeros[drives[:, j]].min():.0%})" for j, name in zip(found, names, strict=True))
        text = f"there is no signal in the torques of {listed}: so many of their samples are exactly zero while they "
        choices.append(Choice("unmeasured", text + "move; their rows are left out"))
    return names


def _without_outliers(recording: Recording, choices: list[Choice]) -> Recording:
    wrong_q, wrong_torque = outliers_in(recording.q), outliers_in(recording.torque)
    count = int(wrong_q.sum()), int(wrong_torque.sum())
    if not any(count):
        return recording
    where = int(np.flatnonzero((wrong_q | wrong_torque).any(axis=1))[0])
    text = f"{count[0]} positions and {count[1]} torques stand out from their neighbours (the first in sample {where}) "
    choices.append(Choice("outliers", text + "and were interpolated"))
    return replace(recording, q=repaired(recording.q, wrong_q), torque=repaired(recording.torque, wrong_torque))


def _pieces(recording: Recording, processing: Processing) -> Sequence[Recording]:
    if processing.resample is None:
        return (recording,)
    period = check_time(recording.time).period
    return resampled(recording, processing.resample, longest_gap=LONGEST_GAP * period)


def _filters(
    processing: Processing, free: frozenset[str], spectra: Spectra, rate: float, samples: int, choices: list[Choice]
) -> Processing:
    """Cut-offs, ends to trim and thinning out, from the motion's bandwidth and the noise."""
    band = spectra.bandwidth
    if "lowpass" in free:
        cutoff = max(min(10.0 * band, spectra.crossing), 3.0 * band)
        why = "where it drowns in noise" if spectra.crossing < 10.0 * band else "ten times its bandwidth"
        if cutoff < 0.4 * rate:
            processing = replace(processing, lowpass=float(f"{cutoff:.2g}"))
            noise = f"noise of positions is {spectra.noise.max():.2g} rad or m at most"
            text = f"{processing.lowpass:g} Hz on positions: motion reaches {band:.2g} Hz, and this is {why}; {noise}"
            choices.append(Choice("lowpass", text))
        else:
            text = f"none: motion reaches {band:.2g} Hz, too near to half the {rate:.4g} Hz of the samples"
            choices.append(Choice("lowpass", text))
    if "trim" in free and processing.lowpass is not None:
        trim = min(round(rate / processing.lowpass), samples // 20)
        processing = replace(processing, trim=trim)
        choices.append(Choice("trim", f"{trim} samples at each end, where filters see one side only"))
    if "decimate" in free and processing.rate is None:
        factors = _factors(min(rate / (12.5 * band), samples / FEWEST_SAMPLES))
        if factors:
            left = rate / np.prod(factors)
            processing = replace(processing, decimate=factors)
            text = f"{list(factors)}, to {left:.4g} Hz: enough for five times the motion's {band:.2g} Hz"
            enough = rate / (12.5 * band) <= samples / FEWEST_SAMPLES
            choices.append(Choice("decimate", text if enough else f"{text}, and {FEWEST_SAMPLES} samples are left"))
    if "torque_lowpass" in free and processing.lowpass is not None:
        left = rate / np.prod(processing.decimate or (1,))
        if 0.4 * left > processing.lowpass:
            processing = replace(processing, torque_lowpass=processing.lowpass)
            choices.append(Choice("torque_lowpass", f"{processing.lowpass:g} Hz on torques, as on positions"))
    return processing


def _factors(total: float) -> tuple[int, ...]:
    """Factors of 2 to 10 whose product is the largest one not above a number; as few as can be."""
    best: tuple[int, ...] = ()
    for one in range(1, 11):
        for two in range(one, 11):
            for three in range(two, 11):
                product = one * two * three
                factors = tuple(k for k in (three, two, one) if k > 1)
                if product <= total and (product, -len(factors)) > (int(np.prod(best or (1,))), -len(best)):
                    best = factors
    return best


def _moving(
    recording: Recording,
    drive: Drive,
    processing: Processing,
    spectra: Spectra,
    free: frozenset[str],
    rate: float,
    choices: list[Choice],
) -> Recording:
    """The recording without ends at rest."""
    if "idle" not in free:
        return recording
    speed, top = _speeds(recording, drive, processing, rate)
    noise = spectra.speed_noise(_band(processing, spectra))
    going = np.flatnonzero((speed > np.maximum(3.0 * noise, 2.0 * SLOW * top)).any(axis=1))
    if not len(going):
        return recording
    time = recording.time
    first, last = time[going[0]] - 0.5 * IDLE, time[going[-1]] + 0.5 * IDLE
    start = int(np.searchsorted(time, first)) if time[going[0]] - time[0] > IDLE else 0
    stop = int(np.searchsorted(time, last)) if time[-1] - time[going[-1]] > IDLE else len(time)
    if start == 0 and stop == len(time):
        return recording
    text = f"{time[start] - time[0]:.3g} s at the beginning and {time[-1] - time[stop - 1]:.3g} s at the end"
    choices.append(Choice("idle", f"{text}, where no joint moves, were cut"))
    return recording[start:stop]


def _threshold(
    recording: Recording,
    drive: Drive,
    processing: Processing,
    spectra: Spectra,
    free: frozenset[str],
    rate: float,
    choices: list[Choice],
) -> Processing:
    if "velocity_threshold" not in free:
        return processing
    _, top = _speeds(recording, drive, processing, rate)
    noise = 3.0 * spectra.speed_noise(_band(processing, spectra))
    values = np.maximum(np.minimum(noise, 3.0 * SLOW * top), SLOW * top)
    shown = ", ".join(f"{value:.2g}" for value in values)
    text = (
        f"{shown} rad/s or m/s: rows below are dropped, for there friction is not what the model says; 1 % of the top "
        "speed, or three deviations of the speed's noise where they are more"
    )
    choices.append(Choice("velocity_threshold", text))
    return replace(processing, velocity_threshold=tuple(values.tolist()))


def _band(processing: Processing, spectra: Spectra) -> float:
    return processing.lowpass or float(spectra.frequency[-1])


def _speeds(recording: Recording, drive: Drive, processing: Processing, rate: float) -> tuple[Array, Array]:
    """Speeds of the joints at each sample as logged, and each joint's top speed."""
    q = drive.joint_positions(recording.q)
    if processing.lowpass is not None and processing.lowpass < 0.5 * rate and len(q) > 100:
        q = signals.lowpass(q, rate, processing.lowpass, processing.order)
    steps = np.gradient(recording.time)[:, None]
    speed = np.abs(np.gradient(q, axis=0)) / np.maximum(steps, 0.2 / rate)
    return speed, np.quantile(speed, 0.999, axis=0)


def _delay(
    recording: Recording,
    drive: Drive,
    processing: Processing,
    model: DynamicModel,
    rate: float,
    choices: list[Choice],
) -> float:
    """The delay [s] to take off: none where it is not sure, or not worth it."""
    alike = replace(processing, torque_lowpass=processing.lowpass, decimate=(), rate=None)
    found = estimated_delay(model, processed(recording, drive, alike), rate)
    shown = f"{1e3 * found.seconds:.3g} ms (deviation {1e3 * found.deviation:.1g} ms)"
    if _is_worth_it(found):
        text = f"torques were logged {shown} later than positions, as the model tells; taken off"
        choices.append(Choice("delay", f"{text}, for it explains {found.gain:.0%} of the squared residual"))
        return found.seconds
    text = f"none taken off: the model suggests {shown}, which explains {found.gain:.0%} of the squared residual only"
    choices.append(Choice("delay", text))
    return 0.0


def _is_worth_it(found: Delay) -> bool:
    return abs(found.seconds) > SURE * found.deviation and found.gain > WORTH
