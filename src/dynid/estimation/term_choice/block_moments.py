"""Moments of blocks of time: all that is needed to fit any choice of columns to some blocks and predict the others.

A block is a contiguous part of a log. Of each block and each joint the matrix `[W | y]'[W | y]` is kept, over all
columns that may be chosen. A fit to any columns and any blocks is then a small system of normal equations, and its
squared error on another block is a quadratic form: candidates cost milliseconds, and logs are passed over once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation.factors.accumulation import factors_of
from dynid.estimation.factors.decimation import processed_rows
from dynid.estimation.factors.factors import Factor
from dynid.estimation.normal_equations import normal_solution
from dynid.logs import PreparedLog
from dynid.model import BaseParameters, Chunk, DynamicModel, TorqueRows, loaded, split

FEWEST_BLOCKS = 10
"""Blocks of all logs together, at least; each log has two or more."""

FEWEST_ROWS = 20
"""Rows of a joint (after decimation) that a block needs: shorter logs have fewer blocks."""

BLOCK_GAP = 0.05
"""Share of a block that is left out at each of its ends: errors are autocorrelated across borders."""

MOST_SAMPLES = 60_000
"""Samples of all logs together that are looked at; of longer logs the middle of each block."""


@dataclass(frozen=True, eq=False)
class Block:
    """A contiguous part of a log.

    Attributes:
        log: The log, with the part's samples only.
        fold: Blocks of the same fold are held out together: whole logs where there are several.
    """

    log: PreparedLog
    fold: int


def blocks_of(logs: Sequence[PreparedLog]) -> tuple[Block, ...]:
    """Cut logs into blocks of time with gaps between them; none where there is too little for two."""
    found: list[Block] = []
    wanted = max(2, -(-FEWEST_BLOCKS // len(logs)))
    for k, log in enumerate(logs):
        decimated = int(np.prod(log.processing.decimate or (1,)))
        count = min(wanted, int(log.samples / decimated / FEWEST_ROWS))
        if count < 2 and len(logs) == 1:
            return ()
        most = MOST_SAMPLES // (len(logs) * max(count, 1))
        for part in split([*map(loaded, log.segments)], max(count, 1)):
            samples = _inner(part, most)
            fold = k if len(logs) > 1 else len(found)
            found.append(Block(replace(log, segments=tuple(samples), times=()), fold))
    return tuple(found)


def _inner(part: Sequence[Chunk], most: int) -> list[Chunk]:
    """The samples of a part without its ends, and no more than so many, from its middle."""
    total = sum(map(len, part))
    left = min(total - 2 * round(BLOCK_GAP * total), most)
    first = (total - left) // 2
    inner, passed = [], 0
    for chunk in part:
        piece = chunk[max(first - passed, 0) : max(first + left - passed, 0)]
        inner += [piece] if len(piece) else []
        passed += len(chunk)
    return inner


@dataclass(frozen=True, eq=False)
class RowMoments:
    """Moments of one joint's rows.

    Attributes:
        joint: Name of the row.
        names: Columns that act on it.
        moments: `[W | y]'[W | y]` of each block, shape (blocks, names + 1, names + 1).
        rows: Number of rows of each block, shape (blocks,).
    """

    joint: str
    names: tuple[str, ...]
    moments: Array
    rows: NDArray[np.int_]

    @cached_property
    def place(self) -> dict[str, int]:
        """Where each column is."""
        return {name: k for k, name in enumerate(self.names)}


@dataclass(frozen=True, eq=False)
class BlockMoments:
    """Moments of all rows of all blocks.

    Attributes:
        rows: Those of each joint.
        folds: The fold of each block, shape (blocks,).
    """

    rows: tuple[RowMoments, ...]
    folds: NDArray[np.int_]

    @staticmethod
    def of(model: DynamicModel, base: BaseParameters, blocks: Sequence[Block]) -> BlockMoments:
        """Pass over blocks once.

        Args:
            model: The model with all columns that may be chosen.
            base: Base parameters of a part of it: its other columns, and those that its known ones explain, are left
                out.
            blocks: The blocks.
        """
        rows = TorqueRows(model)
        chosen = {*base.names, *(set(model.names) - set(base.model.names))}
        factors = [
            factors_of(rows, processed_rows(rows, block.log.segments, block.log.processing)).weighted(block.log.weight)
            for block in blocks
        ]
        found = []
        for joint in rows.row_names:
            own = [each.joints[joint] for each in factors]
            names = tuple(name for name in own[0].names if name in chosen)
            moments = np.stack([_moments(factor, names, base.known) for factor in own])
            found.append(RowMoments(joint, names, moments, np.array([factor.rows for factor in own])))
        return BlockMoments(tuple(found), np.array([block.fold for block in blocks]))

    @cached_property
    def fold_names(self) -> tuple[int, ...]:
        """The folds, each once."""
        return tuple(dict.fromkeys(self.folds.tolist()))

    @cached_property
    def training(self) -> tuple[Array, ...]:
        """For each row the moments of all blocks but those of each fold, then of all: (folds + 1, names + 1, ...)."""
        found = []
        for row in self.rows:
            others = [row.moments[self.folds != fold].sum(axis=0) for fold in self.fold_names]
            found.append(np.stack([*others, row.moments.sum(axis=0)]))
        return tuple(found)

    def without(self, block: int | None) -> list[Array]:
        """For each row the moments of all blocks but one."""
        return [
            of_row[-1] if block is None else of_row[-1] - row.moments[block]
            for row, of_row in zip(self.rows, self.training, strict=True)
        ]


def _moments(factor: Factor, names: Sequence[str], known: Mapping[str, float]) -> Array:
    """`[W | y]'[W | y]` of some columns, with what is known taken off y."""
    place = {name: k for k, name in enumerate(factor.names)}
    own = {name: value for name, value in known.items() if name in place}
    z = factor.z - factor.R[:, [place[name] for name in own]] @ np.array(list(own.values()), dtype=float)
    matrix = np.column_stack([factor.R[:, [place[name] for name in names]], z])
    moments = matrix.T @ matrix
    moments[-1, -1] += factor.squares
    return moments


@dataclass(frozen=True, eq=False)
class HeldOutFit:
    """A choice of columns, fitted without each fold in turn.

    Attributes:
        names: The columns.
        values: Values fitted to all blocks, shape (names,).
        stds: Their standard deviations by the jackknife over blocks, shape (names,).
        squares: Squared error of each block and row, fitted without the block's fold, shape (blocks, rows).
    """

    names: tuple[str, ...]
    values: Array
    stds: Array
    squares: Array


Columns = Mapping[str, Sequence[str]]
"""For each column of a fit the column of the moments that it is, in each fold (and in all, last)."""


def held_out_fit(moments: BlockMoments, columns: Columns, weights: Array) -> HeldOutFit:
    """Fit columns to all folds but one, by least squares with weights of the rows, and predict that one.

    Args:
        moments: The moments.
        columns: The columns; they may be others in each fold.
        weights: What each row's equations are multiplied with, shape (rows,).
    """
    names, folds = tuple(columns), moments.fold_names
    squares = np.zeros((len(moments.folds), len(moments.rows)))
    for f, fold in enumerate(folds):
        places = _places(moments, [columns[name][f] for name in names])
        values = _solved([of_row[f] for of_row in moments.training], places, weights, len(names))
        held = np.flatnonzero(moments.folds == fold)
        for r, (row, (own, at)) in enumerate(zip(moments.rows, places, strict=True)):
            x = np.append(-values[own[:-1]], 1.0)
            squares[held, r] = np.einsum("i,bij,j->b", x, row.moments[held][:, at[:, None], at], x)
    places = _places(moments, [columns[name][-1] for name in names])
    count = len(moments.folds)
    left_out = np.stack([_solved(moments.without(k), places, weights, len(names)) for k in range(count)])
    stds = np.sqrt((count - 1) / count * np.sum((left_out - left_out.mean(axis=0)) ** 2, axis=0))
    return HeldOutFit(
        names, _solved(moments.without(None), places, weights, len(names)), stds, np.maximum(squares, 0.0)
    )


Places = Sequence[tuple[NDArray[np.int_], NDArray[np.int_]]]
"""For each row where the columns of a fit that act on it are: in the fit, and in the row's moments; y comes last."""


