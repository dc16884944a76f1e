"""Processing that a log itself suggests, where nobody said otherwise: each choice with its reason.

Rules of thumb of the field, with the numbers taken from the log. Positions are low-passed well above the motion's
bandwidth, or where torques no longer show their accelerations if that comes first; rows are decimated to the band that
the motion and the steps of dry friction need; rows of a joint are dropped where its speed is no more than noise, or
than a hundredth of its top speed, because friction near standstill is not what the model says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing import choices, signals
from dynid.logs.processing.choices import with_filters, with_prediction_cutoff, with_threshold, without_rest
from dynid.logs.processing.delay import Delay, estimated_delay
from dynid.logs.processing.filter_findings import findings_on_filters
from dynid.logs.processing.motion_ranges import Motion
from dynid.logs.processing.outliers import SignalScale, outliers_in, pulses_in, repaired, second_differences
from dynid.logs.processing.spectra import spectra_of
from dynid.logs.processing.states import even_segments, positions_of, processed, step_of
from dynid.logs.processing.velocities import by_positions, compared, findings_on_velocities, without_wrong_velocities
from dynid.logs.settings import KEYS, Processing
from dynid.logs.timing import LONGEST_GAP, check_time
from dynid.model import DynamicModel, Segment, Times, own_samples
from dynid.robot import JointKind, Robot


@dataclass(frozen=True)
class AutomaticThresholds:
    """Which drives are taken to report nothing, and which delays are taken off."""

    silent_share: float = 0.5
    """Share of a drive's torques that are exactly zero above which it is taken to report nothing: noise and steps of
    current are exactly zero now and then, not most of the time. Calibrated on the log of TIAGo, whose last three drives
    report zeros in about 90 % of the samples; tested in `tests/logs/test_automatic.py`."""

    delay_significance: float = 5.0
    """Standard deviations of a delay beyond which it is significant: they come from eight blocks of time, and are
    rough. By judgement; the delays of `tests/logs/test_automatic.py` are far beyond it."""

    delay_share: float = 0.25
    """Share of the squared residual that a delay must explain to be taken off: friction lag and flexible gears look
    like delays of some milliseconds, and taking these off makes parameters worse. Calibrated on the log of the TX40,
    whose apparent delay of -2.1 ms explains 3 %, and on simulated delays of 8 and 20 ms (`docs/processing.md`)."""

    rounded_rate: float = 0.03
    """Relative difference up to which the rate of resampling is rounded to two digits: users know their robot's 500 Hz,
    not 497.3 Hz. By judgement; not calibrated."""


THRESHOLDS = AutomaticThresholds()


@dataclass(frozen=True, eq=False)
class PreparedLog:
    """A log that is ready for a model.

    Attributes:
        segments: Its samples.
        times: Their stamps [s], as logged.
        processing: What was done to them, and how rows are yet to be decimated.
        sampling: Sampling rate [Hz] before rows are decimated.
        delay: Time [s] by which torques were logged later than positions, taken off.
        findings: What was noticed, and what was chosen automatically.
        temperature: Time stamps [s] and mean temperatures of the joints [degrees Celsius] as logged, both of shape
            (samples,); None where they were not logged.
        weight: Rows of the log are multiplied with it.
        error_band: Part of the band of its rows that holds their errors: less than one where decimation was chosen.
        replicas: Its samples with the noise of rounded positions once more, some times over; none where positions are
            fine.
    """

    segments: tuple[Segment, ...]
    times: tuple[Times, ...]
    processing: Processing
    sampling: float
    delay: float
    findings: tuple[Finding, ...]
    temperature: tuple[Array, Array] | None = None
    weight: float = 1.0
    error_band: float = 1.0
    replicas: tuple[tuple[Segment, ...], ...] = ()

    def applied(self) -> dict[str, Any]:
        """What was done to the log, with lists as JSON has them."""
        used = {
            key: list(value) if isinstance(value, tuple) else value for key, value in self.processing.applied().items()
        }
        return {**used, "sampling_rate": self.sampling}

    @cached_property
    def motion(self) -> Motion:
        """How it moves."""
        return Motion.of(self.segments, self.processing.thresholds)

    @property
    def samples(self) -> int:
        """Number of samples."""
        return sum(last - first for first, last in map(own_samples, self.segments))


def prepared(
    log: Log,
    transmission: Transmission,
    processing: Processing,
    model: DynamicModel,
    delay: float = 0.0,
    free: frozenset[str] = KEYS,
    known: Array | None = None,
) -> PreparedLog:
    """Process a log, with what is free chosen by what the log itself shows.

    Args:
        log: What was logged.
        transmission: The drives between what was logged and the joints.
        processing: What was stated about processing.
        model: The model, from which a delay is estimated.
        delay: Time [s] by which torques were logged later than positions, if it was stated.
        free: Which of `KEYS` are to be chosen; the others stay as stated.
        known: Standard parameters p, shape (parameters,), where the log is to be predicted with them, and its cut-off
            frequency was not stated; None where parameters are estimated from it.
    """
    notes: list[Finding] = []
    if "unmeasured" in free:
        processing = processing.but(unmeasured=_without_signal(log, transmission, model, notes))
    if "outliers" in free:
        log = _without_outliers(log, notes)
    timing = check_time(log.time)
    if "resample" in free and not timing.is_even_between_gaps:
        rate = rounded_rate(timing.rate)
        processing = processing.but(resample=rate)
        found: dict[str, Any] = {"rate": rate, "jitter": timing.jitter, "gaps": len(timing.gaps)}
        notes.append(Finding.of("processing-resample", "processing.resample", **found))
    rate = processing.resample or timing.rate
    pieces, _ = even_segments(log, processing)
    spectra = spectra_of([positions_of(piece, transmission) for piece in pieces], rate, slides_of(model.robot))
    if spectra is not None:
        beside = compared(pieces, transmission, choices.THRESHOLDS.target_cutoff * spectra.bandwidth, spectra, rate)
        notes += findings_on_velocities(beside, model.row_names, processing, free)
        processing, free = without_wrong_velocities(processing, free, beside)
        processing, more = with_filters(pieces, transmission, processing, free, spectra, model, rate)
        notes += more
        if known is not None:
            processing, more = with_prediction_cutoff(pieces, transmission, processing, spectra, model, rate, known)
            notes += more
        if "idle" in free:
            log = without_rest(log, transmission, processing, spectra, rate, notes)
        if "velocity_threshold" in free:
            processing = with_threshold(log, transmission, processing, spectra, rate, notes)
        if "delay" in free:
            delay = _delay(log, transmission, by_positions(processing, beside), model, rate, notes)
    segments = processed(log, transmission, processing, delay)
    if spectra is not None and "lowpass" not in free and transmission.body is None:
        v = segments[0].v if len(segments) == 1 else np.concatenate([segment.v for segment in segments])
        notes += findings_on_filters(spectra, processing, v, model, rate)
    pieces, _ = even_segments(log, processing)
    notes += _on_short_segments(log, pieces)
    stamps = [signals.trimmed(piece.time, processing.trim) for piece in pieces]
    step = step_of(rate, processing.rate)
    times = [stamp[::step] for stamp in stamps]
    band = signals.PASSED_BAND if processing.decimate and "decimate" in free else 1.0
    return PreparedLog(tuple(segments), tuple(times), processing, rate, delay, tuple(notes), error_band=band)


def slides_of(robot: Robot) -> list[bool]:
    """Which positions are lengths, for all columns of positions: those of prismatic joints, and of a base's place."""
    found: list[bool] = []
    for joint in robot.independent_joints:
        lengths = 3 if joint.kind is JointKind.FREE_FLYER else int(joint.kind is JointKind.PRISMATIC)
        found += [True] * lengths + [False] * (joint.kind.nq - lengths)
    return found


