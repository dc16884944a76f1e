"""What a dip itself says: whether a torque passed zero there, or turned back before it.

A torque that passes zero is smooth once the magnitudes after the dip are turned round, and has a kink otherwise; one
that turns back is the other way. Both readings are fitted with a cubic around the dip, and the ratio of what they leave
tells which is the better one. It is little beside a fit of the whole motion, and is limited, but there is one for each
dip; where friction alone makes the torque, a fit cannot tell it from an offset, and dips can.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache

import numpy as np

from dynid.arrays import Array
from dynid.estimation.signs.segments import Segments
from dynid.estimation.signs.tracks import Track

MOST = 9.0
"""Most that a dip may add to the energy of one reading, in variances of the noise."""

AROUND = 8
"""Samples on each side of a dip that are looked at."""

LONGEST = 40
"""Longest dip, in samples, that is looked at: in longer ones a torque may do anything."""


def continuity(tracks: Sequence[Track], segments: Segments) -> Array:
    """Energies of neighbours at dips as a quadratic form, shape (1 + segments, 1 + segments).

    Signs s of two neighbours add `e (s1 + s2)^2 / 4` where passing zero is the better reading by e, and
    `e (s1 - s2)^2 / 4` where turning back is.
    """
    form = np.zeros((1 + len(segments), 1 + len(segments)))
    pieces = segments.pieces
    for k, (one, two) in enumerate(itertools.pairwise(pieces), start=1):
        if one[:2] != two[:2] or not 0 < two[2] - one[3] <= LONGEST:
            continue
        first, last = max(one[3] - AROUND, one[2]), min(two[2] + AROUND, two[3])
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
    return float(np.clip((count - 4) * ratio, -MOST, MOST))