def _places(moments: BlockMoments, columns: Sequence[str]) -> Places:
    found = []
    for row in moments.rows:
        own = [k for k, column in enumerate(columns) if column in row.place]
        at = [row.place[columns[k]] for k in own]
        found.append((np.array([*own, len(columns)]), np.array([*at, len(row.names)])))
    return found


def _solved(rows: Sequence[Array], places: Places, weights: Array, n: int) -> Array:
    """Least-squares values of moments `[W | y]'[W | y]` of all rows, shape (n,)."""
    whole = np.zeros((n + 1, n + 1))
    for of_row, (own, at), weight in zip(rows, places, weights, strict=True):
        whole[own[:, None], own] += weight**2 * of_row[at[:, None], at]
    return normal_solution(whole[:-1, :-1], whole[:-1, -1:])[:, 0]


def best_columns(moments: Array, fixed: Sequence[int], sets: Sequence[Sequence[int]]) -> int:
    """Which set of columns, beside fixed ones, leaves the least squared error."""
    at = np.array([[*fixed, *own, len(moments) - 1] for own in sets])
    whole = moments[at[:, :, None], at[:, None, :]]
    x = normal_solution(whole[:, :-1, :-1], whole[:, :-1, -1:])[:, :, 0]
    return int(np.argmax(np.einsum("ki,ki->k", x, whole[:, :-1, -1])))
