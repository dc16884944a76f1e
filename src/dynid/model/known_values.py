"""Values that are known beforehand: of linear parameters, and of shapes."""

from __future__ import annotations

from collections.abc import Mapping

from dynid.errors import UnknownNameError
from dynid.model.dynamic_model import DynamicModel
from dynid.model.parameters import matching


def split_known(model: DynamicModel, known: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Known values of shapes by name, and those of linear parameters by name or pattern.

    Raises:
        UnknownNameError: If a name is that of no parameter and of no shape.
    """
    shapes = [shape.name for shape in model.shapes]
    of_shapes: dict[str, float] = {}
    rest: dict[str, float] = {}
    for pattern, value in known.items():
        if _matches(pattern, model.names):
            rest[pattern] = value
        elif _matches(pattern, shapes):
            of_shapes |= dict.fromkeys(matching([pattern], shapes), value)
        else:
            raise UnknownNameError("parameter", pattern, (*model.names, *shapes))
    return of_shapes, rest


def _matches(pattern: str, names: tuple[str, ...] | list[str]) -> bool:
    try:
        return bool(matching([pattern], names))
    except UnknownNameError:
        return False
