"""Labels that are exchanged from one sample to the next: markers that go on where others were."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding


@dataclass(frozen=True)
class ExchangeThresholds:
    """When labels are said to be exchanged.

    Calibrated by `benchmarks/capture_checks.py`: simulated captures with and without exchanged labels.
    """

    jump: float = 0.03
    """Distance [m] from where a marker would go on with its velocity, over one sample at 100 Hz, from which it jumps:
    accelerations of 300 m/s^2, which hands do not reach. Calibrated on good captures."""

    acceleration: float = 300.0
    """The same at other rates and across gaps [m/s^2]. Calibrated on good captures."""

    better: float = 0.3
    """Part of the distances that may remain with the labels the other way round. Calibrated on good captures."""

    gap: float = 0.3
    """Longest gap [s] across which a marker is followed. By judgement."""


THRESHOLDS = ExchangeThresholds()


def without_exchanges(time: Array, markers: Array, names: Sequence[str]) -> tuple[Array, list[Finding]]:
    """Markers whose labels stay on them, with findings on those that did not.

    Each is followed from sample to sample. Where several jump, and each goes on where another was, their labels were
    exchanged there. Those that they have for most of the time are right.

    Args:
        time: Time stamps [s], shape (samples,).
        markers: Where they were [m], shape (samples, markers, 3); NaN where one was not seen.
        names: Their names.
    """
    found = markers.copy()
    own = np.tile(np.arange(len(names)), (len(time), 1))  # whose label each marker has
    for k, group in _jumps(time, markers):
        _follow(found, own, k, group)
    if np.array_equal(own[-1], own[0]) and (own == own[0]).all():
        return markers, []
    return _by_majority(time, markers, own, names)


def _jumps(time: Array, markers: Array) -> list[tuple[int, list[int]]]:
    """Samples at which two markers or more jump, and which: from the last sample in which each was seen."""
    jumps: dict[int, list[int]] = {}
    for m in range(markers.shape[1]):
        seen = np.flatnonzero(np.isfinite(markers[:, m, 0]))
        if len(seen) < 3:
            continue
        t, x = time[seen], markers[seen, m]
        steps = np.diff(t)
        velocity = np.diff(x, axis=0) / steps[:, None]
        away = np.linalg.norm(velocity[1:] - velocity[:-1], axis=1) * steps[1:]
        limit = np.maximum(THRESHOLDS.jump, THRESHOLDS.acceleration * steps[1:] * np.maximum(steps[1:], steps[:-1]))
        limit = np.where(steps[1:] > 1.5 * np.median(steps), THRESHOLDS.jump, limit)
        for k in seen[2:][(away > limit) & (steps[1:] <= THRESHOLDS.gap)].tolist():
            jumps.setdefault(k, []).append(m)
    return sorted((k, group) for k, group in jumps.items() if len(group) > 1)


def _follow(found: Array, own: np.ndarray, k: int, group: Sequence[int]) -> None:
    """Exchange labels from a sample on, in place, where markers then go on better."""
    from scipy.optimize import linear_sum_assignment

    columns = list(group)
    before = np.array([_last(found[:k, m]) for m in columns])
    now = found[k, columns]
    apart = np.linalg.norm(before[:, None] - now[None], axis=2)
    if not np.isfinite(apart).all():
        return
    rows, best = linear_sum_assignment(apart)
    changed = [r for r, c in zip(rows.tolist(), best.tolist(), strict=True) if r != c]
    if not changed:
        return
    straight = apart[changed, changed].sum()
    if apart[changed, best[changed]].sum() > THRESHOLDS.better * straight or straight < THRESHOLDS.jump:
        return
    to, source = [columns[r] for r in changed], [columns[best[r]] for r in changed]
    found[k:, to], own[k:, to] = found[k:, source], own[k:, source]


def _last(places: Array) -> Array:
    """Where a marker was last seen."""
    seen = np.flatnonzero(np.isfinite(places[:, 0]))
    return places[seen[-1]] if len(seen) else np.full(3, np.nan)


def _by_majority(time: Array, markers: Array, own: np.ndarray, names: Sequence[str]) -> tuple[Array, list[Finding]]:
    """Markers under the labels that they have for most of the time, with a finding on each exchange."""
    from scipy.optimize import linear_sum_assignment

    count = own.shape[1]
    usual = np.stack([np.bincount(own[:, m], minlength=count) for m in range(count)])
    _, label = linear_sum_assignment(-usual)  # of each marker that was followed
    found = np.empty_like(markers)
    found[:, label] = np.take_along_axis(markers, own[:, :, None], axis=1)
    wrong = own != label[None]
    step = float(np.median(np.diff(time)))
    findings, done = [], set[int]()
    for m in np.flatnonzero(wrong.any(axis=0)).tolist():
        if m in done:
            continue
        group = {m, *own[wrong[:, m], m].tolist()} | {
            other for other in range(count) if set(own[:, other].tolist()) & {int(label[m])} and wrong[:, other].any()
        }
        done |= group
        rows = np.flatnonzero(wrong[:, sorted(group)].any(axis=1))
        values = {"at": float(time[rows[0]]), "seconds": len(rows) * step, "stretches": _runs(rows)}
        listed = [names[int(label[g])] for g in sorted(group)]
        findings.append(Finding.of("markers-exchanged", "markers", markers=listed, **values))
    return found, findings


def _runs(rows: np.ndarray) -> int:
    """How many runs of consecutive numbers there are."""
    return int(1 + np.count_nonzero(np.diff(rows) > 1)) if len(rows) else 0
