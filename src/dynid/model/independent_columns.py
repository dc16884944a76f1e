"""Choosing independent columns of a matrix, and writing the others as sums of them.

A row of the dynamics depends only on the links that its joint moves, so the observation matrix has the shape of a
staircase: of a chain, the columns of the first links stand in few rows. Columns are therefore chosen some at a time,
and rows are taken in when the first of their columns is tried: work and memory are a small part of those of one
factorisation of all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Indices
from dynid.machine import parallel
from dynid.model.parameters import Parameter

_ROUNDING_COLUMN = 1e-12
"""Columns below this part of the largest of all are rounding, whatever their unit."""

_ROUNDING_COEFFICIENT = 1e-11
"""Coefficients of scaled columns below this are rounding, and zero in truth."""

_PANEL = 128
"""Columns that are tried at a time: enough for products of matrices to be fast."""

_TILE = 512
"""Columns that are updated at a time: what is computed meanwhile stays small."""

_FAVOUR = 1e-8
"""Part by which own parts must be larger to be chosen before all others: less is left to rounding."""

Row = tuple[Indices, Array]
"""Columns that act on a row, in ascending order, and their values, shape (samples, columns)."""


def largest_by_unit(parameters: Sequence[Parameter], norms: Array) -> Array:
    """For every column the largest norm among the columns of its unit.

    Where all columns of a unit are rounding of zero, it is the largest of all instead, so that they stay so small.
    Norms and result have the shape (parameters,).
    """
    units = np.array([parameter.unit for parameter in parameters])
    overall = float(norms.max()) or 1.0
    largest = {unit: float(norms[units == unit].max()) for unit in set(units.tolist())}
    return np.array(
        [largest[unit] if largest[unit] > _ROUNDING_COLUMN * overall else overall for unit in units.tolist()]
    )


def norms_of(rows: Sequence[Row], width: int) -> Array:
    """Norms of all columns, shape (width,)."""
    squares = np.zeros(width)
    for columns, matrix in rows:
        squares[columns] += np.einsum("sk,sk->k", matrix, matrix)
    return np.sqrt(squares)


@dataclass(frozen=True, eq=False)
class IndependentColumns:
    """Columns that were chosen, and how the others are made of them.

    Attributes:
        chosen: Indices of the independent columns, in the order in which they were found.
        own_parts: Of each column of the sequence, the part that is independent of those chosen before it.
        others: Indices of the other columns of the sequence.
        coefficients: Matrix B with W[:, others] = W[:, chosen] B, shape (chosen, others).
    """

    chosen: list[int]
    own_parts: Array
    others: list[int]
    coefficients: Array

    def regrouping(self, scale: Array, silent: Sequence[int] = ()) -> tuple[list[int], Array]:
        """The chosen columns in ascending order, and the matrix K with W = W[:, chosen] K of unscaled columns.

        Args:
            scale: What every column was divided by, shape (columns,).
            silent: Columns without an effect, which get no coefficients.
        """
        ascending = np.argsort(self.chosen)
        chosen = np.array(self.chosen, dtype=np.intp)[ascending]
        loud = ~np.isin(self.others, silent)
        others = np.array(self.others, dtype=np.intp)[loud]
        K = np.zeros((len(chosen), len(scale)))
        K[np.arange(len(chosen)), chosen] = 1.0
        # With w~ = w / s, w2~ = w1~ B~ becomes B = diag(1/s1) B~ diag(s2).
        B = self.coefficients[ascending][:, loud]
        B[np.abs(B) <= _ROUNDING_COEFFICIENT] = 0.0
        K[:, others] = B * scale[others] / scale[chosen, None]
        return chosen.tolist(), K


def columns_in_order(rows: Sequence[Row], sequence: Sequence[int], tolerance: float) -> IndependentColumns:
    """Choose independent columns in the order of the sequence.

    Each chosen column becomes a direction orthogonal to those before it. The rest of a later column after all of these
    are taken away is its own part.

    Args:
        rows: The matrix, row by row of the dynamics, with columns scaled so that tolerances mean something.
        sequence: Indices of the columns that may be chosen, in the order in which they are tried.
        tolerance: Own part above which a column is chosen.
    """
    waiting = _by_first_column(rows, sequence)
    own_parts = np.zeros(len(sequence))
    steps: list[_Step] = []
    front = np.zeros((0, 0))  # rows that are taken in, without the directions of chosen columns
    at = np.zeros(0, dtype=np.intp)  # places in the sequence of the front's columns
    for stop in range(_PANEL, len(sequence) + _PANEL, _PANEL):
        entering = []
        while waiting and waiting[-1][0][0] < stop:
            entering.append(waiting.pop())
        front, at = _joined(front, at, entering)
        tried = int(np.searchsorted(at, stop))
        if not tried or not len(front):
            front, at = front[:, tried:], at[tried:]
            continue
        triangle = np.asarray(np.linalg.qr(front[:, :tried], mode="r"))
        chosen, own_parts[at[:tried]] = _chosen_in_order(triangle, tolerance)
        dropped = np.setdiff1d(np.arange(tried), chosen)
        U, rest = _eliminated(front, tried, chosen, dropped)
        steps.append(_Step(at[chosen], U, np.append(at[dropped], at[tried:]), rest))
        front, at = front[len(chosen) :, tried:], at[tried:]
    return _solved(steps, sequence, own_parts)


@dataclass(frozen=True, eq=False)
class _Step:
    """Rows of the triangular factor: `U` of the chosen columns and `rest` of others, by places in the sequence."""

    chosen: Indices
    U: Array
    others: Indices
    rest: Array


def _by_first_column(rows: Sequence[Row], sequence: Sequence[int]) -> list[Row]:
    """Rows with places in the sequence for columns, ascending; the row whose first column is tried first comes last."""
    width = 1 + max([max(sequence, default=0), *(int(columns[-1]) for columns, _ in rows if len(columns))])
    place = np.full(width, len(sequence))
    place[list(sequence)] = np.arange(len(sequence))
    found = []
    for columns, matrix in rows:
        order = np.argsort(place[columns], kind="stable")
        order = order[: int(np.count_nonzero(place[columns] < len(sequence)))]
        if len(order):
            is_all = len(order) == len(columns) and bool((np.diff(order) > 0).all())
            found.append((place[columns][order], matrix if is_all else matrix[:, order]))
    return sorted(found, key=lambda row: -row[0][0])


def _joined(front: Array, at: Indices, entering: Sequence[Row]) -> tuple[Array, Indices]:
    """The front with more rows, and all columns of these."""
    if not entering:
        return front, at
    every = np.unique(np.concatenate([at, *(columns for columns, _ in entering)]))
    wide = np.zeros((len(front) + sum(len(matrix) for _, matrix in entering), len(every)))
    first = 0
    for columns, matrix in ((at, front), *entering):
        where = np.searchsorted(every, columns)
        is_end = len(where) and where[-1] - where[0] == len(where) - 1
        wide[first : first + len(matrix), slice(where[0], where[-1] + 1) if is_end else where] = matrix
        first += len(matrix)
    return wide, every


def _chosen_in_order(triangle: Array, tolerance: float) -> tuple[Indices, Array]:
    """Places of the independent columns of a small matrix, chosen from the left, and every column's own part."""
    left = np.asfortranarray(triangle)
    directions = np.empty_like(left)
    own_parts = np.zeros(left.shape[1])
    chosen: list[int] = []
    for k in range(left.shape[1]):
        own_parts[k] = np.linalg.norm(left[:, k])
        if own_parts[k] <= tolerance:
            continue
        before = directions[:, : len(chosen)]
        direction = left[:, k] / own_parts[k]
        direction -= before @ (before.T @ direction)  # a small own part has lost digits to cancellation
        direction /= np.linalg.norm(direction)
        directions[:, len(chosen)] = direction
        chosen.append(k)
        left[:, k + 1 :] -= np.outer(direction, direction @ left[:, k + 1 :])
    return np.array(chosen, dtype=np.intp), own_parts


