"""Segments after a fit: split where it contradicts a sign, merged where it sees no zero.

Dips alone do not tell everything. A torque may jump across zero without a dip that was sampled, and may dip without
passing zero. A fit sees both.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation.signs.confidence import SURE, Noise
from dynid.estimation.signs.segments import NEAR_ZERO, Segments, find_segments
from dynid.estimation.signs.tracks import Track

SHORTEST = 0.1
"""Shortest time [s] that a fit must contradict a sign for a split; friction takes about so long to turn round."""


def adapted(
    tracks: Sequence[Track], segments: Segments, signs: Array, predicted: Sequence[Array], noise: Noise
) -> Segments:
    """Find segments again, knowing the noise and what a fit predicts.

    Args:
        tracks: The tracks.
        segments: The segments so far.
        signs: Their signs, shape (segments,).
        predicted: What the fit predicts for each track, shape (samples, channels).
        noise: What it leaves.
    """
    splits: list[list[list[int]]] = [[[] for _ in noise.stds] for _ in tracks]
    for k, (t, channel, first, last) in enumerate(segments.pieces):
        scale = noise.stds[channel] ** 2 * noise.memory[channel]
        m, mu = tracks[t].magnitudes[first:last, channel], signs[k] * predicted[t][first:last, channel]
        splits[t][channel] += [first + cut for cut in _contradictions(m, mu, scale, SHORTEST * tracks[t].rate)]
    for before, (one, two) in enumerate(itertools.pairwise(segments.pieces)):
        if one[:2] == two[:2] and signs[before] != signs[before + 1]:
            splits[two[0]][two[1]].append(two[2])  # stays apart, whatever becomes of the dip between them
    merges = [_far_from_zero(mu, noise.stds) for mu in predicted]
    return find_segments(tracks, noise.stds, splits, merges)


def _contradictions(m: Array, mu: Array, scale: float, shortest: float) -> list[int]:
    """Ends of stretches that would fit far better with the other sign; `mu` is predicted, times the sign."""
    against = mu < 0.0
    edges = np.flatnonzero(np.diff(against.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    cuts = []
    for first, last in edges.tolist():
        gain = -4.0 * float(m[first:last] @ mu[first:last]) / scale
        if last - first >= shortest and gain > SURE**2:
            cuts += [cut for cut in (first, last) if 0 < cut < len(m)]
    return cuts


def _far_from_zero(predicted: Array, stds: Array) -> NDArray[np.bool_]:
    """Samples that the fit, and its neighbours, put clearly on one side of zero; shape as predicted."""
    clear = np.abs(predicted) > 2.0 * NEAR_ZERO * stds
    same = np.sign(predicted[1:]) == np.sign(predicted[:-1])
    clear[1:] &= same
    clear[:-1] &= same
    return clear


def same_pieces(one: Segments, other: Segments) -> bool:
    """Whether two are the same."""
    return one.pieces == other.pieces
