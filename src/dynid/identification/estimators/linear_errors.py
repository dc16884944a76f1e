"""Errors of simulated logs as linear functions of base parameters, and of where each stretch of a log starts.

Rows stand in groups, such as the positions of one joint, whose errors have one size. Starts are projected out: what is
left are factors over base parameters, as all later steps take them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from dynid.arrays import Array
from dynid.estimation.equivalent_rows import EQUIVALENT
from dynid.estimation.factors.factors import Factor, Factors, merged
from dynid.estimation.factors.reduced_logs import Fold
from dynid.model import BaseParameters

START_STDS = (0.02, 0.5)
"""Standard deviations of measured starts: positions [rad or m] and velocities [rad/s or m/s]; wide, they only keep what
no sample shows from drifting."""

SMALLEST_SHARE = 1e-3
"""No group's errors are taken for smaller than this part of those of the worst group of its kind."""


@dataclass(frozen=True, eq=False)
class LinearErrors:
    """Errors around a point as linear functions.

    Attributes:
        base: The base parameters.
        values: Where they are, shape (base,).
        blocks: For each stretch and each block of its time the factors of all groups, over changes of the stretch's
            start and of base parameters.
        offsets: For each stretch what its measured start is beyond the present one, shape (2 nv,).
        weights: Weights of the stretches.
        kinds: For each group which others it is compared with; None weighs all rows alike.
    """

    base: BaseParameters
    values: Array
    blocks: Sequence[Sequence[Sequence[Factor]]]
    offsets: Sequence[Array]
    weights: Sequence[float]
    kinds: tuple[int, ...] | None

    @cached_property
    def factors(self) -> list[list[Factor]]:
        """For each stretch the factors of all groups."""
        names = self.blocks[0][0][0].names
        return [[merged(group, names) for group in zip(*blocks, strict=True)] for blocks in self.blocks]

    @cached_property
    def counts(self) -> Array:
        """Number of rows of each group, shape (groups,)."""
        return np.array([sum(factor.rows for factor in group) for group in zip(*self.factors, strict=True)])

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @cached_property
    def start_stds(self) -> Array:
        """Standard deviations of measured starts, shape (2 nv,)."""
        return np.repeat(START_STDS, len(self.offsets[0]) // 2)

    def by_stretch(self, stds: Array) -> list[Factor]:
        """The factor of each stretch with groups weighed by standard deviations, shape (groups,); starts come first."""
        found = []
        for factors, offset, weight in zip(self.factors, self.offsets, self.weights, strict=True):
            names = factors[0].names
            own = [factor.weighted(weight / std) for factor, std in zip(factors, stds, strict=True)]
            starts = names[: len(offset)]
            prior = dict(zip(starts, offset, strict=True)), dict(zip(starts, self.start_stds, strict=True))
            found.append(merged(own, names).with_prior(*prior))
        return found

    def over_base(self, stds: Array) -> Factor:
        """The factor of all stretches over changes of base parameters, starts being projected out."""
        parts, n = [], len(self.offsets[0])
        for whole in self.by_stretch(stds):
            parts.append(Factor(self.base.names, whole.R[n:, n:], whole.z[n:], whole.squares, whole.rows))
        return merged(parts, self.base.names)

    def stds_at(self, change: Array, stds: Array) -> Array:
        """Standard deviations of each group's errors after a change of base parameters, shape (groups,)."""
        squares = np.zeros(len(stds))
        for factors, step in zip(self.factors, self.start_steps(change, stds), strict=True):
            squares += [factor.residual_squares(np.concatenate([step, change])) for factor in factors]
        unknowns = len(self.base) + sum(len(offset) for offset in self.offsets)
        return self._stds(squares, unknowns / max(self.rows, unknowns + 1))

    def start_steps(self, change: Array, stds: Array) -> list[Array]:
        """The best changes of the starts with a change of base parameters, each of shape (2 nv,)."""
        n, found = len(self.offsets[0]), []
        for whole in self.by_stretch(stds):
            found.append(np.linalg.solve(whole.R[:n, :n], whole.z[:n] - whole.R[:n, n:] @ change))
        return found

    @cached_property
    def now(self) -> Array:
        """Standard deviations of the errors where we are, shape (groups,)."""
        squares = np.zeros(len(self.counts))
        for factors in self.factors:
            squares += [factor.residual_squares(np.zeros(len(factor.names))) for factor in factors]
        return self._stds(squares, 0.0)

    def _stds(self, squares: Array, share: float) -> Array:
        """Standard deviations of groups' errors; one for all where they are not weighed.

        Args:
            squares: Sums of squared errors, shape (groups,).
            share: Part of the errors that parameters explain by chance.
        """
        kinds, counts = np.array(self.kinds or [0] * len(squares)), self.counts
        if self.kinds is None:
            squares, counts = np.full_like(squares, squares.sum()), np.full_like(counts, counts.sum())
        stds = np.sqrt(squares / np.maximum((1.0 - share) * counts, 1.0))
        worst = np.array([stds[kinds == kind].max() for kind in kinds])
        return np.maximum(stds, np.maximum(SMALLEST_SHARE * worst, 1e-14))

    @cached_property
    def solved(self) -> tuple[Factor, Array, Array]:
        """The factor over changes of base parameters with errors' sizes at the optimum, the change to it, and these."""
        stds = self.now
        for _ in range(2):
            stds = self.stds_at(self.over_base(stds).solve(), stds)
        factor = self.over_base(stds)
        return factor, factor.solve(), stds

    @property
    def solution(self) -> tuple[Array, Array]:
        """The optimum over base parameters, shape (base,), and its covariance, (base, base)."""
        factor, change, _ = self.solved
        inverse = np.linalg.pinv(factor.R)
        return self.values + change, inverse @ inverse.T

    @property
    def equations(self) -> tuple[Array, Array]:
        """Rows W and right-hand side y over base parameters whose errors have unit variance."""
        factor, _, _ = self.solved
        return factor.R, factor.z + factor.R @ self.values

    def unknowns(self) -> list[tuple[Array, Array]]:
        """For each stretch changes of its start and of base parameters to the optimum, and a root of their covariance.

        Each has shape (2 nv + base,), and (2 nv + base, 2 nv + base).
        """
        factor, change, stds = self.solved
        n, own, found = len(self.offsets[0]), np.linalg.pinv(factor.R), []
        for whole, step in zip(self.by_stretch(stds), self.start_steps(change, stds), strict=True):
            first = solve_triangular(whole.R[:n, :n], np.eye(n))
            root = np.block([[first, -first @ whole.R[:n, n:] @ own], [np.zeros((len(own), n)), own]])
            found.append((np.concatenate([step, change]), root))
        return found

    def folds(self) -> tuple[Fold, ...]:
        """Blocks of time as factors of base parameters, starts being held at the optimum."""
        _, change, stds = self.solved
        found, n = [], len(self.offsets[0])
        starts = self.start_steps(change, stds)
        for blocks, weight, step in zip(self.blocks, self.weights, starts, strict=True):
            for block in blocks:
                names = block[0].names
                own = merged([f.weighted(weight / std) for f, std in zip(block, stds, strict=True)], names)
                own = own.without(dict(zip(names[:n], step.tolist(), strict=True)))
                own = replace(own, z=own.z + own.R @ self.values)
                found.append(Fold(0, Factors(self.base.model.names, {EQUIVALENT: own}, "estimate")))
        return tuple(found)
