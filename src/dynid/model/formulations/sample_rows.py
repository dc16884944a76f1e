"""Rows of one sample at a time, in memory that stays: what a loop in real time needs.

The matrices of `TorqueRows` are made for many samples. For a single one, making tables and arrays costs more than the
regressor itself. Here all of that is made once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.model.formulations.torque_rows import TorqueRows
from dynid.model.kernels.kernel import RegressorPlan, compiled_kernel, robot_tables
from dynid.model.terms import JointTerm, Term
from dynid.robot import Robot


class SampleRows:
    """The rows `[W | torque]` of single samples, in the independent columns of each row.

    Args:
        rows: The equations.

    Attributes:
        buffer: The rows of the last sample, one after the other, each with room for its torque at its end; one that is
            not observed has room for that alone.
        starts: Where the observed rows begin in the buffer, shape (rows,).
        widths: How long they are, torque included, shape (rows,).
    """

    def __init__(self, rows: TorqueRows) -> None:
        layout = rows.layout
        self._robot = layout.robot
        every = np.array(layout.plan.widths, dtype=np.int64)
        observed = list(rows.model.row_indices)
        begins = np.cumsum([0, *every[:-1]])
        self.buffer = np.zeros(int(every.sum()))
        self.starts, self.widths = begins[observed], every[observed]
        self._states = tuple(np.zeros((1, size)) for size in (self._robot.nq, self._robot.nv, self._robot.nv))
        self._links = _links_writer(layout.plan, begins, every, self._states, self.buffer)
        self._terms = [
            _TermWriter.of(term, self._robot, begins, places)
            for term, places in zip(layout.terms, layout.places, strict=True)
        ]
        rest = np.zeros(self._robot.nv)
        self.evaluate(self._robot.neutral, rest, rest)  # compile now

    def evaluate(self, q: Array, v: Array, a: Array) -> Array:
        """Fill the buffer with the rows at a state, with zero for torques; arguments of shapes (nq,), (nv,), (nv,)."""
        buffer = self.buffer
        buffer.fill(0.0)
        for own, given in zip(self._states, (q, v, a), strict=True):
            own[0] = given
        self._links()
        for term in self._terms:
            term.write(buffer, *self._states)
        return buffer


def _links_writer(
    plan: RegressorPlan, begins: NDArray[Any], widths: NDArray[Any], states: tuple[Array, ...], buffer: Array
) -> Callable[[], None]:
    """What writes the links' part for the states in memory."""
    compiled = compiled_kernel()
    if compiled is None:

        def write() -> None:
            matrices = plan.evaluate(*states)
            buffer[:] = np.concatenate([matrix[0] for matrix in matrices])

        return write
    starts, screws, rows, columns, adds = plan.pairs
    tables = (*robot_tables(plan.robot), starts, screws, adds, begins[rows], widths[rows], columns)
    views = [values.view() for values in states]
    for view in views:
        view.flags.writeable = False  # as in `kernel`: compiled for that
    arguments = (*tables, np.array(plan.robot.gravity), plan.form.value, *views, buffer, 0, 1)
    return lambda: compiled.fill(*arguments)


@dataclass(frozen=True, eq=False)
class _TermWriter:
    """What writes one term's part.

    Attributes:
        term: The term.
        robot: The robot.
        begins: Where each row of the dynamics begins in the buffer.
        places: For each row of the dynamics where the term's parameters go, or -1.
        joined: Where every joint's feature is the same function of its own motion: columns of the joints' positions and
            of their velocities, and for each symbol which of the joints have a place, and where. None for other terms.
    """

    term: Term
    robot: Robot
    begins: NDArray[Any]
    places: tuple[NDArray[Any], ...]
    joined: tuple[NDArray[Any], NDArray[Any], list[tuple[NDArray[Any], NDArray[Any]]]] | None

    @staticmethod
    def of(term: Term, robot: Robot, begins: NDArray[Any], places: tuple[NDArray[Any], ...]) -> _TermWriter:
        """The writer of a term."""
        if not isinstance(term, JointTerm) or type(term).entries is not JointTerm.entries or term.nonlinear(robot):
            return _TermWriter(term, robot, begins, places, None)
        joints = term.joints_of(robot)
        symbols = []
        for k in range(len(term.symbols)):
            at = [(places[joint.v.start][n * len(term.symbols) + k], joint.v.start) for n, joint in enumerate(joints)]
            wanted = np.array([n for n, (place, _) in enumerate(at) if place >= 0], dtype=np.intp)
            symbols.append((wanted, np.array([begins[at[n][1]] + at[n][0] for n in wanted], dtype=np.intp)))
        of_q = np.array([joint.q.start for joint in joints], dtype=np.intp)
        of_v = np.array([joint.v.start for joint in joints], dtype=np.intp)
        return _TermWriter(term, robot, begins, places, (of_q, of_v, symbols))

    def write(self, buffer: Array, q: Array, v: Array, a: Array) -> None:
        """Add the term's entries; q, v, a of one sample."""
        if self.joined is None or not isinstance(self.term, JointTerm):
            for row, column, values in self.term.entries(self.robot, q, v, a):
                if self.places[row][column] >= 0:
                    buffer[self.begins[row] + self.places[row][column]] += values[0]
            return
        of_q, of_v, symbols = self.joined
        found = self.term.features(q[0, of_q], v[0, of_v], a[0, of_v])
        for values, (wanted, at) in zip(found, symbols, strict=True):
            buffer[at] = values[wanted]
