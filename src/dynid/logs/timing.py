"""Time stamps: how even they are, what is wrong with them, and even ones instead where that is asked for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError
from dynid.findings import Finding
from dynid.logs.coarse_clock import with_advancing_time
from dynid.logs.quaternions import with_steady_signs
from dynid.logs.tables import RecordingError
from dynid.logs.time_units import findings_on_unit

if TYPE_CHECKING:
    from dynid.logs.log import Log

GAP = 1.5
"""Steps longer than this many periods are gaps."""

LONGEST_GAP = 20.0
"""Gaps of more periods than this are not interpolated across: they end a segment."""

JITTER = 0.05
"""Relative standard deviation of steps from which jitter is worth a warning."""


ROUNDED = 1e-6
"""Relative standard deviation of steps below which it is rounding of the stamps: then the mean of the steps is the
exact period, and their median is rounded, too."""


@dataclass(frozen=True)
class Timing:
    """How the samples of a log lie in time.

    Attributes:
        samples: Number of samples.
        period: Median of the steps forward [s]; their mean where they differ by rounding alone.
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
    gaps: Sequence[tuple[int, float]]
    repeats: Sequence[int]
    resets: Sequence[tuple[int, float]]
    first_row: int = 1

    @property
    def rate(self) -> float:
        """Sampling rate [Hz]."""
        return 1.0 / self.period

    @property
    def is_ordered(self) -> bool:
        """Whether every stamp is later than the one before."""
        return not self.repeats and not self.resets

    @property
    def is_even(self) -> bool:
        """Whether filters and differences may take the samples as evenly spaced."""
        return self.is_even_between_gaps and not self.gaps

    @property
    def is_even_between_gaps(self) -> bool:
        """The same for each part between gaps that are too long to be interpolated across, if there are no others."""
        is_long = all(step > LONGEST_GAP * self.period for _, step in self.gaps)
        return self.is_ordered and self.jitter < JITTER and is_long


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
    jitter = float(np.std(regular)) / period
    if jitter < ROUNDED:
        period += float(np.mean(regular - period))
    return Timing(
        samples=len(time),
        period=period,
        jitter=jitter,
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
        raise RecordingError(path, f"{problem}; cut a segment by rows, or split the log at resets")
    if timing.repeats:
        problem = f"row {timing.first_row + timing.repeats[0]} repeats the time of the row before"
        raise RecordingError(
            path, f"{problem}{_more(len(timing.repeats))}; remove repeated rows, or split the log at resets"
        )


TIMING = (
    "time-steps-long",
    "time-steps-short",
    "time-backwards",
    "time-repeated",
    "time-gaps",
    "time-jitter",
)
"""Codes of findings on time stamps."""


def findings_on_time(timing: Timing, speed: float = math.nan) -> Iterator[Finding]:
    """What users should know about their time stamps; nothing when they are even, ordered and plausible.

    Args:
        timing: What `check_time` found.
        speed: Speed of the fastest joint [rad/s or m/s] by these stamps; NaN where it is not known.
    """
    yield from findings_on_unit(timing.period, speed)
    if timing.resets:
        row = timing.first_row + timing.resets[0][0]
        yield Finding.of("time-backwards", "time", row=row, count=len(timing.resets))
    if timing.repeats:
        row = timing.first_row + timing.repeats[0]
        yield Finding.of("time-repeated", "time", row=row, count=len(timing.repeats))
    period = 1e3 * timing.period
    if timing.gaps:
        index, _ = max(timing.gaps, key=lambda gap: gap[1])
        found: dict[str, Any] = {
            "count": len(timing.gaps),
            "limit": GAP,
            "period_ms": period,
            "longest_ms": 1e3 * timing.largest_step,
        }
        yield Finding.of("time-gaps", "time", **found, row=timing.first_row + index)
    if timing.jitter >= JITTER:
        yield Finding.of("time-jitter", "time", jitter=timing.jitter, period_ms=period)


def split_at_resets(log: Log) -> tuple[Log, ...]:
    """Pieces in which time always advances: cut where it goes backwards, with repeated stamps mended.

    Args:
        log: A log, read with resets allowed.

    Returns:
        The pieces in the order of the file. Each has the findings of the log, but those of its time are its own,
        with rows counted in the piece.
    """
    steps = np.diff(log.time)
    pieces = []
    for part in _parts(len(log), np.flatnonzero(steps < 0) + 1):
        piece = log[part]
        notes = tuple(finding for finding in log.findings if finding.code not in TIMING)
        kept = with_advancing_time(replace(piece, findings=notes))
        own = findings_on_time(check_time(kept.time)) if len(kept) > 1 else ()
        pieces.append(replace(kept, findings=(*kept.findings, *own)))
    return tuple(pieces)


def between_gaps(log: Log, longest_gap: float) -> tuple[Log, ...]:
    """Segments of a log between steps of time that are longer than a gap [s]."""
    return tuple(log[part] for part in _parts(len(log), np.flatnonzero(np.diff(log.time) > longest_gap) + 1))


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
        raise InvalidRequestError("time must always advance to resample; split the log at resets first")
    parts = _parts(len(log), np.flatnonzero(np.diff(log.time) > longest_gap) + 1)
    notes = list(log.findings)
    notes.append(Finding.of("time-resampled", "time", period_ms=1e3 * timing.period, rate=rate))
    if rate < 0.99 * timing.rate:
        notes.append(Finding.of("time-resampled-slower", "time", rate=rate, logged=timing.rate))
    alone = sum(part.stop - part.start == 1 for part in parts)
    if alone:
        notes.append(Finding.of("samples-isolated", "time", count=alone, gap_ms=1e3 * longest_gap))
    pieces = (log[part] for part in parts if part.stop - part.start > 1)
    return tuple(replace(_even(piece, rate, positions), findings=tuple(notes)) for piece in pieces)


def even_count(seconds: float, rate: float) -> int:
    """How many even samples fit into a time, both ends included."""
    return math.floor(seconds * rate * (1 + 1e-12) + 1e-9) + 1


COMMANDS = ("position_command", "velocity_command", "torque_command", "kp", "kd")
"""What a log has of commands, a row for each sample."""


def evenly(piece: Log, rate: float, origin: float) -> tuple[Log, int]:
    """A part of a segment at even stamps, and the number of its first among those of the segment.

    Args:
        piece: Samples of the segment, without long gaps.
        rate: Sampling rate of the result [Hz].
        origin: Stamp [s] of the segment's first sample, from which its even stamps are counted.
    """
    first = max(0, math.ceil((float(piece.time[0]) - origin) * rate - 1e-9))
    return _even(piece, rate, "cubic", origin, first), first


def _even(piece: Log, rate: float, positions: str, origin: float | None = None, first: int = 0) -> Log:
    from scipy.interpolate import CubicSpline

    origin = float(piece.time[0]) if origin is None else origin
    time = piece.time - origin  # small numbers: stamps may count from 1970
    count = even_count(float(time[-1]), rate) - first
    grid = np.clip((first + np.arange(count)) / rate, time[0], time[-1])

    def linear(values: Array) -> Array:
        return frozen(np.column_stack([np.interp(grid, time, column) for column in values.T]))

    commands = {name: getattr(piece, name) for name in COMMANDS if getattr(piece, name) is not None}
    return replace(
        piece,
        **{name: linear(values) for name, values in commands.items()},
        time=frozen(origin + (first + np.arange(count)) / rate),
        position=frozen(CubicSpline(time, piece.position)(grid)) if positions == "cubic" else linear(piece.position),
        torque=linear(piece.torque),
        velocity=None if piece.velocity is None else linear(piece.velocity),
        temperature=None if piece.temperature is None else linear(piece.temperature),
        wrench=None if piece.wrench is None else linear(piece.wrench),
        base_pose=None if piece.base_pose is None else _even_poses(piece.base_pose, time, grid),
        contacts=None if piece.contacts is None else tuple(one.changed(linear) for one in piece.contacts),
        missing=None if piece.missing is None else linear(piece.missing.astype(float)) > 0.0,
    )


def _even_poses(poses: Array, time: Array, grid: Array) -> Array:
    """Poses at other times; quaternions are interpolated number by number, once their signs go on, and normalised."""
    from scipy.interpolate import CubicSpline

    found = CubicSpline(time, with_steady_signs(poses))(grid)
    found[:, 3:] /= np.linalg.norm(found[:, 3:], axis=1, keepdims=True)
    return frozen(found)


def _parts(count: int, cuts: np.ndarray) -> list[slice]:
    edges = [0, *cuts.tolist(), count]
    return [slice(start, stop) for start, stop in itertools.pairwise(edges)]


def _more(count: int) -> str:
    return f" (and {count - 1} more)" if count > 1 else ""
