"""Labels that are exchanged throughout a capture: found by distances between markers that are on one segment."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Flags, Indices


@dataclass(frozen=True)
class SwappedLabelThresholds:
    """When labels are said to be exchanged throughout.

    Calibrated by `benchmarks/capture_checks.py`: captures of persons whose lengths are 6 % off the model's, and whose
    markers are 17 mm away from its, with and without exchanged labels.
    """

    place: float = 0.02
    """Standard deviation [m] of distances between markers on a segment from those of the robot. By judgement."""

    length: float = 0.06
    """The same relative to them: lengths of segments. By judgement."""

    rigid: float = 0.008
    """Standard deviation [m] over time of the distance of two markers on one segment: skin moves. By judgement."""

    better: float = 60.0
    """By how much less the sum of squared errors over these must be with two labels exchanged. Calibrated on captures
    without exchanged labels."""

    share: float = 0.5
    """The same, as part of what the two markers add. Calibrated likewise."""

    alike: float = 0.85
    """Part of the best gain from which another exchange is as good: then the one counts with which markers are nearer
    to those of the neighbouring segments. Calibrated on exchanges of markers left and right."""


THRESHOLDS = SwappedLabelThresholds()


@dataclass(frozen=True, eq=False)
class MarkerDistances:
    """Distances between markers, shape (markers, markers) each.

    Attributes:
        seen: Their medians over time [m].
        spread: Their standard deviations over time [m].
        wanted: Those on the robot [m], of markers on one segment.
        same: Which pairs are on one segment.
        near: Which are on one segment or on neighbouring ones.
    """

    seen: Array
    spread: Array
    wanted: Array
    same: Flags
    near: Flags

    def ratio(self, longer: float) -> float:
        """Distances on segments over those on the robot, in the median of those that are longer [m]; else NaN."""
        usable = self.same & np.isfinite(self.seen) & (self.wanted > longer)
        return float(np.median(self.seen[usable] / self.wanted[usable])) if usable.any() else float("nan")

    def scaled(self, factor: float) -> "MarkerDistances":
        """The same of a capture that is larger by a factor."""
        return replace(self, seen=factor * self.seen, spread=factor * self.spread)

    def errors(self, order: Indices, rows: Indices) -> Array:
        """Squared errors of some markers under labels, shape (rows, markers); `order` has the marker of each label."""
        at = np.ix_(order[rows], order)
        size = THRESHOLDS.place**2 + (THRESHOLDS.length * self.wanted[rows]) ** 2
        found = (self.seen[at] - self.wanted[rows]) ** 2 / size + (self.spread[at] / THRESHOLDS.rigid) ** 2
        return np.where(self.same[rows] & np.isfinite(found), found, 0.0)

    def reach(self, order: Indices, rows: Indices) -> float:
        """Sum of the distances of some markers from those on their segment and its neighbours [m]."""
        apart = np.where(self.near[rows], self.seen[np.ix_(order[rows], order)], 0.0)
        return float(np.nansum(apart))


def label_order(distances: MarkerDistances) -> list[int] | None:
    """Which marker has the label of which, where labels are exchanged; None where none is.

    The sum of squared errors of distances on segments, and of how much they vary, is lowered by one exchange after the
    other, the best first. Where several are as good (left and right heel, or left and right toe), the markers of
    neighbouring segments decide.
    """
    count = len(distances.seen)
    order, is_changed = np.arange(count), False
    for _ in range(count):
        gains = list(_gains(distances, order))
        if not gains:
            break
        most = max(gain for gain, _ in gains)
        alike = [pair for gain, pair in gains if gain >= THRESHOLDS.alike * most]
        i, j = min(alike, key=lambda pair: distances.reach(_exchanged(order, *pair), np.arange(count)))
        order, is_changed = _exchanged(order, i, j), True
    return order.tolist() if is_changed else None


def _gains(distances: MarkerDistances, order: Indices) -> Iterator[tuple[float, tuple[int, int]]]:
    """Exchanges that lower the sum of squared errors enough, each with by how much."""
    own = distances.errors(order, np.arange(len(order))).sum(axis=1)
    for i in range(len(order)):
        for j in range(i + 1, len(order)):
            before = float(own[i] + own[j])
            if before <= THRESHOLDS.better:
                continue
            gain = before - float(distances.errors(_exchanged(order, i, j), np.array([i, j])).sum())
            if gain >= max(THRESHOLDS.better, THRESHOLDS.share * before):
                yield gain, (i, j)


def _exchanged(order: Indices, i: int, j: int) -> Indices:
    found = order.copy()
    found[[i, j]] = found[[j, i]]
    return found
