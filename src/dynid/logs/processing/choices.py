"""Choices about the processing of a log, each a finding with its reason."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing import signals
from dynid.logs.processing.cutoff import Source, Trial, chosen, is_ruled_by_noise, tried
from dynid.logs.processing.rows import factors_below, row_band
from dynid.logs.processing.spectra import Spectra
from dynid.logs.settings import Processing
from dynid.model import DynamicModel


@dataclass(frozen=True)
class ProcessingThresholds:
    """Filters, decimation, ends and slow rows, where nobody states them."""

    target_cutoff: float = 20.0
    """Cut-off frequency, in bandwidths of the motion, that loses nothing of it and whose transients are short. Shown by
    `benchmarks/regret.py` (table in `docs/accuracy.md`)."""

    lowest_cutoff: float = 2.5
    """Lowest cut-off frequency that is tried, in frequencies of the motion's core: a lower one takes off motion. Shown
    by `benchmarks/regret.py` (table in `docs/accuracy.md`)."""

    lowest_predicting: float = 1.2
    """The same where noise rules what known parameters leave of the torques: accelerations that are a little too small
    make estimates too large, but cost predictions less than their noise does. Shown by `benchmarks/human_body.py`."""

    step_predicting: float = 1.1
    """Ratio of the cut-off frequencies that are tried then, from one to the next of which noise of accelerations grows
    by 1.27. By judgement; not calibrated."""

    highest_cutoff: float = 0.4
    """Highest cut-off frequency, and widest band of rows, in sampling rates: filters of finite order need room below
    the Nyquist frequency of 0.5. By judgement; `tests/logs/test_cutoff.py` and `benchmarks/exactness.py` show exact
    numbers with it."""

    limited_cutoff: float = 0.95
    """Part of the cut-off that the motion alone suggests below which noise is said to limit it: candidates are rounded
    to two digits. By judgement; not calibrated."""

    transient: float = 3.5
    """Periods of the cut-off frequency that are trimmed at both ends: the ends of a log then disturb what is filtered
    by less than 1e-4. Shown by `benchmarks/regret.py` and `tests/logs/test_cutoff.py`."""

    clean_transient: float = 6.0
    """The same where noise does not lower the cut-off, to 1e-6: such a log can be exact, and a condition number of 3000
    makes 1e-4 an error of 0.5 %. Calibrated by `benchmarks/exactness.py`."""

    enough_samples: int = 500
    """Samples that decimation leaves, if there are so many: fewer lose what friction at low speed is known by.
    Calibrated on the log of the UR10: with 200 the held-out error is 7.2 % instead of 5.5 %."""

    fewest_samples: int = 200
    """The same where torques vibrate above the motion, which costs more than samples are worth. Shown by
    `benchmarks/regret.py` (table in `docs/accuracy.md`)."""

    row_trim: int = 2
    """Decimated samples at each end in which the ends themselves leak through the filter of decimation. Shown by
    `benchmarks/exactness.py`."""

    slow_speed: float = 0.01
    """Share of a joint's top speed below which its rows are dropped: friction near rest is not what the model says.
    Shown by `benchmarks/regret.py` (table in `docs/accuracy.md`) and `benchmarks/real_logs.py`."""

    noisy_speed: float = 3.0
    """Standard deviations of the noise of a velocity below which the joint counts as at rest: its direction is not
    known there. By judgement: three, as usual."""

    largest_slow_speed: float = 3.0
    """What noise may raise the threshold to, in slow speeds: more would drop the rows that show Coulomb friction. By
    judgement; not calibrated."""

    resting_speed: float = 2.0
    """Speed below which the ends of a log count as at rest, in slow speeds. By judgement; not calibrated."""

    longest_rest: float = 0.5
    """Ends at rest that are longer than this [s] are cut; half of it is kept, for filters. By judgement; tested in
    `tests/logs/test_automatic.py`."""


THRESHOLDS = ProcessingThresholds()


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
        limited = is_limited(processing.lowpass or 0.0, spectra, rate)
        periods = THRESHOLDS.transient if limited else THRESHOLDS.clean_transient
        cut = 0 if processing.lowpass is None else math.ceil(periods * rate / processing.lowpass)
        trim = min(cut + 4, samples // 8)
        processing = processing.but(trim=trim)
        notes.append(Finding.of("processing-trim", "processing.trim", samples=trim))
    if "decimate" in free and processing.rate is None:
        widest = THRESHOLDS.highest_cutoff * rate * min(1.0, THRESHOLDS.enough_samples / samples)
        band = row_band(pieces, transmission, processing, model, rate, spectra.bandwidth, widest)
        factors = factors_below(min(THRESHOLDS.highest_cutoff * rate / band, samples / THRESHOLDS.fewest_samples))
        processing = processing.but(decimate=factors)
        if factors:
            kept = rate / float(np.prod(factors))
            found: dict[str, Any] = {"factors": list(factors), "rate": kept, "bandwidth": spectra.bandwidth}
            notes.append(
                Finding.of("processing-decimate", "processing.decimate", **found, ratio=band / spectra.bandwidth)
            )
    if "row_trim" in free and processing.decimate:
        processing = processing.but(row_trim=THRESHOLDS.row_trim)
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
    target, highest = THRESHOLDS.target_cutoff * spectra.bandwidth, THRESHOLDS.highest_cutoff * rate
    lowest = THRESHOLDS.lowest_cutoff * spectra.core
    cutoffs = list(_candidates(lowest, target, highest)) if "lowpass" in free else stated
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
        notes.append(Finding.of(code, "processing.velocity", ratio=errors["derived"] / (errors["logged"] or 1.0)))
    return processing, notes


def with_prediction_cutoff(
    pieces: Sequence[Log],
    transmission: Transmission,
    processing: Processing,
    spectra: Spectra,
    model: DynamicModel,
    rate: float,
    known: Array,
) -> tuple[Processing, list[Finding]]:
    """The cut-off with which known parameters predict a log best, where noise rules what they leave of its torques.

    Args:
        pieces: Pieces of the log with even samples.
        transmission: The drives between what was logged and the joints.
        processing: What is done to the log otherwise.
        spectra: Spectra of positions.
        model: The model.
        rate: Sampling rate [Hz].
        known: Standard parameters p, shape (parameters,).

    Returns:
        The processing as it was where noise does not rule, and findings.
    """
    sources: list[Source] = ["logged" if processing.velocity == "logged" else "derived"]

    def trials(cutoffs: Sequence[float]) -> list[Trial]:
        return tried(pieces, transmission, processing, model, rate, cutoffs, sources, spectra.moves, known)

    lowest, highest = THRESHOLDS.lowest_cutoff * spectra.core, THRESHOLDS.highest_cutoff * rate
    few = [cutoff for cutoff in (lowest, 1.6 * lowest) if cutoff < highest]
    if len(few) < 2 or not is_ruled_by_noise(trials(few)):
        return processing, []
    first, last = THRESHOLDS.lowest_predicting * spectra.core, 1.3 * lowest
    best = min(trials(list(_candidates(first, last, highest, THRESHOLDS.step_predicting))), key=lambda one: one.error)
    trim = min(math.ceil(THRESHOLDS.transient * rate / best.cutoff) + 4, sum(map(len, pieces)) // 8)
    found: dict[str, Any] = {"cutoff": best.cutoff, "core": spectra.core}
    finding = Finding.of("processing-lowpass-predicting", "processing.lowpass", **found)
    return processing.but(lowpass=best.cutoff, trim=max(processing.trim, trim)), [finding]


def _candidates(lowest: float, target: float, highest: float, ratio: float = 1.6) -> Iterator[float]:
    """Cut-off frequencies [Hz] from the lowest to the target in even ratios; infinite where that is too high."""
    top = max(min(target, highest), lowest)
    count = max(1, math.ceil(math.log(top / lowest) / math.log(ratio)))
    for k in range(count + 1):
        cutoff = float(f"{lowest * (top / lowest) ** (k / count):.2g}")
        if cutoff < highest:
            yield cutoff
    if target >= highest:
        yield math.inf


def _on_lowpass(best: Trial, trials: Sequence[Trial], spectra: Spectra, rate: float) -> Finding:
    """What was chosen, and why."""
    band, subject = spectra.bandwidth, "processing.lowpass"
    least = best.error or 1.0  # nothing is left where all that was measured is zero
    errors = {f"{t.cutoff:g}": t.error / least for t in trials if t.velocity == best.velocity}
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
    suggested = min(THRESHOLDS.target_cutoff * spectra.bandwidth, THRESHOLDS.highest_cutoff * rate)
    return cutoff < THRESHOLDS.limited_cutoff * suggested


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
    slow = THRESHOLDS.resting_speed * THRESHOLDS.slow_speed * top
    going = np.flatnonzero((speed > np.maximum(THRESHOLDS.noisy_speed * noise, slow)).any(axis=1))
    if not len(going):
        return log
    time = log.time
    first, last = time[going[0]] - 0.5 * THRESHOLDS.longest_rest, time[going[-1]] + 0.5 * THRESHOLDS.longest_rest
    start = int(np.searchsorted(time, first)) if time[going[0]] - time[0] > THRESHOLDS.longest_rest else 0
    stop = int(np.searchsorted(time, last)) if time[-1] - time[going[-1]] > THRESHOLDS.longest_rest else len(time)
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
    noise = THRESHOLDS.noisy_speed * spectra.speed_noise(_band(processing, spectra))
    noise = noise if transmission.body is None else noise[transmission.body.single[0]]
    slow = THRESHOLDS.slow_speed * top
    values = np.maximum(np.minimum(noise, THRESHOLDS.largest_slow_speed * THRESHOLDS.slow_speed * top), slow)
    found: dict[str, Any] = {"thresholds": values.tolist(), "share": THRESHOLDS.slow_speed}
    notes.append(Finding.of("processing-velocity-threshold", "processing.velocity_threshold", **found))
    of_rows = values.tolist() if transmission.body is None else transmission.body.thresholds(values.tolist())
    return processing.but(velocity_threshold=None if of_rows is None else tuple(of_rows))


def _band(processing: Processing, spectra: Spectra) -> float:
    return processing.lowpass or float(spectra.frequency[-1])


def _speeds(log: Log, transmission: Transmission, processing: Processing, rate: float) -> tuple[Array, Array]:
    """Speeds of the joints at each sample as logged, and each joint's top speed."""
    q = transmission.joint_positions(log.position[:, transmission.driven])
    if processing.lowpass is not None and processing.lowpass < 0.5 * rate and len(q) > 100:
        q = signals.lowpass(q, rate, processing.lowpass, processing.order)
    steps = np.gradient(log.time)[:, None]
    speed = np.abs(np.gradient(q, axis=0)) / np.maximum(steps, 0.2 / rate)
    return speed, np.quantile(speed, 0.999, axis=0)
