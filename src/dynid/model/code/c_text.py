"""A tape as C: one statement for each number that is used twice, in the order of the operations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from dynid.errors import InvalidRequestError
from dynid.model.code.expressions import Expr
from dynid.model.code.functions import Function

LONGEST_EXPRESSION = 88
"""Characters of an expression that still becomes part of another one."""

LARGEST_FLOAT = 3.4028234663852886e38
SMALLEST_FLOAT = 1.1754943508222875e-38
"""Below this a constant of single precision is zero, of which compilers warn."""


class Scalar(StrEnum):
    """The type of numbers in generated code."""

    DOUBLE = "double"
    FLOAT = "float"

    @property
    def suffix(self) -> str:
        """What constants and functions of this type end with."""
        return "f" if self is Scalar.FLOAT else ""


@dataclass(frozen=True)
class Text:
    """An expression: its text, and how strongly it binds (3: a name or call, 2: a product, 1: a sum).

    Attributes:
        text: The text.
        binds: See above.
        reads: Whether an input is read where it stands.
    """

    text: str
    binds: int
    reads: bool = False

    def within(self, binds: int) -> str:
        """The text where at least so much must bind."""
        return self.text if self.binds >= binds else f"({self.text})"


def constant(x: float, scalar: Scalar, where: str = "generated code") -> str:
    """A constant in C.

    Raises:
        InvalidRequestError: If it does not fit the type.
    """
    if not math.isfinite(x) or (scalar is Scalar.FLOAT and abs(x) > LARGEST_FLOAT):
        limit = f", whose largest number is {LARGEST_FLOAT:.3g}; use double" if math.isfinite(x) else ""
        raise InvalidRequestError(f"{where} needs the number {x:g}, which does not fit {scalar}{limit}")
    if scalar is Scalar.FLOAT and abs(x) < SMALLEST_FLOAT:
        x = 0.0
    return f"{x!r}{scalar.suffix}"


def signature(function: Function, prefix: str) -> str:
    """The head of a function in C."""
    inputs = [f"const {prefix}_scalar {name}[{size}]" for name, size in function.inputs]
    outputs = [f"{prefix}_scalar {name}[{size}]" for name, size in function.outputs]
    return f"void {prefix}_{function.name}({', '.join(inputs + outputs)})"


def body(function: Function, prefix: str, scalar: Scalar) -> list[str]:
    """The lines of a function in C."""
    writer = _Writer(function, prefix, scalar)
    statements = list(writer.statements())
    outputs = list(writer.outputs())
    unused = [f"    (void){name};" for name, _ in function.inputs if name not in writer.read]
    return [signature(function, prefix), "{", *unused, *statements, *outputs, "}"]


class _Writer:
    """Writes one function; remembers the text of each operation."""

    def __init__(self, function: Function, prefix: str, scalar: Scalar) -> None:
        self.function, self.scalar = function, scalar
        self.type = f"{prefix}_scalar"
        self.helpers = prefix
        self.tape = function.tape
        self.texts: dict[int, Text] = {}
        self.read: set[str] = set()
        self.used = self.tape.used(function.flat)
        uses: Counter[int] = Counter(x.index for x in function.flat if isinstance(x, Expr))
        for index in self.used:
            uses.update(x for x in self.tape.operations[index][1] if type(x) is int)
        self.uses = uses

    def statements(self) -> Iterator[str]:
        """A statement for each number that is used more than once, or would be too long within another.

        And for each result that reads an input: no input is read once outputs are written, which may be the same.
        """
        count, results = 0, {x.index for x in self.function.flat if isinstance(x, Expr)}
        for index in self.used:
            text = self._text(index)
            kind, operands = self.tape.operations[index]
            reads = kind == "given" or any(self.texts[x].reads for x in operands if type(x) is int)
            text = Text(text.text, text.binds, reads)
            is_long = kind != "given" and (self.uses[index] > 1 or len(text.text) > LONGEST_EXPRESSION)
            if is_long or (reads and index in results):
                yield f"    const {self.type} x{count} = {text.text};"
                text = Text(f"x{count}", 3)
                count += 1
            self.texts[index] = text

    def outputs(self) -> Iterator[str]:
        """The statements that write the outputs, last."""
        for (name, _), result in zip(self.function.outputs, self.function.results, strict=True):
            for k, x in enumerate(result):
                yield f"    {name}[{k}] = {self._operand(x.index if isinstance(x, Expr) else float(x)).text};"

    def _operand(self, x: object) -> Text:
        if type(x) is int:
            return self.texts[x]
        text = constant(x, self.scalar, self.function.name)  # type: ignore[arg-type]
        return Text(text, 0 if text.startswith("-") else 3)

    def _text(self, index: int) -> Text:
        kind, operands = self.tape.operations[index]
        if kind == "given":
            self.read.add(str(operands[0]).partition("[")[0])
            return Text(str(operands[0]), 3)
        one, *rest = [self._operand(x) for x in operands]
        if kind == "add":
            return _sum(one, rest[0])
        if kind == "sub":
            return Text(f"{one.within(1)} - {rest[0].within(2)}", 1)
        if kind == "mul":
            return Text(f"{one.within(2)} * {rest[0].within(2)}", 2)
        if kind == "neg":
            return Text(f"-{one.within(2)}", 0)
        if kind == "reciprocal":
            return Text(f"{constant(1.0, self.scalar)} / {one.within(3)}", 0)
        if kind in ("sign", "step"):
            return Text(f"{self.helpers}_{kind}({one.text})", 3)
        return Text(f"{kind}{self.scalar.suffix}({one.text})", 3)


def _sum(one: Text, other: Text) -> Text:
    if other.text.startswith("-") and other.binds == 0 and " " not in other.text:
        return Text(f"{one.within(1)} - {other.text[1:]}", 1)
    return Text(f"{one.within(1)} + {other.within(1 if other.binds else 3)}", 1)


def helpers(functions: list[Function], prefix: str) -> list[str]:
    """The small functions that others call."""
    kinds = {function.tape.operations[k][0] for function in functions for k in function.tape.used(function.flat)}
    type_, lines = f"{prefix}_scalar", []
    if "sign" in kinds:
        lines += [
            f"static {type_} {prefix}_sign(const {type_} x)",
            "{",
            f"    return ({type_})((x > 0) - (x < 0));",
            "}",
            "",
        ]
    if "step" in kinds:
        lines += [f"static {type_} {prefix}_step(const {type_} x)", "{", f"    return ({type_})(x > 0);", "}", ""]
    return lines
