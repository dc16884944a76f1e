"""Time stamps in another unit than seconds: recognised by rates and speeds that no robot has."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.log import Log


@dataclass(frozen=True)
class TimeUnitThresholds:
    """When time stamps are doubted to be in seconds.

    By judgement where a field does not state otherwise.
    """

    periods: tuple[float, float] = (1e-5, 1.0)
    """Periods [s] that robots are logged with; others suggest another unit whatever the speeds."""

    rates: tuple[float, float] = (5.0, 20_000.0)
    """Sampling rates [Hz] that another unit must lead to."""

    speeds: tuple[float, float] = (0.02, 50.0)
    """Speeds [rad/s or m/s] of the fastest joint that another unit must lead to."""

    slow_period: float = 0.05
    """Period [s] from which joints that creep show stamps in ms: 20 kHz are the fastest logs there are."""

    creeping: float = 0.01
    """Speed [rad/s or m/s] of the fastest joint at which a robot creeps: no motion that identifies it is so slow."""

    fast_period: float = 2e-4
    """Period [s] below which impossible speeds show stamps that were divided: positions in degrees are 57 times as
    fast as the joints, but not sampled at more than 5 kHz."""

    impossible: float = 100.0
    """Speed [rad/s or m/s] that no joint has."""


TIME_UNIT = TimeUnitThresholds()


def findings_on_unit(period: float, speed: float) -> Iterator[Finding]:
    """A finding on stamps that are in another unit than seconds."""
    long = period >= TIME_UNIT.periods[1] or (period >= TIME_UNIT.slow_period and speed < TIME_UNIT.creeping)
    short = period < TIME_UNIT.periods[0] or (period < TIME_UNIT.fast_period and speed > TIME_UNIT.impossible)
    if long:
        unit = likely_unit(period, speed, (("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)))
        if unit is None and period >= TIME_UNIT.periods[1]:
            unit = ("ms", 1e-3) if period < 100 else ("us", 1e-6) if period < 1e5 else ("ns", 1e-9)
        if unit is not None:
            values = {"period": period, "unit": unit[0], "factor": unit[1], "rate": 1.0 / (period * unit[1])}
            yield Finding.of("time-steps-long", "time", **values)
    elif short:
        unit = likely_unit(period, speed, (("ms", 1e3), ("us", 1e6), ("ns", 1e9)))
        declared, factor = unit or ("ms", 1e3)
        values = {"period": period, "unit": declared, "factor": factor, "rate": 1.0 / (period * factor)}
        yield Finding.of("time-steps-short", "time", **values)


def speed_of(log: Log) -> float:
    """Speed of the fastest joint of a log [rad/s or m/s], coarsely: noise and short steps do not count."""
    rows = np.unique(np.linspace(0, len(log) - 1, 200).astype(int))
    return speed_between(log.time[rows], log.position[rows])


def speed_between(time: Array, position: Array) -> float:
    """Speed of the fastest joint between single samples [rad/s or m/s].

    Args:
        time: Their time stamps [s], shape (samples,).
        position: Their positions [rad or m], shape (samples, joints).
    """
    steps = np.diff(time)
    if not (steps > 0.0).any():
        return math.nan
    speeds = np.abs(np.diff(position, axis=0))[steps > 0.0] / steps[steps > 0.0][:, None]
    return float(np.quantile(speeds, 0.95, axis=0).max())


def likely_unit(period: float, speed: float, units: Sequence[tuple[str, float]]) -> tuple[str, float] | None:
    """The unit of time that makes a log plausible, with its factor, of several; None where none does.

    Args:
        period: Median step of time as read [s].
        speed: Speed of the fastest joint as read [rad/s or m/s]; NaN where it is not known.
        units: Names of units and what stamps must be multiplied with.
    """
    for unit, factor in units:
        is_fast = np.isnan(speed) or TIME_UNIT.speeds[0] <= speed / factor <= TIME_UNIT.speeds[1]
        if TIME_UNIT.rates[0] <= 1.0 / (period * factor) <= TIME_UNIT.rates[1] and is_fast:
            return unit, factor
    return None
