"""The base of all terms: columns of the observation matrix, with a parameter for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from dynid.arrays import Array
from dynid.model.parameters import NonlinearParameter, Parameter, Role, Sign
from dynid.robot.robot import Robot

STEP = 1e-6
"""Step of central differences [rad, m and their rates]; relative to the value for nonlinear parameters."""


class Term(ABC):
    """A part of the torque that is linear in parameters of its own.

    Columns may depend on nonlinear parameters, too, in which torques are not linear. A term knows their present values.

    Attributes:
        needs: Which of positions "q", velocities "v" and accelerations "a" the columns depend on.
        needs_temperature: Whether the columns depend on a temperature.
        needs_links: Whether the columns depend on the links' inertial parameters.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    needs_temperature: ClassVar[bool] = False
    needs_links: ClassVar[bool] = False

    @abstractmethod
    def parameters(self, robot: Robot) -> tuple[Parameter, ...]:
        """The term's parameters for this robot, one per column."""

    @abstractmethod
    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """Torque per unit of each parameter, where it is not zero.

        Args:
            robot: The robot.
            q: Positions, shape (samples, nq).
            v: Velocities, shape (samples, nv).
            a: Accelerations, shape (samples, nv).

        Yields:
            The row, the index of the parameter among the term's, and the values, shape (samples,).
        """

    def quadratic_forms(self, robot: Robot) -> Iterator[tuple[str, int, int, str]]:
        """Elements of matrices over the joints that must be positive semidefinite, such as the power of friction.

        This default has each parameter whose sign is nonnegative on a diagonal.

        Yields:
            The form's name, the numbers of two joints (the same one on the diagonal), and the parameter that stands
            there. Elements of several terms make up one form, which must be positive semidefinite; a term's
            parameters of the same element add up.
        """
        for parameter in self.parameters(robot):
            if parameter.sign is Sign.NONNEGATIVE:
                alone = parameter.joint is None or parameter.role is Role.OTHER
                number = 0 if parameter.joint is None else robot.joint(parameter.joint).number
                yield parameter.name if alone else parameter.role.value, number, number, parameter.name

    def slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, str, int, Array]]:
        """Slopes of the entries over the states; arguments as `entries`.

        This default takes central differences over the coordinates of single joints. Terms with jumps, such as signs,
        must say what their slopes are.

        Yields:
            The row, the index of the parameter, "q", "v" or "a", the coordinate (its column in v), and the values,
            shape (samples,).
        """
        states = {"q": q, "v": v, "a": a}
        for over in sorted(self.needs):
            for joint in robot.independent_joints:
                if joint.kind.nv == 1:
                    column = (joint.q if over == "q" else joint.v).start
                    for (row, parameter, high), (_, _, low) in zip(
                        self.entries(robot, **_shifted(states, over, column, STEP)),
                        self.entries(robot, **_shifted(states, over, column, -STEP)),
                        strict=True,
                    ):
                        yield row, parameter, over, joint.v.start, (high - low) / (2 * STEP)

    def smoothed(self, speed: float) -> Term:
        """The term with signs of a velocity made smooth below about this speed [rad/s or m/s]; itself without signs."""
        return self

    def columns(self, robot: Robot, q: Array, v: Array, a: Array) -> Array:
        """Torque per unit of each parameter, shape (nv, samples, parameters); arguments as `entries`."""
        W = np.zeros((robot.nv, len(q), len(self.parameters(robot))))
        for row, column, values in self.entries(robot, q, v, a):
            W[row, :, column] += values
        return W

    def nonlinear(self, robot: Robot) -> tuple[NonlinearParameter, ...]:
        """The term's nonlinear parameters for this robot; none for most terms."""
        return ()

    def at_nonlinear(self, values: Mapping[str, float]) -> Term:
        """The term with other values of its nonlinear parameters, by name; others are ignored."""
        return self

    def searched_from(self, lowest: Mapping[str, float]) -> Term:
        """The term with higher lower bounds of its nonlinear parameters, by name; others are ignored."""
        return self

    def nonlinear_slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, int, Array]]:
        """Slopes of the entries over the nonlinear parameters; arguments as `entries`.

        Yields:
            The row, the index of the parameter, the index of the nonlinear parameter, and the values, shape (samples,).
        """
        yield from ()

    def typical(self) -> Term:
        """The term at nonlinear parameters with which random states determine all of its parameters."""
        return self

    def with_temperature(self, temperature: Array) -> Term:
        """The term for samples of which each joint's temperature [degrees Celsius] is known, shape (samples, nv)."""
        return self

    def with_links(self, parameters: Array) -> Term:
        """The term on links with these inertial parameters, shape (inertia.SIZE * solid links,)."""
        return self


def _shifted(states: dict[str, Array], over: str, column: int, step: float) -> dict[str, Array]:
    moved = states[over].copy()
    moved[:, column] += step
    return states | {over: moved}