def _eliminated(front: Array, tried: int, chosen: Indices, dropped: Indices) -> tuple[Array, Array]:
    """Take the directions of chosen columns out of those that are not yet tried, in place.

    Returns:
        The triangular factor U of the chosen columns, and the rows of Q' W that belong to it, of the dropped columns
        and of those that are not yet tried; in the front the latter stay in its first rows.
    """
    raw, tau = np.linalg.qr(front[:, chosen], mode="raw")
    U = np.triu(raw.T[: len(chosen)])
    V = np.tril(raw.T, -1)
    np.fill_diagonal(V, 1.0)
    V[:, tau == 0.0] = 0.0  # no reflection
    # Q = I - V T V' is a product of reflections, with the inverse of T the upper half of V' V and 1 / tau.
    T = np.linalg.inv(np.triu(V.T @ V, 1) + np.diag(1.0 / np.where(tau == 0.0, 1.0, tau)))

    def reflect(tile: Array) -> Array:
        tile -= V @ (T.T @ (V.T @ tile))
        return tile[: len(chosen)]

    tiles = [front[:, start : start + _TILE] for start in range(tried, front.shape[1], _TILE)]
    return U, np.concatenate(parallel(reflect, [front[:, dropped], *tiles]), axis=1)


def _solved(steps: Sequence[_Step], sequence: Sequence[int], own_parts: Array) -> IndependentColumns:
    """Solve the triangular factor for the coefficients of the columns that were not chosen, from its last rows."""
    chosen = np.concatenate([np.zeros(0, dtype=np.intp), *(step.chosen for step in steps)])
    row = np.full(len(sequence), -1)  # of chosen columns: rows in B; of the others: -1
    row[chosen] = np.arange(len(chosen))
    others = np.flatnonzero(row < 0)
    column = np.cumsum(row < 0) - 1
    B = np.zeros((len(chosen), len(others)))
    end = len(chosen)
    for step in reversed(steps):
        is_chosen = row[step.others] >= 0
        dropped = column[step.others[~is_chosen]]
        if len(step.chosen) and len(dropped):
            rest = np.zeros((len(step.chosen), len(others) - dropped[0]))
            rest[:, dropped - dropped[0]] = step.rest[:, ~is_chosen]
            rest -= step.rest[:, is_chosen] @ B[row[step.others[is_chosen]], dropped[0] :]
            B[end - len(step.chosen) : end, dropped[0] :] = np.linalg.solve(step.U, rest)
        end -= len(step.chosen)
    place = np.array(sequence, dtype=np.intp)
    return IndependentColumns(place[chosen].tolist(), own_parts, place[others].tolist(), B)


