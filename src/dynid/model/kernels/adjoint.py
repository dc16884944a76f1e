"""Slopes of a number over states, given its slopes over the observation matrix.

When f depends on states only through W, `df = sum G * dW`, then its slopes over q, v and a cost about twice as much as
W itself, whatever the number of parameters. They are computed by the compiled kernel; where nothing can be compiled,
by NumPy, with the same results.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from types import ModuleType

import numpy as np

from dynid.arrays import Array
from dynid.model.kernels.kernel import RegressorPlan, compiled_kernel, kernel_for, robot_tables
from dynid.model.kernels.row_layout import RowLayout
from dynid.model.kernels.vectorised_adjoint import vectorised_slopes
from dynid.robot.inertia import SIZE
from dynid.robot.robot import Robot

logger = logging.getLogger(__name__)

Slopes = tuple[Array, Array, Array]
"""Slopes over positions, velocities and accelerations, each of shape (samples, nv). Positions of joints with
quaternions move along the joint's own velocities."""


def layout_slopes(layout: RowLayout, q: Array, v: Array, a: Array, cotangents: Sequence[Array]) -> Slopes:
    """Slopes over states of `sum G * W`, for the rows that a layout evaluates to.

    Args:
        layout: The layout that W was evaluated with.
        q: Positions, shape (samples, nq), checked by `Robot.states`.
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
        cotangents: For each row of the dynamics G, shape (samples, width of the row).
    """
    slopes = plan_slopes(layout.plan, q, v, a, cotangents)
    for term, places in zip(layout.terms, layout.places, strict=True):
        for row, column, over, coordinate, values in term.slopes(layout.robot, q, v, a):
            if places[row][column] >= 0:
                slopes["qva".index(over)][:, coordinate] += values * cotangents[row][:, places[row][column]]
    return slopes


def plan_slopes(plan: RegressorPlan, q: Array, v: Array, a: Array, cotangents: Sequence[Array]) -> Slopes:
    """The same for the links' parameters only; arguments as `layout_slopes`."""
    if kernel_for(len(q)) is None or (compiled := _compiled_adjoint()) is None:
        return vectorised_slopes(plan.robot, q, v, a, _dense(plan, cotangents))
    return _filled(compiled, plan, q, v, a, cotangents)


def prepare() -> None:
    """Load the kernels now, so that what follows is fast for few samples, too."""
    if compiled_kernel() is not None:
        _compiled_adjoint()


def _filled(
    compiled: ModuleType, plan: RegressorPlan, q: Array, v: Array, a: Array, cotangents: Sequence[Array]
) -> Slopes:
    starts, screws, rows, columns, _ = plan.pairs
    samples = len(q)
    widths = np.array(plan.widths)
    ends = np.cumsum([0, *(samples * plan.widths[r] for r in range(len(widths)))])
    G = np.concatenate([np.ravel(rows) for rows in cotangents])
    slopes = (
        np.zeros((samples, plan.robot.nv)),
        np.zeros((samples, plan.robot.nv)),
        np.zeros((samples, plan.robot.nv)),
    )
    compiled.pull_back(
        *robot_tables(plan.robot), starts, screws, _screw_joints(plan.robot), ends[rows], widths[rows], columns,
        np.array(plan.robot.gravity), *map(np.ascontiguousarray, (q, v, a)), G, *slopes, 0, samples,
    )  # fmt: skip
    return slopes


@cache
def _screw_joints(robot: Robot) -> np.ndarray:
    """For each unit motion the index of its joint."""
    return np.repeat(np.arange(len(robot.joints)), [joint.kind.nv for joint in robot.joints])


def _dense(plan: RegressorPlan, cotangents: Sequence[Array]) -> Array:
    """The rows' matrices over all inertial parameters, shape (nv, samples, 10 * solid links)."""
    G = np.zeros((len(plan.widths), len(cotangents[0]), SIZE * len(plan.robot.solid_links)))
    for row, places in enumerate(plan.places):
        wanted = np.flatnonzero(places >= 0)
        G[row][:, wanted] = cotangents[row][:, places[wanted]]
    return G


@cache
def _compiled_adjoint() -> ModuleType | None:
    try:
        from dynid.model.kernels import compiled_adjoint
        from dynid.model.kernels.compiled import is_cached
    except Exception as error:  # whatever keeps Numba from working here, NumPy does the work
        logger.warning("Numba cannot be used (%s): slopes are computed with NumPy, some 20 times slower", error)
        return None
    if not is_cached(compiled_adjoint.pull_back):
        logger.warning("compiling the kernel of slopes: this happens once and takes some ten seconds")
    return compiled_adjoint
