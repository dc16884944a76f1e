"""Averaging the periods of a periodic motion, and the noise that it shows.

A robot that repeats its motion repeats its torques; what differs between periods is noise. The mean of N periods has
sqrt(N) times less of it, and the standard deviation between periods shows how much there was, joint by joint, without
any model.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.findings import Finding
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing.states import LONGEST_GAP, processed
from dynid.logs.settings import COMMANDS, Processing
from dynid.logs.timing import check_time
from dynid.model import Chunk


@dataclass(frozen=True)
class PeriodThresholds:
    """Which periods are averaged.

    Shown by `tests/logs/test_periods.py`: right periods with noise, wrong and nearly right ones, and a first period
    that had not settled.
    """

    refused_share: float = 0.05
    """Share of the motion by which positions may differ between periods: beyond, the mean is no motion, and the period
    is refused."""

    doubtful_share: float = 0.005
    """The same from which a warning is due: robots repeat their motions to a thousandth or better."""

    repeated_share: float = 0.02
    """Share of the motion within which it must come back to count as periodic, where another period is looked for."""

    same_period: float = 1e-4
    """Relative difference between two periods up to which they are the same."""

    unsettled_first: float = 2.0
    """How many times farther than usual a first period must be from the others to be left out: noise alone does not
    reach it."""


THRESHOLDS = PeriodThresholds()


@dataclass(frozen=True, eq=False)
class PeriodMean:
    """The mean period of a log.

    Attributes:
        log: One period, evenly sampled.
        periods: Number of periods that it is the mean of.
        position_noise: Standard deviation of one period's positions from the mean [rad or m], shape (n,).
        torque_noise: The same for torques [N m, N or A], shape (n,).
        left_out: How many times farther than usual the first period was from the others, if it was left out; else 0.
        doubt: What speaks against the period; None where its periods are alike.
    """

    log: Log
    periods: int
    position_noise: Array
    torque_noise: Array
    left_out: float = 0.0
    doubt: Finding | None = None

    def findings(self, names: Sequence[str], side: str, unit: str) -> tuple[Finding, ...]:
        """What averaging says about noise; `side` is where torques were logged, `unit` their unit."""
        notes = [
            Finding.of(
                "periods-averaged",
                "periods",
                periods=self.periods,
                torque_noise=dict(zip(names, self.torque_noise.tolist(), strict=True)),
                position_noise=dict(zip(names, self.position_noise.tolist(), strict=True)),
                side=side,
                unit=unit,
                reduction=math.sqrt(self.periods),
            )
        ]
        if self.left_out:
            notes.append(Finding.of("period-left-out", "periods", factor=self.left_out))
        return (*notes, self.doubt) if self.doubt is not None else tuple(notes)


def averaged(log: Log, period: float) -> PeriodMean:
    """Take the mean of all whole periods of a log, but for a first one in which the robot had not settled.

    Args:
        log: What was logged; samples need not be even, nor a period a whole number of them.
        period: Time of one period [s].

    Raises:
        InvalidRequestError: If there are fewer than two periods, or a gap that cannot be interpolated, or the periods
            are not alike.
    """
    timing = check_time(log.time)
    time = log.time - log.time[0]
    samples = round(period * timing.rate)
    # The last sample of the last period may be missing: it is one step before the period's end.
    periods = math.floor((time[-1] + 1.5 * timing.period) / period)
    if periods < 2 or samples < 8:
        raise InvalidRequestError(
            f"{time[-1]:.4g} s at {timing.rate:.4g} Hz hold {periods} periods of {period:g} s; averaging needs two or "
            "more, of eight samples or more: check processing.period"
        )
    if timing.largest_step > LONGEST_GAP * timing.period or not timing.is_ordered:
        raise InvalidRequestError(
            f"the log has a gap of {timing.largest_step:.3g} s, or time that does not advance, and its periods cannot "
            "be averaged; cut it by rows or seconds"
        )
    grid = (np.arange(periods)[:, None] + np.arange(samples) / samples) * period
    grid = np.minimum(grid, time[-1])
    q, torque = _at(grid, time, log.position, cubic=True), _at(grid, time, log.torque)
    left_out = max(first_stands_out(q), first_stands_out(torque)) if periods > 2 else 0.0
    first = 1 if left_out > THRESHOLDS.unsettled_first else 0
    q, torque = q[first:], torque[first:]
    doubt = _doubt(time, log.position, period, share_that_differs(q))
    v = None if log.velocity is None else _at(grid, time, log.velocity)[first:].mean(axis=0)
    missing = None if log.missing is None else (_at(grid, time, log.missing.astype(float))[first:] > 1e-6).any(axis=0)
    mean = replace(
        log,
        **dict.fromkeys(COMMANDS),
        time=np.arange(samples) * (period / samples),
        position=q.mean(axis=0),
        torque=torque.mean(axis=0),
        velocity=v,
        missing=missing,
        temperature=None,
        wrench=None,
    )
    return PeriodMean(mean, len(q), spread(q), spread(torque), left_out if first else 0.0, doubt)


def _doubt(time: Array, q: Array, period: float, share: float) -> Finding | None:
    """What speaks against a period whose periods differ by a share of the motion.

    Raises:
        InvalidRequestError: If they differ so much that their mean is no motion.
    """
    if share <= THRESHOLDS.doubtful_share:
        return None
    better = fitting_period(time, q)
    found: dict[str, Any] = {"period": period, "share": share}
    if better is None:
        finding = Finding.of("period-not-found", "periods", **found)
    elif abs(better - period) > THRESHOLDS.same_period * period:
        finding = Finding.of("period-wrong", "periods", **found, better=better)
    else:
        finding = Finding.of("periods-differ", "periods", **found)
    if share > THRESHOLDS.refused_share:
        raise InvalidRequestError(finding.text)
    return finding


def processed_period(
    mean: PeriodMean, transmission: Transmission, processing: Processing, delay: float = 0.0
) -> list[Chunk]:
    """The mean period, processed as `processed` does, with whole periods around it so that filters see no ends.

    Samples are not trimmed: a period has no ends.
    """
    one = mean.log
    period = one.time[1] * len(one)

    def thrice(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values] * 3)

    long = replace(
        one,
        time=np.concatenate([one.time + k * period for k in range(3)]),
        position=thrice(one.position),
        torque=thrice(one.torque),
        velocity=None if one.velocity is None else thrice(one.velocity),
        missing=None if one.missing is None else thrice(one.missing),
    )
    (chunk,) = processed(long, transmission, processing.but(trim=0, resample=None), delay)
    third = len(chunk) // 3
    return [chunk[third : 2 * third]]


def _at(grid: Array, time: Array, values: Array, cubic: bool = False) -> Array:
    """Values, shape (samples, n), at a grid of times; (periods, samples of a period, n)."""
    if cubic:
        from scipy.interpolate import CubicSpline

        return np.asarray(CubicSpline(time, values)(grid))
    return np.stack([np.interp(grid, time, column) for column in values.T], axis=-1)


MOST_POINTS = 1500
"""Points that a motion is decimated to when its period is looked for."""


SAME_MOTION = 1e-6
"""Share of the motion below which differences do not count."""


def spread(values: Array) -> Array:
    """Pooled standard deviation of periods from their mean, shape (n,), of (periods, samples, n)."""
    return np.sqrt(np.mean(np.var(values, axis=0, ddof=1), axis=0))


def first_stands_out(values: Array) -> float:
    """How many times farther the first period is from the mean of the others than noise would have it.

    Args:
        values: Periods, shape (periods, samples, n), of which there are three or more.

    Returns:
        The factor of the joint where it is largest; differences below a millionth of the motion count as none.
    """
    others = values[1:]
    away = np.sqrt(np.mean((values[0] - others.mean(axis=0)) ** 2, axis=0))
    usual = spread(others) * np.sqrt(1.0 + 1.0 / len(others))
    least = SAME_MOTION * np.ptp(values, axis=(0, 1)) + np.finfo(float).tiny
    return float(np.max(away / np.maximum(usual, least)))


def share_that_differs(values: Array) -> float:
    """Root mean square of what differs between periods, in parts of the motion's own, of (periods, samples, n)."""
    motion = float(np.sum(np.var(values, axis=(0, 1))))
    return float(np.sqrt(np.sum(spread(values) ** 2) / motion)) if motion > 0.0 else 0.0


