"""Samples that are held: signals that are new only every few rows, because their source is slower than the log.

A source that is read at a lower rate than the log is written repeats its value exactly, for all joints at once, in runs
of (nearly) the same length. Encoders repeat values, too, where joints are slow, but each joint at its own times and
with steps of one count; and everything may repeat at rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, frozen
from dynid.findings import Finding, Severity
from dynid.logs.log import Log

WINDOW = 2000
"""Samples of each of the parts of a log that show whether a closer look is worth it."""

HOLDABLE = {"position": "positions", "torque": "torques", "velocity": "velocities"}


@dataclass(frozen=True)
class HoldThresholds:
    """When repeated values are those of a slower source.

    By judgement where a field does not state otherwise.
    """

    refreshes: int = 50
    """Fewest new values that show a rate."""

    run: float = 1.5
    """Shortest mean run: below it, samples are lost now and then, and little is."""

    rest: float = 2.5
    """Runs, in median runs, from which the robot rests."""

    regular: float = 0.8
    """Share of runs in motion that must be as long as the rate says. Coarse encoders of slow joints have runs of all
    lengths: at the same mean, a quarter of them at most are as long as that."""

    together: float = 0.6
    """Share of the new rows in which a signal that moves is new, for half of the signals at least."""

    counts: float = 2.5
    """Typical step between new values, in the smallest steps (counts of an encoder)."""

    slow_torque: float = 50.0
    """Rate [Hz] of new torques below which they are in doubt even where each is taken once: steps of friction between
    them are lost. Shown by torques that are held at 20 Hz in `benchmarks/verdict_sweep.py`."""


HOLD = HoldThresholds()


@dataclass(frozen=True, eq=False)
class HeldSignal:
    """A signal that is new only in some rows.

    Attributes:
        run: Mean number of rows from one new value to the next, in motion.
        fresh: Rows with new values, at rest as many as in motion, shape (new rows,).
    """

    run: float
    fresh: np.ndarray


def held_in(x: Array) -> HeldSignal | None:
    """Whether a signal of shape (samples, joints) is held, and how long."""
    windows = (x[first : first + WINDOW] for first in range(0, len(x), max(WINDOW, len(x) // 10)))
    new = np.concatenate([(window[1:] != window[:-1]).any(axis=1) for window in windows])
    if new.mean() > 1.0 / HOLD.run:
        return None
    steps = np.diff(x, axis=0)
    changed = steps != 0.0
    moving = np.flatnonzero(changed.sum(axis=0) >= HOLD.refreshes)
    at = np.flatnonzero(changed[:, moving].any(axis=1))
    if len(at) < HOLD.refreshes or len(at) > len(steps) / HOLD.run:
        return None
    runs = np.diff(at)
    runs = runs[runs <= HOLD.rest * np.median(runs)]
    run = float(runs.mean())
    if run < HOLD.run or np.mean(is_regular(runs, run)) < HOLD.regular:
        return None
    together = changed[np.ix_(at, moving)].mean(axis=0)
    coarse = [_is_coarse(steps[:, k]) for k in moving]
    if np.median(together) < HOLD.together or 2 * sum(coarse) > len(coarse):
        return None
    return HeldSignal(run, _filled(at + 1, run, len(x)))


def is_regular(runs: np.ndarray, run: float) -> np.ndarray:
    """Which runs are as long as a source of even rate makes them."""
    spare = max(0.0, 0.1 * run) if run >= 5.0 else 0.0
    return (runs >= np.floor(run + 0.1 - spare)) & (runs <= np.ceil(run - 0.1 + spare))


def _is_coarse(steps: Array) -> bool:
    """Whether a signal changes by single counts."""
    sizes = np.abs(steps[steps != 0.0])
    return bool(np.quantile(sizes, 0.75) < HOLD.counts * np.quantile(sizes, 0.02))


def _filled(fresh: np.ndarray, run: float, samples: int) -> np.ndarray:
    """Rows with new values, and rows as far apart where values rest."""
    edges = np.concatenate([[0], fresh, [samples]])
    length = max(1, round(run))
    rests = [
        np.arange(begin + length, end - length // 2, length)
        for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        if end - begin > HOLD.rest * run
    ]
    return np.unique(np.concatenate([fresh, *rests])).astype(int)


def without_held_samples(log: Log, may_change: bool) -> Log:
    """The log at the rate of its positions, where signals are held; said in its findings.

    Torques and velocities that are held are interpolated between new values, which also takes out the half run by which
    they are late. Where positions are held, only the rows with new ones are kept: accelerations would be spikes.

    Args:
        log: The log.
        may_change: Whether the log may be changed; otherwise findings only.
    """
    found = {name: held for name in HOLDABLE if (held := _held(log, name)) is not None}
    if not found:
        return log
    rate = (len(log) - 1) / max(float(log.time[-1] - log.time[0]), 1e-300)
    note = finding_on_held({name: held.run for name, held in found.items()}, rate, may_change)
    if not may_change:
        return replace(log, findings=(*log.findings, note))
    changes = {
        name: frozen(_interpolated(getattr(log, name), held.fresh))
        for name, held in found.items()
        if name != "position"
    }
    log = replace(log, **changes)
    log = log.at(found["position"].fresh) if "position" in found else log
    return replace(log, findings=(*log.findings, note))


def finding_on_held(runs: Mapping[str, float], rate: float, may_change: bool) -> Finding:
    """A finding on signals that are held.

    Args:
        runs: Of each signal that is held, how many rows it is.
        rate: Rate of the log [Hz].
        may_change: Whether new values are taken once.
    """
    values = {
        "signals": {HOLDABLE[name]: rate / run for name, run in runs.items()},
        "logged": rate,
        "rate": rate / runs["position"] if "position" in runs else rate / max(runs.values()),
    }
    if not may_change:
        severity = Severity.ERROR if "position" in runs else Severity.WARNING
        return Finding.of("samples-held", "samples", severity, **values)
    slow = "torque" in runs and rate / runs["torque"] < HOLD.slow_torque
    return Finding.of("samples-held-taken-once", "samples", Severity.WARNING if slow else None, **values)


def _held(log: Log, name: str) -> HeldSignal | None:
    values = getattr(log, name)
    return None if values is None else held_in(values)


def _interpolated(x: Array, fresh: np.ndarray) -> Array:
    """Values between new ones, by cubic splines; before the first and after the last new one they are held."""
    from scipy.interpolate import CubicSpline

    rows = np.clip(np.arange(len(x)), fresh[0], fresh[-1])
    return np.asarray(CubicSpline(fresh, x[fresh], axis=0)(rows), dtype=float)
