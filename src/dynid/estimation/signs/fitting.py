"""Segments, signs and noise in turn, until they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.signs.adaptation import adapted, same_pieces
from dynid.estimation.signs.confidence import Noise, noise_of, root_mean_squares
from dynid.estimation.signs.continuity import continuity
from dynid.estimation.signs.decision import search
from dynid.estimation.signs.recovered import SignsError
from dynid.estimation.signs.segments import Segments, find_segments
from dynid.estimation.signs.sign_energy import SegmentSums, channel_residuals, energy_of, sums_of
from dynid.estimation.signs.tracks import ChannelRows, Track
from dynid.model.base_parameters import BaseParameters

ROUNDS = 4
"""Fits at most, each with segments that the one before has changed."""

WORSE = 1.5
"""Segments that raise a channel's noise by more than this factor are not taken."""

ROUGH = 0.1
"""First guess of the noise, in parts of the torque."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Segments, signs and noise that agree with each other.

    Attributes:
        segments: The segments.
        sums: Their sums of products, which the search needs.
        signs: A one, then the sign of each segment, shape (1 + segments,).
        noise: The noise of each channel.
        predicted: What the parameters predict for each track, shape (samples, channels).
    """

    segments: Segments
    sums: SegmentSums
    signs: Array
    noise: Noise
    predicted: Sequence[Array]


def fitted(rows: ChannelRows, tracks: Sequence[Track], turns: list[list[list[int]]], rng: np.random.Generator) -> Fit:
    """Segments, signs and noise that agree with each other."""
    segments = find_segments(tracks, None, turns)
    sizes = root_mean_squares(tracks)
    weights = 1.0 / (ROUGH * np.where(sizes > 0.0, sizes, sizes.max() or 1.0))
    fit = _fitted_once(rows, tracks, segments, weights, [], rng)
    for _ in range(ROUNDS - 1):
        after = adapted(tracks, fit.segments, fit.signs[1:], fit.predicted, fit.noise)
        if same_pieces(fit.segments, after):
            break
        carried = _carried(fit.segments, after, fit.signs)
        next_fit = _fitted_once(rows, tracks, after, fit.noise.weights, [carried], rng)
        if (next_fit.noise.stds > WORSE * fit.noise.stds).any():
            break
        fit = next_fit
    return fit


def _fitted_once(
    rows: ChannelRows,
    tracks: Sequence[Track],
    segments: Segments,
    weights: Array,
    given: Sequence[Array],
    rng: np.random.Generator,
) -> Fit:
    """Signs and noise of given segments."""
    if len(segments) == 0:
        raise SignsError("no torque rises clearly above its noise; record a motion with larger torques")
    sums = sums_of(rows, tracks, segments)
    given = [*given, *_guess(rows.base, sums)]
    signs, values = _alternated(rows, sums, weights, continuity(tracks, segments), rng, given)
    predicted = [rows.predicted(track.samples, values) for track in tracks]
    residuals = [
        np.where(labels >= 0, signs[1:][labels], 0.0) * track.magnitudes - mu
        for track, labels, mu in zip(tracks, segments.labels, predicted, strict=True)
    ]
    noise = noise_of(tracks, segments, residuals, len(rows.base) + len(segments))
    if noise.information <= 0.0:
        raise SignsError(
            f"the motion is too short: its {sum(map(len, tracks))} samples tell no more than the {len(rows.base)} "
            f"parameters and {len(segments)} signs that are asked for; record a longer one"
        )
    return Fit(segments, sums, signs, noise, predicted)


def _alternated(
    rows: ChannelRows,
    sums: SegmentSums,
    weights: Array,
    dips: Array,
    rng: np.random.Generator,
    given: Sequence[Array],
) -> tuple[Array, Array]:
    """Signs and base parameters, with weights from what they leave of each channel."""
    energy = energy_of(sums, weights, rows.base.names, dips)
    signs, _ = search(energy, sums.channel, rng, given)
    for _ in range(2):
        left = channel_residuals(sums, signs, energy.values(signs)) / np.maximum(sums.rows, 1)
        floor = 1e-12 * np.bincount(sums.channel, sums.squares, len(weights)) / np.maximum(sums.rows, 1)
        used = left + floor > 0.0
        weights = np.where(used, 1.0 / np.sqrt(np.where(used, left + floor, 1.0)), 0.0)
        energy = energy_of(sums, weights, rows.base.names, dips)
        before = signs
        signs, _ = search(energy, sums.channel, rng, [signs])
        if np.array_equal(before, signs):
            break
    return signs, energy.values(signs)


def _guess(base: BaseParameters, sums: SegmentSums) -> list[Array]:
    """Signs that the robot's file predicts; none where it says too little."""
    reference = np.nan_to_num(base.model.reference)
    b = base.to_base(reference)
    if not b.any():
        return []
    return [np.concatenate([[1.0], np.where(b @ sums.products + sums.known_cross >= 0.0, 1.0, -1.0)])]


def _carried(before: Segments, after: Segments, signs: Array) -> Array:
    """Signs of new segments from those of the old ones that they lie in."""
    new = np.ones(1 + len(after))
    for k, (t, channel, first, last) in enumerate(after.pieces):
        old = before.labels[t][first:last, channel]
        if (old >= 0).any():
            new[1 + k] = 1.0 if signs[1:][old[old >= 0]].sum() >= 0.0 else -1.0
    return new
