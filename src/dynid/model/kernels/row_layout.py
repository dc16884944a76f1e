"""Rows of the dynamics as matrices of chosen columns: links from the kernel, terms beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.model.kernels.kernel import Integers, RegressorPlan
from dynid.model.terms import Term
from dynid.robot.inertia import SIZE
from dynid.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class RowLayout:
    """Which parameter of a model stands in which column of which row's matrix.

    Attributes:
        robot: The robot.
        terms: What its joints add.
        plan: Where the links' parameters go.
        places: For each term and each row of the dynamics, where the term's parameters go, or -1.
    """

    robot: Robot
    terms: tuple[Term, ...]
    plan: RegressorPlan
    places: tuple[tuple[Integers, ...], ...]

    @staticmethod
    def of(robot: Robot, terms: Sequence[Term], columns: Sequence[Sequence[int]], spare: int = 0) -> RowLayout:
        """Lay out rows.

        Args:
            robot: The robot.
            terms: What its joints add.
            columns: For each row of the dynamics the indices of its parameters, counted links before terms.
            spare: How many columns to leave free at the end of every row.
        """
        links = SIZE * len(robot.solid_links)
        sizes = [links, *(len(term.parameters(robot)) for term in terms)]
        cuts = np.cumsum(sizes)
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
