"""Independent columns of each row of the dynamics.

A row depends only on the links that its joint moves, and on few combinations of their parameters. Working with
independent columns makes factors small, and gives them full rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from dynid.arrays import Array
from dynid.model.column_selection import largest_by_unit, regroup, select_in_order
from dynid.model.dynamic_model import DynamicModel
from dynid.model.sampling import random_states

_TOLERANCE = 1e-12
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
        states = random_states(model, max(50, width // 2), rng)
        matrices = model.regressor(*states)
        triangles = [
            np.asarray(np.linalg.qr(np.concatenate([R, W]), mode="r")) for R, W in zip(triangles, matrices, strict=True)
        ]
    return tuple(_row_basis(model, joint, R) for joint, R in zip(model.row_names, triangles, strict=True))


def power_basis(model: DynamicModel, name: str) -> RowBasis:
    """Independent columns of the power `v' W` of all joints together, which energies have, too.

    Args:
        model: The model.
        name: What to call the row.
    """
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
    columns, _ = select_in_order(R / scale, acting, _TOLERANCE)
    K = regroup(R / scale, columns, acting) * scale / scale[columns, None]
    return RowBasis(joint, tuple(model.names[k] for k in acting), tuple(columns), K[:, acting])
