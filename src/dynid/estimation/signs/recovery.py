"""Segments, signs and noise in turn, until they agree."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation.physical.physical_estimate import Physics
from dynid.estimation.signs import sign_refinement as refinement
from dynid.estimation.signs.confidence import Noise, Word, noise_of, root_mean_squares
from dynid.estimation.signs.decision import Decision, decided, physical_energy, search
from dynid.estimation.signs.recovered import Curves, Recovered, SegmentSign, SignsError
from dynid.estimation.signs.segments import SEGMENT_THRESHOLDS, ChannelRows, Segments, Track, find_segments, reversals
from dynid.estimation.signs.sign_energy import SegmentSums, channel_residuals, energy_of, sums_of
from dynid.estimation.signs.sign_refinement import adapted, same_pieces
from dynid.estimation.signs.turning_points import continuity, jumping, without_turns
from dynid.machine import single_threaded_blas
from dynid.model import BaseParameters

MOST_FITS = 4
"""Fits at most, each with segments that the one before has changed."""

WORSE_NOISE = 1.5
"""Segments that raise a channel's noise by more than this factor are not taken."""

ROUGH_NOISE = 0.1
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
    weights = 1.0 / (ROUGH_NOISE * np.where(sizes > 0.0, sizes, sizes.max() or 1.0))
    fit = _fitted_once(rows, tracks, segments, weights, [], rng)
    for _ in range(MOST_FITS - 1):
        after = adapted(tracks, fit.segments, fit.signs[1:], fit.predicted, fit.noise)
        if same_pieces(fit.segments, after):
            break
        carried = _carried(fit.segments, after, fit.signs)
        next_fit = _fitted_once(rows, tracks, after, fit.noise.weights, [carried], rng)
        if (next_fit.noise.stds > WORSE_NOISE * fit.noise.stds).any():
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
            f"the motion is too short: its {sum(map(len, tracks))} samples carry no more information than the "
            f"{len(rows.base)} parameters and {len(segments)} signs that are asked for; record a longer one"
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


def recover_signs(
    base: BaseParameters,
    tracks: Sequence[Track],
    physics: Physics,
    transmission: Array | None = None,
    rng: np.random.Generator | None = None,
) -> Recovered:
    """Find the signs of torques that were logged without.

    Args:
        base: The base parameters; their model's reference, where the robot's file has one, is one of many starts.
        tracks: States and magnitudes.
        physics: References of links and stated constraints, which decide between a solution and its mirror.
        transmission: D, from logged values to joint torques: joint torques = D' logged; one to one when None.
        rng: The random generator; a fixed one when None.

    Raises:
        SignsError: If no sign at all is determined.
    """
    start = time.perf_counter()
    rng = rng or np.random.default_rng(0)
    channels = tracks[0].magnitudes.shape[1]
    rows = ChannelRows(base, np.eye(channels) if transmission is None else transmission)
    jumps = jumping(base.model, rows.mixing)
    thin = [without_turns(_without_dead_channels(track.thinned(), tracks), jumps) for track in tracks]
    with single_threaded_blas():
        fit = fitted(rows, thin, reversals(thin, jumps), rng)
        energy = energy_of(fit.sums, fit.noise.weights, base.names, continuity(thin, fit.segments))
        signs, proven = search(energy, fit.segments.channel, rng, [fit.signs])
        found = decided(
            energy, signs, fit.segments.channel, lambda s: physical_energy(energy, s, base, physics), proven
        )
        words = [Word.of(margin) for margin in found.margins]
        trusted = np.array([word is not Word.UNDECIDED for word in words])
        if not trusted.any():
            raise SignsError(_why_none(found, fit))
        values = _refined(rows, thin, fit, found, trusted, energy.values(found.signs))
    predicted = [rows.predicted(track.samples, values) for track in thin]
    signed = [
        refinement.signed(whole, track, labels, found.signs[1:], trusted, mu, fit.noise)
        for whole, track, labels, mu in zip(tracks, thin, fit.segments.labels, predicted, strict=True)
    ]
    return Recovered(
        segments=tuple(_listed(thin, fit.segments, found, words)),
        torques=tuple(torque for torque, _ in signed),
        doubtful=tuple(mask | _dead(tracks) for _, mask in signed),
        values=values,
        curves=tuple(_curves(thin, fit, found, trusted, predicted)),
        thresholds=SEGMENT_THRESHOLDS.near_zero * fit.noise.stds,
        mirror=found.mirror,
        proven=found.proven,
        seconds=time.perf_counter() - start,
    )


def _refined(
    rows: ChannelRows, tracks: Sequence[Track], fit: Fit, found: Decision, trusted: NDArray[np.bool_], values: Array
) -> Array:
    """Base parameters from all samples but those of doubtful segments, near-zero ones with expected signs."""
    usable = []
    for track, labels in zip(tracks, fit.segments.labels, strict=True):
        doubtful = labels >= 0
        doubtful[doubtful] = ~trusted[labels[doubtful]]
        usable.append(replace(track, samples=replace(track.samples, keep=track.usable & ~doubtful)))
    for _ in range(2):
        torques = [
            refinement.completed(
                track, labels, found.signs[1:], trusted, rows.predicted(track.samples, values), fit.noise.stds
            )
            for track, labels in zip(usable, fit.segments.labels, strict=True)
        ]
        values = refinement.refit(rows, usable, torques, fit.noise.weights)
    return values


def _curves(
    tracks: Sequence[Track], fit: Fit, found: Decision, trusted: NDArray[np.bool_], predicted: Sequence[Array]
) -> Iterator[Curves]:
    for track, labels, mu in zip(tracks, fit.segments.labels, predicted, strict=True):
        torques = refinement.completed(track, labels, found.signs[1:], trusted, mu, fit.noise.stds)
        time_of = track.start + np.arange(len(track)) / track.rate
        yield Curves(track.log, time_of, track.magnitudes, torques, mu)


def _dead(tracks: Sequence[Track]) -> NDArray[np.bool_]:
    """Channels whose magnitude never changes, shape (channels,)."""
    highest = np.max([track.magnitudes.max(axis=0) for track in tracks], axis=0)
    lowest = np.min([track.magnitudes.min(axis=0) for track in tracks], axis=0)
    return highest == lowest


def _without_dead_channels(thin: Track, tracks: Sequence[Track]) -> Track:
    return replace(thin, samples=replace(thin.samples, keep=thin.usable & ~_dead(tracks)))


def _why_none(found: Decision, fit: Fit) -> str:
    if found.mirror.margin < found.margins.max(initial=0.0) + 1e-9 and not found.mirror.known:
        return (
            "physically consistent links fit the torques and their mirror image equally well; add what is known, such "
            "as a mass in [physical] or a parameter in known, or record a motion with more acceleration and gravity"
        )
    return (
        f"all {len(fit.segments)} segments fit either sign within the noise; record a longer motion that moves more "
        "joints at once, or add terms that the model lacks"
    )


def _listed(tracks: Sequence[Track], segments: Segments, found: Decision, words: Sequence[Word]) -> list[SegmentSign]:
    rows = []
    for k, (t, channel, first, last) in enumerate(segments.pieces):
        track = tracks[t]
        start, stop = (float(track.start + i / track.rate) for i in (first, last))
        sign, margin = int(found.signs[1 + k]), float(found.margins[k])
        rows.append(SegmentSign(track.log, channel, start, stop, sign, margin, words[k]))
    return rows
