"""Where samples wait between the thread that receives them and the one that uses them: bounded, and all is counted."""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import dataclass, field

from dynid.logs.streams.samples import Sample

MOST_WAITING = 20_000
"""Samples that may wait: 20 s of a robot at 1 kHz, some 10 MB. What comes then is dropped, and counted."""

RESTART = 5
"""So many samples in a row that are earlier than the last one are a sender that started again, and not late."""

LONGEST_PAUSE = 0.5
"""A step [s] of time stamps beyond this is a gap, after which filters start anew."""


@dataclass
class Counts:
    """What arrived so far.

    Attributes:
        accepted: Samples that were used or wait to be.
        malformed: Packets or lines that were ignored, by kind.
        late: Samples that came after a later one, or twice.
        dropped: Samples for which there was no room, or that came after the end.
        gaps: Steps of time that were longer than `LONGEST_PAUSE`.
        restarts: How often a sender began anew.
    """

    accepted: int = 0
    malformed: Counter[str] = field(default_factory=Counter)
    late: int = 0
    dropped: int = 0
    gaps: int = 0
    restarts: int = 0

    def to_dict(self) -> dict[str, object]:
        """Give them as plain data for JSON."""
        return {**vars(self), "malformed": dict(sorted(self.malformed.items()))}


class Inbox:
    """Samples in the order of time, from one thread to another.

    Attributes:
        counts: What arrived so far.
        hint: Why nothing is read yet, in words; empty where that is not known.
    """

    def __init__(self, most: int = MOST_WAITING) -> None:
        self.counts = Counts()
        self.hint = ""
        self.is_closed = False
        self.problem: Exception | None = None
        self._most = most
        self._waiting: deque[tuple[Sample, bool]] = deque()
        self._changed = threading.Condition()
        self._last: float | None = None
        self._early: list[float] = []

    def put(self, sample: Sample) -> bool:
        """Add a sample; False where it was late, there is no room, or nobody takes samples any more."""
        with self._changed:
            if self.is_closed:
                self.counts.dropped += 1
                return False
            begins = self._begins(sample.time)
            if begins is None:
                self.counts.late += 1
                return False
            if len(self._waiting) >= self._most:
                self.counts.dropped += 1
                return False
            self._last = sample.time
            self._early.clear()
            self._waiting.append((sample, begins))
            self.counts.accepted += 1
            self._changed.notify()
            return True

    def refuse(self, kind: str) -> None:
        """Count a packet or a line that is malformed."""
        with self._changed:
            self.counts.malformed[kind] += 1

    def close(self, problem: Exception | None = None) -> None:
        """Say that nothing more will come, and why if that is an error."""
        with self._changed:
            self.is_closed = True
            self.problem = self.problem or problem
            self._changed.notify_all()

    def take(self, timeout: float, most: int = 500) -> list[tuple[Sample, bool]]:
        """Samples that wait, the oldest first, each with whether a stretch of time begins with it.

        Args:
            timeout: How long to wait [s] where there are none.
            most: How many to take.
        """
        with self._changed:
            if not self._waiting and not self.is_closed:
                self._changed.wait(timeout)
            return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]

    @property
    def waiting(self) -> int:
        """How many samples wait."""
        return len(self._waiting)

    @property
    def is_done(self) -> bool:
        """Whether nothing waits, and nothing will come."""
        return self.is_closed and not self._waiting

    def _begins(self, time: float) -> bool | None:
        """Whether a stretch of time begins with a sample, None where it is late."""
        if self._last is None:
            return True
        if time > self._last:
            gap = time - self._last > LONGEST_PAUSE
            self.counts.gaps += gap
            return gap
        self._early = [*self._early, time] if not self._early or time > self._early[-1] else [time]
        if len(self._early) < RESTART:
            return None
        self.counts.restarts += 1
        return True
