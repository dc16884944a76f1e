"""Samples where friction turns round: there the sign of a torque follows the velocity's only after a while.

Coulomb friction in a model jumps with the velocity's sign; that of a drive takes some hundredths of a second, and so do
filters. Short as it is, this is the largest error of many models, always at the same place, just where torques change
their signs. Signs are found better without these samples; the estimate of parameters that follows has them again.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from dynid.arrays import Array, Flags
from dynid.estimation.signs.segments import Segments, Track, reversals
from dynid.model import DynamicModel

TURNING_TIME = 0.05
"""Time [s] before and after a velocity's change of sign in which Coulomb friction is not trusted."""

MOST_TURNING = 0.5
"""Where more than this part of a channel's samples would go, none does."""


def jumping(model: DynamicModel, mixing: Array) -> Flags:
    """Which channel's torque jumps when which joint turns round, shape (channels, joints).

    Args:
        model: The model.
        mixing: From joint torques to channels, shape (channels, joints).
    """
    robot = model.robot
    tiny = 1e-9 * np.eye(robot.nv)
    q = np.tile(robot.neutral, (2 * robot.nv, 1))
    W = model.regressor(q, np.concatenate([tiny, -tiny]))
    jumps = np.abs(W[:, : robot.nv] - W[:, robot.nv :]).max(axis=2) > 1e-3  # rows by joints
    return (np.abs(mixing) > 0.0).astype(int) @ jumps.astype(int) > 0


def without_turns(track: Track, jumps: Flags) -> Track:
    """The track with weight zero for samples around velocities' changes of sign, where torques jump."""
    samples = track.samples
    around = max(1, round(TURNING_TIME * track.rate))
    weight = np.ones(track.magnitudes.shape)
    for channel, turns in enumerate(reversals([track], jumps)[0]):
        for k in turns:
            weight[max(k - around, 0) : k + around, channel] = 0.0
        if np.mean(weight[:, channel] == 0.0) > MOST_TURNING:
            weight[:, channel] = 1.0
    return replace(track, samples=replace(samples, weight=weight))


MOST_EVIDENCE = 9.0
"""Most that a dip may add to the energy of one reading, in variances of the noise."""

AROUND_DIP = 8
"""Samples on each side of a dip that are looked at."""

LONGEST_DIP = 40
"""Longest dip, in samples, that is looked at: in longer ones a torque may do anything."""


def continuity(tracks: Sequence[Track], segments: Segments) -> Array:
    """Energies of neighbours at dips as a quadratic form, shape (1 + segments, 1 + segments).

    Signs s of two neighbours add `e (s1 + s2)^2 / 4` where passing zero is the better reading by e, and
    `e (s1 - s2)^2 / 4` where turning back is.
    """
    form = np.zeros((1 + len(segments), 1 + len(segments)))
    pieces = segments.pieces
    for k, (one, two) in enumerate(itertools.pairwise(pieces), start=1):
        if one[:2] != two[:2] or not 0 < two[2] - one[3] <= LONGEST_DIP:
            continue
        first, last = max(one[3] - AROUND_DIP, one[2]), min(two[2] + AROUND_DIP, two[3])
        e = evidence(tracks[one[0]].magnitudes[first:last, one[1]], one[3] - first, two[2] - first)
        form[[k, k + 1], [k, k + 1]] += abs(e) / 4.0
        form[[k, k + 1], [k + 1, k]] += e / 4.0
    return form


@cache
def _cubics(count: int) -> Array:
    """An orthonormal basis of cubics at evenly spaced points, shape (count, 4)."""
    return np.linalg.qr(np.vander(np.linspace(-1.0, 1.0, count), 4))[0]


def evidence(magnitudes: Array, dip: int, end: int) -> float:
    """How much better passing zero is than turning back, in variances of the noise; negative where it is worse.

    Args:
        magnitudes: Of the samples around a dip, shape (samples,).
        dip: The dip's first sample.
        end: One past its last.
    """
    count = len(magnitudes)
    if count < 8:
        return 0.0
    Q = _cubics(count)
    turns = np.arange(dip, end + 1)  # where the sign may change
    passing = np.where(np.arange(count) >= turns[:, None], -1.0, 1.0) * magnitudes
    left = np.min(np.sum(passing**2, axis=1) - np.sum((passing @ Q) ** 2, axis=1))
    kept = float(magnitudes @ magnitudes - np.sum((magnitudes @ Q) ** 2))
    floor = 1e-12 * float(magnitudes @ magnitudes)
    ratio = np.log(max(kept, floor) / max(float(left), floor)) if floor > 0.0 else 0.0
    return float(np.clip((count - 4) * ratio, -MOST_EVIDENCE, MOST_EVIDENCE))
