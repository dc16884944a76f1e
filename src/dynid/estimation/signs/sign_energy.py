"""The energy of signs: what the best fit leaves of signed torques.

With magnitudes A (one column a segment), signs s, weights and the regressor W = Q R, least squares leaves

    E(s) = |A s|^2 - |Q' A s|^2 = s' M s,    M = A'A - (Q'A)'(Q'A):

a quadratic form as small as the number of segments. Flipping sign k changes it by 4 (M_kk - s_k (M s)_k), and M s by
a column of M: a flip costs as much as there are segments. What known parameters add is one more column,
whose sign is +1 and stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.factors import Factor
from dynid.estimation.signs.segments import ChannelRows, Labels, Segments, Track
from dynid.machine import single_threaded_blas

SMALLEST_EIGENVALUE = 1e-11
"""Directions of the Gram matrix, its columns scaled to one, below this part of the largest count as not excited."""


@dataclass(frozen=True, eq=False)
class SegmentSums:
    """What one pass over tracks leaves of their segments, before weights.

    Attributes:
        gram: W'W of each channel's samples, shape (channels, base, base).
        products: W'|torque| of each segment, shape (base, segments).
        squares: |torque|^2 of each segment, shape (segments,).
        channel: Of each segment, shape (segments,).
        known_products: W' times what known parameters predict, shape (base, channels).
        known_cross: |torque| times what known parameters predict, shape (segments,).
        known_squares: Squares of what known parameters predict, shape (channels,).
        rows: Number of samples of each channel, shape (channels,).
    """

    gram: Array
    products: Array
    squares: Array
    channel: Labels
    known_products: Array
    known_cross: Array
    known_squares: Array
    rows: Labels


def sums_of(rows: ChannelRows, tracks: Sequence[Track], segments: Segments) -> SegmentSums:
    """Pass over tracks once; only samples in segments count."""
    p, n, channels = len(rows.base), len(segments), len(rows.transmission)
    gram, known_products = np.zeros((channels, p, p)), np.zeros((p, channels))
    products, squares, cross = np.zeros((p, n)), np.zeros(n), np.zeros(n)
    known_squares, counts = np.zeros(channels), np.zeros(channels, dtype=np.int64)
    with single_threaded_blas():
        for track, labels in zip(tracks, segments.labels, strict=True):
            for part, matrices, known in rows.of(track.samples):
                for c, W in enumerate(matrices):
                    own, m, k = counted(track, labels)[part, c], track.magnitudes[part, c], known[:, c]
                    inside = own >= 0
                    counts[c] += np.count_nonzero(inside)
                    used = W if inside.all() else W[inside]
                    gram[c] += used.T @ used
                    known_products[:, c] += used.T @ k[inside]
                    known_squares[c] += k[inside] @ k[inside]
                    for first, last in stretches(own):
                        at = own[first]
                        products[:, at] += W[first:last].T @ m[first:last]
                        squares[at] += m[first:last] @ m[first:last]
                        cross[at] += m[first:last] @ k[first:last]
    return SegmentSums(gram, products, squares, segments.channel, known_products, cross, known_squares, counts)


def counted(track: Track, labels: Labels) -> Labels:
    """Labels of the samples that count; -1 for those of no weight."""
    weight = track.samples.weight
    return labels if weight is None else np.where(weight > 0.0, labels, -1)


def stretches(labels: Labels) -> list[tuple[int, int]]:
    """First and last of runs of equal labels that are not -1."""
    edges = np.flatnonzero(np.diff(labels, prepend=-2, append=-2))
    return [(i, j) for i, j in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True) if labels[i] >= 0]


@dataclass(frozen=True, eq=False)
class Energy:
    """Energies of signs for given weights; the first sign of all is that of what is known, and is +1.

    Attributes:
        form: M, shape (1 + segments, 1 + segments).
        root: A square root R of the weighted Gram matrix: W'W = R'R, shape (rank, base).
        projections: Q'A, shape (rank, 1 + segments).
        to_base: From Q'A s to base parameters, shape (base, rank).
        names: Of the base parameters.
        rows: Number of samples.
    """

    form: Array
    root: Array
    projections: Array
    to_base: Array
    names: tuple[str, ...]
    rows: int

    @cached_property
    def knows_a_sign(self) -> bool:
        """Whether something known distinguishes a sign from its mirror."""
        scale = np.sqrt(self.form[0, 0] * np.diag(self.form)[1:].max(initial=0.0))
        return bool(np.abs(self.form[0, 1:]).max(initial=0.0) > 1e-12 * scale) if scale > 0.0 else False

    def of(self, signs: Array) -> float:
        """E(s) of signs, shape (1 + segments,)."""
        return float(signs @ self.form @ signs)

    def values(self, signs: Array) -> Array:
        """Base parameters of the best fit, shape (base,)."""
        return self.to_base @ (self.projections @ signs)

    def factor(self, signs: Array) -> Factor:
        """The factor of signed torques."""
        return Factor(self.names, self.root, self.projections @ signs, max(self.of(signs), 0.0), self.rows)


def energy_of(
    sums: SegmentSums,
    weights: Array,
    names: tuple[str, ...],
    extra: Array | float = 0.0,
) -> Energy:
    """Energies with the rows of each channel multiplied with a weight, shape (channels,).

    Args:
        sums: The sums of segments.
        weights: One for each channel.
        names: Names of the base parameters.
        extra: A quadratic form that is added, such as that of dips, shape (1 + segments, 1 + segments).
    """
    w2 = weights**2
    C = np.einsum("c,cij->ij", w2, sums.gram)
    own = w2[sums.channel]
    B = np.column_stack([-sums.known_products @ w2, sums.products * own])
    AA = np.diag(np.concatenate([[sums.known_squares @ w2], sums.squares * own]))
    AA[0, 1:] = AA[1:, 0] = -sums.known_cross * own
    scale = np.sqrt(np.diag(C))
    scale[scale == 0.0] = 1.0
    sizes, V = np.linalg.eigh(C / np.outer(scale, scale))
    seen = sizes > SMALLEST_EIGENVALUE * max(sizes[-1], 0.0)
    sizes, V = np.sqrt(sizes[seen]), V[:, seen]
    F = (V / sizes).T @ (B / scale[:, None])
    to_base = V / sizes / scale[:, None]
    return Energy(AA - F.T @ F + extra, (V * sizes).T * scale, F, to_base, names, int(sums.rows.sum()))


def channel_residuals(sums: SegmentSums, signs: Array, values: Array) -> Array:
    """Squares that base parameters leave of each channel's signed torques, shape (channels,)."""
    channels = len(sums.rows)
    signed = np.zeros((len(values), channels))
    np.add.at(signed.T, sums.channel, (sums.products * signs[1:]).T)
    target = signed - sums.known_products
    squares = sums.known_squares + np.bincount(sums.channel, sums.squares, channels)
    squares = squares - 2.0 * np.bincount(sums.channel, sums.known_cross * signs[1:], channels)
    quadratic = np.einsum("i,cij,j->c", values, sums.gram, values)
    return np.maximum(squares - 2.0 * values @ target + quadratic, 0.0)
