"""Signs of least energy: Kernighan-Lin passes from many starts.

A pass flips each free sign once, always the one that costs least at the moment, even when it costs, and goes back to
the best point on its way. So it gets out of hollows that single and double flips cannot leave.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array

RANDOM_STARTS = 12
"""Random starts, beside the spectral ones and those that are given."""

SPECTRAL_STARTS = 4
"""Directions of least energy whose signs are starts."""


def kernighan_lin(form: Array, signs: Array, locked: Sequence[int] = (0,)) -> Array:
    """The signs that passes of flips end with, when no pass finds anything better.

    Args:
        form: M, shape (signs, signs).
        signs: Where to begin, shape (signs,).
        locked: Signs that stay.
    """
    s = np.array(signs, dtype=float)
    diagonal = np.diag(form)
    slack = 1e-12 * max(float(diagonal.sum()), np.finfo(float).tiny)
    free = np.ones(len(s), dtype=bool)
    free[list(locked)] = False
    while True:
        trial, field = s.copy(), form @ s
        blocked = np.where(free, 0.0, np.inf)
        order, total, best, upto = [], 0.0, -slack, 0
        for _ in range(int(free.sum())):
            costs = 4.0 * (diagonal - trial * field) + blocked
            k = int(np.argmin(costs))
            total += costs[k]
            field -= 2.0 * trial[k] * form[:, k]
            trial[k] = -trial[k]
            blocked[k] = np.inf
            order.append(k)
            if total < best:
                best, upto = total, len(order)
        if upto == 0:
            return s
        s[order[:upto]] *= -1.0


def starts(form: Array, rng: np.random.Generator, given: Iterable[Array] = ()) -> Iterator[Array]:
    """Signs to begin with: given ones, those of the directions of least energy, then random ones."""
    n = len(form)
    yield from given
    size = np.sqrt(np.maximum(np.diag(form), np.finfo(float).tiny))
    _, directions = np.linalg.eigh(form[1:, 1:] / np.outer(size[1:], size[1:]))
    for direction in directions.T[:SPECTRAL_STARTS]:
        yield _signs(np.concatenate([[1.0], direction]))
    for _ in range(RANDOM_STARTS):
        yield np.concatenate([[1.0], rng.choice([-1.0, 1.0], n - 1)])


def best_signs(
    form: Array,
    groups: Sequence[NDArray[np.int64]],
    rng: np.random.Generator,
    given: Iterable[Array] = (),
) -> Array:
    """The best signs of all starts, shape (signs,); the first is +1.

    Args:
        form: M, shape (1 + segments, 1 + segments).
        groups: Signs that often flip together, such as those of one joint; they are tried from the best.
        rng: The random generator.
        given: Further signs to begin with, such as those that a robot's file predicts.
    """
    best = min((kernighan_lin(form, s) for s in starts(form, rng, given)), key=lambda s: float(s @ form @ s))
    while True:
        trials = [kernighan_lin(form, flipped(best, group)) for group in groups]
        better = min([best, *trials], key=lambda s: float(s @ form @ s))
        if not better @ form @ better < (1.0 - 1e-9) * (best @ form @ best):
            return best
        best = better


def flipped(signs: Array, group: NDArray[np.int64] | int) -> Array:
    """The same signs with some turned round."""
    other = signs.copy()
    other[group] *= -1.0
    return other


def rivals(form: Array, signs: Array) -> Array:
    """For each sign the best signs found in which it is the other way, shape (segments, 1 + segments).

    All at once: each is flipped, held, and single flips of the others follow as long as they lower the energy.
    """
    n = len(signs)
    S = np.tile(signs, (n - 1, 1))
    rows = np.arange(n - 1)
    S[rows, rows + 1] *= -1.0
    diagonal = np.diag(form)
    fields = S @ form
    slack = 1e-12 * float(diagonal.sum())
    active = rows
    while len(active):
        costs = 4.0 * (diagonal - S[active] * fields[active])
        costs[:, 0] = costs[np.arange(len(active)), active + 1] = np.inf
        k = np.argmin(costs, axis=1)
        going = costs[np.arange(len(active)), k] < -slack
        active, k = active[going], k[going]
        fields[active] -= 2.0 * S[active, k][:, None] * form[k]
        S[active, k] *= -1.0
    return S


def _signs(values: Array) -> Array:
    return np.where(values >= 0.0, 1.0, -1.0)


MOST_BRANCHES = 300_000
"""Branches after which a proof is given up."""


@dataclass(frozen=True, eq=False)
class Proof:
    """What a walk over choices of signs found.

    Attributes:
        signs: The best ones found, shape (signs,).
        complete: Whether there are none better, and no nearer rivals.
        rises: For each sign by how much the energy rises when it is the other way, shape (signs,); at most the limit
            that was asked for.
        rivals: The signs that do so, shape (signs, signs); the best signs themselves where none is below the limit.
    """

    signs: Array
    complete: bool
    rises: Array
    rivals: Array


def branch_and_bound(
    form: Array, signs: Array, locked: Sequence[int], limit: float = 0.0, nodes: int = MOST_BRANCHES
) -> Proof:
    """Find the best signs, and for each sign the best ones in which it is flipped.

    Args:
        form: M, positive semidefinite, shape (signs, signs).
        signs: The best signs known, shape (signs,).
        locked: Signs that stay; where nothing known distinguishes a sign from its mirror, one of them may be any.
        limit: Rivals are of interest up to this energy above the best.
        nodes: Branches after which to give up.
    """
    from dynid.estimation.signs.compiled_branches import walk

    n = len(form)
    held = list(dict.fromkeys(locked))
    rest = [k for k in np.argsort(np.diag(form)).tolist() if k not in held]
    order = np.array([*rest, *held])  # decided last to first: large ones early
    lift = 1e-14 * max(float(np.trace(form)), np.finfo(float).tiny)
    L = _upper_root(form[np.ix_(order, order)] + lift * np.eye(n))
    best = np.array(signs, dtype=float)
    while True:
        reference = best[order]
        start = float(np.sum((L @ reference) ** 2))
        lowest, rivals = reference.copy(), np.tile(reference, (n, 1))
        limits = np.full(n, start + limit)
        spread = 1e-9 * start + 4.0 * n * lift
        _, count = walk(L, reference, len(rest), lowest, rivals, limits, spread, nodes)
        best = np.empty(n)
        best[order] = lowest
        if count > nodes or np.array_equal(lowest, reference):
            break
    rises, others = np.empty(n), np.empty((n, n))
    rises[order] = np.maximum(limits - start, 0.0)
    others[np.ix_(order, order)] = rivals
    return Proof(best, count <= nodes, rises, others)


def _upper_root(M: Array) -> Array:
    """Upper triangular L with M = L'L and no negative diagonal, also where M is singular to rounding."""
    sizes, V = np.linalg.eigh(M)
    L = np.asarray(np.linalg.qr(np.sqrt(np.maximum(sizes, 0.0))[:, None] * V.T, mode="r"))
    return np.where(np.diag(L) < 0.0, -1.0, 1.0)[:, None] * L
