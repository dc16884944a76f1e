"""A motion that repeats, as a trigonometric polynomial: its period, its mean, its harmonics and the noise of sensors.

What differs between periods is noise, of positions and of torques, joint by joint, without any model. Where a period
is a whole number of samples, samples of one phase are averaged. Where it is not, no two samples have one phase, and all
are kept as they are: nothing is interpolated that is estimated from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing.periods import averaged, fitting_period
from dynid.logs.timing import check_time

EVEN = 2e-3
"""Part of a sampling step by which samples of one phase may differ in time to be averaged."""

REFINED_HARMONICS = 15
"""Harmonics by which a period is refined."""

REFINEMENTS = 12
"""Steps of refinement at most."""

WHOLE = 1e-7
"""Relative difference below which a period is taken as the nearest whole number of samples."""

FALSE_ALARM = 0.01
"""Probability that noise alone shows any harmonic."""

HARMONIC_MARGIN = 1.25
"""Harmonics beyond the last one that shows: this many times as many, and two."""

MOST_COEFFICIENTS = 1000
"""Coefficients of all joints that a motion may have."""

OVERSAMPLED = 0.4
"""Harmonics at most, relative to the number of samples of a period; one half is the limit of Nyquist."""

LEAST_NOISE = 1e-10
"""Noise at least, relative to the range of a signal: exact data have none."""

TURN_SHARE = 0.02
"""Part of its top speed below which a joint is taken to turn, where noise of torques is estimated."""

TURN_STEPS = 4.0
"""Sampling steps around a turn of a joint that are left out where noise of torques is estimated."""


@dataclass(frozen=True, eq=False)
class RepeatedMotion:
    """Samples of a motion that repeats, of n phases.

    Attributes:
        period: Time of one period [s].
        harmonics: Number of harmonics that the motion needs.
        time: Times [s] since the first sample, shape (n,).
        position: Mean joint positions [rad or m], shape (n, nv).
        torque: Mean joint torques [N m or N], shape (n, nv).
        position_count: Number of samples in each mean, shape (n,).
        torque_count: The same of torques, shape (n, nv); zero where none was measured.
        position_noise: Standard deviation of single positions [rad or m], shape (nv,).
        torque_noise: Standard deviation of single torques [N m or N], shape (nv,).
        periods: Number of whole periods.
    """

    period: float
    harmonics: int
    time: Array
    position: Array
    torque: Array
    position_count: Array
    torque_count: Array
    position_noise: Array
    torque_noise: Array
    periods: int


def waves(times: Array, period: float, harmonics: int, derivative: int = 0) -> Array:
    """A constant, cosines and sines of the harmonics of a period, or derivatives of these.

    Args:
        times: Times [s], shape (n,).
        period: The period [s].
        harmonics: Number of harmonics.
        derivative: Which derivative over time.

    Returns:
        Array of shape (n, 2 harmonics + 1).

    >>> waves(np.array([0.0]), 2.0 * np.pi, 1, 1).tolist()
    [[0.0, -0.0, 1.0]]
    """
    rates = 2.0 * math.pi / period * np.arange(1, harmonics + 1)
    phase = np.outer(times, rates)
    cosine, sine = np.cos(phase), np.sin(phase)
    for _ in range(derivative):
        cosine, sine = -sine, cosine
    constant = np.full((len(phase), 1), 0.0 if derivative else 1.0)
    return np.concatenate([constant, rates**derivative * cosine, rates**derivative * sine], axis=1)


def repeated_motion(log: Log, transmission: Transmission, period: float | None = None) -> RepeatedMotion:
    """The motion that a log repeats, on the joints' side.

    The first period is left out where the robot had not settled. A log may begin anywhere in a period, and its samples
    need not be even.

    Args:
        log: What was logged.
        transmission: The drives between what was logged and the joints.
        period: Time of one period [s]; found from positions when None.

    Raises:
        InvalidRequestError: If the motion does not repeat, or there are fewer than two whole periods.
    """
    timing = check_time(log.time)
    time = log.time - log.time[0]
    q, torque = transmission.joint_positions(log.position), transmission.joint_torques(log.torque)
    if not (np.ptp(q, axis=0) > 0.0).any():
        raise InvalidRequestError(
            "no joint moves, and estimator = 'ml' needs a motion that repeats; log two periods or more of one"
        )
    if period is None:
        period = found_period(time, q, timing.period)
    mean = averaged(log, period)
    measured = _measured(log, transmission)
    first = period if mean.left_out else 0.0
    used = time >= first - 0.5 * timing.period
    time, q, torque, measured = time[used], q[used], torque[used], measured[used]
    count = round(period / timing.period)
    place, phases = _phases(time, period, count)
    position, positions = _means(q, np.ones(q.shape, dtype=bool), place, len(phases))
    means, torques = _means(torque, measured, place, len(phases))
    grid = first + np.arange(count, dtype=np.float64) * (period / count)
    noise = noise_between(time, q, grid, period, mean.periods)
    noise = np.maximum(noise, np.maximum(resolution(q) / math.sqrt(12.0), LEAST_NOISE * np.ptp(q, axis=0).max()))
    harmonics = chosen_harmonics(phases, position, positions[:, 0], period, noise, count)
    counted = None
    if len(phases) > count:  # samples were interpolated, which fails where dry friction turns
        counted = _away_from_turns(phases, position, period, harmonics, grid)
    of_torque = noise_between(time, torque, grid, period, mean.periods, counted)
    least = np.maximum(resolution(torque) / math.sqrt(12.0), LEAST_NOISE * np.abs(torque).max())
    of_torque = np.maximum(of_torque, least)
    return RepeatedMotion(
        period, harmonics, phases, position, means, positions[:, 0], torques, noise, of_torque, mean.periods
    )


def found_period(time: Array, q: Array, step: float) -> float:
    """The period [s] of positions: a whole number of samples where that fits as well.

    Args:
        time: Times [s], shape (samples,).
        q: Positions [rad or m], shape (samples, nv).
        step: Time between samples [s].

    Raises:
        InvalidRequestError: If they do not repeat.
    """
    rough = fitting_period(time, q)
    if rough is None:
        raise InvalidRequestError(
            f"the motion does not repeat within half of the log's {time[-1] - time[0]:.4g} s, and estimator = 'ml' "
            "needs two whole periods or more; log more periods, state processing.period, or use estimator = 'torque'"
        )
    period, std = refined_period(time, q, rough, step)
    whole = round(period / step) * step
    return whole if abs(whole - period) < max(4.0 * std, WHOLE * period) else period


def refined_period(time: Array, q: Array, period: float, step: float) -> tuple[float, float]:
    """The period [s] with which waves fit positions best, and its standard deviation [s].

    Args:
        time: Times [s], shape (samples,).
        q: Positions [rad or m], shape (samples, nv).
        period: A period [s] near it.
        step: Time between samples [s].
    """
    t, std = time - time.mean(), 0.0
    harmonics = max(1, min(REFINED_HARMONICS, int(OVERSAMPLED * period / step)))
    for _ in range(REFINEMENTS):
        Q, R = np.linalg.qr(waves(t, period, harmonics))
        part = Q.T @ q
        left = q - Q @ part
        slope = -(t / period)[:, None] * (waves(t, period, harmonics, 1) @ linalg.solve_triangular(R, part))
        slope -= Q @ (Q.T @ slope)
        variance = np.maximum(np.mean(left**2, axis=0), (LEAST_NOISE * np.ptp(q, axis=0).max()) ** 2)
        information = float(np.sum(slope**2 / variance))
        change = float(np.sum(slope * left / variance)) / information
        period, std = period + change, 1.0 / math.sqrt(information)
        if abs(change) < 1e-3 * std:
            break
    return period, std


def noise_between(
    time: Array, values: Array, grid: Array, period: float, periods: int, counted: NDArray[np.bool_] | None = None
) -> Array:
    """Standard deviation of single samples, from what differs between periods, shape (n,).

    Samples that are not at the grid's phases are interpolated by cubics, which take some of white noise off: as much
    as their weights say.

    Args:
        time: Times [s], shape (samples,).
        values: What was sampled, shape (samples, n).
        grid: Times [s] of phases in the first period, shape (m,).
        period: Time of one period [s].
        periods: Number of periods.
        counted: Which phases count, shape (m, n); all when None.
    """
    found, passed = [], np.zeros(len(grid))
    for k in range(periods):
        first, weights = _cubic(time, grid + k * period)
        found.append(sum(weights[:, i, None] * values[first + i] for i in range(4)))
        passed += np.sum(weights**2, axis=1)
    squares = periods * np.var(np.array(found), axis=0)
    expected = np.broadcast_to((1.0 - 1.0 / periods) * passed[:, None], squares.shape)
    if counted is not None:
        counted = counted | ~counted.any(axis=0)
        squares, expected = squares * counted, expected * counted
    return np.sqrt(squares.sum(axis=0) / expected.sum(axis=0))


def resolution(values: Array) -> Array:
    """Smallest difference between two values that occur, shape (n,), of (samples, n); zero where all are the same.

    Errors of coarse sensors repeat with the motion, and do not show between periods.
    """
    steps = [np.diff(np.unique(column)) for column in values.T]
    return np.array([float(step.min()) if len(step) else 0.0 for step in steps])


def chosen_harmonics(time: Array, q: Array, count: Array, period: float, noise: Array, samples: int) -> int:
    """Number of harmonics that a motion needs: up to the last one that leaves the noise, with a margin.

    Args:
        time: Times [s], shape (n,).
        q: Mean positions [rad or m], shape (n, nv).
        count: Number of samples in each mean, shape (n,).
        period: Time of one period [s].
        noise: Standard deviation of single positions [rad or m], shape (nv,).
        samples: Number of samples of a period.
    """
    joints = q.shape[1]
    most = max(1, min(int(OVERSAMPLED * samples), (MOST_COEFFICIENTS // joints - 1) // 2))
    root = np.sqrt(count)[:, None]
    Q, R = np.linalg.qr(root * waves(time, period, most))
    inverse = linalg.solve_triangular(R, np.eye(len(R)))
    c = inverse @ (Q.T @ (root * q))
    strength = c**2 / (np.sum(inverse**2, axis=1)[:, None] * noise**2)
    of_harmonic = strength[1 : most + 1] + strength[most + 1 :]
    shows = np.flatnonzero((of_harmonic > 2.0 * math.log(most * joints / FALSE_ALARM)).any(axis=1))
    last = int(shows[-1]) + 1 if len(shows) else 1
    return min(most, math.ceil(HARMONIC_MARGIN * last) + 2)


def _phases(time: Array, period: float, count: int) -> tuple[NDArray[np.intp], Array]:
    """For each sample the phase that it belongs to, and the phases' times [s]; each sample its own where they differ.

    Args:
        time: Times [s], shape (samples,).
        period: Time of one period [s].
        count: Samples of a period.
    """
    place = time * (count / period)
    whole = np.round(place)
    if np.abs(place - whole).max() < EVEN:
        return whole.astype(np.intp) % count, np.arange(count, dtype=np.float64) * (period / count)
    return np.arange(len(time)), time


def _means(values: Array, counted: NDArray[np.bool_], place: NDArray[np.intp], count: int) -> tuple[Array, Array]:
    """Means of values at each place, and how many there are, both of shape (count, n)."""
    pairs = list(zip(values.T, counted.T, strict=True))
    counts = np.stack([np.bincount(place[some], minlength=count) for _, some in pairs], axis=1).astype(np.float64)
    sums = np.stack([np.bincount(place, weights=x * some, minlength=count) for x, some in pairs], axis=1)
    return sums / np.maximum(counts, 1.0), counts


def _measured(log: Log, transmission: Transmission) -> NDArray[np.bool_]:
    """Which torques of joints were measured, shape (samples, nv)."""
    if log.missing is None:
        return np.ones(log.torque.shape, dtype=bool)
    mixed = np.abs(transmission.joint_torques(np.eye(log.torque.shape[1])))
    return log.missing.astype(float) @ mixed == 0.0


def _away_from_turns(time: Array, q: Array, period: float, harmonics: int, grid: Array) -> NDArray[np.bool_]:
    """At which times of a grid joints do not turn, shape (m, nv)."""
    c = np.linalg.lstsq(waves(time, period, harmonics), q, rcond=None)[0]
    v, a = (waves(grid, period, harmonics, k) @ c for k in (1, 2))
    near = TURN_STEPS * (grid[1] - grid[0]) * np.abs(a)
    return np.abs(v) > np.maximum(TURN_SHARE * np.abs(v).max(axis=0), near)


def _cubic(time: Array, at: Array) -> tuple[NDArray[np.intp], Array]:
    """Of cubics through four samples: the first of them, shape (m,), and their weights, shape (m, 4)."""
    first = np.clip(np.searchsorted(time, at, side="right") - 2, 0, len(time) - 4)
    nodes = time[first[:, None] + np.arange(4)]
    weights = np.ones_like(nodes)
    for i in range(4):
        for j in range(4):
            if i != j:
                weights[:, i] *= (at - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
    return first, weights
