"""Time stamps: how even they are, what is wrong with them, and even ones instead where that is asked for."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError
from dynid.findings import Finding, Severity, prose
from dynid.logs.tables import RecordingError

if TYPE_CHECKING:
    from dynid.logs.log import Log

GAP = 1.5
"""Steps longer than this many periods are gaps."""

JITTER = 0.05
"""Relative deviation of steps from which jitter is worth a warning."""

PERIODS = (1e-5, 1.0)
"""Periods [s] that robots are logged with; others suggest another unit."""


@dataclass(frozen=True)
class Timing:
    """How a recording's samples lie in time.

    Attributes:
        samples: Number of samples.
        period: Median of the steps forward [s].
        jitter: Standard deviation of the steps forward, relative to the period; gaps are left out.
        largest_step: The longest step forward [s].
        gaps: Steps over 1.5 periods: index of the sample before it, and its length [s].
        repeats: Indexes of samples with the stamp of the one before.
        resets: Steps backwards: index of the sample after it, and its length [s], negative.
        first_row: Row of the file (from 1, the header included) that holds the first sample.
    """

    samples: int
    period: float
    jitter: float
    largest_step: float
    gaps: tuple[tuple[int, float], ...]
    repeats: tuple[int, ...]
    resets: tuple[tuple[int, float], ...]
    first_row: int = 1

    @property
    def rate(self) -> float:
        """Samples a second [Hz]."""
        return 1.0 / self.period

    @property
    def is_ordered(self) -> bool:
        """Whether every stamp is later than the one before."""
        return not self.repeats and not self.resets

    @property
    def is_even(self) -> bool:
        """Whether filters and differences may take the samples as evenly spaced."""
        return self.is_ordered and not self.gaps and self.jitter < JITTER


def check_time(time: Array, *, first_row: int = 1) -> Timing:
    """Look at time stamps; nothing is refused but stamps that never advance.

    Args:
        time: Stamps [s], shape (samples,).
        first_row: Row of the file that holds the first, so that messages can name rows.

    Raises:
        InvalidRequestError: If there are fewer than two samples, or no stamp is later than the one before.
    """
    steps = np.diff(np.asarray(time, dtype=np.float64))
    forward = steps[steps > 0]
    if not len(forward):
        raise InvalidRequestError(f"time never advances in {len(time)} samples; check the column that holds it")
    period = float(np.median(forward))
    regular = forward[forward <= GAP * period]
    return Timing(
        samples=len(time),
        period=period,
        jitter=float(np.std(regular)) / period,
        largest_step=float(forward.max()),
        gaps=tuple((int(k), float(steps[k])) for k in np.flatnonzero(steps > GAP * period)),
        repeats=tuple(int(k) + 1 for k in np.flatnonzero(steps == 0)),
        resets=tuple((int(k) + 1, float(steps[k])) for k in np.flatnonzero(steps < 0)),
        first_row=first_row,
    )


def require_order(timing: Timing, path: Path | str) -> None:
    """Refuse time that goes backwards or stands still.

    Args:
        timing: What `check_time` found.
        path: The file that holds the stamps.

    Raises:
        RecordingError: If a stamp is not later than the one before; it names the first such row.
    """
    if timing.resets:
        index, step = timing.resets[0]
        problem = f"time goes backwards by {-step:.6g} s in row {timing.first_row + index}{_more(len(timing.resets))}"
        raise RecordingError(path, f"{problem}; cut a segment by rows, or split the recording at resets")
    if timing.repeats:
        problem = f"row {timing.first_row + timing.repeats[0]} repeats the time of the row before"
        raise RecordingError(
            path, f"{problem}{_more(len(timing.repeats))}; remove repeated rows, or split the recording at resets"
        )


def findings(timing: Timing) -> tuple[Finding, ...]:
    """What users should know about their time stamps; empty when they are even, ordered and plausible."""
    found = [_unit_finding(timing)] if not PERIODS[0] <= timing.period < PERIODS[1] else []
    if timing.resets:
        rows = f"row {timing.first_row + timing.resets[0][0]}{_more(len(timing.resets))}"
        found.append(prose(Severity.ERROR, "time", f"Time goes backwards in {rows}; split the recording at resets."))
    if timing.repeats:
        rows = f"Row {timing.first_row + timing.repeats[0]} repeats the time of the row before"
        text = f"{rows}{_more(len(timing.repeats))}; remove repeated rows, or split the recording at resets."
        found.append(prose(Severity.ERROR, "time", text))
    if timing.gaps:
        index, _ = max(timing.gaps, key=lambda gap: gap[1])
        many = f"{len(timing.gaps)} steps are" if len(timing.gaps) > 1 else "One step is"
        text = f"{many} longer than {GAP} periods of {_ms(timing.period)}; the longest, {_ms(timing.largest_step)}, "
        text += f"follows row {timing.first_row + index}. Resample, or cut segments around long gaps."
        found.append(prose(Severity.WARNING, "time", text))
    if timing.jitter >= JITTER:
        text = f"Steps vary by {timing.jitter:.1%} (standard deviation) around {_ms(timing.period)}; "
        found.append(prose(Severity.WARNING, "time", text + "resample before filters that take them as even."))
    return tuple(found)


def split_at_resets(log: Log) -> tuple[Log, ...]:
    """Pieces in which time always advances: cut where it goes backwards, without samples that repeat a stamp.

    Args:
        log: A log, read with resets allowed.

    Returns:
        The pieces in the order of the file. Each has the findings of the recording, but those of its time are its own,
        with rows counted in the piece.
    """
    steps = np.diff(log.time)
    pieces = []
    for part in _parts(len(log), np.flatnonzero(steps < 0) + 1):
        piece = log[part]
        new = np.concatenate([[True], np.diff(piece.time) != 0])
        notes = [finding for finding in log.findings if finding.subject not in ("time", "time unit")]
        if not new.all():
            text = f"{np.count_nonzero(~new)} samples repeat the stamp of the one before and were dropped."
            notes.append(prose(Severity.WARNING, "repeated samples", text))
        kept = piece.at(new)
        notes += findings(check_time(kept.time)) if len(kept) > 1 else ()
        pieces.append(replace(kept, findings=tuple(notes)))
    return tuple(pieces)


def resampled(
    log: Log, rate: float, *, longest_gap: float, positions: Literal["linear", "cubic"] = "cubic"
) -> tuple[Log, ...]:
    """Interpolate to even stamps, but never across long gaps.

    Args:
        log: A log whose time always advances.
        rate: Sampling rate of the result [Hz].
        longest_gap: Steps longer than this [s] end a segment.
        positions: How positions are interpolated; velocities and torques always are linearly.

    Returns:
        The segments between long gaps; single samples between two are left out, and said so in the findings.

    Raises:
        InvalidRequestError: If the rate or the gap is not positive, or time does not advance everywhere.
    """
    if not (0 < rate < math.inf and longest_gap > 0):
        raise InvalidRequestError(f"rate {rate} Hz and longest gap {longest_gap} s must be positive to resample")
    timing = check_time(log.time)
    if not timing.is_ordered:
        raise InvalidRequestError("time must always advance to resample; split the recording at resets first")
    parts = _parts(len(log), np.flatnonzero(np.diff(log.time) > longest_gap) + 1)
    notes = list(log.findings)
    text = f"Samples every {_ms(timing.period)} (median) were interpolated to {rate:g} Hz."
    notes.append(prose(Severity.NOTE, "resampling", text))
    if rate < 0.99 * timing.rate:
        text = f"{rate:g} Hz is less than the {timing.rate:.6g} Hz of the log; low-pass first, or noise is folded in."
        notes.append(prose(Severity.WARNING, "resampling", text))
    alone = sum(part.stop - part.start == 1 for part in parts)
    if alone:
        text = f"{alone} single samples between gaps over {_ms(longest_gap)} were left out."
        notes.append(prose(Severity.WARNING, "resampling", text))
    pieces = (log[part] for part in parts if part.stop - part.start > 1)
    return tuple(replace(_even(piece, rate, positions), findings=tuple(notes)) for piece in pieces)


def _even(piece: Log, rate: float, positions: str) -> Log:
    from scipy.interpolate import CubicSpline

    time = piece.time - piece.time[0]  # small numbers: stamps may count from 1970
    count = math.floor(time[-1] * rate * (1 + 1e-12) + 1e-9) + 1
    grid = np.minimum(np.arange(count) / rate, time[-1])

    def linear(values: Array) -> Array:
        return frozen(np.column_stack([np.interp(grid, time, column) for column in values.T]))

    return replace(
        piece,
        time=frozen(piece.time[0] + np.arange(count) / rate),
        position=frozen(CubicSpline(time, piece.position)(grid)) if positions == "cubic" else linear(piece.position),
        torque=linear(piece.torque),
        velocity=None if piece.velocity is None else linear(piece.velocity),
        temperature=None if piece.temperature is None else linear(piece.temperature),
    )


def _parts(count: int, cuts: np.ndarray) -> list[slice]:
    edges = [0, *cuts.tolist(), count]
    return [slice(start, stop) for start, stop in itertools.pairwise(edges)]


def _unit_finding(timing: Timing) -> Finding:
    steps = f"The median step of time is {timing.period:.6g} s: "
    if timing.period >= PERIODS[1]:
        unit = "ms" if timing.period < 100 else "us" if timing.period < 1e5 else "ns"
        text = f"{steps}is time in {unit}? Declare its unit."
    else:
        text = f"{steps}is time in a larger unit than declared, such as s instead of ms?"
    return prose(Severity.WARNING, "time unit", text)


def _more(count: int) -> str:
    return f" (and {count - 1} more)" if count > 1 else ""


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.4g} ms"
