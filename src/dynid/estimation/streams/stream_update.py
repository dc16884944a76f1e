"""What an update of a stream found."""

from __future__ import annotations

from dataclasses import dataclass

from dynid.arrays import Array
from dynid.estimation.streams.alarms import Alarm


@dataclass(frozen=True, eq=False)
class StreamUpdate:
    """What an update of a stream found, at once.

    Attributes:
        residual: Measured torque less that of the parameters of the last look [N m or N], shape (rows,), or
            (samples, rows) for a block; NaN where filters have not settled, and of rows that are not measured. The
            stream looks after 64 samples, then whenever there are twice as many; with forgetting at least once in its
            time constant.
        sure: Whether these parameters are all determined, so that the residual means something.
        seconds: How long the stream lasts [s]; NaN where no time and no rate are known.
        alarms: Changes that these samples showed: raised, or settled.
    """

    residual: Array
    sure: bool
    seconds: float
    alarms: tuple[Alarm, ...] = ()

    @property
    def alarm(self) -> Alarm | None:
        """The last of the alarms; None where there is none."""
        return self.alarms[-1] if self.alarms else None
