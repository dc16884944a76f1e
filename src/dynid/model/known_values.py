"""Values that are known beforehand: of linear parameters, and of shapes."""

from __future__ import annotations

from collections.abc import Mapping

from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.model.dynamic_model import DynamicModel
from dynid.model.parameters import matching


def split_known(model: DynamicModel, known: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Known values of shapes by name, and those of linear parameters by name or pattern.

    Raises:
        UnknownNameError: If a name is that of no parameter and of no shape.
        InvalidRequestError: If a shape that is positive by its nature is not.
    """
    shapes = [shape.name for shape in model.shapes]
    of_shapes: dict[str, float] = {}
    rest: dict[str, float] = {}
    for pattern, value in known.items():
        if _matches(pattern, model.names):
            rest[pattern] = value
        elif _matches(pattern, shapes):
            of_shapes |= dict.fromkeys(matching([pattern], shapes), value)
            _check(model, pattern, of_shapes)
        else:
            raise UnknownNameError("parameter", pattern, (*model.names, *shapes))
    return of_shapes, rest


def _check(model: DynamicModel, pattern: str, of_shapes: Mapping[str, float]) -> None:
    for shape in model.shapes:
        if shape.name in of_shapes and shape.lower > 0.0 >= of_shapes[shape.name]:
            raise InvalidRequestError(
                f"known has {pattern} = {of_shapes[shape.name]:g}, but {shape.name} [{shape.unit}] must be positive; "
                f"typical values are {shape.grid[0]:.3g} to {shape.grid[-1]:.3g}"
            )


def _matches(pattern: str, names: tuple[str, ...] | list[str]) -> bool:
    try:
        return bool(matching([pattern], names))
    except UnknownNameError:
        return False
