"""What every table of an experiment file is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from dynid.errors import InvalidRequestError, UnknownNameError

Number = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e30, le=1e30)]
Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0, le=1e30)]
NotNegative = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1e30)]
Count = Annotated[int, Field(strict=True, ge=1)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
PerJoint = tuple[Positive, ...] | Positive
"""One for all joints, or one for each."""


class Table(BaseModel):
    """A table of the experiment file: it has no other keys, and never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


T = TypeVar("T", bound=Table)


def checked(kind: type[T], given: T | Mapping[str, Any] | None = None, **changes: Any) -> T:
    """Settings from an object or a dictionary, with some keys replaced; those that are None stay as they are.

    Raises:
        UnknownNameError: If a key is none of the settings'.
        InvalidRequestError: If a value is none that its key can have.

    >>> class Filter(Table):
    ...     cutoff: Positive = 10.0
    >>> checked(Filter, {"cutoff": 5}).cutoff
    5.0
    >>> checked(Filter, cutof=5)
    Traceback (most recent call last):
    dynid.errors.UnknownNameError: there is no key 'cutof'; did you mean 'cutoff'?
    """
    stated = given.model_dump(exclude_unset=True) if isinstance(given, BaseModel) else dict(given or {})
    stated |= {key: value for key, value in changes.items() if value is not None}
    try:
        return kind.model_validate(stated)
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
            raise UnknownNameError("key", key, kind.model_fields) from error
        message = problem["msg"].removeprefix("Value error, ")
        value = f" is {problem['input']!r}: {message}" if problem["type"] != "value_error" else f": {message}"
        raise InvalidRequestError(f"'{key}'{value}" if key else message) from error