def fitting_period(time: Array, q: Array) -> float | None:
    """The shortest time [s] after which positions repeat; None where they do not within half of the log.

    Args:
        time: Times [s], shape (samples,).
        q: Positions, shape (samples, n).
    """
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(time, q)
    grid = np.linspace(time[0], time[-1], min(len(time), MOST_POINTS))
    x, step = spline(grid), grid[1] - grid[0]
    motion = float(np.sqrt(2.0 * np.sum(np.var(x, axis=0))))
    if motion == 0.0:
        return None

    def away(lag: float) -> float:
        t = grid[grid <= time[-1] - lag]
        return float(np.sqrt(np.mean(np.sum((spline(t + lag) - spline(t)) ** 2, axis=1)))) / motion

    lags = range(1, len(grid) // 2 + 1)
    found = np.array([np.sqrt(np.mean(np.sum((x[k:] - x[:-k]) ** 2, axis=1))) for k in lags]) / motion
    left = np.flatnonzero(found > 5.0 * THRESHOLDS.repeated_share)  # near a lag of zero everything is the same
    if not len(left):
        return None
    start = int(left[0])
    valleys = [k for k in range(max(start, 1), len(found) - 1) if found[k] <= found[k - 1] and found[k] <= found[k + 1]]
    for k in valleys:
        lag, width = (k + 1) * step, step
        for _ in range(6):
            tries = lag + width * np.linspace(-1.0, 1.0, 11)
            lag, width = float(tries[np.argmin([away(float(one)) for one in tries])]), 0.2 * width
        if away(lag) < THRESHOLDS.repeated_share:
            return lag
    return None
