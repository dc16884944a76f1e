"""The recipe: from magnitudes to signed torques."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation.physical.physical_estimate import Physics
from dynid.estimation.signs import sign_refinement as refinement
from dynid.estimation.signs.confidence import Word
from dynid.estimation.signs.continuity import continuity
from dynid.estimation.signs.decision import Decision, decided, search
from dynid.estimation.signs.fitting import Fit, fitted
from dynid.estimation.signs.mirror import physical_energy
from dynid.estimation.signs.recovered import Curves, Recovered, SegmentSign, SignsError
from dynid.estimation.signs.segments import NEAR_ZERO, Segments, reversals
from dynid.estimation.signs.sign_energy import energy_of
from dynid.estimation.signs.tracks import ChannelRows, Track
from dynid.estimation.signs.turning import jumping, without_turns
from dynid.model.base_parameters import BaseParameters
from dynid.threads import single_threaded_blas


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
        SignsError: If no sign at all can be told.
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
        thresholds=NEAR_ZERO * fit.noise.stds,
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
            "possible links fit the torques and their mirror image equally well; add what is known, such as a mass "
            "in [physical] or a parameter in known, or record a motion with more acceleration and gravity"
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
