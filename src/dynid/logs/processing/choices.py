"""Choices about the processing of a log, each a finding with its reason."""

from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing import signals
from dynid.logs.processing.spectra import Spectra
from dynid.logs.settings import Processing

FEWEST_SAMPLES = 500
"""Samples that decimation leaves, if there are so many."""


def with_filters(
    processing: Processing, free: frozenset[str], spectra: Spectra, rate: float, samples: int
) -> tuple[Processing, list[Finding]]:
    """Choose the cut-off, ends to trim and factors of decimation.

    Args:
        processing: What was stated.
        free: Which keys are to be chosen.
        spectra: Spectra of positions.
        rate: Sampling rate [Hz].
        samples: Number of samples.
    """
    notes = []
    if "lowpass" in free:
        processing, note = _with_lowpass(processing, spectra, rate)
        notes.append(note)
    if "trim" in free and processing.lowpass is not None:
        trim = min(round(rate / processing.lowpass), samples // 20)
        processing = processing.but(trim=trim)
        notes.append(Finding.of("processing-trim", "processing.trim", samples=trim))
    if "decimate" in free and processing.rate is None:
        factors = _factors(min(rate / (12.5 * spectra.bandwidth), samples / FEWEST_SAMPLES))
        processing = processing.but(decimate=factors)
        if factors:
            kept = rate / float(np.prod(factors))
            found: dict[str, Any] = {"factors": list(factors), "rate": kept, "bandwidth": spectra.bandwidth}
            notes.append(Finding.of("processing-decimate", "processing.decimate", **found))
    return processing, notes


def _with_lowpass(processing: Processing, spectra: Spectra, rate: float) -> tuple[Processing, Finding]:
    band, subject = spectra.bandwidth, "processing.lowpass"
    cutoff = max(min(10.0 * band, spectra.crossing), 3.0 * band)
    if cutoff >= 0.4 * rate:
        return processing, Finding.of("processing-no-lowpass", subject, bandwidth=band, rate=rate)
    cutoff = float(f"{cutoff:.2g}")
    found: dict[str, Any] = {
        "cutoff": cutoff,
        "bandwidth": band,
        "ratio": cutoff / band,
        "noise": float(spectra.noise.max()),
    }
    code = "processing-lowpass" if spectra.crossing >= 10.0 * band else "processing-lowpass-noise"
    return processing.but(lowpass=cutoff), Finding.of(code, subject, **found)


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
    notes: list[Finding],
) -> Log:
    """The log without ends at rest; the choice is added to the notes."""
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
    ends: dict[str, Any] = {"beginning": float(time[start] - time[0]), "end": float(time[-1] - time[stop - 1])}
    notes.append(Finding.of("processing-idle", "processing.idle", **ends))
    return log[start:stop]


def with_threshold(
    log: Log,
    transmission: Transmission,
    processing: Processing,
    spectra: Spectra,
    rate: float,
    notes: list[Finding],
) -> Processing:
    """The processing with a velocity threshold for each joint; the choice is added to the notes."""
    _, top = _speeds(log, transmission, processing, rate)
    noise = 3.0 * spectra.speed_noise(_band(processing, spectra))
    values = np.maximum(np.minimum(noise, 3.0 * SLOW * top), SLOW * top)
    found: dict[str, Any] = {"thresholds": values.tolist(), "share": SLOW}
    notes.append(Finding.of("processing-velocity-threshold", "processing.velocity_threshold", **found))
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
