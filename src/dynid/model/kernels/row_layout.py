"""Rows of the dynamics as matrices of chosen columns, and slopes of a number that depends on these over states.

Links' columns come from the kernel, those of terms stand beside them. When f depends on states only through W,
`df = sum G * dW`, then its slopes over q, v and a cost about twice as much as W itself, whatever the number of
parameters. They are computed by the compiled kernel; where nothing can be compiled, by NumPy, with the same results.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np

from dynid.arrays import Array, Indices
from dynid.model.kernels.kernel import Integers, RegressorPlan, compiled_kernel, kernel_for, robot_tables
from dynid.model.kernels.vectorised import vectorised_slopes
from dynid.model.terms import Term
from dynid.robot import SIZE, Robot

logger = logging.getLogger(__name__)

Slopes = tuple[Array, Array, Array]
"""Slopes over positions, velocities and accelerations, each of shape (samples, nv). Positions of joints with
quaternions move along the joint's own velocities."""


@dataclass(frozen=True, eq=False)
class RowLayout:
    """Which parameter of a model stands in which column of which row's matrix.

    Attributes:
        robot: The robot.
        terms: Its friction and actuator terms.
        plan: Where the links' parameters go.
        places: For each term and each row of the dynamics, where the term's parameters go, or -1.
    """

    robot: Robot
    terms: tuple[Term, ...]
    plan: RegressorPlan
    places: tuple[tuple[Integers, ...], ...]

    @staticmethod
    def of(
        robot: Robot, terms: Sequence[Term], columns: Sequence[Sequence[int] | Indices], spare: int = 0
    ) -> RowLayout:
        """Lay out rows.

        Args:
            robot: The robot.
            terms: Its friction and actuator terms.
            columns: For each row of the dynamics the indices of its parameters, counted links before terms.
            spare: How many columns to leave free at the end of every row.
        """
        cuts = np.cumsum([SIZE * len(robot.solid_links), *(len(term.parameters(robot)) for term in terms)])
        blocks = []
        for wanted in columns:
            place = np.full(cuts[-1], -1)
            place[list(wanted)] = np.arange(len(wanted))
            blocks.append(np.split(place, cuts[:-1]))
        widths = tuple(len(wanted) + spare for wanted in columns)
        plan = RegressorPlan(robot, widths, tuple(parts[0] for parts in blocks))
        places = tuple(tuple(parts[1 + k] for parts in blocks) for k in range(len(terms)))
        return RowLayout(robot, tuple(terms), plan, places)

    def evaluate(self, q: Array, v: Array, a: Array, temperature: Array | None = None) -> list[Array]:
        """The rows' matrices; arguments and result as `RegressorPlan.evaluate`.

        Temperatures [degrees Celsius] of the joints, shape (samples, nv), are for terms that depend on them.
        """
        matrices = self.plan.evaluate(q, v, a)
        for term, places in zip(self.terms, self.places, strict=True):
            known = term if temperature is None else term.with_temperature(temperature)
            for row, column, values in known.entries(self.robot, q, v, a):
                if places[row][column] >= 0:
                    matrices[row][:, places[row][column]] += values
        return matrices


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
    starts, screws, rows, columns, _ = plan.pairs
    samples = len(q)
    widths = np.array(plan.widths)
    ends = np.cumsum([0, *(samples * widths)])
    G = np.concatenate([np.ravel(of_row) for of_row in cotangents])
    over_q, over_v, over_a = np.zeros((3, samples, plan.robot.nv))
    compiled.pull_back(
        *robot_tables(plan.robot), starts, screws, _screw_joints(plan.robot), ends[rows], widths[rows], columns,
        np.array(plan.robot.gravity), *map(np.ascontiguousarray, (q, v, a)), G, over_q, over_v, over_a, 0, samples,
    )  # fmt: skip
    return over_q, over_v, over_a


def prepare() -> None:
    """Load the kernels now, so that what follows is fast for few samples, too."""
    if compiled_kernel() is not None:
        _compiled_adjoint()


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
        logger.warning("compiling the gradient kernel: this happens once and takes about ten seconds")
    return compiled_adjoint
