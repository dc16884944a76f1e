"""Long logs processed a window at a time, so that what is kept equals the same part of the whole.

Filters without delay reach only so far. A window is processed with as many samples around it as its filters remember to
the last digit, and these are left out of it afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing.automatic import LogScales, finding_on_outliers, without_outliers
from dynid.logs.processing.outliers import NOISE_BLOCK
from dynid.logs.processing.states import ends_of_rows, segment_of, step_of
from dynid.logs.processing.zero_phase import butterworth, memory
from dynid.logs.settings import Processing
from dynid.logs.timing import even_count, evenly
from dynid.model import Chunk

if TYPE_CHECKING:
    from dynid.logs.stored_log import StoredLog

WINDOW_SAMPLES = 2000 * NOISE_BLOCK
"""Samples of a window: whole blocks of noise, so that outliers are measured alike in all windows."""

SPLINE_MEMORY = 60
"""Samples after which a cubic spline has forgotten a value: it loses a factor of 3.7 with each."""


def stamps_of(log: Log | StoredLog, first: int, last: int) -> Array:
    """Time stamps [s] of a log from first to before last, shape (samples,)."""
    return log.time[first:last] if isinstance(log, Log) else log.stamps(slice(first, last))


@dataclass(frozen=True, eq=False)
class Windows:
    """Processes a long log a window at a time.

    Attributes:
        log: The log.
        transmission: The drives between what was logged and the joints.
        processing: What to do with the signals; nothing is left to choose.
        logged_rate: Sampling rate [Hz] of the log.
        delay: Time [s] by which torques were logged later than positions.
        scales: What outliers are measured by; None where they stay.
        temperatures: Whether samples have temperatures.
        size: Samples of a window.
        repaired: How many positions and torques were interpolated, and the first such sample; grows as windows pass.
    """

    log: Log | StoredLog
    transmission: Transmission
    processing: Processing
    logged_rate: float
    delay: float
    scales: LogScales | None
    temperatures: bool
    size: int = WINDOW_SAMPLES
    repaired: list[int] = field(default_factory=lambda: [0, 0, -1])

    @property
    def rate(self) -> float:
        """Sampling rate [Hz] of what is made of it."""
        return self.processing.resample or self.logged_rate

    @property
    def context(self) -> int:
        """Logged samples around a window that its filters remember."""
        used, rate = self.processing, self.rate
        cutoffs = [cutoff for cutoff in (used.lowpass, used.torque_lowpass) if cutoff is not None]
        filters = max((memory(butterworth(used.order, 2.0 * cutoff / rate)) for cutoff in cutoffs), default=0)
        near = 2 * used.window + 2 * (used.median or 0) + math.ceil(abs(self.delay) * rate) + SPLINE_MEMORY
        logged = math.ceil((filters + near) * max(1.0, self.logged_rate / rate)) + SPLINE_MEMORY + 4 * NOISE_BLOCK
        return -(-logged // NOISE_BLOCK) * NOISE_BLOCK

    def count(self, first: int, last: int) -> int:
        """How many even samples the logged ones from first to before last make."""
        if self.processing.resample is None:
            return last - first
        return even_count(self._stamp(last - 1) - self._stamp(first), self.rate)

    def made(self, first: int, last: int) -> int:
        """How many samples are made of the logged ones from first to before last."""
        step = step_of(self.rate, self.processing.rate)
        return max(0, -(-(self.count(first, last) - 2 * self.processing.trim) // step))

    def of(
        self, first: int, last: int, part: slice = slice(None), counted: slice | None = None
    ) -> Iterator[tuple[Chunk, Array]]:
        """The samples of a segment between gaps, with their stamps, a window at a time.

        Args:
            first: Its first logged sample.
            last: One after its last.
            part: Which of the samples that are made of it.
            counted: Logged samples whose outliers are counted; all when None.
        """
        trim, step = self.processing.trim, step_of(self.rate, self.processing.rate)
        total, context = self.count(first, last), self.context
        begin_made, end_made, _ = part.indices(self.made(first, last))
        size = max(self.size, -(-context // NOISE_BLOCK) * NOISE_BLOCK)
        done = trim + begin_made * step  # the next sample of the even segment that is wanted
        end = min(total - trim, trim + end_made * step)
        for begin in range(first, last, size):
            stop = end if begin + size >= last else min(self._index(begin + size, first), end)
            if stop <= done:
                continue
            low, high = max(first, begin - context), min(last, begin + size + context)
            within = slice(first, last) if counted is None else counted
            own_rows = slice(max(begin, within.start) - low, max(min(begin + size, within.stop) - low, 0))
            piece, at = self._piece(low, high, first, own_rows)
            skip = -(done - trim) % step
            own = slice(done + skip - at, stop - at, step)
            if stop > done + skip:
                chunk = self._chunk(piece, own)
                kept = self._inner((done + skip - trim) // step, len(chunk), -(-(total - 2 * trim) // step))
                if kept is not None:
                    chunk = replace(chunk, keep=np.broadcast_to(kept[:, None], chunk.torque.shape) & _kept(chunk))
                yield chunk, piece.time[own]
            done = max(done, stop)

    def findings(self) -> list[Finding]:
        """What was repaired in the windows that passed."""
        return [finding_on_outliers(self.repaired[:2], self.repaired[2])] if any(self.repaired[:2]) else []

    def _stamp(self, index: int) -> float:
        return float(stamps_of(self.log, index, index + 1)[0])

    def _index(self, logged: int, first: int) -> int:
        """Number of the first even sample of a segment that is not before a logged one."""
        if self.processing.resample is None:
            return logged - first
        return max(0, math.ceil((self._stamp(logged) - self._stamp(first)) * self.rate - 1e-9))

    def _piece(self, low: int, high: int, first: int, own: slice) -> tuple[Log, int]:
        """Even samples of a part of a segment without outliers, and the number of the first of them."""
        piece = self.log[low:high]
        if self.scales is not None:
            piece, wrong = without_outliers(piece, self.scales)
            if wrong[own].any():
                if self.repaired[2] < 0:
                    self.repaired[2] = low + own.start + int(np.flatnonzero(wrong[own].any(axis=1))[0])
                for k, part in enumerate(np.hsplit(wrong[own], 2)):
                    self.repaired[k] += int(part.sum())
        if self.processing.resample is None:
            return piece, low - first
        return evenly(piece, self.rate, self._stamp(first))

    def _chunk(self, piece: Log, own: slice) -> Chunk:
        """Processed samples of a piece."""
        used = self.processing.but(trim=0, row_trim=0, rate=None)
        chunk = segment_of(piece, self.transmission, used, self.rate, self.delay)
        if self.temperatures and piece.temperature is not None:
            chunk = replace(chunk, temperature=np.broadcast_to(piece.temperature, chunk.v.shape))
        return chunk[own]

    def _inner(self, begin: int, count: int, total: int) -> NDArray[np.bool_] | None:
        """Which of some samples of a segment of so many are not at its ends, shape (count,); None for all."""
        ends = ends_of_rows(self.processing)
        if not ends or (begin >= ends and begin + count <= total - ends):
            return None
        at = np.arange(begin, begin + count)
        return (at >= ends) & (at < total - ends)


def _kept(chunk: Chunk) -> NDArray[np.bool_] | bool:
    return True if chunk.keep is None else chunk.keep
