"""Time stamps of long logs, which are looked at in blocks."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.logs.missing_cells import GAPS, filled_stamps
from dynid.logs.readers.column_store import BLOCK, Column, ColumnStore, quantile_of
from dynid.logs.timing import GAP, LONGEST_GAP, ROUNDED, Timing


@dataclass(frozen=True)
class Extremes(Sequence[tuple[int, float]]):
    """Steps of time, of which some stand for all: the first, the shortest and the longest, and all long gaps.

    Attributes:
        total: How many there are.
        kept: Those that are kept, in their order: index of a sample, and the step [s].
    """

    total: int = 0
    kept: tuple[tuple[int, float], ...] = ()

    def __len__(self) -> int:
        return self.total

    @overload
    def __getitem__(self, k: int) -> tuple[int, float]: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[tuple[int, float]]: ...
    def __getitem__(self, k: int | slice) -> tuple[int, float] | Sequence[tuple[int, float]]:
        return self.kept[k]

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return iter(self.kept)

    def with_more(self, at: np.ndarray, steps: Array, longest: float) -> "Extremes":
        """With those of another block; all that are longer than the gaps within a segment [s] are kept."""
        if not len(at):
            return self
        few = {0, int(np.argmin(steps)), int(np.argmax(steps)), *np.flatnonzero(steps > longest).tolist()}
        known = [*self.kept, *((int(at[k]), float(steps[k])) for k in sorted(few))]
        ends = {known[0], min(known, key=lambda one: one[1]), max(known, key=lambda one: one[1])}
        return Extremes(self.total + len(at), tuple(one for one in known if one in ends or one[1] > longest))


def long_timing(time: Column, first_row: int = 1) -> Timing:
    """What `check_time` finds; of gaps, repeats and resets only the extremes, and all gaps that end a segment.

    Raises:
        InvalidRequestError: If no stamp is later than the one before.
    """

    def forward(most: float = np.inf) -> Iterator[Array]:
        for _, block in time.blocks(before=1):
            steps = np.diff(block)
            yield steps[(steps > 0.0) & (steps <= most)]

    count = sum(len(steps) for steps in forward())
    if not count:
        raise InvalidRequestError(f"time never advances in {len(time)} samples; check the column that holds it")
    period = quantile_of(forward, count, 0.5)
    gaps, repeats, resets = Extremes(), Extremes(), Extremes()
    moments, regular, largest = np.zeros(2), 0, 0.0
    for first, block in time.blocks(before=1):
        steps = np.diff(block)
        before = max(first - 1, 0)  # the sample before the first step
        gaps, repeats, resets = (
            known.with_more(before + at + is_after, steps[at], LONGEST_GAP * period)
            for known, at, is_after in (
                (gaps, np.flatnonzero(steps > GAP * period), 0),
                (repeats, np.flatnonzero(steps == 0.0), 1),
                (resets, np.flatnonzero(steps < 0.0), 1),
            )
        )
        apart = steps[(steps > 0.0) & (steps <= GAP * period)] - period
        moments += apart.sum(), np.square(apart).sum()
        regular, largest = regular + len(apart), max(largest, float(steps.max(initial=0.0)))
    mean, square = (moments / max(regular, 1)).tolist()
    jitter = math.sqrt(max(square - mean**2, 0.0)) / period
    return Timing(
        samples=len(time),
        period=period + mean if jitter < ROUNDED else period,
        jitter=jitter,
        largest_step=largest,
        gaps=gaps,
        repeats=_Indexes(repeats),
        resets=resets,
        first_row=first_row,
    )


class _Indexes(Sequence[int]):
    """Indexes of samples, of which the first stands for all."""

    def __init__(self, of: Extremes) -> None:
        self._of = of

    def __len__(self) -> int:
        return len(self._of)

    @overload
    def __getitem__(self, k: int) -> int: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[int]: ...
    def __getitem__(self, k: int | slice) -> int | Sequence[int]:
        found = [index for index, _ in self._of.kept]
        return found[k]


def in_blocks(count: int, made: Callable[[int, int], Array]) -> Iterator[Array]:
    """Arrays of the samples from one to before another, block by block."""
    yield from (made(first, min(first + BLOCK, count)) for first in range(0, count, BLOCK))


def filled_time(store: ColumnStore, time: Column) -> Column:
    """Stamps as `filled_stamps` gives them."""
    if all(np.isfinite(block).all() for _, block in time.blocks()):
        return time
    around = GAPS.longest + 1  # a longer gap is not filled, however much of it is seen

    def made(first: int, last: int) -> Array:
        begin = max(first - around, 0)
        return filled_stamps(time.read(begin, last + around))[first - begin : last - begin]

    return store.made(in_blocks(len(time), made))
