"""Segments after a fit: split where it contradicts a sign, merged where it sees no zero.

Dips alone do not decide everything. A torque may jump across zero without a dip that was sampled, and may dip without
passing zero. A fit sees both.
"""

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation.signs.confidence import SIGN_THRESHOLDS, Noise
from dynid.estimation.signs.segments import SEGMENT_THRESHOLDS, ChannelRows, Segments, Track, find_segments, local_noise
from dynid.machine import single_threaded_blas

SHORTEST_CONTRADICTION = 0.1
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
        shortest = SHORTEST_CONTRADICTION * tracks[t].rate
        splits[t][channel] += [first + cut for cut in _contradictions(m, mu, scale, shortest)]
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
        if last - first >= shortest and gain > SIGN_THRESHOLDS.sure_margin**2:
            cuts += [cut for cut in (first, last) if 0 < cut < len(m)]
    return cuts


def _far_from_zero(predicted: Array, stds: Array) -> NDArray[np.bool_]:
    """Samples that the fit, and its neighbours, put clearly on one side of zero; shape as predicted."""
    clear = np.abs(predicted) > 2.0 * SEGMENT_THRESHOLDS.near_zero * stds
    same = np.sign(predicted[1:]) == np.sign(predicted[:-1])
    clear[1:] &= same
    clear[:-1] &= same
    return clear


def same_pieces(one: Segments, other: Segments) -> bool:
    """Whether two are the same."""
    return one.pieces == other.pieces


def expected(magnitudes: Array, predicted: Array, stds: Array) -> Array:
    """What is expected of torques of given magnitude, near their prediction, of the shape of all three."""
    return magnitudes * np.tanh(magnitudes * predicted / stds**2)


def completed(
    track: Track, labels: NDArray[np.int64], signs: Array, trusted: NDArray[np.bool_], predicted: Array, noise: Array
) -> Array:
    """Signed torques of a track, shape (samples, channels).

    Args:
        track: The track.
        labels: Segment of each sample, or -1, shape (samples, channels).
        signs: Of the segments, shape (segments,).
        trusted: Which segments' signs are used; in others the prediction decides, shape (segments,).
        predicted: What a fit predicts, shape (samples, channels).
        noise: Standard deviation of the noise of each channel, shape (channels,).
    """
    m = track.magnitudes
    inside = labels >= 0
    inside[inside] = trusted[labels[inside]]
    hard = np.where(inside, signs[labels] if len(signs) else 0.0, 0.0) * m
    return np.where(inside, hard, expected(m, predicted, np.maximum(noise, np.finfo(float).tiny)))


def refit(rows: ChannelRows, tracks: Sequence[Track], torques: Sequence[Array], weights: Array) -> Array:
    """Base parameters of signed torques of all samples that may be used, shape (base,).

    Args:
        rows: The regressor.
        tracks: The tracks.
        torques: Signed, one array of shape (samples, channels) a track.
        weights: One per channel.
    """
    n = len(rows.base)
    C, z = np.zeros((n, n)), np.zeros(n)
    with single_threaded_blas():
        for track, torque in zip(tracks, torques, strict=True):
            usable = track.usable
            for part, matrices, known in rows.of(track.samples):
                for c, W in enumerate(matrices):
                    w = weights[c] * usable[part, c]
                    weighed = w[:, None] * W
                    C += weighed.T @ weighed
                    z += weighed.T @ (w * (torque[part, c] - known[:, c]))
    scale = np.sqrt(np.diag(C))
    scale[scale == 0.0] = 1.0
    return np.linalg.lstsq(C / np.outer(scale, scale), z / scale, rcond=1e-12)[0] / scale


def at_full_rate(track: Track, values: NDArray) -> NDArray:
    """Values of a thinned track for every sample of the whole one; labels and signs are held, not interpolated."""
    whole = np.repeat(values, track.step, axis=0)
    missing = len(track) - len(whole)
    fill = np.full((missing, values.shape[1]), -1 if values.dtype.kind == "i" else 0, dtype=values.dtype)
    return np.concatenate([whole, fill])


def interpolated(track: Track, thin: Track, values: Array) -> Array:
    """Values of a thinned track between its samples, shape (samples of the whole one, channels)."""
    if len(thin) == len(track):
        return values
    at = track.start + np.arange(len(track)) / track.rate
    own = thin.start + np.arange(len(thin)) / thin.rate
    return np.column_stack([np.interp(at, own, column) for column in values.T])


def signed(
    track: Track,
    thin: Track,
    labels: NDArray[np.int64],
    signs: Array,
    trusted: NDArray[np.bool_],
    predicted: Array,
    noise: Noise,
) -> tuple[Array, NDArray[np.bool_]]:
    """Signed torques of every sample of a whole track, and which must be left out.

    Args:
        track: The whole track.
        thin: The thinned one, which signs were found with.
        labels: Segments of the thinned one's samples.
        signs: Of the segments.
        trusted: Which segments' signs are used; the others are left out.
        predicted: What the final fit predicts for the thinned track.
        noise: The noise of its samples.

    Returns:
        Torques and a mask, both of shape (samples, channels).
    """
    whole = at_full_rate(track, labels)
    mu = interpolated(track, thin, predicted)
    smooth = np.abs(interpolated(track, thin, thin.magnitudes))
    inside = whole >= 0
    doubtful = inside.copy()
    doubtful[inside] = ~trusted[whole[inside]]
    own = np.where(inside & ~doubtful, (signs[whole] if len(signs) else 0.0) * smooth, mu)
    rough = np.column_stack([local_noise(m) for m in track.magnitudes.T])
    averaged = 1.0 - 1.0 / track.step  # part of the roughness that the thinned track does not have
    stds = np.sqrt(noise.stds**2 + averaged * rough**2)
    return expected(track.magnitudes, own, stds), doubtful
