"""Choosing independent columns of a matrix, and writing the others as sums of them.

A row of the dynamics depends only on the links that its joint moves, and on few combinations of their parameters.
Working with its independent columns makes factors small, and gives them full rank.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from dynid.arrays import Array
from dynid.model.dynamic_model import DynamicModel
from dynid.model.parameters import Parameter
from dynid.model.sampling import random_states

_ROUNDING_COLUMN = 1e-12
"""Columns below this part of the largest of all are rounding, whatever their unit."""

_ROUNDING_COEFFICIENT = 1e-11
"""Coefficients of scaled columns below this are rounding, and zero in truth."""


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


def select_pivoted(R: Array, sequence: list[int], tolerance: float) -> tuple[list[int], Array]:
    """Choose independent columns, each time the one with the largest own part (QR with column pivoting).

    Arguments and results are those of `select_in_order`.
    """
    from scipy.linalg import qr

    if not sequence:
        return [], np.zeros(R.shape[1])
    factors = qr(R[:, sequence], mode="r", pivoting=True)
    triangle, pivots = np.asarray(factors[0]), np.asarray(factors[-1])
    own_parts = np.zeros(R.shape[1])
    own_parts[np.array(sequence)[pivots]] = np.abs(np.diag(triangle))
    return [k for k in sequence if own_parts[k] > tolerance], own_parts


def select_in_order(R: Array, sequence: list[int], tolerance: float) -> tuple[list[int], Array]:
    """Choose independent columns in the order of the sequence; give them and every column's own part.

    Each kept column becomes a direction orthogonal to those before it. The rest of a later column after all kept
    directions are taken away is its own part.

    Args:
        R: Columns, shape (rows, columns), scaled so that tolerances mean something.
        sequence: Indices of the columns that may be chosen, in the order in which they are tried.
        tolerance: Own part above which a column is chosen.

    Returns:
        The chosen indices, and the own parts, shape (columns,); zero for columns that were not tried.
    """
    left = np.asfortranarray(R[:, sequence])
    directions = np.empty_like(left)
    own_parts = np.zeros(R.shape[1])
    kept: list[int] = []
    for position, k in enumerate(sequence):
        own_parts[k] = np.linalg.norm(left[:, position])
        if own_parts[k] <= tolerance:
            continue
        before = directions[:, : len(kept)]
        direction = left[:, position] / own_parts[k]
        direction -= before @ (before.T @ direction)  # a small own part has lost digits to cancellation
        direction /= np.linalg.norm(direction)
        directions[:, len(kept)] = direction
        kept.append(k)
        left[:, position + 1 :] -= np.outer(direction, direction @ left[:, position + 1 :])
    return kept, own_parts


def regroup(R: Array, columns: Sequence[int], sequence: Sequence[int]) -> Array:
    """Write columns as sums of independent ones.

    Args:
        R: Columns, shape (rows, columns).
        columns: Indices of the independent ones.
        sequence: Indices of all that count; the others get no coefficients.

    Returns:
        Matrix K, shape (independent, columns), with R[:, sequence] = R[:, columns] K[:, sequence].
    """
    K = np.zeros((len(columns), R.shape[1]))
    K[range(len(columns)), list(columns)] = 1.0
    others = [k for k in sequence if k not in columns]
    if others and columns:
        B = np.linalg.lstsq(R[:, list(columns)], R[:, others], rcond=None)[0]
        K[:, others] = np.where(np.abs(B) > _ROUNDING_COEFFICIENT, B, 0.0)
    return K


_INDEPENDENT_PART = 1e-12
"""Own part, relative to the largest column of its unit, above which a column counts as independent."""


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
    rng = np.random.default_rng(0)
    width = len(model.names)
    triangles = [np.zeros((0, width))] * model.row_count
    for _ in range(4):
        matrices = model.regressor(*random_states(model, max(50, width // 2), rng))
        triangles = [
            np.asarray(np.linalg.qr(np.concatenate([R, W]), mode="r")) for R, W in zip(triangles, matrices, strict=True)
        ]
    return tuple(_row_basis(model, joint, R) for joint, R in zip(model.row_names, triangles, strict=True))


def power_basis(model: DynamicModel, name: str) -> RowBasis:
    """Independent columns of the power `v' W` of all joints together, which energies have, too; `name` is the row's."""
    return _power_basis(model.typical, name)


@cache
def _power_basis(model: DynamicModel, name: str) -> RowBasis:
    rng = np.random.default_rng(0)
    width = len(model.names)
    R = np.zeros((0, width))
    for _ in range(4):
        q, v, a = random_states(model, width, rng)
        rows = np.einsum("sr,rsk->sk", v, model.regressor(q, v, a))
        R = np.asarray(np.linalg.qr(np.concatenate([R, rows]), mode="r"))
    return _row_basis(model, name, R)


def _row_basis(model: DynamicModel, joint: str, R: Array) -> RowBasis:
    norms = np.linalg.norm(R, axis=0)
    scale = largest_by_unit(model.parameters, norms)
    acting = np.flatnonzero(norms > 0.0).tolist()
    columns, _ = select_in_order(R / scale, acting, _INDEPENDENT_PART)
    K = regroup(R / scale, columns, acting) * scale / scale[columns, None]
    return RowBasis(joint, tuple(model.names[k] for k in acting), tuple(columns), K[:, acting])
