"""Independent columns of single rows of the dynamics.

A row of the dynamics depends only on the links that its joint moves, and on few combinations of their parameters.
Working with its independent columns makes factors small, and gives them full rank.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from dynid.arrays import Array, Indices
from dynid.machine import parallel, single_threaded_blas
from dynid.model.dynamic_model import DynamicModel
from dynid.model.independent_columns import Row, columns_in_order, largest_by_unit, norms_of
from dynid.model.sampling import random_states

_INDEPENDENT_PART = 1e-12
"""Own part, relative to the largest column of its unit, above which a column counts as independent."""

_BYTES_AT_A_TIME = 200_000_000
"""Size of the matrices of rows that are evaluated together."""


@dataclass(frozen=True, eq=False)
class RowBasis:
    """Independent columns of one row of the dynamics.

    Attributes:
        joint: Name of the row.
        names: Parameters that act on the row.
        columns: Indices, in the model, of independent ones among them, shape (base,).
        regrouping: Matrix K with W[:, names] = W[:, columns] K, shape (base, names).
    """

    joint: str
    names: tuple[str, ...]
    columns: tuple[int, ...]
    regrouping: Array


def row_bases(model: DynamicModel) -> tuple[RowBasis, ...]:
    """Independent columns of every observed row, from random states that the robot can be in."""
    return _row_bases(model.typical)


@cache
def _row_bases(model: DynamicModel) -> tuple[RowBasis, ...]:
    model.require_rows()
    rng = np.random.default_rng(0)
    width = max(len(columns) for columns in model.acting)
    states = random_states(model, max(200, width + width // 4 + 50), rng)
    found: list[RowBasis] = []
    with single_threaded_blas():
        for some in _groups([8 * len(states[0]) * len(columns) for columns in model.acting]):
            columns = [model.acting[row].tolist() if row in some else [] for row in range(model.row_count)]
            matrices = model.layout(columns).evaluate(*states)
            at = model.row_indices
            rows = [(model.row_names[row], (model.acting[row], matrices[at[row]])) for row in some]
            found += parallel(partial(_row_basis, model), rows)
    return tuple(found)


def _groups(sizes: Sequence[int]) -> Iterator[range]:
    """Ranges of rows that are small enough to be evaluated together."""
    first = total = 0
    for row, size in enumerate(sizes):
        if total + size > _BYTES_AT_A_TIME and row > first:
            yield range(first, row)
            first, total = row, 0
        total += size
    yield range(first, len(sizes))


def power_basis(model: DynamicModel, name: str) -> RowBasis:
    """Independent columns of the power `v' W` of all joints together, which energies have, too; `name` is the row's."""
    return _power_basis(model.typical, name)


@cache
def _power_basis(model: DynamicModel, name: str) -> RowBasis:
    rng = np.random.default_rng(0)
    width = len(model.names)
    q, v, a = random_states(model, max(50, 2 * width), rng)
    samples = max(1, _BYTES_AT_A_TIME // (8 * model.row_count * width))
    pieces = [slice(start, start + samples) for start in range(0, len(q), samples)]
    powers = [np.einsum("sr,rsk->sk", v[some], model.regressor(q[some], v[some], a[some])) for some in pieces]
    with single_threaded_blas():
        return _row_basis(model, (name, (np.arange(width), np.concatenate(powers))))


def _row_basis(model: DynamicModel, row: tuple[str, Row]) -> RowBasis:
    name, (columns, matrix) = row
    norms = norms_of([(columns, matrix)], len(model.names))
    scale = largest_by_unit(model.parameters, norms)
    acting: Indices = columns[norms[columns] > 0.0]
    found = columns_in_order([(columns, matrix / scale[columns])], acting.tolist(), _INDEPENDENT_PART)
    chosen, K = found.regrouping(scale)
    return RowBasis(name, tuple(model.names[k] for k in acting), tuple(chosen), K[:, acting])
