"""Calls of MuJoCo's C functions at their addresses, from compiled code."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numba import types
from numba.extending import intrinsic

STEPS = ("mj_kinematics", "mj_comPos", "mj_makeM", "mj_comVel", "mj_rne")
"""What MuJoCo does for a mass matrix and bias forces."""


@cache
def addresses() -> np.ndarray:
    """Addresses of the functions of `STEPS` in the library that MuJoCo's Python package has loaded, shape (5,)."""
    folder = Path(mujoco.__file__).parent
    pattern = {"win32": "mujoco.dll", "darwin": "libmujoco*.dylib"}.get(sys.platform, "libmujoco.so*")
    library = ctypes.CDLL(str(next(folder.glob(pattern))))
    return np.array([ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in STEPS], dtype=np.int64)


@intrinsic
def _call(_typing, _address, _model, _data):
    """Call `void f(mjModel*, mjData*)` at an address."""
    return types.void(types.int64, types.int64, types.int64), _generate


@intrinsic
def _call_rne(_typing, _address, _model, _data, _with_acceleration, _result):
    """Call `void mj_rne(mjModel*, mjData*, int, mjtNum*)` at an address."""
    return types.void(types.int64, types.int64, types.int64, types.int32, types.int64), _generate


def _generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    """LLVM code of a call; pointers are passed as 64-bit integers, as all our platforms do."""
    from llvmlite import ir

    address, *others = arguments
    kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in others])
    builder.call(builder.inttoptr(address, kind.as_pointer()), others)
    return context.get_dummy_value()


def mass_and_bias(functions, pointers):
    """Let MuJoCo find mass matrix and bias forces; pointers to the model, the data and the result."""
    for k in range(4):
        _call(functions[k], pointers[0], pointers[1])  # pyright: ignore[reportCallIssue]
    _call_rne(functions[4], pointers[0], pointers[1], np.int32(0), pointers[2])  # pyright: ignore[reportCallIssue]
