"""What all settings are made of: frozen tables of the experiment file, and what is wrong with one in words."""

from collections.abc import Iterator, Mapping
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
    """Settings: a table of the experiment file, without other keys, that never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


T = TypeVar("T", bound=Table)


def checked(table: type[T], values: T | Mapping[str, Any] | None = None, table_name: str = "", **changes: Any) -> T:
    """Settings from an object, from a mapping, or those by default, with some keys replaced.

    Args:
        table: The kind of settings.
        values: Its values, by key.
        table_name: What the table is called in messages.
        changes: Keys that are replaced; those that are None stay as they are.

    Raises:
        InvalidRequestError: If a key is unknown, missing, or has a value that it cannot have.

    >>> class Filter(Table):
    ...     cutoff: Positive = 10.0
    >>> checked(Filter, {"cutoff": 5}).cutoff
    5.0
    >>> checked(Filter, cutof=5)
    Traceback (most recent call last):
    dynid.errors.InvalidRequestError: there is no key 'cutof'; did you mean 'cutoff'?
    """
    given = {key: value for key, value in changes.items() if value is not None}
    if isinstance(values, table) and not given:
        return values
    stated = values.model_dump(exclude_unset=True) if isinstance(values, BaseModel) else dict(values or {})
    try:
        return table.model_validate({**stated, **given})
    except ValidationError as error:
        words = problem_in_words(error, table)
        raise InvalidRequestError(f"{table_name}: {words}" if table_name else words) from error


_ALTERNATIVES = ("str", "int", "float", "bool", "tuple", "literal[", "constrained-", "function-")
"""How pydantic names alternatives of a type; they are no keys of the file."""


def key_of(problem: Any) -> tuple[str | int, ...]:
    """Where a problem is, from the outermost table to the key or element."""
    return tuple(part for part in problem["loc"] if not (isinstance(part, str) and part.startswith(_ALTERNATIVES)))


def problem_in_words(error: ValidationError, root: type[BaseModel]) -> str:
    """The first problem that validation found, in one sentence that names the key and the nearest valid one."""
    problems = error.errors()
    problem = problems[0]
    path = key_of(problem)
    names = [part for part in path if isinstance(part, str)]
    key = ".".join(names)
    if problem["type"] == "extra_forbidden":
        where = f" in [{'.'.join(names[:-1])}]" if len(names) > 1 else ""
        return str(UnknownNameError("key", names[-1], _table_at(root, names[:-1]).model_fields, where))
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


def _table_at(root: type[BaseModel], names: list[str]) -> type[BaseModel]:
    """The table that stands at a path of keys."""
    for name in names:
        field = root.model_fields.get(name)
        root = next(_tables_in(field.annotation), root) if field is not None else root
    return root


def _tables_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _tables_in(part)
