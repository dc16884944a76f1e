"""Terms of single joints with nonlinear parameters: torques are not linear in these."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from dynid.arrays import Array
from dynid.model.parameters import NonlinearParameter, Role
from dynid.model.terms.term import DIFFERENCE_STEP, TermOfJoints, difference_slopes, own_motion, unit_at
from dynid.robot import Joint, Robot


class NonlinearTerm(TermOfJoints):
    """A term of each single joint, a function of that joint's own motion and of nonlinear parameters.

    Subclasses give `symbols`, `units` and `features` as those of `JointTerm` do, and the nonlinear parameters.

    Attributes:
        nonlinear_symbols: Symbols of the nonlinear parameters; the joint's number makes a name of each.
        nonlinear_units: Their units, for an angular joint.
        grids: For each nonlinear parameter the values that a search tries first.
        bounds: For each nonlinear parameter the smallest and the largest value that is looked for.
        typical_values: For each nonlinear parameter a value at which speeds of up to 3 rad/s determine all parameters.

    Args:
        joints: As `TermOfJoints`.
        nonlinear: Values of nonlinear parameters by name; the middle of the grid for others.
        width: As `TermOfJoints`.
    """

    nonlinear_symbols: ClassVar[tuple[str, ...]]
    nonlinear_units: ClassVar[tuple[str, ...]]
    grids: ClassVar[tuple[tuple[float, ...], ...]]
    bounds: ClassVar[tuple[tuple[float, float], ...]]
    typical_values: ClassVar[tuple[float, ...]]

    def __init__(
        self,
        joints: Sequence[str | int] | None = None,
        nonlinear: Mapping[str, float] | None = None,
        width: float = 0.0,
    ) -> None:
        super().__init__(joints, width)
        self._nonlinear = _numbers(nonlinear or {})
        self._lowest: dict[str, float] = {}
        self._otherwise = tuple(grid[len(grid) // 2] for grid in self.grids)

    @abstractmethod
    def features(self, q: Array, v: Array, a: Array, nonlinear: Array) -> tuple[Array, ...]:
        """Torque per unit of each symbol for one joint's motion, (samples,), and nonlinear parameters, (count,)."""

    def feature_slopes(self, q: Array, v: Array, a: Array, nonlinear: Array) -> tuple[tuple[Array | float, ...], ...]:
        """For each symbol the slopes of its feature over what the term `needs`; by central differences."""
        return difference_slopes(lambda q, v, a: self.features(q, v, a, nonlinear), self.needs, q, v, a)

    def feature_nonlinear_slopes(self, q: Array, v: Array, a: Array, nonlinear: Array) -> tuple[tuple[Array, ...], ...]:
        """For each symbol the slopes of its feature over the nonlinear parameters; by central differences."""
        slopes = []
        for k, value in enumerate(nonlinear.tolist()):
            step = np.zeros(len(nonlinear))
            step[k] = DIFFERENCE_STEP * max(abs(value), 1e-2)
            both = zip(self.features(q, v, a, nonlinear + step), self.features(q, v, a, nonlinear - step), strict=True)
            slopes.append([(high - low) / (2 * step[k]) for high, low in both])
        return tuple(zip(*slopes, strict=True))

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """The features of every joint, in that joint's own row."""

        def features(joint: Joint) -> tuple[Array, ...]:
            return self._bound(joint).features(*own_motion(joint, q, v, a), self._values(joint))

        return self._by_symbol(robot, features)

    def slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, str, int, Array]]:
        """The slopes of every joint's features over its own motion."""

        def slopes(joint: Joint) -> tuple[tuple[Array | float, ...], ...]:
            return self._bound(joint).feature_slopes(*own_motion(joint, q, v, a), self._values(joint))

        for row, column, of_symbol in self._by_symbol(robot, slopes):
            for over, values in zip(sorted(self.needs), of_symbol, strict=True):
                yield row, column, over, row, np.broadcast_to(values, len(q))

    def nonlinear(self, robot: Robot) -> tuple[NonlinearParameter, ...]:
        """For each joint one parameter per symbol."""
        return tuple(
            self._narrowed(
                NonlinearParameter(
                    f"{symbol}{joint.number}",
                    unit_at(joint, unit),
                    joint.name,
                    float(value),
                    *bounds,
                    grid,
                    self.roles[-1] if self.roles else Role.OTHER,
                    self.needs_temperature,
                )
            )
            for joint in self.joints_of(robot)
            for symbol, unit, value, bounds, grid in zip(
                self.nonlinear_symbols, self.nonlinear_units, self._values(joint), self.bounds, self.grids, strict=True
            )
        )

    def at_nonlinear(self, values: Mapping[str, float]) -> Self:
        """The same with other values of nonlinear parameters."""
        return self._with(_nonlinear=self._nonlinear | _numbers(values))

    def searched_from(self, lowest: Mapping[str, float]) -> Self:
        """The same with higher lower bounds of nonlinear parameters."""
        return self._with(_lowest=self._lowest | _numbers(lowest))

    def nonlinear_slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, int, Array]]:
        """The slopes of every joint's features over its own nonlinear parameters."""

        def slopes(joint: Joint) -> tuple[tuple[Array, ...], ...]:
            return self._bound(joint).feature_nonlinear_slopes(*own_motion(joint, q, v, a), self._values(joint))

        for row, column, of_symbol in self._by_symbol(robot, slopes):
            first = column // len(self.symbols) * len(self.nonlinear_symbols)
            for k, values in enumerate(of_symbol):
                yield row, column, first + k, np.broadcast_to(values, len(q))

    def typical(self) -> Self:
        """The same at values that speeds of up to 3 rad/s determine."""
        return self._with(_nonlinear={}, _otherwise=self.typical_values)

    def _bound(self, joint: Joint) -> Self:
        """The term for one joint; subclasses that know more of samples than their motion say what."""
        return self

    def _narrowed(self, parameter: NonlinearParameter) -> NonlinearParameter:
        """The parameter with the lower bound that was asked for, if any, and the part of its grid above it."""
        if self._lowest.get(parameter.name, -np.inf) <= parameter.lower:
            return parameter
        lower = min(self._lowest[parameter.name], parameter.upper)
        return replace(parameter, lower=lower, grid=tuple(x for x in parameter.grid if x > lower) or (lower,))

    def _values(self, joint: Joint) -> Array:
        """Values of a joint's nonlinear parameters, shape (count,)."""
        named = zip(self.nonlinear_symbols, self._otherwise, strict=True)
        return np.array([self._nonlinear.get(f"{symbol}{joint.number}", value) for symbol, value in named])


def _numbers(values: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}
