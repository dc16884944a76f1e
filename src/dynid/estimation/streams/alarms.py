"""What a stream says when something has changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dynid.estimation.streams.hypotheses import Cause


@dataclass(frozen=True)
class Alarm:
    """A change that was noticed while data streamed in.

    Attributes:
        seconds: When it was noticed [s], counted as the stream's.
        cause: What has probably changed: a payload, the friction of a joint, or something that neither explains.
        place: Name of the link that carries the payload, of the joint with the friction, or of the joint whose torque
            is least explained.
        change: The payload's mass [kg]; what friction adds, relative to the friction before.
        interval: 95 % interval of the change, by how much it fluctuated while nothing had changed.
        is_settled: Whether cause and change rest on the time after the alarm, too. A settled alarm replaces the one
            that was raised.
        level: Explained squares over those that raise an alarm.
    """

    seconds: float
    cause: Cause
    place: str
    change: float
    interval: tuple[float, float]
    is_settled: bool
    level: float

    @property
    def text(self) -> str:
        """One sentence."""
        low, high = self.interval
        if self.cause is Cause.PAYLOAD:
            what = "picked up" if self.change > 0.0 else "put down"
            return f"a payload was {what} at {self.place}: {abs(self.change):.2f} kg ({_span(low, high)} kg)"
        if self.cause is Cause.FRICTION:
            what = "rose" if self.change > 0.0 else "fell"
            return f"friction of {self.place} {what} by {abs(self.change):.0%}"
        if self.cause is Cause.NOTHING:
            return "what was noticed did not last: no change of payload or friction"
        return f"something acts on {self.place} that neither a payload nor friction explains"

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s: {self.text}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        is_known = math.isfinite(self.change)
        return {
            "seconds": self.seconds,
            "cause": self.cause.value,
            "place": self.place,
            "change": self.change if is_known else None,
            "interval": list(self.interval) if is_known else None,
            "settled": self.is_settled,
            "text": self.text,
        }


def _span(low: float, high: float) -> str:
    low, high = sorted((abs(low), abs(high))) if low * high >= 0.0 else (low, high)
    return f"{low:.2f} to {high:.2f}"
