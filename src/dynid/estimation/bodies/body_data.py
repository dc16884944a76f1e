"""What rows say of bodies: factors of the combinations of parameters that they determine, and how large errors are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.bodies.body_priors import BodyPrior
from dynid.estimation.bodies.whitened_rows import RowErrors, row_factors
from dynid.estimation.factors.factors import Factor, merged
from dynid.robot import inertia

RANK_TOLERANCE = 1e-10
"""Singular values of W, with columns in units of the bodies' sizes, below this part of the largest are rounding."""

MOST_REWEIGHTINGS = 50
"""Rounds at most in which sizes of errors and the fit that they are of are brought to agree."""

SETTLED_STDS = 1e-3
"""Relative change of estimated standard deviations in a round below which they have settled."""

SMALLEST_ROW_STD = 2e-5
"""Errors that are estimated are at least this part of the right-hand side, as for robots: no row is trusted further."""


@dataclass(frozen=True, eq=False)
class RowCombinations:
    """Combinations b = K p that rows determine, as `Combinations` of the cone program."""

    names: tuple[str, ...]
    regrouping: Array
    back: Array

    @property
    def reference(self) -> Array:
        """Nothing is stated of columns that are no bodies'."""
        return np.full(len(self.back), np.nan)

    def to_standard(self, base: Array) -> Array:
        """The smallest parameters that have them."""
        return self.back @ base


@dataclass(frozen=True, eq=False)
class BodyData:
    """What rows say, in the combinations of parameters that they determine.

    Attributes:
        parts: Factors of parts of the rows, scaled so that errors have unit variance as far as that is known.
        base: The combinations.
        row_std: Estimated standard deviations of each kind of row; empty where they were stated.
        silent: Names of bodies that no row depends on.
        others: Names of the columns that are no bodies'.
    """

    parts: tuple[Factor, ...]
    base: RowCombinations
    row_std: Array
    silent: tuple[str, ...]
    others: tuple[str, ...]

    @staticmethod
    def of(W: Any, y: Any, errors: RowErrors, expected: BodyPrior, others: tuple[str, ...]) -> BodyData:
        """Reduce the rows."""
        symbols = inertia.PARAMETER_SYMBOLS
        names = (*(f"{symbol} of {name}" for name in expected.names for symbol in symbols), *others)
        parts = row_factors(W, y, errors, names)
        whole = merged([factor for part in parts for factor in part], names)
        lengths = np.linalg.norm(whole.R, axis=0)
        own = np.ravel([inertia.sizes(body) for body in expected.parameters])
        size = np.linalg.norm(whole.z) / np.sqrt(max(1, len(whole.z)))
        rest = lengths[len(own) :]
        sizes = np.concatenate([own, np.divide(size or 1.0, rest, out=np.ones(len(rest)), where=rest > 0.0)])
        base = _combinations(whole.R, sizes)
        found = [[factor.combined(base.names, base.back) for factor in part] for part in parts]
        row_std = np.zeros(0)
        if not errors.is_known:
            row_std = _row_stds(found, len(base.names), errors.labels)
            found = [[f.weighted(1.0 / s) for f, s in zip(part, row_std, strict=True)] for part in found]
        bodies = lengths[: inertia.SIZE * len(expected.names)].reshape(-1, inertia.SIZE)
        silent = tuple(name for name, own in zip(expected.names, bodies, strict=True) if not own.any())
        return BodyData(tuple(merged(part, base.names) for part in found), base, row_std, silent, others)

    @property
    def whole(self) -> Factor:
        """The factor of all rows."""
        return merged(self.parts, self.base.names)


def _combinations(R: Array, sizes: Array) -> RowCombinations:
    """The combinations that a triangular factor determines, given the sizes of the parameters."""
    _, values, V = np.linalg.svd(R * sizes, full_matrices=False)
    rank = int(np.sum(values > RANK_TOLERANCE * values[0])) if len(values) and values[0] > 0.0 else 0
    if not rank:
        raise InvalidRequestError("all of W is zero: no row depends on any body")
    names = tuple(f"combination {k + 1}" for k in range(rank))
    return RowCombinations(names, V[:rank] / sizes, sizes[:, None] * V[:rank].T)


def _row_stds(parts: Sequence[Sequence[Factor]], rank: int, labels: Sequence[str]) -> Array:
    """Standard deviations of the errors of each kind of row, by turns with the fit that they are of."""
    kinds = [merged([part[k] for part in parts]) for k in range(len(parts[0]))]
    rows = np.array([kind.rows for kind in kinds], dtype=float)
    if rows.sum() <= rank:
        raise InvalidRequestError(
            f"{rows.sum():.0f} rows determine {rank} combinations of parameters exactly, so that no residual says how "
            "large errors are; give std, or more rows"
        )
    sizes = np.array([np.sqrt(kind.residual_squares(np.zeros(rank)) / kind.rows) for kind in kinds])
    if not sizes.any():
        raise InvalidRequestError(
            "the right-hand side y is zero in all rows, so that nothing says how large errors are"
        )
    stds = sizes = np.maximum(sizes, SMALLEST_ROW_STD * sizes.max())
    for _ in range(MOST_REWEIGHTINGS):
        weighted = [kind.weighted(1.0 / std) for kind, std in zip(kinds, stds, strict=True)]
        whole = merged(weighted)
        b, back = whole.solve(), np.linalg.inv(whole.R)
        used = np.array([np.sum((kind.R @ back) ** 2) for kind in weighted])  # degrees of freedom that the fit takes
        squares = np.array([kind.residual_squares(b) for kind in kinds])
        before, stds = stds, np.maximum(np.sqrt(squares / np.maximum(rows - used, 1.0)), SMALLEST_ROW_STD * sizes)
        if np.abs(np.log(stds / before)).max() < SETTLED_STDS:
            break
    exact = stds <= 2.0 * SMALLEST_ROW_STD * sizes
    if exact.any() and not exact.all():
        few = labels[int(np.flatnonzero(exact)[0])]
        raise InvalidRequestError(
            f"rows of kind '{few}' are too few for an estimate of their errors: parameters fit them exactly; give std, "
            "or fewer kinds"
        )
    return stds
