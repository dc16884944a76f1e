"""Choices about the processing of a log, each a finding with its reason."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing import signals
from dynid.logs.processing.cutoff import Source, Trial, chosen, tried
from dynid.logs.processing.rows import factors_below, row_band
from dynid.logs.processing.spectra import Spectra
from dynid.logs.settings import Processing
from dynid.model import DynamicModel

ENOUGH_SAMPLES = 500
"""Samples that decimation leaves, if there are so many: fewer lose what friction at low speed is known by."""

FEWEST_SAMPLES = 200
"""The same where torques vibrate above the motion, which costs more than samples are worth."""

TARGET = 20.0
"""Cut-off frequency, in bandwidths of the motion, that loses nothing of it, and whose transients are short."""

LOWEST = 2.5
"""Lowest cut-off frequency that is tried, in frequencies of the motion's core."""

ROW_TRIM = 2
"""Decimated samples at each end in which the ends themselves leak through the filter of decimation."""

TRANSIENT = 3.5
"""Periods of the cut-off frequency after which the ends of a log no longer disturb what is filtered (to 1e-4)."""

CLEAN = 6.0
"""The same to 1e-6, where noise does not lower the cut-off: such a log can be exact, and these periods are short."""


def with_filters(
    pieces: Sequence[Log],
    transmission: Transmission,
    processing: Processing,
    free: frozenset[str],
    spectra: Spectra,
    model: DynamicModel,
    rate: float,
) -> tuple[Processing, list[Finding]]:
    """Choose the cut-off, the source of velocities, derivatives, ends to trim and factors of decimation.

    Args:
        pieces: Pieces of the log with even samples.
        transmission: The drives between what was logged and the joints.
        processing: What was stated.
        free: Which keys are to be chosen.
        spectra: Spectra of positions.
        model: The model, whose equations decide.
        rate: Sampling rate [Hz].
    """
    samples = sum(map(len, pieces))
    notes: list[Finding] = []
    if "derivative" in free:
        processing = processing.but(derivative="eighth_order")
    if "lowpass" in free or ("velocity" in free and pieces[0].velocity is not None):
        processing, notes = _with_states(pieces, transmission, processing, free, spectra, model, rate)
    if "trim" in free:
        periods = TRANSIENT if is_limited(processing.lowpass or 0.0, spectra, rate) else CLEAN
        cut = 0 if processing.lowpass is None else math.ceil(periods * rate / processing.lowpass)
        trim = min(cut + 4, samples // 8)
        processing = processing.but(trim=trim)
        notes.append(Finding.of("processing-trim", "processing.trim", samples=trim))
    if "decimate" in free and processing.rate is None:
        widest = 0.4 * rate * min(1.0, ENOUGH_SAMPLES / samples)
        band = row_band(pieces, transmission, processing, model, rate, spectra.bandwidth, widest)
        factors = factors_below(min(0.4 * rate / band, samples / FEWEST_SAMPLES))
        processing = processing.but(decimate=factors)
        if factors:
            kept = rate / float(np.prod(factors))
            found: dict[str, Any] = {"factors": list(factors), "rate": kept, "bandwidth": spectra.bandwidth}
            notes.append(
                Finding.of("processing-decimate", "processing.decimate", **found, ratio=band / spectra.bandwidth)
            )
    if "row_trim" in free and processing.decimate:
        processing = processing.but(row_trim=ROW_TRIM)
    return processing, notes


def _with_states(
    pieces: Sequence[Log],
    transmission: Transmission,
    processing: Processing,
    free: frozenset[str],
    spectra: Spectra,
    model: DynamicModel,
    rate: float,
) -> tuple[Processing, list[Finding]]:
    """Choose the cut-off frequency and the source of velocities by the equations of the model."""
    stated = [processing.lowpass or math.inf]
    target, highest = TARGET * spectra.bandwidth, 0.4 * rate
    cutoffs = list(_candidates(LOWEST * spectra.core, target, highest)) if "lowpass" in free else stated
    logged = pieces[0].velocity is not None
    sources: list[Source] = ["derived"]
    if logged and processing.velocity != "derived":
        sources = ["derived", "logged"] if "velocity" in free else ["logged"]
    trials = tried(pieces, transmission, processing, model, rate, cutoffs, sources, spectra.moves)
    if not trials:
        return processing, []
    best = chosen(trials, target if target < highest else math.inf)
    notes: list[Finding] = []
    if "lowpass" in free:
        cutoff = None if math.isinf(best.cutoff) else best.cutoff
        processing = processing.but(lowpass=cutoff)
        notes.append(_on_lowpass(best, trials, spectra, rate))
    if logged and "velocity" in free:
        processing = processing.but(velocity=best.velocity)
        errors = {trial.velocity: min(t.error for t in trials if t.velocity == trial.velocity) for trial in trials}
        code = f"processing-velocity-{best.velocity}"
        notes.append(Finding.of(code, "processing.velocity", ratio=errors["derived"] / errors["logged"]))
    return processing, notes


def _candidates(lowest: float, target: float, highest: float) -> Iterator[float]:
    """Cut-off frequencies [Hz] from the lowest to the target in even ratios; infinite where that is too high."""
    top = max(min(target, highest), lowest)
    count = max(1, math.ceil(math.log(top / lowest) / math.log(1.6)))
    for k in range(count + 1):
        cutoff = float(f"{lowest * (top / lowest) ** (k / count):.2g}")
        if cutoff < highest:
            yield cutoff
    if target >= highest:
        yield math.inf


def _on_lowpass(best: Trial, trials: Sequence[Trial], spectra: Spectra, rate: float) -> Finding:
    """What was chosen, and why."""
    band, subject = spectra.bandwidth, "processing.lowpass"
    errors = {f"{t.cutoff:g}": t.error / best.error for t in trials if t.velocity == best.velocity}
    if math.isinf(best.cutoff):
        return Finding.of("processing-no-lowpass", subject, bandwidth=band, rate=rate, errors=errors)
    found: dict[str, Any] = {
        "cutoff": best.cutoff,
        "bandwidth": band,
        "ratio": best.cutoff / band,
        "noise": float(spectra.noise[spectra.moves].max()),
        "errors": errors,
    }
    limited = is_limited(best.cutoff, spectra, rate)
    return Finding.of("processing-lowpass-noise" if limited else "processing-lowpass", subject, **found)


def is_limited(cutoff: float, spectra: Spectra, rate: float) -> bool:
    """Whether noise keeps a cut-off [Hz] below what the motion alone suggests."""
    return cutoff < 0.95 * min(TARGET * spectra.bandwidth, 0.4 * rate)


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
