"""Values of options that are lists, assignments or numbers in one word."""

from __future__ import annotations

import math

from dynid.errors import InvalidRequestError


def words(*texts: str) -> list[str]:
    """Words that are separated by commas."""
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def assignments(option: str, *texts: str) -> dict[str, float | None]:
    """NAME or NAME=VALUE, separated by commas."""
    values: dict[str, float | None] = {}
    for word in words(*texts):
        name, equals, text = word.partition("=")
        value = number(option, text) if equals else None
        if values.get(name.strip(), value) != value:
            raise InvalidRequestError(f"{option}: '{name.strip()}' has two values; give one")
        values[name.strip()] = value
    return values


def values(option: str, *texts: str) -> dict[str, float]:
    """NAME=VALUE, separated by commas."""
    found = assignments(option, *texts)
    bare = next((name for name, value in found.items() if value is None), None)
    if bare is not None:
        raise InvalidRequestError(f"{option}: '{bare}' has no value; write {bare}=VALUE")
    return {name: value for name, value in found.items() if value is not None}


def numbers(option: str, text: str) -> list[float]:
    """Numbers that are separated by commas."""
    return [number(option, word) for word in words(text)]


def number(option: str, text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) <= 1e30:
        raise InvalidRequestError(f"{option}: '{text.strip()}' is no number; expected one such as 1.57")
    return value