def rounded_rate(rate: float) -> float:
    """The rate [Hz] that users know a rate by."""
    rounded = float(f"{rate:.2g}")
    return rounded if abs(rounded / rate - 1) < THRESHOLDS.rounded_rate else rate


def _without_signal(log: Log, transmission: Transmission, model: DynamicModel, notes: list[Finding]) -> tuple[str, ...]:
    """Joints whose torques are mostly exact zeros while they move: drives that report nothing."""
    zeros = np.mean(log.torque == 0.0, axis=0)
    moves = np.ptp(log.position, axis=0) > 0.0
    drives = transmission.matrix != 0.0 if transmission.torques_at_motor else np.eye(len(zeros), dtype=bool)
    found = [j for j in range(len(zeros)) if moves[j] and (zeros[drives[:, j]] > THRESHOLDS.silent_share).all()]
    names = tuple(model.row_names[j] for j in found)
    if names:
        shares = {name: float(zeros[drives[:, j]].min()) for j, name in zip(found, names, strict=True)}
        notes.append(Finding.of("processing-unmeasured", "drive.unmeasured", joints=shares))
    return names


@dataclass(frozen=True, eq=False)
class LogScales:
    """What outliers of a log are measured by.

    Attributes:
        positions: Scale of its positions.
        accelerations: Scale of their second differences; None where samples are not even.
        torques: Scale of its torques.
        spoken: Which drives report torques at all, shape (joints,).
    """

    positions: SignalScale
    accelerations: SignalScale | None
    torques: SignalScale
    spoken: NDArray[np.bool_]

    @staticmethod
    def of(log: Log, *, is_even: bool) -> LogScales:
        """The scales of a log."""
        spoken = np.mean(log.torque == 0.0, axis=0) <= THRESHOLDS.silent_share
        of_positions, of_torques = SignalScale.of(log.position), SignalScale.of(log.torque)
        accelerations = SignalScale.of(second_differences(log.position)) if is_even and len(log) > 2 else None
        return LogScales(of_positions, accelerations, of_torques, spoken)


