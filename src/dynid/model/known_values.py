"""Values that are known beforehand: of linear parameters, and of nonlinear ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.model.base_parameters import BaseParameters, find_base_parameters
from dynid.model.dynamic_model import DynamicModel
from dynid.model.parameters import matching
from dynid.model.terms import Term
from dynid.robot.robot import Robot


def known_model(robot: Robot, terms: str | Sequence[str | Term], known: Mapping[str, float]) -> DynamicModel:
    """The model of a robot with terms, at the nonlinear parameters that are known."""
    model = DynamicModel(robot, terms)
    return model.at_nonlinear(split_known(model, known)[0])


def known_base(model: DynamicModel, known: Mapping[str, float]) -> BaseParameters:
    """The base parameters of a model of which some parameters are known."""
    return find_base_parameters(model, known=split_known(model, known)[1])


def split_known(model: DynamicModel, known: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Known values of nonlinear parameters by name, and those of linear parameters by name or pattern.

    Raises:
        UnknownNameError: If a name is that of no parameter.
        InvalidRequestError: If a parameter that is positive by its nature is not.
    """
    nonlinear = [parameter.name for parameter in model.nonlinear]
    of_nonlinear: dict[str, float] = {}
    rest: dict[str, float] = {}
    for pattern, value in known.items():
        if _matches(pattern, model.names):
            rest[pattern] = value
        elif _matches(pattern, nonlinear):
            of_nonlinear |= dict.fromkeys(matching([pattern], nonlinear), value)
            _check(model, pattern, of_nonlinear)
        else:
            raise UnknownNameError("parameter", pattern, (*model.names, *nonlinear))
    return of_nonlinear, rest


def _check(model: DynamicModel, pattern: str, of_nonlinear: Mapping[str, float]) -> None:
    for parameter in model.nonlinear:
        value = of_nonlinear.get(parameter.name)
        if value is not None and parameter.lower > 0.0 >= value:
            raise InvalidRequestError(
                f"known has {pattern} = {value:g}, and {parameter.name} [{parameter.unit}] must be positive; typical "
                f"values are {parameter.grid[0]:.3g} to {parameter.grid[-1]:.3g}"
            )


def _matches(pattern: str, names: tuple[str, ...] | list[str]) -> bool:
    try:
        return bool(matching([pattern], names))
    except UnknownNameError:
        return False
