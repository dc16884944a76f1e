"""Rows `[W | y]` in memory or in pieces, made so that their errors are independent and of unit variance, as factors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dynid.arrays import Array, Indices
from dynid.errors import InvalidRequestError, ShapeError
from dynid.estimation.factors.factors import Factor, merged

MOST_PARTS = 12
"""Parts of the rows that are kept apart, to be predicted from the others."""

PIECE_NUMBERS = 2_000_000
"""Numbers of a matrix that are whitened at once: 16 MB."""


@dataclass(frozen=True, eq=False)
class RowErrors:
    """How large errors of rows are.

    Attributes:
        step: Rows of a sample: errors of different samples are independent.
        stds: Standard deviations of the rows of one sample, (step,), or of all rows, (rows,); None where they are
            unknown, or given by roots.
        roots: Inverses of Cholesky factors of covariances, of one sample, (1, step, step), or of all, (samples, step,
            step); or one for each of blocks of any size.
        bounds: Where blocks of any size begin and end, shape (blocks + 1,).
        kinds: Label of each row of one sample: rows of one label have errors of one unknown size.
    """

    step: int
    stds: Array | None = None
    roots: Array | Sequence[Array] | None = None
    bounds: Indices | None = None
    kinds: tuple[str, ...] = ("",)

    @staticmethod
    def of(std: Any, covariance: Any, row_kinds: Any, rows: int | None) -> RowErrors:
        """What users state; arguments as `fit_bodies`, and the number of all rows where it is known."""
        if std is not None and covariance is not None:
            raise InvalidRequestError("std and covariance both say how large errors are; give one of them")
        kinds = tuple(map(str, row_kinds)) if row_kinds is not None else ("",)
        if row_kinds is not None and (not kinds or std is not None or covariance is not None):
            raise InvalidRequestError("row_kinds label rows whose errors are estimated: leave std and covariance out")
        if covariance is not None:
            return _of_covariance(covariance, rows)
        if std is None:
            _require_samples(len(kinds), rows, "row_kinds")
            return RowErrors(len(kinds), kinds=kinds)
        stds = np.atleast_1d(np.asarray(std, dtype=float))
        if stds.ndim != 1 or not (np.isfinite(stds).all() and (stds > 0.0).all()):
            raise InvalidRequestError("standard deviations of rows must be positive finite numbers, one or a list")
        if len(stds) == rows:
            return RowErrors(1, stds)
        _require_samples(len(stds), rows, "std")
        return RowErrors(len(stds), stds)

    @property
    def is_known(self) -> bool:
        """Whether they were stated."""
        return self.stds is not None or self.roots is not None

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of rows whose errors have one size each, in the order of their first rows."""
        return tuple(dict.fromkeys(self.kinds))

    def split(self, rows: Array) -> list[Array]:
        """Rows of whole samples, by label."""
        if len(self.labels) == 1:
            return [rows]
        label = np.tile([self.labels.index(kind) for kind in self.kinds], len(rows) // self.step)
        return [rows[label == k] for k in range(len(self.labels))]

    def cuts(self, rows: int, columns: int) -> list[int]:
        """Where to cut so many rows into pieces, at ends of samples."""
        wanted = max(1, min(-(-rows // MOST_PARTS), PIECE_NUMBERS // columns))
        if self.bounds is None:
            wanted = -(-wanted // self.step) * self.step
            return [*range(0, rows, wanted), rows]
        ends = np.searchsorted(self.bounds, np.arange(0, rows, wanted))
        return sorted({*self.bounds[ends].tolist(), rows})

    def whitened(self, rows: Array, first: int) -> Array:
        """Rows, shape (n, columns), from the given one on, with errors that are independent and of unit variance."""
        if self.bounds is not None and self.roots is not None:
            own = range(int(np.searchsorted(self.bounds, first)), int(np.searchsorted(self.bounds, first + len(rows))))
            return np.concatenate(
                [self.roots[k] @ rows[self.bounds[k] - first : self.bounds[k + 1] - first] for k in own]
            )
        if self.roots is not None:
            samples = rows.reshape(-1, self.step, rows.shape[1])
            start = first // self.step
            roots = self.roots if len(self.roots) == 1 else self.roots[start : start + len(samples)]
            return (np.asarray(roots) @ samples).reshape(rows.shape)
        if self.stds is None:
            return rows
        stds = np.tile(self.stds, len(rows) // self.step) if self.step > 1 or len(self.stds) == 1 else self.stds[first:]
        return rows / stds[: len(rows), None]


def row_factors(W: Any, y: Any, errors: RowErrors, names: Sequence[str]) -> list[list[Factor]]:
    """Factors of the whitened rows: for each of up to 12 parts of them in turn, one for each label of rows.

    Memory does not grow with the rows: they are read a piece at a time.

    Args:
        W: Rows, shape (rows, parameters); or, where y is None, pairs (W, y) of whole samples, one after the other.
        y: Right-hand side, shape (rows,), or None.
        errors: How large errors are.
        names: Names of the parameters.
    """
    parts: list[list[Factor]] = []
    joined, count = 1, 0  # pieces of each part, and of the last one
    for rows, first in _pieces(W, y, errors, len(names)):
        found = [Factor.of(names, own[:, :-1], own[:, -1]) for own in errors.split(errors.whitened(rows, first))]
        if count in (0, joined):
            parts.append(found)
            count = 1
        else:
            parts[-1] = _merged(parts[-1], found, names)
            count += 1
        if len(parts) == 2 * MOST_PARTS and count == joined:
            parts = [_merged(one, other, names) for one, other in zip(parts[::2], parts[1::2], strict=True)]
            joined = count = 2 * joined
    if not parts:
        raise InvalidRequestError("there are no rows to fit bodies to")
    step = -(-len(parts) // MOST_PARTS)
    return [_joined(parts[k : k + step], names) for k in range(0, len(parts), step)]


def _joined(parts: Sequence[list[Factor]], names: Sequence[str]) -> list[Factor]:
    whole = parts[0]
    for part in parts[1:]:
        whole = _merged(whole, part, names)
    return whole


def _merged(one: list[Factor], other: list[Factor], names: Sequence[str]) -> list[Factor]:
    return [merged(pair, names) for pair in zip(one, other, strict=True)]


def _pieces(W: Any, y: Any, errors: RowErrors, columns: int) -> Iterator[tuple[Array, int]]:
    """Rows `[W | y]` in pieces of whole samples, each with the number of its first row."""
    if y is None:
        first = 0
        for piece in W:
            if not (isinstance(piece, tuple | list) and len(piece) == 2):
                raise InvalidRequestError("where y is None, W must give pairs (W, y) of rows, one after the other")
            rows = _checked(piece[0], piece[1], columns, first)
            _require_samples(errors.step, len(rows), "a sample", f" of the pair that begins at row {first}")
            yield rows, first
            first += len(rows)
        return
    count = len(y)
    cuts = errors.cuts(count, columns)
    for start, end in pairwise(cuts):
        yield _checked(W[start:end], y[start:end], columns, start), start


def require_shapes(W: Any, y: Any, columns: int, bodies: int, others: int) -> int | None:
    """The number of rows in memory; None where pairs are given.

    Raises:
        ShapeError: If they do not fit each other or the bodies.
    """
    more = f" and {others} more" if others else ""
    wanted = f"(rows, {columns}), 10 columns for each body (here {bodies}){more},"
    if y is None:
        if not isinstance(W, Iterable) or isinstance(W, np.ndarray):
            raise InvalidRequestError("the right-hand side y is missing; give an array of shape (rows,)")
        return None
    if np.ndim(W) != 2 or np.shape(W)[1] != columns:
        raise ShapeError("the regressor matrix W", wanted, np.shape(W))
    if np.shape(y) != (np.shape(W)[0],):
        raise ShapeError("the right-hand side y", f"({np.shape(W)[0]},), one value for each row of W", np.shape(y))
    if not len(y):
        raise InvalidRequestError("there are no rows to fit bodies to")
    return len(y)


def _checked(W: Any, y: Any, columns: int, first: int) -> Array:
    """Rows `[W | y]`, finite."""
    if np.iscomplexobj(W) or np.iscomplexobj(y):
        raise InvalidRequestError("W and y must be real numbers, not complex ones")
    try:
        W, y = np.asarray(W, dtype=float), np.asarray(y, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(f"W and y must be dense arrays of numbers: {error}") from error
    if W.ndim != 2 or W.shape[1] != columns or y.shape != (len(W),):
        raise ShapeError(f"the rows from {first} on", f"(n, {columns}) and (n,)", (*W.shape, *y.shape))
    rows = np.column_stack([W, y])
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0].tolist()
        where = "y" if column == columns else f"column {column} of W"
        raise InvalidRequestError(
            f"row {first + row}, {where}: {rows[row, column]} is no finite number; leave such rows out"
        )
    return rows


def _of_covariance(covariance: Any, rows: int | None) -> RowErrors:
    if isinstance(covariance, list | tuple) and len({np.shape(block) for block in covariance}) > 1:
        blocks = [np.asarray(block, dtype=float) for block in covariance]
        bounds = np.cumsum([0, *(len(block) for block in blocks)])
        if rows is None or bounds[-1] != rows:
            raise InvalidRequestError(f"the blocks of the covariance have {bounds[-1]} rows together, and W has {rows}")
        return RowErrors(1, roots=[_root(block, k) for k, block in enumerate(blocks)], bounds=bounds)
    C = np.asarray(covariance, dtype=float)
    if C.ndim == 2:
        C = C[None]
    if C.ndim != 3 or C.shape[1] != C.shape[2]:
        raise ShapeError("covariance", "(n, n) of one sample or (samples, n, n)", np.shape(covariance))
    step = C.shape[1]
    _require_samples(step, rows, "covariance")
    if len(C) > 1 and rows is not None and len(C) * step != rows:
        raise InvalidRequestError(f"the blocks of the covariance have {len(C) * step} rows together, and W has {rows}")
    if len(C) > 1 and rows is None:
        raise InvalidRequestError("rows in pairs (W, y) need one covariance that all samples have")
    return RowErrors(step, roots=np.stack([_root(block, k) for k, block in enumerate(C)]))


def _root(block: Array, k: int) -> Array:
    """Inverse of the Cholesky factor of a covariance."""
    if block.ndim != 2 or block.shape[0] != block.shape[1]:
        raise ShapeError(f"block {k} of the covariance", "(n, n)", block.shape)
    try:
        if not np.allclose(block, block.T, rtol=1e-6, atol=0.0):
            raise np.linalg.LinAlgError
        return np.asarray(np.linalg.inv(np.linalg.cholesky(block)), dtype=float)
    except np.linalg.LinAlgError:
        raise InvalidRequestError(
            f"block {k} of the covariance is not symmetric and positive definite; give covariances of errors, "
            "standard deviations squared on their diagonals"
        ) from None


def _require_samples(step: int, rows: int | None, what: str, where: str = "") -> None:
    if rows is not None and rows % step:
        raise InvalidRequestError(
            f"{what} is for samples of {step} rows, and the {rows} rows{where} are no whole number of samples"
        )
