"""Choices about the processing of a log, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing import signals
from dynid.logs.processing.spectra import Spectra
from dynid.logs.settings import Processing


@dataclass(frozen=True)
class Choice:
    """A choice and its reason.

    Attributes:
        key: What was chosen, as the experiment file calls it.
        text: What was chosen and why, in a sentence.
    """

    key: str
    text: str


FEWEST_SAMPLES = 500
"""Samples that thinning out leaves, if there are so many."""


def with_filters(
    processing: Processing, free: frozenset[str], spectra: Spectra, rate: float, samples: int
) -> tuple[Processing, list[Choice]]:
    """Choose the cut-off, ends to trim and factors of decimation.

    Args:
        processing: What was stated.
        free: Which keys are to be chosen.
        spectra: What spectra of positions tell.
        rate: Samples a second [Hz].
        samples: Number of samples.
    """
    choices = []
    if "lowpass" in free:
        processing, choice = _with_lowpass(processing, spectra, rate)
        choices.append(choice)
    if "trim" in free and processing.lowpass is not None:
        trim = min(round(rate / processing.lowpass), samples // 20)
        processing = processing.but(trim=trim)
        choices.append(Choice("trim", f"{trim} samples at each end, where filters see one side only"))
    if "decimate" in free and processing.rate is None:
        factors = _factors(min(rate / (12.5 * spectra.bandwidth), samples / FEWEST_SAMPLES))
        processing = processing.but(decimate=factors)
        choices += _of_decimation(factors, spectra, rate, samples)
    return processing, choices


def _with_lowpass(processing: Processing, spectra: Spectra, rate: float) -> tuple[Processing, Choice]:
    band = spectra.bandwidth
    cutoff = max(min(10.0 * band, spectra.crossing), 3.0 * band)
    if cutoff >= 0.4 * rate:
        text = f"none: motion reaches {band:.2g} Hz, too near to half the {rate:.4g} Hz of the samples"
        return processing, Choice("lowpass", text)
    cutoff = float(f"{cutoff:.2g}")
    why = "ten times its bandwidth"
    if spectra.crossing < 10.0 * band:
        drowns = "where it drowns in noise"
        why = drowns if spectra.crossing > 3.0 * band else "three times its bandwidth, for it soon drowns in noise"
    noise = f"noise of positions is {spectra.noise.max():.2g} rad or m at most"
    text = f"{cutoff:g} Hz on positions: motion reaches {band:.2g} Hz, and this is {why}; {noise}"
    return processing.but(lowpass=cutoff), Choice("lowpass", text)


def _of_decimation(factors: tuple[int, ...], spectra: Spectra, rate: float, samples: int) -> Iterator[Choice]:
    if not factors:
        return
    band = spectra.bandwidth
    text = f"{list(factors)}, to {rate / np.prod(factors):.4g} Hz: enough for five times the motion's {band:.2g} Hz"
    enough = rate / (12.5 * band) <= samples / FEWEST_SAMPLES
    yield Choice("decimate", text if enough else f"{text}, and {FEWEST_SAMPLES} samples are left")


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


SLOW = 0.01
"""Share of a joint's top speed below which friction is not taken to be what the model says."""

IDLE = 0.5
"""Ends at rest that are longer than this [s] are cut; half of it is kept, for filters."""


def without_rest(
    log: Log,
    transmission: Transmission,
    processing: Processing,
    spectra: Spectra,
    rate: float,
    choices: list[Choice],
) -> Log:
    """The recording without ends at rest; the choice is added to the others."""
    speed, top = _speeds(log, transmission, processing, rate)
    noise = spectra.speed_noise(_band(processing, spectra))
    going = np.flatnonzero((speed > np.maximum(3.0 * noise, 2.0 * SLOW * top)).any(axis=1))
    if not len(going):
        return log
    time = log.time
    first, last = time[going[0]] - 0.5 * IDLE, time[going[-1]] + 0.5 * IDLE
    start = int(np.searchsorted(time, first)) if time[going[0]] - time[0] > IDLE else 0
    stop = int(np.searchsorted(time, last)) if time[-1] - time[going[-1]] > IDLE else len(time)
    if start == 0 and stop == len(time):
        return log
    text = f"{time[start] - time[0]:.3g} s at the beginning and {time[-1] - time[stop - 1]:.3g} s at the end"
    choices.append(Choice("idle", f"{text}, where no joint moves, were cut"))
    return log[start:stop]


def with_threshold(
    log: Log,
    transmission: Transmission,
    processing: Processing,
    spectra: Spectra,
    rate: float,
    choices: list[Choice],
) -> Processing:
    """The processing with a velocity threshold for each joint; the choice is added to the others."""
    _, top = _speeds(log, transmission, processing, rate)
    noise = 3.0 * spectra.speed_noise(_band(processing, spectra))
    values = np.maximum(np.minimum(noise, 3.0 * SLOW * top), SLOW * top)
    shown = ", ".join(f"{value:.2g}" for value in values)
    text = (
        f"{shown} rad/s or m/s: rows below are dropped, for there friction is not what the model says; 1 % of the top "
        "speed, or three deviations of the speed's noise where they are more"
    )
    choices.append(Choice("velocity_threshold", text))
    return processing.but(velocity_threshold=tuple(values.tolist()))


def _band(processing: Processing, spectra: Spectra) -> float:
    return processing.lowpass or float(spectra.frequency[-1])


def _speeds(log: Log, transmission: Transmission, processing: Processing, rate: float) -> tuple[Array, Array]:
    """Speeds of the joints at each sample as logged, and each joint's top speed."""
    q = transmission.joint_positions(log.position)
    if processing.lowpass is not None and processing.lowpass < 0.5 * rate and len(q) > 100:
        q = signals.lowpass(q, rate, processing.lowpass, processing.order)
    steps = np.gradient(log.time)[:, None]
    speed = np.abs(np.gradient(q, axis=0)) / np.maximum(steps, 0.2 / rate)
    return speed, np.quantile(speed, 0.999, axis=0)
