"""What settings are made of, and what is wrong with them, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar, get_args

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


_ALTERNATIVES = ("str", "int", "float", "bool", "tuple", "literal[", "constrained-", "function-")
"""How pydantic names alternatives of a type; they are no keys of the file."""


def key_of(problem: Any) -> tuple[str | int, ...]:
    """Where in the file a problem is, from the outermost table to the key or element."""
    return tuple(part for part in problem["loc"] if not (isinstance(part, str) and part.startswith(_ALTERNATIVES)))


def in_words(problems: Sequence[Any], root: type[BaseModel]) -> str:
    """The first problem that validation found, in one sentence that names the key and the nearest valid one.

    Args:
        problems: What pydantic found.
        root: The table that was validated.
    """
    problem = problems[0]
    path = key_of(problem)
    names = [part for part in path if isinstance(part, str)]
    key = ".".join(names)
    if problem["type"] == "extra_forbidden":
        table = _table_at(root, names[:-1])
        where = f" in [{'.'.join(names[:-1])}]" if len(names) > 1 else ""
        return str(UnknownNameError("key", names[-1], table.model_fields, where))
    if problem["type"] == "missing":
        needed = f"'{key}' needs {path[-1] + 1} numbers or more" if isinstance(path[-1], int) else ""
        return needed or f"the key '{key}' is missing"
    if problem["type"] == "value_error":
        message = problem["msg"].removeprefix("Value error, ")
        return f"[{key}]: {message}" if key else message
    found = repr(problem["input"])
    # A key of several types has a message for each.
    messages = dict.fromkeys(other["msg"] for other in problems if key_of(other)[: len(path)] == path)
    message = ", or ".join(messages).replace("valid tuple", "list").replace("Input should", "it should", 1)
    message = message.replace("Input should be", "be")
    return f"the key '{key}' is {found if len(found) <= 60 else found[:57] + '...'}: {message}"


def _table_at(root: type[BaseModel], names: Sequence[str]) -> type[BaseModel]:
    """The table at a path of keys."""
    for name in names:
        field = root.model_fields.get(name)
        inner = next(_tables_in(field.annotation), None) if field is not None else None
        root = inner or root
    return root


def _tables_in(kind: Any) -> Iterator[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for part in get_args(kind):
        yield from _tables_in(part)


def checked(kind: type[T], given: T | Mapping[str, Any] | None = None, **changes: Any) -> T:
    """Settings from an object or a dictionary, with some keys replaced; those that are None stay as they are.

    Raises:
        InvalidRequestError: If a key is none of the settings', or a value none that its key can have.

    >>> class Filter(Table):
    ...     cutoff: Positive = 10.0
    >>> checked(Filter, {"cutoff": 5}).cutoff
    5.0
    >>> checked(Filter, cutof=5)
    Traceback (most recent call last):
    dynid.errors.InvalidRequestError: there is no key 'cutof'; did you mean 'cutoff'?
    """
    stated = given.model_dump(exclude_unset=True) if isinstance(given, BaseModel) else dict(given or {})
    stated |= {key: value for key, value in changes.items() if value is not None}
    try:
        return kind.model_validate(stated)
    except ValidationError as error:
        raise InvalidRequestError(in_words(error.errors(), kind)) from error
