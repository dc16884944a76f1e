"""The machine that runs programs of numbers, compiled."""

from __future__ import annotations

import math

import numpy as np

from dynid.arrays import Array, Indices
from dynid.model.kernels.cached_code import njit


@njit(cache=True)
def run_samples(  # noqa: C901 (one branch for each operation)
    kinds: Indices,
    operands: Indices,
    memory: Array,
    first_input: int,
    first_result: int,
    places: Indices,
    inputs: Array,
    outputs: Array,
) -> None:
    """Fill outputs, shape (samples, elements); `Program` says what the other arguments are."""
    for s in range(len(inputs)):
        for k in range(inputs.shape[1]):
            memory[first_input + k] = inputs[s, k]
        for k in range(len(kinds)):
            kind, x = kinds[k], memory[operands[k, 0]]
            if kind == 3:
                value = x * memory[operands[k, 1]]
            elif kind == 1:
                value = x + memory[operands[k, 1]]
            elif kind == 2:
                value = x - memory[operands[k, 1]]
            elif kind == 0:
                value = x
            elif kind == 4:
                value = -x
            elif kind == 5:
                value = math.sin(x)
            elif kind == 6:
                value = math.cos(x)
            elif kind == 7:
                value = math.exp(x)
            elif kind == 8:
                value = math.tanh(x)
            elif kind == 9:
                value = math.sqrt(x)
            elif kind == 10:
                value = abs(x)
            elif kind == 11:
                value = np.sign(x)
            elif kind == 12:
                value = 1.0 if x > 0.0 else 0.0
            else:
                value = 1.0 / x
            memory[first_result + k] = value
        for k in range(len(places)):
            outputs[s, k] = memory[places[k]]
