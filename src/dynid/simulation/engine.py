"""The bridge to MuJoCo: mass matrix and bias forces of a state, from compiled code or from Python.

MuJoCo's own C functions are called at their addresses, so a compiled loop uses them without going through Python. With
`DYNID_NO_COMPILE` set, the same functions run as plain Python on MuJoCo's bindings: some hundred times slower, and the
same numbers.
"""

import ctypes
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from dynid.arrays import Array
from dynid.simulation.compilation import IS_COMPILED, compiled, inner
from dynid.simulation.plant import Plant

STEPS = ("mj_kinematics", "mj_comPos", "mj_makeM", "mj_comVel", "mj_rne")
"""What MuJoCo does for a mass matrix and bias forces."""

SPRING_STEPS = ("mj_kinematics", "mj_comPos", "mj_makeM", "mj_tendon", "mj_comVel", "mj_passive", "mj_rne")
"""The same where springs act between links."""


class Engine(NamedTuple):
    """A plant as compiled code takes it: addresses, views of MuJoCo's memory, and how its coordinates are ours.

    Attributes:
        functions: Addresses of MuJoCo's functions.
        pointers: Addresses of the model, of the data and of `bias`.
        qpos: MuJoCo's positions, shape (tree,).
        qvel: MuJoCo's velocities, shape (tree,).
        bias: MuJoCo's Coriolis, centrifugal and gravity forces, shape (tree,).
        passive: MuJoCo's forces of springs, shape (tree,).
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
    passive: Array
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
        functions=_addresses(SPRING_STEPS if plant.springs else STEPS),
        pointers=pointers,
        qpos=data.qpos,
        qvel=data.qvel,
        bias=bias,
        passive=data.qfrc_passive,
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


@cache
def _addresses(steps: tuple[str, ...]) -> np.ndarray:
    """Addresses of these functions in the library that MuJoCo's Python package has loaded, shape (steps,)."""
    if not IS_COMPILED:
        return np.zeros(len(steps), dtype=np.int64)
    folder = Path(mujoco.__file__).parent
    pattern = {"win32": "mujoco.dll", "darwin": "libmujoco*.dylib"}.get(sys.platform, "libmujoco.so*")
    library = ctypes.CDLL(str(next(folder.glob(pattern))))
    return np.array([ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in steps], dtype=np.int64)


def _from_python(functions: np.ndarray, pointers: np.ndarray) -> None:
    model, data, result = _ALIVE[int(pointers[1])]
    bias = result()
    assert bias is not None
    for name in (STEPS if len(functions) == len(STEPS) else SPRING_STEPS)[:-1]:
        getattr(mujoco, name)(model, data)
    mujoco.mj_rne(model, data, 0, bias)


def _generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    """LLVM code of a call at an address; pointers are passed as 64-bit integers, as all our platforms do."""
    from llvmlite import ir

    address, *others = arguments
    kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in others])
    builder.call(builder.inttoptr(address, kind.as_pointer()), others)
    return context.get_dummy_value()


if IS_COMPILED:  # at the top level, not in a function: Numba's cache takes no closures
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def _call(_typing, _address, _model, _data):
        """Call `void f(mjModel*, mjData*)` at an address."""
        return types.void(types.int64, types.int64, types.int64), _generate

    @intrinsic
    def _call_rne(_typing, _address, _model, _data, _with_acceleration, _result):
        """Call `void mj_rne(mjModel*, mjData*, int, mjtNum*)` at an address."""
        return types.void(types.int64, types.int64, types.int64, types.int32, types.int64), _generate

    @inner
    def _run(functions, pointers):
        """Let MuJoCo find mass matrix and bias forces; pointers to the model, the data and the result."""
        last = len(functions) - 1
        for k in range(last):
            _call(functions[k], pointers[0], pointers[1])  # pyright: ignore[reportCallIssue]
        _call_rne(functions[last], pointers[0], pointers[1], np.int32(0), pointers[2])  # pyright: ignore[reportCallIssue]

else:
    _run = _from_python


@compiled
def mass_and_bias(engine, q, v, M, c):
    """Write the mass matrix M, (nv, nv), and the bias forces c, (nv,), of a state.

    These are Coriolis, centrifugal and gravity forces, and those of springs between links.
    """
    column, ratio = engine.column, engine.ratio
    n = len(column)
    for i in range(n):
        engine.qpos[i] = ratio[i] * q[column[i]] + engine.offset[i]
        engine.qvel[i] = ratio[i] * v[column[i]]
    _run(engine.functions, engine.pointers)
    M[:] = 0.0
    c[:] = 0.0
    for i in range(n):
        c[column[i]] += ratio[i] * (engine.bias[i] - engine.passive[i])
        first = engine.row_start[i]
        for k in range(first, first + engine.row_count[i]):
            j = engine.row_column[k]
            value = ratio[i] * ratio[j] * engine.M[k]
            M[column[i], column[j]] += value
            if i != j:
                M[column[j], column[i]] += value


def mass_and_gravity(instance: Instance, q: Array) -> tuple[Array, Array]:
    """The mass matrix, shape (nv, nv), and the torques of gravity, shape (nv,), at a posture."""
    n = len(q)
    M, c = np.zeros((n, n)), np.zeros(n)
    mass_and_bias(instance.engine, np.array(q), np.zeros(n), M, c)
    return M, c
