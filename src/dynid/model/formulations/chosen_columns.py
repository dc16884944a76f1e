"""Energy, momentum and impulse with some columns only, by the compiled kernel: what rows without accelerations take.

The regressors of `energy` have all columns of all rows, by NumPy. Rows of a log take the independent ones, a few in
each row; the kernel writes only those. Where nothing can be compiled, they are chosen from all.
"""

from dataclasses import replace
from functools import cache

import numpy as np

from dynid.arrays import Array
from dynid.model.dynamic_model import DynamicModel
from dynid.model.formulations import energy
from dynid.model.kernels.kernel import RegressorPlan, RowKind, kernel_for
from dynid.model.kernels.row_layout import RowLayout
from dynid.robot import SIZE

Columns = tuple[tuple[int, ...], ...]
"""For each row of the dynamics the indices of its parameters in the model."""


def energy_columns(model: DynamicModel, columns: tuple[int, ...], q: Array, v: Array) -> Array:
    """Energy per unit of some parameters [J], shape (samples, columns); arguments as `energy_regressor`.

    >>> from dynid import load_robot
    >>> model = DynamicModel(load_robot("builtin:two_link"))
    >>> q, v = np.random.default_rng(0).normal(size=(2, 3000, 2))
    >>> bool(np.allclose(energy_columns(model, (1, 10), q, v), energy.energy_regressor(model, q, v)[:, [1, 10]]))
    True
    """
    if kernel_for(len(q)) is None:
        return energy.energy_regressor(model, q, v)[:, list(columns)]
    q, v, _ = model.robot.states(q, v)
    h = _energy_plan(model, columns).evaluate(q, v, np.zeros_like(v))[0]
    for k, A in _inertias(model):
        if k in columns:
            h[:, columns.index(k)] = 0.5 * np.einsum("si,ij,sj->s", v, A, v, optimize=True)
    return h


def momentum_rows(model: DynamicModel, columns: Columns, q: Array, v: Array) -> list[Array]:
    """Momentum per unit of each row's columns, each of shape (samples, columns); arguments as `momentum_regressor`."""
    if kernel_for(len(q)) is None:
        return _chosen(energy.momentum_regressor(model, q, v), columns)
    q, v, _ = model.robot.states(q, v)
    rows = _weightless(model, columns).evaluate(q, np.zeros_like(v), v)  # the inertia times v: v for the accelerations
    for k, A in _inertias(model):
        for row, wanted in enumerate(columns):
            if k in wanted:
                rows[row][:, wanted.index(k)] = v @ A[row]
    return rows


def impulse_rows(model: DynamicModel, columns: Columns, q: Array, v: Array) -> list[Array]:
    """What of the torque does not change the momentum, as `momentum_rows`; arguments as `impulse_regressor`."""
    if kernel_for(len(q)) is None:
        return _chosen(energy.impulse_regressor(model, q, v), columns)
    q, v, _ = model.robot.states(q, v)
    return _impulse_layout(model, columns).evaluate(q, v, np.zeros_like(v))


def _chosen(regressor: Array, columns: Columns) -> list[Array]:
    return [W[:, list(wanted)] for W, wanted in zip(regressor, columns, strict=True)]


def _inertias(model: DynamicModel) -> list[tuple[int, Array]]:
    """Parameters of terms that store energy: their index in the model, and the inertia matrix of each."""
    first = SIZE * len(model.robot.solid_links)
    return [(first + k, A) for k, A in enumerate(energy.stored_inertia(model)) if A.any()]


@cache
def _energy_plan(model: DynamicModel, columns: tuple[int, ...]) -> RegressorPlan:
    place = np.full(SIZE * len(model.robot.solid_links), -1)
    of_links = [k for k, column in enumerate(columns) if column < len(place)]
    place[[columns[k] for k in of_links]] = of_links
    return RegressorPlan(model.robot, (len(columns),), (place,), RowKind.ENERGY)


@cache
def _weightless(model: DynamicModel, columns: Columns) -> RegressorPlan:
    plan = RowLayout.of(model.robot, model.terms, columns).plan
    return replace(plan, robot=replace(model.robot, gravity=np.zeros(3)))


@cache
def _impulse_layout(model: DynamicModel, columns: Columns) -> RowLayout:
    layout = RowLayout.of(model.robot, model.terms, columns)
    return replace(layout, plan=replace(layout.plan, form=RowKind.IMPULSE))
