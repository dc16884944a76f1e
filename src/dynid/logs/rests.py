"""Where a robot stands still in a log: postures with their mean torques, free of static friction where possible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.logs.log import Log


@dataclass(frozen=True)
class RestThresholds:
    """When a robot is said to stand still.

    Shown by `tests/logs/test_rests.py`, on simulated rests with noise, encoder steps and parked joints; not calibrated
    on real logs.
    """

    window: float = 0.2
    """Time [s] over which no joint moves: rests of twice that, 0.4 s, are found."""

    moved: float = 1e-3
    """Motion within the window, as a part of the joint's whole range in the log, up to which it stands still."""

    steps: float = 4.0
    """The same in steps of the encoder, of which one is the smallest change of the position."""

    noise: float = 8.0
    """The same in standard deviations of the position's noise, which third differences show."""

    noisy: float = 0.01
    """The same at most, as a part of the joint's whole range: third differences of slow logs hold motion, too."""

    parked: float = 12.0
    """Whole range of a joint, in standard deviations of its noise, up to which it never moves."""

    largest_step: float = 1e-3
    """Largest step of an encoder [rad or m]: a larger change between samples is a motion."""

    settled: float = 0.3
    """Part of each rest that is left out at its beginning: vibration and controllers settle."""

    same_posture: float = 10.0
    """Rests that differ by less than so many times the motion above are one posture."""


RESTS = RestThresholds()


@dataclass(frozen=True, eq=False)
class Rests:
    """Postures in which a robot stood still.

    Attributes:
        position: Mean positions [rad or m], shape (postures, joints).
        torque: Mean torques, shape (postures, joints); each the mean of both sides where a posture was approached from
            both.
        samples: Samples that each is the mean of, shape (postures,).
        both_sides: Of each posture and joint whether it was approached from both sides, or not moved for it; then
            static friction cancels out; shape (postures, joints).
    """

    position: Array
    torque: Array
    samples: NDArray[np.int64]
    both_sides: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.position)


def find_rests(log: Log) -> Rests:
    """Find where a robot stands still, and take means; or take each row as a posture, where the log says so.

    Rests of one posture that were approached from different sides count as one, with the mean of their torques:
    static friction points against the approach, and cancels out.

    Args:
        log: The log, with joint positions and torques.

    Raises:
        InvalidRequestError: If it never stands still.
    """
    q, tau = log.position, log.torque
    if log.static == "rows":
        return Rests(q, tau, np.ones(len(q), dtype=np.int64), np.zeros(q.shape, dtype=bool))
    tolerance = _tolerance(q)
    spans = _still_spans(log.time, q, tolerance)
    if not len(spans):
        raise InvalidRequestError(
            f"the robot never stands still for {2 * RESTS.window:g} s in the log; give a log of static postures (dynid "
            "excite --postures), or identify it as slow motion (--slow)"
        )
    means, sides, width = [], [], _width(log.time)
    for first, last in spans:
        begin = first + int(RESTS.settled * (last - first))
        means.append(np.concatenate([q[begin:last].mean(axis=0), tau[begin:last].mean(axis=0), [last - begin]]))
        way = means[-1][: q.shape[1]] - q[max(0, first - width)]
        sides.append(np.where(np.abs(way) > tolerance, np.sign(way), 0.0))
    return _postures(np.array(means), np.array(sides), RESTS.same_posture * tolerance)


def _tolerance(q: Array) -> Array:
    """Motion of each joint [rad or m] up to which it stands still, shape (joints,)."""
    changes, reach = np.abs(np.diff(q, axis=0)), np.ptp(q, axis=0)
    steps = np.array([np.min(own[own > 1e-12], initial=np.inf) for own in changes.T])
    steps = np.where(np.isfinite(steps), steps, 0.0)
    noise = _noise(q)
    tolerance = np.maximum(RESTS.moved * reach, RESTS.steps * np.minimum(steps, 1e-3 * reach))
    tolerance = np.maximum(tolerance, np.minimum(RESTS.noise * noise, RESTS.noisy * reach))
    is_parked = reach <= np.maximum(RESTS.parked * noise, RESTS.steps * np.minimum(steps, RESTS.largest_step))
    return np.where(is_parked, np.maximum(tolerance, reach), tolerance)


def _noise(q: Array) -> Array:
    """Standard deviation of the positions' white noise [rad or m], from third differences, shape (joints,).

    Their median absolute value: motions are smooth over four samples, and rests have none.
    """
    if len(q) < 20:
        return np.zeros(q.shape[1])
    third = np.abs(np.diff(q, 3, axis=0))
    return 1.4826 * np.median(third, axis=0) / np.sqrt(20.0)


def _width(time: Array) -> int:
    """Samples of the window: an odd number."""
    period = float(np.median(np.diff(time))) if len(time) > 1 else 1.0
    return max(3, round(RESTS.window / max(period, 1e-9)) | 1)


def _still_spans(time: Array, q: Array, tolerance: Array) -> list[tuple[int, int]]:
    """First and last sample, exclusive, of stretches in which no joint moves for half the window before and after.

    What is near a motion is left out: accelerations need torque before the position changes much.
    """
    from scipy.ndimage import maximum_filter1d, minimum_filter1d

    width = _width(time)
    if len(q) < width:
        return []
    spread = maximum_filter1d(q, width, axis=0) - minimum_filter1d(q, width, axis=0)
    still = (spread <= tolerance + 1e-12).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], still.astype(int), [0]])))
    spans = [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
    return [(a, b) for a, b in spans if b - a >= width // 2]


def _postures(means: Array, sides: Array, near: Array) -> Rests:
    """Rests in one place as one posture, with the mean over sides."""
    joints = sides.shape[1]
    groups: list[list[int]] = []
    for k, mean in enumerate(means):
        own = next((g for g in groups if (np.abs(means[g[0], :joints] - mean[:joints]) <= near).all()), None)
        groups.append([k]) if own is None else own.append(k)
    rows, both = [], []
    for group in groups:
        by_side: dict[tuple[float, ...], list[int]] = {}
        for k in group:
            by_side.setdefault(tuple(sides[k].tolist()), []).append(k)
        rows.append(np.mean([means[own].mean(axis=0) for own in by_side.values()], axis=0))
        rows[-1][-1] = means[group, -1].sum()
        both.append(np.abs(sides[group].sum(axis=0)) < np.maximum(np.abs(sides[group]).sum(axis=0), 0.5))
    found = np.array(rows)
    return Rests(found[:, :joints], found[:, joints:-1], found[:, -1].astype(np.int64), np.array(both))
