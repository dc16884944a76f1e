"""The choice of postures out of many: for the determinant of the information, by exchange, then by small steps.

A posture is six rows of the regressor, so that what each of thousands would add costs a few matrix products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Indices
from dynid.excitation.balance.standing_pool import StandingPool
from dynid.excitation.balance.wrench_information import WrenchInformation

_SWEEPS = 4
"""How often each posture is offered for exchange."""

_SMALLEST_GAIN = 1e-4
"""Gains of the logarithm of the determinant below this are no reason for an exchange."""

_STEP_SIZES = (*(0.2, 0.1, 0.05) * 6, 0.03, 0.03)
"""Sizes of random steps in the rounds of refinement, as parts of the ranges."""

_STEPS = 16
"""Random steps that each posture is offered in each of them."""

_NOTHING = 1e-9
"""Directions of parameters whose information is below this part of the largest are not excited by any posture."""


@dataclass(frozen=True, eq=False)
class Remainder:
    """What is uncertain after some samples, and what candidates would say of it.

    Attributes:
        covariance: Relative to what was uncertain before, shape (n, n).
        rows: The candidates' rows, shape (candidates, rows, n).
        seen: These times the covariance.
    """

    covariance: Array
    rows: Array
    seen: Array

    @staticmethod
    def of(rows: Array, covariance: Array | None = None) -> Remainder:
        """Before any of the candidates is taken."""
        C = np.eye(rows.shape[2]) if covariance is None else covariance
        return Remainder(C, rows, rows @ C)

    def gains(self) -> Array:
        """How much each candidate would add to the logarithm of the determinant, shape (candidates,)."""
        inner = self.seen @ np.swapaxes(self.rows, 1, 2)
        return np.asarray(np.linalg.slogdet(np.eye(inner.shape[1]) + inner)[1])

    def plus(self, rows: Array, sign: float = 1.0) -> Remainder:
        """With samples added, or taken away (sign -1), whose rows have the shape (rows, n)."""
        seen = rows @ self.covariance
        inner = np.linalg.inv(sign * np.eye(len(rows)) + seen @ rows.T)
        C = self.covariance - seen.T @ inner @ seen
        return Remainder(C, self.rows, self.seen - (self.rows @ seen.T) @ (inner @ seen))


def exchanged(rows: Array, count: int) -> Indices:
    """The candidates that add most together: one after the other, then by exchange of one at a time (Fedorov).

    Args:
        rows: The candidates' rows, shape (candidates, rows, n).
        count: How many to take.
    """
    left, chosen = Remainder.of(rows), []
    for _ in range(min(count, len(rows))):
        gains = left.gains()
        gains[chosen] = -np.inf
        chosen.append(int(np.argmax(gains)))
        left = left.plus(rows[chosen[-1]])
    for _ in range(_SWEEPS):
        changed = False
        for k, now in enumerate(chosen):
            without = left.plus(rows[now], -1.0)
            gains = without.gains()
            gains[[one for one in chosen if one != now]] = -np.inf
            best = int(np.argmax(gains))
            if gains[best] > gains[now] + _SMALLEST_GAIN:
                chosen[k], left, changed = best, without.plus(rows[best]), True
        if not changed:
            break
    return np.array(chosen, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class StandingChoice:
    """Postures that were chosen.

    Attributes:
        q: Their positions, shape (postures, nq).
        rows: Their rows of the regressor, each standing for all samples of a posture, shape (postures, 6, base).
        pool: The candidates, shape (candidates, nq).
        pool_rows: Their rows.
    """

    q: Array
    rows: Array
    pool: Array
    pool_rows: Array


def choose_standing(
    source: StandingPool,
    information: WrenchInformation,
    count: int,
    candidates: int,
    samples: float,
    rng: np.random.Generator,
    is_over: Callable[[], bool],
    progress: Callable[[str], None] = lambda _: None,
) -> StandingChoice:
    """Choose postures for what the ground's wrench at rest says of the robot's parameters.

    Args:
        source: Where random postures come from.
        information: What they say.
        count: How many to choose.
        candidates: How many random ones to choose them from.
        samples: How many samples are measured at each.
        rng: The source of randomness.
        is_over: Whether to stop refining.
        progress: Callback; receives a short description of each step.
    """
    pool = source.drawn(candidates, rng, is_over)
    progress(f"{len(pool)} random postures in balance")
    weight = np.sqrt(samples)
    pool_rows = weight * information.rows(pool)
    U = _excited(pool_rows)
    chosen = exchanged(pool_rows @ U, count)
    q, rows = pool[chosen], pool_rows[chosen]
    for size in _STEP_SIZES:
        if is_over():
            break
        q, rows = _refined(source, information, q, rows, U, weight, size, rng)
        gain = np.linalg.slogdet(np.eye(U.shape[1]) + np.einsum("psi,psj->ij", rows @ U, rows @ U))[1]
        progress(f"{len(q)} postures, information of {gain:.1f}")
    return StandingChoice(q, rows, pool, pool_rows)


def _excited(rows: Array) -> Array:
    """An orthonormal basis of the parameters that any candidate excites, shape (base, n)."""
    values, U = np.linalg.eigh(np.einsum("psi,psj->ij", rows, rows, optimize=True))
    return np.asarray(U[:, values > _NOTHING * values[-1]])


def _refined(
    source: StandingPool,
    information: WrenchInformation,
    q: Array,
    rows: Array,
    U: Array,
    weight: float,
    size: float,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Postures that are each replaced by the best of some near them, one after the other."""
    moved, owner = source.near(np.repeat(q, _STEPS, axis=0), size, rng)
    owner = owner // _STEPS
    moved_rows = weight * information.rows(moved)
    q, rows = q.copy(), rows.copy()
    left = Remainder.of(np.zeros((0, 6, U.shape[1])))
    for one in rows @ U:
        left = left.plus(one)
    for k in range(len(q)):
        mine = np.flatnonzero(owner == k)
        offered = np.concatenate([rows[k][None], moved_rows[mine]]) @ U
        without = left.plus(offered[0], -1.0)
        gains = Remainder.of(offered, without.covariance).gains()
        best = int(np.argmax(gains))
        if best and gains[best] > gains[0] + _SMALLEST_GAIN:
            q[k], rows[k] = moved[mine[best - 1]], moved_rows[mine[best - 1]]
        left = without.plus(offered[best] if gains[best] > gains[0] + _SMALLEST_GAIN else offered[0])
    return q, rows
