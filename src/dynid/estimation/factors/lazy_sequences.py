"""Sequences whose items are made when they are asked for: the factors of many logs need not be in memory at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar, overload

S = TypeVar("S")
T = TypeVar("T")


class Lazy(Sequence[T], Generic[T]):
    """A sequence whose items are made anew each time.

    Args:
        count: Number of items.
        make: From the number of an item, counted from 0, to the item.
    """

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._numbers = range(count)
        self._make = make
        self._known: dict[Hashable, Any] = {}

    def once(self, key: Hashable, find: Callable[[], S]) -> S:
        """What is found from all items, found once: a pass over them is dear."""
        if key not in self._known:
            self._known[key] = find()
        return self._known[key]

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, k: int) -> T: ...

    @overload
    def __getitem__(self, k: slice) -> Lazy[T]: ...

    def __getitem__(self, k: int | slice) -> T | Lazy[T]:
        """An item, or some of them."""
        numbers, make = self._numbers[k], self._make
        return make(numbers) if isinstance(numbers, int) else Lazy(len(numbers), lambda i: make(numbers[i]))


def mapped(items: Sequence[S], work: Callable[[S], T]) -> Sequence[T]:
    """What becomes of each item: made when it is asked for where the items are, else at once."""
    return Lazy(len(items), lambda k: work(items[k])) if isinstance(items, Lazy) else tuple(map(work, items))


def chained(first: Sequence[T], then: Sequence[T]) -> Sequence[T]:
    """The items of two sequences."""
    if not isinstance(then, Lazy):
        return (*first, *then)
    return Lazy(len(first) + len(then), lambda k: first[k] if k < len(first) else then[k - len(first)])
