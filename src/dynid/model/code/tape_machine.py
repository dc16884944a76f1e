"""Runs the operations of a tape: on arrays of samples with NumPy, and sample by sample with Numba.

The machine of Numba is compiled once for all robots. It takes the operations as numbers, about two nanoseconds each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.model.code.expressions import Expr, Number
from dynid.model.code.functions import Function

KINDS = ("given", "add", "sub", "mul", "neg", "sin", "cos", "exp", "tanh", "sqrt", "fabs", "sign", "step", "reciprocal")
"""Kinds of operations, by their number in a program; `given` copies an input."""


def evaluate(function: Function, inputs: Mapping[str, Array]) -> list[Array]:
    """The outputs of a function for samples, with NumPy.

    Args:
        function: The function.
        inputs: Its inputs by name, each of shape (samples, elements).

    Returns:
        For each output an array of shape (samples, elements).
    """
    values: dict[int, Array | float] = {}
    samples = len(next(iter(inputs.values())))
    for index in function.tape.used(function.flat):
        kind, operands = function.tape.operations[index]
        if kind == "given":
            name, _, place = str(operands[0]).partition("[")
            values[index] = inputs[name][:, int(place[:-1])]
        else:
            values[index] = _DONE[kind](*(values[x] if type(x) is int else x for x in operands))

    def column(x: Number) -> Array:
        return np.broadcast_to(np.asarray(values[x.index] if isinstance(x, Expr) else x, dtype=float), samples)

    return [np.stack([column(x) for x in result], axis=1) for result in function.results]


_DONE = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "step": lambda x: (x > 0.0).astype(float),
    **{name: getattr(np, name) for name in ("sin", "cos", "exp", "tanh", "sqrt", "fabs", "sign", "reciprocal")},
}


@dataclass(frozen=True, eq=False)
class Program:
    """The operations of a function as numbers.

    Attributes:
        kinds: For each operation the number of its kind in `KINDS`, shape (operations,).
        operands: Where its two operands are in the memory, shape (operations, 2).
        memory: The memory at the start: constants, then room for inputs and operations.
        outputs: Where the elements of all outputs are in the memory.
    """

    kinds: NDArray[np.int64]
    operands: NDArray[np.int64]
    memory: Array
    outputs: NDArray[np.int64]
    first_input: int
    first_result: int


def program_of(function: Function) -> Program:
    """A function for the machine."""
    used = function.tape.used(function.flat)
    operations = [function.tape.operations[index] for index in used]
    constants: dict[float, int] = {0.0: 0}
    for _, operands in operations:
        for x in operands:
            if isinstance(x, float):
                constants.setdefault(x, len(constants))
    for x in function.flat:
        if not isinstance(x, Expr):
            constants.setdefault(float(x), len(constants))
    starts, width = {}, 0
    for name, size in function.inputs:
        starts[name] = len(constants) + width
        width += size
    first = len(constants) + width
    place = {index: first + k for k, index in enumerate(used)}

    def where(x: object) -> int:
        if isinstance(x, str):
            name, _, at = x.partition("[")
            return starts[name] + int(at[:-1])
        return constants[x] if isinstance(x, float) else place[x]  # type: ignore[index]

    table = [[where(x) for x in (*operands, 0.0)[:2]] for _, operands in operations]
    return Program(
        np.array([KINDS.index(kind) for kind, _ in operations], dtype=np.int64),
        np.array(table, dtype=np.int64).reshape(-1, 2),
        np.concatenate([np.array(list(constants)), np.zeros(width + len(used))]),
        np.array(
            [place[x.index] if isinstance(x, Expr) else constants[float(x)] for x in function.flat], dtype=np.int64
        ),
        len(constants),
        first,
    )


def run(program: Program, inputs: Array) -> Array:
    """The outputs of a program with Numba.

    Args:
        program: The program.
        inputs: All inputs side by side, shape (samples, elements).

    Returns:
        All outputs side by side, shape (samples, elements).
    """
    from dynid.model.code.compiled_machine import run_samples

    outputs = np.empty((len(inputs), len(program.outputs)))
    run_samples(
        program.kinds,
        program.operands,
        program.memory.copy(),
        program.first_input,
        program.first_result,
        program.outputs,
        np.ascontiguousarray(inputs),
        outputs,
    )
    return outputs
