"""The mirror: all signs flipped fit as well, and only physics distinguishes them.

Its masses, inertias and friction are negative. So are those of a joint whose signs alone are turned round, where
little ties it to the others. The semidefinite fit of physically consistent links shows what each choice of signs costs.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation.physical import constraints as conditions
from dynid.estimation.physical.cone_program import InfeasibleError, SolverError
from dynid.estimation.physical.link_prior import LinkPrior, PriorKind
from dynid.estimation.physical.physical_estimate import Physics
from dynid.estimation.physical.semidefinite import ConflictError, Problem, fit
from dynid.estimation.signs.confidence import SIGN_THRESHOLDS, margins_of
from dynid.estimation.signs.search import Proof, best_signs, branch_and_bound, flipped, kernighan_lin, rivals, starts
from dynid.estimation.signs.sign_energy import Energy
from dynid.model import BaseParameters

ATTEMPTS = (
    *((LinkPrior(PriorKind.NONE), scale) for scale in (1.0, 0.1, 0.01)),
    (LinkPrior(PriorKind.EUCLIDEAN, 0.01), 0.1),
    (LinkPrior(PriorKind.LOG_DET), 0.1),
)
"""Priors and scales of the problem that are tried in turn: signs far from physical consistency are hard to solve."""


@dataclass(frozen=True)
class Mirror:
    """How physics decided between signs and their mirror.

    Attributes:
        energy: What physically consistent links leave of the torques with the chosen signs, in variances of the noise.
        mirrored: The same with all signs turned round.
        known: Whether known parameters decided already.
    """

    energy: float
    mirrored: float
    known: bool = False

    @property
    def margin(self) -> float:
        """How sure the choice is, in standard deviations of the noise."""
        if not np.isfinite(self.energy) or np.isnan(self.mirrored):
            return 0.0
        return float(np.sqrt(max(self.mirrored - self.energy, 0.0)))


def physical_energy(energy: Energy, signs: Array, base: BaseParameters, physics: Physics) -> float:
    """What the best physically consistent links leave of signed torques, in variances of the noise.

    Args:
        energy: The energies, with weights that make errors of unit variance.
        signs: Shape (1 + segments,).
        base: The base parameters.
        physics: References of links and stated constraints; its prior does not count.

    Returns:
        The energy; infinite where stated constraints exclude the torques, NaN where the solver finds no answer, so that
        physics says nothing.
    """
    laws = (*conditions.of_terms(base.model), *conditions.known(base.model, base.known), *physics.constraints)
    factor = energy.factor(signs)
    for prior, scale in ATTEMPTS:
        try:
            p = fit(Problem(factor.weighted(scale), base, physics.references, prior, laws))
        except (ConflictError, InfeasibleError):
            return float("inf")
        except SolverError:
            continue
        return factor.residual_squares(base.regrouping @ p)
    return float("nan")


@dataclass(frozen=True)
class RivalThresholds:
    """Which choices of signs are left to physics."""

    turned_share: float = 1.0 / 3.0
    """Part of a channel's squared torque that a rival must turn round: all signs of a joint that little ties to the
    others fit nearly as well as its mirror image. Shown by `benchmarks/signs.py` (table in `docs/signs.md`); motor 5 of
    the TX40 is such a case."""


THRESHOLDS = RivalThresholds()

QUICK_STARTS = 2
"""Starts before branch and bound; all of them follow where it gives up."""


@dataclass(frozen=True, eq=False)
class Decision:
    """Signs with their margins.

    Attributes:
        signs: Shape (1 + segments,); the first belongs to what is known.
        margins: In standard deviations of the noise, shape (segments,).
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
    first = itertools.islice(starts(form, rng, given), max(QUICK_STARTS, len(given)))
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
        physical: What physically consistent links leave of torques with given signs, in variances of the noise.
        proven: Whether the signs are proven to have the least energy.
    """
    cost = _remembered(physical)

    def ranked(s: Array) -> float:
        return float(np.nan_to_num(cost(s), nan=np.inf))

    best, anchors, groups = signs, _anchors(energy), []
    proof = branch_and_bound(energy.form, best, anchors, SIGN_THRESHOLDS.sure_margin**2)
    for _ in range(2 * len(np.unique(channel))):
        rival = _turned_group(energy, best, proof, channel)
        if rival is None:
            break
        new = np.flatnonzero(rival != best)
        mixed = [np.setxor1d(new, group) for group in groups]  # two groups may come as one and their union
        groups += [new, *(group for group in mixed if len(group))]
        best = min([best, *_alternatives(energy, best, groups)], key=ranked)
        anchors = [int(new[np.argmax(np.diag(energy.form)[new])]), *anchors]
        proof = branch_and_bound(energy.form, best, anchors, SIGN_THRESHOLDS.sure_margin**2)
    best = min([best, *_alternatives(energy, best, groups)], key=ranked)
    if not (proven and proof.complete):
        groups += _whole_channels(channel)
        best = _descended(energy, best, groups, ranked)
    caps = np.full(len(best), np.inf)
    for other in _alternatives(energy, best, groups):
        turned = other != best
        caps[turned] = np.minimum(caps[turned], Mirror(cost(best), cost(other)).margin)
    alone = {int(group[0]) for group in groups if len(group) == 1}
    if len(best) == 2 and not energy.knows_a_sign:
        alone = {1}
    last = branch_and_bound(energy.form, best, anchors, SIGN_THRESHOLDS.sure_margin**2)
    rises = _rises(energy, best, last, anchors, alone)
    known = energy.knows_a_sign
    mirror = Mirror(cost(best), np.inf if known else cost(_mirrored(best)), known)
    return Decision(best, np.minimum(margins_of(rises), caps)[1:], mirror, proven and proof.complete)


def _whole_channels(channel: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Signs of each channel, and of each channel and all behind it, which gravity ties together."""
    kinds = np.unique(channel)
    alone = [1 + np.flatnonzero(channel == c) for c in kinds]
    return [*alone, *(1 + np.flatnonzero(channel >= c) for c in kinds[1:-1])]


