"""Numbers of generated code: known ones are Python floats, others are operations on a tape.

Arithmetic on them is written as arithmetic. What is known when code is generated is computed then: zeros and ones of
rotations and inertia vanish, and an operation that was there before is the same number again.

>>> tape = Tape()
>>> x = tape.given("q[0]")
>>> 0.0 * x + 2.0 * 3.0, x - x, (x + 1.0 is x + 1.0)
(6.0, 0.0, True)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Operand = str | float | int
"""An argument of an operation: the index of another one (int), a constant (float), or the name of a given number."""

FUNCTIONS = ("sin", "cos", "exp", "tanh", "sqrt", "fabs", "sign", "step", "reciprocal")
"""Operations of one number that are functions; `step` is 1 above zero and else 0."""


class Tape:
    """The operations of one function, each once, in an order in which they can be done."""

    def __init__(self) -> None:
        self.operations: list[tuple[str, tuple[Operand, ...]]] = []
        self._known: dict[tuple[str, tuple[Operand, ...]], Expr] = {}

    def given(self, name: str) -> Expr:
        """A number that the function is given, such as `q[0]`."""
        return self.operation("given", name)

    def operation(self, kind: str, *operands: Operand) -> Expr:
        """The number that an operation gives; the same one each time."""
        key = (kind, operands)
        if key not in self._known:
            self.operations.append(key)
            self._known[key] = Expr(self, len(self.operations) - 1)
        return self._known[key]

    def used(self, outputs: Iterable[Number]) -> list[int]:
        """Indices of the operations that outputs need, ascending."""
        needed: set[int] = set()
        waiting = [x.index for x in outputs if isinstance(x, Expr)]
        while waiting:
            index = waiting.pop()
            if index not in needed:
                needed.add(index)
                waiting += [x for x in self.operations[index][1] if type(x) is int]
        return sorted(needed)


class Expr:
    """A number that is known only when the code runs: an operation on a tape."""

    __slots__ = ("index", "tape")

    def __init__(self, tape: Tape, index: int) -> None:
        self.tape = tape
        self.index = index

    def __repr__(self) -> str:
        kind, operands = self.tape.operations[self.index]
        return f"Expr({self.index}: {kind} {operands})"

    def __neg__(self) -> Number:
        kind, operands = self.tape.operations[self.index]
        if kind == "neg":
            return self._expr(operands[0])
        if kind == "sub":
            return self.tape.operation("sub", *operands[::-1])
        return self.tape.operation("neg", self.index)

    def __add__(self, other: Number) -> Number:
        if not isinstance(other, Expr):
            value = _float(other)
            return self if value == 0.0 else self.tape.operation("add", self.index, value)
        if (minus := other._negated()) is not None:
            return self - minus
        if (minus := self._negated()) is not None:
            return other - minus
        return self.tape.operation("add", *sorted((self.index, other.index)))

    def __radd__(self, other: Number) -> Number:
        return self + other

    def __sub__(self, other: Number) -> Number:
        if not isinstance(other, Expr):
            return self + -_float(other)
        if other is self:
            return 0.0
        if (minus := other._negated()) is not None:
            return self + minus
        if (minus := self._negated()) is not None:
            return -(minus + other)
        return self.tape.operation("sub", self.index, other.index)

    def __rsub__(self, other: Number) -> Number:
        return -self + other

    def __mul__(self, other: Number) -> Number:
        if isinstance(other, Expr):
            return self._times(other)
        value = _float(other)
        kind, operands = self.tape.operations[self.index]
        if value in (0.0, 1.0):
            return self if value else 0.0
        if value == -1.0:
            return -self
        if kind == "neg":
            return -(self._expr(operands[0]) * value)
        if kind == "mul" and isinstance(operands[1], float):
            return self._expr(operands[0]) * (operands[1] * value)
        return -(self * -value) if value < 0.0 else self.tape.operation("mul", self.index, value)

    def __rmul__(self, other: Number) -> Number:
        return self * other

    def __truediv__(self, other: Number) -> Number:
        return self * other.reciprocal() if isinstance(other, Expr) else self * (1.0 / _float(other))

    def __rtruediv__(self, other: Number) -> Number:
        return self.reciprocal() * other

    def __pow__(self, exponent: float) -> Number:
        if exponent != int(exponent) or not 0 <= exponent <= 16:
            raise TypeError(f"the power {exponent} of a number is none of 0 to 16")
        result: Number = 1.0
        for _ in range(int(exponent)):
            result = result * self
        return result

    def __abs__(self) -> Number:
        return self.tape.operation("fabs", self.index)

    def __gt__(self, other: float) -> Number:
        return self.tape.operation("step", _index(self - other))

    def __lt__(self, other: float) -> Number:
        return self.tape.operation("step", _index(-self + other))

    def __bool__(self) -> bool:
        raise TypeError("a number of generated code is not known yet, so that no branch can depend on it")

    def reciprocal(self) -> Expr:
        """One over it."""
        return self.tape.operation("reciprocal", self.index)

    def function(self, name: str) -> Expr:
        """One of `FUNCTIONS` of it."""
        return self.tape.operation(name, self.index)

    def exp(self) -> Expr:
        """NumPy's functions of arrays of objects look for methods like this one."""
        return self.function("exp")

    def tanh(self) -> Expr:
        """As above."""
        return self.function("tanh")

    def astype(self, kind: type[float]) -> Expr:
        """Itself, as what a comparison of arrays gives."""
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Number:
        """What NumPy's functions give, so that the formulas of terms are those of the library."""
        if method != "__call__" or options or ufunc.__name__ not in _UFUNCS:
            raise TypeError(f"{ufunc.__name__} has no form in C")
        return _UFUNCS[ufunc.__name__](*(x if isinstance(x, Expr) else np.asarray(x).item() for x in inputs))

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Number:
        """As above, of the functions that make arrays like another."""
        if function.__name__ not in _LIKE:
            raise TypeError(f"{function.__name__} has no form in C")
        return _LIKE[function.__name__]

    def _times(self, other: Expr) -> Number:
        minus, other_minus = self._negated(), other._negated()
        if minus is not None or other_minus is not None:
            product = (self if minus is None else minus) * (other if other_minus is None else other_minus)
            return product if minus is not None and other_minus is not None else -product
        return self.tape.operation("mul", *sorted((self.index, other.index)))

    def _negated(self) -> Expr | None:
        """The number that this is the negative of; None for all others."""
        kind, operands = self.tape.operations[self.index]
        return self._expr(operands[0]) if kind == "neg" else None

    def _expr(self, index: Operand) -> Expr:
        return Expr(self.tape, index)  # type: ignore[arg-type]


Number = Expr | float
"""A number of generated code."""


def _float(x: Any) -> float:
    """A known number, also of an array of one."""
    return float(x) if isinstance(x, float | int) else float(np.asarray(x, dtype=float).item())


def _index(x: Number) -> int:
    assert isinstance(x, Expr)
    return x.index


def call(name: str, x: Number) -> Number:
    """One of `FUNCTIONS` of a number."""
    if isinstance(x, Expr):
        return x.function(name)
    if name == "step":
        return float(x > 0.0)
    return float(getattr(np, name)(x))


_UFUNCS: dict[str, Any] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "power": lambda x, y: x**y,
    "square": lambda x: x * x,
    "negative": lambda x: -x,
    "absolute": lambda x: call("fabs", x),
    "fabs": lambda x: call("fabs", x),
    **{
        name: lambda x, name=name: call(name, x) for name in ("sin", "cos", "exp", "tanh", "sqrt", "sign", "reciprocal")
    },
    "greater": lambda x, y: call("step", x - y),
    "less": lambda x, y: call("step", y - x),
}
_LIKE = {"ones_like": 1.0, "zeros_like": 0.0}