def without_outliers(log: Log, scales: LogScales) -> tuple[Log, NDArray[np.bool_]]:
    """A log with outliers interpolated, and which of its positions and torques were; shape (samples, 2 joints)."""
    wrong_q = outliers_in(log.position, scales.positions)
    q = repaired(log.position, wrong_q)
    wrong_torque = outliers_in(log.torque, scales.torques) & scales.spoken
    if wrong_torque.any() and scales.accelerations is not None:
        # A push of a few samples that the joints follow is no error of a sensor.
        wrong_torque &= ~pulses_in(q, scales.accelerations)[:, None]
    wrong = np.concatenate([wrong_q, wrong_torque], axis=1)
    return (replace(log, position=q, torque=repaired(log.torque, wrong_torque)) if wrong.any() else log), wrong


def finding_on_outliers(counts: Sequence[int], first: int) -> Finding:
    """A finding on outliers that were interpolated: how many of positions and of torques, and the first sample."""
    found: dict[str, Any] = {"positions": counts[0], "torques": counts[1], "first": first}
    return Finding.of("processing-outliers", "processing.outliers", **found)


def _without_outliers(log: Log, notes: list[Finding]) -> Log:
    mended, wrong = without_outliers(log, LogScales.of(log, is_even=check_time(log.time).is_even))
    mended, of_wrenches = _without_wrench_outliers(mended)
    wrong = np.hstack([wrong, of_wrenches])
    if wrong.any():
        counts = [int(part.sum()) for part in np.hsplit(wrong, [log.position.shape[1]])]
        notes.append(finding_on_outliers(counts, int(np.flatnonzero(wrong.any(axis=1))[0])))
    return mended


def _without_wrench_outliers(log: Log) -> tuple[Log, NDArray[np.bool_]]:
    """A log with outliers of contacts' wrenches interpolated, and which these were, shape (samples, channels)."""
    wrenches = [contact.wrench for contact in log.contacts or () if contact.wrench is not None]
    if not wrenches:
        return log, np.zeros((len(log), 0), dtype=bool)
    wrong = [outliers_in(wrench) for wrench in wrenches]
    left = iter(wrong)
    contacts = [contact.changed(lambda w: repaired(w, next(left))) for contact in log.contacts or ()]
    whole = np.hstack(wrong)
    return (replace(log, contacts=contacts) if whole.any() else log), whole


def _on_short_segments(log: Log, pieces: Sequence[Log]) -> Iterator[Finding]:
    """Segments between long gaps that are too short for the filters."""
    gap = LONGEST_GAP * check_time(log.time).period
    edges = np.flatnonzero(np.diff(log.time, prepend=-np.inf, append=np.inf) > gap)
    lengths = np.diff(edges)
    begun = {float(piece.time[0]) for piece in pieces}
    short = [int(n) for first, n in zip(edges, lengths, strict=False) if float(log.time[first]) not in begun]
    if short:
        values: dict[str, Any] = {"count": len(short), "segments": len(lengths), "samples": sum(short), "of": len(log)}
        yield Finding.of("segments-short", "log", **values)


def _delay(
    log: Log,
    transmission: Transmission,
    processing: Processing,
    model: DynamicModel,
    rate: float,
    notes: list[Finding],
) -> float:
    """The delay [s] to take off: none where it is not sure, or not worth it."""
    alike = processing.but(torque_lowpass=processing.lowpass, decimate=(), rate=None)
    found = estimated_delay(model, processed(log, transmission, alike), rate, processing.lowpass)
    values: dict[str, Any] = {"delay_ms": 1e3 * found.seconds, "std_ms": 1e3 * found.std, "gain": found.gain}
    if _is_worth_it(found):
        notes.append(Finding.of("processing-delay", "drive.delay", **values))
        return found.seconds
    notes.append(Finding.of("processing-no-delay", "drive.delay", **values))
    return 0.0


def _is_worth_it(found: Delay) -> bool:
    return abs(found.seconds) > THRESHOLDS.delay_significance * found.std and found.gain > THRESHOLDS.delay_share
