"""How long errors last: their autocorrelation, and the time over which they are alike."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from dynid.arrays import Array

SHORTEST_FFT = 1024
"""Shortest transform: shorter ones cost more calls than they save."""

FFT_BATCH = 32
"""Transforms that are made at once, so that they stay in the cache."""

FEWEST_PAIRS = 0.25
"""Share of a lag's pairs of samples that must lie within stretches; with fewer its correlation counts less."""


def autocorrelation(errors: Array, lags: int = 200, starts: Sequence[int] = (0,)) -> Array:
    """Autocorrelation of errors at lags 0, 1, ..., shape (lags,).

    The sums over samples are made by transforms of short blocks: time grows with the number of samples, and memory does
    not.

    Args:
        errors: The errors, shape (samples,).
        lags: How many lags are wanted; there are at most half as many as samples.
        starts: Where stretches of the errors begin; pairs of samples from two of them do not count.
    """
    count = len(errors)
    if count < 8 or not np.any(errors):
        return np.ones(1)
    lags = min(lags, count // 2)
    centred = errors - errors.mean()
    edges = [*starts, count]
    stretches = [centred[first:last] for first, last in pairwise(edges) if last > first]
    longest = max(map(len, stretches))
    size = max(SHORTEST_FFT, 1 << (min(4 * lags, longest + lags) - 1).bit_length())
    spectrum = np.zeros(size // 2 + 1, dtype=complex)
    for blocks, followed in _blocks(stretches, size, lags):
        spectrum += np.einsum("bf,bf->f", np.fft.rfft(blocks).conj(), np.fft.rfft(followed))
    found = np.fft.irfft(spectrum, size)[:lags]
    if found[0] <= 0.0:
        return np.ones(1)
    lag = np.arange(lags)
    pairs = sum(np.maximum(len(x) - lag, 0) for x in stretches)
    return found / found[0] * (count - lag) / np.maximum(pairs, FEWEST_PAIRS * (count - lag))


def _blocks(stretches: Sequence[Array], size: int, lags: int) -> Iterator[tuple[Array, Array]]:
    """Blocks of stretches, and the same with the samples that follow them; some at a time, shape (blocks, size)."""
    step = size - lags
    parts = [(x, first) for x in stretches for first in range(0, len(x), step)]
    for begin in range(0, len(parts), FFT_BATCH):
        some = parts[begin : begin + FFT_BATCH]
        blocks, followed = np.zeros((2, len(some), size))
        for k, (x, first) in enumerate(some):
            own, more = x[first : first + step], x[first : first + size]
            blocks[k, : len(own)] = own
            followed[k, : len(more)] = more
        yield blocks, followed


def correlation_samples(errors: Array, starts: Sequence[int] = (0,)) -> float:
    """For how many samples errors last: 1 for white ones, the integral of their autocorrelation else.

    Args:
        errors: The errors, shape (samples,).
        starts: As for `autocorrelation`.
    """
    for lags in (64, 2000):  # most errors are forgotten soon
        rho = autocorrelation(errors, lags, starts)
        below = np.flatnonzero(rho < 0.05)
        if len(below):
            return float(1.0 + 2.0 * np.sum(rho[1 : below[0]]))
    return float(1.0 + 2.0 * np.sum(rho[1:]))
