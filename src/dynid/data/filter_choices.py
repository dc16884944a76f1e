"""The cut-off of positions and thinning out, from the motion's bandwidth and the noise.

Torques are never low-passed by themselves: that would smooth the steps of dry friction, which the model has at once,
and bias every parameter near reversals. Thinning out filters both sides of the equations alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dynid.data.choices import Choice
from dynid.data.processing import Processing
from dynid.data.spectra import Spectra

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
        processing = replace(processing, trim=trim)
        choices.append(Choice("trim", f"{trim} samples at each end, where filters see one side only"))
    if "decimate" in free and processing.rate is None:
        factors = _factors(min(rate / (12.5 * spectra.bandwidth), samples / FEWEST_SAMPLES))
        processing = replace(processing, decimate=factors)
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
    return replace(processing, lowpass=cutoff), Choice("lowpass", text)


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