def _descended(
    energy: Energy, best: Array, groups: Sequence[NDArray[np.int64]], ranked: Callable[[Array], float]
) -> Array:
    """Signs of least physical energy that turning groups round, one after the other, leads to.

    Where there are too many segments for a proof, rivals that turn round a whole joint are not found by it.
    """
    for _ in range(len(groups)):
        found = min([best, *_alternatives(energy, best, groups)], key=ranked)
        if np.array_equal(found, best):
            break
        best = found
    return best


def _alternatives(energy: Energy, best: Array, groups: Sequence[NDArray[np.int64]]) -> list[Array]:
    """Signs that only physics distinguishes from given ones: their mirror, and groups turned round in both."""
    turned = [flipped(best, group) for group in groups]
    return turned if energy.knows_a_sign else [*map(_mirrored, [best, *turned]), *turned]


def _remembered(physical: Callable[[Array], float]) -> Callable[[Array], float]:
    """The same function, which works out each choice of signs once."""
    known: dict[bytes, float] = {}

    def cost(signs: Array) -> float:
        key = signs.tobytes()
        if key not in known:
            known[key] = physical(signs)
        return known[key]

    return cost


def _rises(energy: Energy, best: Array, proof: Proof, anchors: list[int], alone: set[int]) -> Array:
    """By how much the energy rises when a sign is flipped, and others adapt, shape (1 + segments,).

    Signs that physics holds rise by what their single flip costs, and those that were a group alone not at all by it.
    """
    rises = np.full(len(best), np.inf)
    nearest = rivals(energy.form, best)
    rises[1:] = np.einsum("ki,ij,kj->k", nearest, energy.form, nearest) - energy.of(best)
    limit = SIGN_THRESHOLDS.sure_margin**2
    if proof.complete:  # rivals that are not below the limit are beyond it
        rises = np.where(proof.rises < limit, proof.rises, np.maximum(rises, limit))
    else:
        rises = np.minimum(rises, np.where(proof.rises < limit, proof.rises, np.inf))
    single = 4.0 * (np.diag(energy.form) - best * (energy.form @ best))
    rises[anchors] = single[anchors]
    rises[list(alone)] = np.inf
    return rises


def _anchors(energy: Energy) -> list[int]:
    """Signs that stay: that of what is known, and the strongest one where the mirror is left to physics."""
    return [0] if energy.knows_a_sign else [int(np.argmax(np.diag(energy.form)[1:])) + 1, 0]


def _mirrored(signs: Array) -> Array:
    return np.concatenate([signs[:1], -signs[1:]])


def _turned_group(energy: Energy, best: Array, proof: Proof, channel: NDArray[np.int64]) -> Array | None:
    """The rival of least energy that turns round much of a channel; None where there is none."""
    size = np.maximum(np.diag(energy.form)[1:], np.finfo(float).tiny)
    whole = np.bincount(channel, size)
    found = None
    for rival in (proof.signs, *proof.rivals):
        turned = np.bincount(channel, size * (rival != best)[1:])
        if (turned > THRESHOLDS.turned_share * whole).any() and (found is None or energy.of(rival) < energy.of(found)):
            found = rival
    return found