def pivoted_columns(rows: Sequence[Row], sequence: Sequence[int], tolerance: float) -> IndependentColumns:
    """Choose independent columns, each time the one with the largest own part (QR with column pivoting).

    Where several are the largest, as those of Ixx and Iyy often are, it is the first of them in the sequence.

    Arguments and result are those of `columns_in_order`.
    """
    from scipy.linalg import qr

    R = np.zeros((0, len(sequence)))
    for places, matrix in _by_first_column(rows, sequence):
        wide = np.zeros((len(R) + len(matrix), len(sequence)))
        wide[: len(R)] = R
        wide[len(R) :, places] = matrix
        R = wide if len(wide) < 2 * len(sequence) else np.asarray(np.linalg.qr(wide, mode="r"))
    own_parts = np.zeros(len(sequence))
    if not len(R):
        return IndependentColumns([], own_parts, list(sequence), np.zeros((0, len(sequence))))
    favour = 1.0 - np.linspace(0.0, _FAVOUR, len(sequence))
    triangle, pivots = (np.asarray(part) for part in qr(R * favour, mode="r", pivoting=True))
    triangle /= favour[pivots]
    own_parts[pivots[: len(triangle)]] = np.abs(np.diag(triangle))
    rank = int(np.count_nonzero(own_parts > tolerance))
    B = np.asarray(np.linalg.solve(triangle[:rank, :rank], triangle[:rank, rank:]), dtype=np.float64)
    names = np.array(sequence, dtype=np.intp)[pivots].tolist()
    return IndependentColumns(names[:rank], own_parts, names[rank:], np.asarray(B, dtype=np.float64))
