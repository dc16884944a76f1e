"""Fewer points to draw, without losing an extreme."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array

Indices = NDArray[np.intp]


def extreme_indices(y: Array, buckets: int) -> Indices:
    """Samples to draw: of each of some buckets of neighbours the smallest and the largest.

    A line through them covers what a line through all samples covers, so no peak is lost.

    Args:
        y: A signal, shape (samples,).
        buckets: How many buckets.

    Returns:
        Indices in ascending order, at most two a bucket; all where there are no more samples than that.

    >>> extreme_indices(np.array([0.0, 5.0, 1.0, 2.0, -3.0, 0.0, 1.0, 1.0]), 2).tolist()
    [0, 1, 4, 6]
    """
    if len(y) <= 2 * buckets:
        return np.arange(len(y))
    edges = np.linspace(0, len(y), buckets + 1).astype(np.intp)
    width = int(np.diff(edges).max())
    rows = np.minimum(edges[:-1, None] + np.arange(width), edges[1:, None] - 1)
    values = y[rows]
    first = np.arange(len(rows))
    pairs = np.stack([rows[first, values.argmin(axis=1)], rows[first, values.argmax(axis=1)]])
    return np.unique(pairs)


def spread_indices(count: int, wanted: int, rng: np.random.Generator) -> Indices:
    """Samples to draw of a cloud: a random choice of so many, in ascending order; all where there are fewer."""
    if count <= wanted:
        return np.arange(count)
    return np.sort(rng.choice(count, wanted, replace=False))


def peaks_by_decade(frequency: Array, amplitude: Array, points: int = 300) -> tuple[Array, Array]:
    """A spectrum on a logarithmic axis with fewer points: of each of some buckets the largest amplitude.

    Args:
        frequency: Frequencies [Hz], ascending and positive, shape (n,).
        amplitude: Amplitudes, shape (n,).
        points: How many buckets.
    """
    if len(frequency) <= points:
        return frequency, amplitude
    edges = np.geomspace(frequency[0], frequency[-1] * (1 + 1e-9), points + 1)
    bucket = np.searchsorted(edges, frequency, side="right")
    starts = np.flatnonzero(np.diff(bucket, prepend=-1))
    stops = [*starts[1:], len(frequency)]
    best = [start + int(np.argmax(amplitude[start:stop])) for start, stop in zip(starts, stops, strict=True)]
    return frequency[best], amplitude[best]
