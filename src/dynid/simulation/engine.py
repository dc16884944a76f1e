"""The bridge to MuJoCo: mass matrix and bias forces of a state, from compiled code or from Python.

MuJoCo's own C functions are called at their addresses, so a compiled loop uses them without going through Python. With
`DYNID_NO_COMPILE` set, the same functions run as plain Python on MuJoCo's bindings: some hundred times slower, and the
same numbers.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import mujoco
import numpy as np

from dynid.arrays import Array
from dynid.simulation.compilation import IS_COMPILED, compiled, inner
from dynid.simulation.plant import Plant


class Engine(NamedTuple):
    """A plant as compiled code takes it: addresses, views of MuJoCo's memory, and how its coordinates are ours.

    Attributes:
        functions: Addresses of MuJoCo's functions.
        pointers: Addresses of the model, of the data and of `bias`.
        qpos: MuJoCo's positions, shape (tree,).
        qvel: MuJoCo's velocities, shape (tree,).
        bias: MuJoCo's Coriolis, centrifugal and gravity forces, shape (tree,).
        M: Lower triangle of MuJoCo's mass matrix, as compressed rows.
        row_start: Where each row starts in `M`.
        row_count: How many numbers each row has.
        row_column: Column of each number.
        column: Our coordinate of each of MuJoCo's, shape (tree,).
        ratio: What it moves per unit of ours, shape (tree,).
        offset: Where it is when ours is zero, shape (tree,).
    """

    functions: np.ndarray
    pointers: np.ndarray
    qpos: Array
    qvel: Array
    bias: Array
    M: Array
    row_start: np.ndarray
    row_count: np.ndarray
    row_column: np.ndarray
    column: np.ndarray
    ratio: Array
    offset: Array


@dataclass(frozen=True, eq=False)
class Instance:
    """An engine with the MuJoCo objects that its addresses point into."""

    engine: Engine
    model: Any
    data: Any


def start(plant: Plant) -> Instance:
    """Set up MuJoCo for a plant; each thread needs an instance of its own."""
    model = plant.compile()
    data = mujoco.MjData(model)
    bias = np.zeros(model.nv)
    pointers = np.array([model._address, data._address, bias.ctypes.data], dtype=np.int64)
    engine = Engine(
        functions=_addresses(),
        pointers=pointers,
        qpos=data.qpos,
        qvel=data.qvel,
        bias=bias,
        M=data.M,
        row_start=model.M_rowadr.astype(np.int64),
        row_count=model.M_rownnz.astype(np.int64),
        row_column=model.M_colind.astype(np.int64),
        column=plant.columns,
        ratio=plant.ratios,
        offset=plant.offsets,
    )
    _ALIVE[int(pointers[1])] = (model, data, weakref.ref(bias))
    weakref.finalize(bias, _ALIVE.pop, int(pointers[1]))
    return Instance(engine, model, data)


_ALIVE: dict[int, tuple[Any, Any, Callable[[], Array | None]]] = {}
"""The MuJoCo objects of each engine, by the address of its data, for as long as the engine's `bias` lives."""


def _addresses() -> np.ndarray:
    if not IS_COMPILED:
        return np.zeros(5, dtype=np.int64)
    from dynid.simulation.native_calls import addresses

    return addresses()


def _from_python(_functions: np.ndarray, pointers: np.ndarray) -> None:
    model, data, result = _ALIVE[int(pointers[1])]
    bias = result()
    assert bias is not None
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_makeM(model, data)
    mujoco.mj_comVel(model, data)
    mujoco.mj_rne(model, data, 0, bias)


def _from_compiled_code() -> Callable[..., Any]:
    from dynid.simulation import native_calls

    return inner(native_calls.mass_and_bias)


_run = _from_compiled_code() if IS_COMPILED else _from_python


@compiled
def mass_and_bias(engine, q, v, M, c):
    """Write the mass matrix M, (nv, nv), and the Coriolis, centrifugal and gravity forces c, (nv,), of a state."""
    column, ratio = engine.column, engine.ratio
    n = len(column)
    for i in range(n):
        engine.qpos[i] = ratio[i] * q[column[i]] + engine.offset[i]
        engine.qvel[i] = ratio[i] * v[column[i]]
    _run(engine.functions, engine.pointers)
    M[:] = 0.0
    c[:] = 0.0
    for i in range(n):
        c[column[i]] += ratio[i] * engine.bias[i]
        first = engine.row_start[i]
        for k in range(first, first + engine.row_count[i]):
            j = engine.row_column[k]
            value = ratio[i] * ratio[j] * engine.M[k]
            M[column[i], column[j]] += value
            if i != j:
                M[column[j], column[i]] += value
