"""From signs of segments to signed torques, sample by sample.

Samples near zero belong to no segment. What is expected of a torque whose magnitude m was logged and whose prediction
is mu, with noise of deviation d, is `m tanh(m mu / d^2)`: the sign of the prediction far from zero, nothing at zero.
Torques completed so have no bias, and fit and signs are improved in turn (alternating projections, softened).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation.signs.confidence import Noise
from dynid.estimation.signs.segments import local_noise
from dynid.estimation.signs.tracks import ChannelRows, Track
from dynid.threads import single_threaded_blas


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
        noise: Deviation of the noise of each channel, shape (channels,).
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
        weights: One a channel.
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
