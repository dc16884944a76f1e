"""Names that differ."""

from __future__ import annotations

from itertools import count


def unique(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where it is taken; it is taken from then on."""
    free = name if name not in taken else next(n for k in count(2) if (n := f"{name}_{k}") not in taken)
    taken.add(free)
    return free
