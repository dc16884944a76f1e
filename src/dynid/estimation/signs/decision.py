"""Signs that are decided: by the data where these can, by physics where they cannot, and how surely.

Turning round all signs, or all of a joint that little ties to others, costs the data nothing or little. Such rivals are
compared by what possible links leave of the torques; the better one stays, and is held from then on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation.signs.confidence import SURE, margins_of
from dynid.estimation.signs.energy import Energy
from dynid.estimation.signs.mirror import Mirror
from dynid.estimation.signs.proof import Proof, branch_and_bound
from dynid.estimation.signs.search import best_signs, kernighan_lin, rivals, starts

BY_PHYSICS = 1.0 / 3.0
"""A rival is left to physics where it turns round more than this part of a channel's squared torque."""

QUICK = 2
"""Starts before branch and bound; all of them follow where it gives up."""


@dataclass(frozen=True, eq=False)
class Decision:
    """Signs with their margins.

    Attributes:
        signs: Shape (1 + segments,); the first belongs to what is known.
        margins: In deviations of the noise, shape (segments,).
        mirror: How physics decided between all signs and their mirror.
        proven: Whether branch and bound has shown that no other signs fit better, and no nearer rivals exist.
    """

    signs: Array
    margins: Array
    mirror: Mirror
    proven: bool


def search(
    energy: Energy, channel: NDArray[np.int64], rng: np.random.Generator, given: Sequence[Array] = ()
) -> tuple[Array, bool]:
    """Signs of least energy, shape (1 + segments,), and whether they are proven to be."""
    form = energy.form
    first = itertools.islice(starts(form, rng, given), max(QUICK, len(given)))
    best = min((kernighan_lin(form, s) for s in first), key=energy.of)
    proof = branch_and_bound(form, best, _anchors(energy))
    if proof.complete:
        return proof.signs, True
    groups = [1 + np.flatnonzero(channel == c) for c in np.unique(channel)]
    groups += [1 + np.flatnonzero(channel >= c) for c in np.unique(channel)[1:]]
    return best_signs(form, groups, rng, [proof.signs, *given]), False


def decided(
    energy: Energy, signs: Array, channel: NDArray[np.int64], physical: Callable[[Array], float], proven: bool
) -> Decision:
    """Compare signs with their rivals.

    Args:
        energy: The energies, with weights that make errors of unit variance.
        signs: Those of least energy, shape (1 + segments,).
        channel: Channel of each segment.
        physical: What possible links leave of torques with given signs, in variances of the noise.
        proven: Whether the signs are proven to have the least energy.
    """
    anchors, held = _anchors(energy), _mirrored(signs)
    mirror = Mirror(physical(signs), np.inf, known=True)
    if not energy.knows_a_sign:
        mirror = Mirror(mirror.energy, physical(held))
        if mirror.mirrored < mirror.energy:
            signs, mirror = held, Mirror(mirror.mirrored, mirror.energy)
    alone = {1} if len(signs) == 2 and not energy.knows_a_sign else set()
    caps = np.full(len(signs), np.inf if energy.knows_a_sign else mirror.margin)
    best, cost = signs, mirror.energy
    proof = branch_and_bound(energy.form, best, anchors, SURE**2)
    for _ in range(2 * len(np.unique(channel))):
        group = _turned_group(energy, proof.signs, best, proof.rivals, channel)
        if group is None:
            break
        other_cost = physical(group)
        if other_cost < cost:
            best, group, cost, other_cost = group, best, other_cost, cost
        turned = np.flatnonzero(best != group)
        caps[turned] = np.minimum(caps[turned], Mirror(cost, other_cost).margin)
        anchors = [int(turned[np.argmax(np.diag(energy.form)[turned])]), *anchors]
        alone |= {int(turned[0])} if len(turned) == 1 else set()
        proof = branch_and_bound(energy.form, best, anchors, SURE**2)
    rises = _rises(energy, best, proof, anchors, alone)
    return Decision(best, np.minimum(margins_of(rises), caps)[1:], mirror, proven and proof.complete)


def _rises(energy: Energy, best: Array, proof: Proof, anchors: list[int], alone: set[int]) -> Array:
    """By how much the energy rises when a sign is flipped, and others adapt, shape (1 + segments,).

    Signs that physics holds rise by what their single flip costs, and those that were a group alone not at all by it.
    """
    rises = np.full(len(best), np.inf)
    nearest = rivals(energy.form, best)
    rises[1:] = np.einsum("ki,ij,kj->k", nearest, energy.form, nearest) - energy.of(best)
    if proof.complete:  # rivals that are not below the limit are beyond it
        rises = np.where(proof.rises < SURE**2, proof.rises, np.maximum(rises, SURE**2))
    else:
        rises = np.minimum(rises, np.where(proof.rises < SURE**2, proof.rises, np.inf))
    single = 4.0 * (np.diag(energy.form) - best * (energy.form @ best))
    rises[anchors] = single[anchors]
    rises[list(alone)] = np.inf
    return rises


def _anchors(energy: Energy) -> list[int]:
    """Signs that stay: that of what is known, and the strongest one where the mirror is left to physics."""
    return [0] if energy.knows_a_sign else [int(np.argmax(np.diag(energy.form)[1:])) + 1, 0]


def _mirrored(signs: Array) -> Array:
    return np.concatenate([signs[:1], -signs[1:]])


def _turned_group(
    energy: Energy, lowest: Array, best: Array, others: Array, channel: NDArray[np.int64]
) -> Array | None:
    """The rival of least energy that turns round much of a channel; None where there is none."""
    size = np.diag(energy.form)[1:]
    whole = np.bincount(channel, size)
    found = None
    for rival in (lowest, *others):
        turned = np.bincount(channel, size * (rival != best)[1:])
        if (turned > BY_PHYSICS * whole).any() and (found is None or energy.of(rival) < energy.of(found)):
            found = rival
    return found
