"""Choosing independent columns of a matrix, and writing the others as sums of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array
from dynid.model.parameters import Parameter

_NOISE = 1e-12
"""Columns below this part of the largest of all are rounding, whatever their unit."""

_ROUNDING = 1e-11
"""Coefficients of scaled columns below this are rounding, and zero in truth."""


def largest_by_unit(parameters: Sequence[Parameter], norms: Array) -> Array:
    """For every column the largest norm among the columns of its unit.

    Where all columns of a unit are rounding of zero, it is the largest of all instead, so that they stay so small.

    Args:
        parameters: Parameters, one a column.
        norms: Norms of the columns, shape (parameters,).

    Returns:
        Array of shape (parameters,).
    """
    units = np.array([parameter.unit for parameter in parameters])
    overall = float(norms.max()) or 1.0
    largest = {unit: float(norms[units == unit].max()) for unit in set(units.tolist())}
    return np.array([largest[unit] if largest[unit] > _NOISE * overall else overall for unit in units.tolist()])


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

    Each kept column becomes a direction orthogonal to those before it. What is left of a later column after all kept
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
        K[:, others] = np.where(np.abs(B) > _ROUNDING, B, 0.0)
    return K
