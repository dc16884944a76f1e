"""Proof that signs are the best, and which others come near: branch and bound on the energy.

With a Cholesky factor M = L'L the energy is a sum of squares, `E(s) = sum_i (L_ii s_i + sum_{j > i} L_ij s_j)^2`, whose
i-th term depends on signs i and later only. Signs are decided from the last to the first; the terms so far are a lower
bound, and a branch that exceeds the best energy known is cut off (sphere decoding, as receivers of radio do it). Where
the data speak clearly this takes milliseconds for hundreds of signs; the number of branches is limited all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array

NODES = 300_000
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


def branch_and_bound(form: Array, signs: Array, locked: Sequence[int], limit: float = 0.0, nodes: int = NODES) -> Proof:
    """Find the best signs, and for each sign the best ones in which it is flipped.

    Args:
        form: M, positive semidefinite, shape (signs, signs).
        signs: The best signs known, shape (signs,).
        locked: Signs that stay; where nothing known tells a sign from its mirror, one of them may be any.
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
