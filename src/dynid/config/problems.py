"""What is wrong with an experiment file, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynid.config.experiment import TABLES, Experiment
from dynid.errors import FileProblemError, UnknownNameError


class ExperimentError(FileProblemError):
    """An experiment file is not what it should be."""


_ALTERNATIVES = ("str", "int", "float", "bool", "tuple", "literal[", "constrained-", "function-")
"""How pydantic names alternatives of a type; they are no keys of the file."""


def key_of(problem: Any) -> tuple[str | int, ...]:
    """Where in the file a problem is, from the outermost table to the key or element."""
    return tuple(part for part in problem["loc"] if not (isinstance(part, str) and part.startswith(_ALTERNATIVES)))


def in_words(problems: Sequence[Any]) -> str:
    """The first problem that validation found, in one sentence that names the key and the nearest valid one."""
    problem = problems[0]
    path = key_of(problem)
    names = [part for part in path if isinstance(part, str)]
    key = ".".join(names)
    if problem["type"] == "extra_forbidden":
        table = next((TABLES[name] for name in reversed(names[:-1]) if name in TABLES), Experiment)
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
