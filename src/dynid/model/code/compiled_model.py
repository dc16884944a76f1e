"""A model as fast functions of Python: built C where a compiler is there, else Numba."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.model.code.build_folder import built_library
from dynid.model.code.c_text import Scalar
from dynid.model.code.code_request import CodeRequest
from dynid.model.code.functions import CodeModel, Function, build_function
from dynid.model.code.tape_machine import program_of, run
from dynid.model.code.template_values import library_files, shared_values

Backend = Literal["c", "numba"]
Call = Callable[..., list[Array]]
"""Takes inputs of shape (samples, elements), gives outputs of that shape."""


class CompiledModel:
    """Gravity, inverse dynamics, matrices and more as fast functions, each of one state or of many.

    Attributes:
        backend: "c" where a compiler built the generated C, "numba" where Numba runs the same operations.
        functions: Names of the functions.
    """

    def __init__(self, request: CodeRequest, backend: Backend | None = None) -> None:
        self._request = request
        calls = None if backend == "numba" else _of_c(request)
        if calls is None and backend == "c":
            raise InvalidRequestError(
                "no compiler of C was found, or it failed; install gcc or clang, or leave the backend out for Numba"
            )
        self.backend: Backend = "numba" if calls is None else "c"
        self._calls = _of_numba(request) if calls is None else calls
        self.functions = request.names

    @staticmethod
    def of(code: CodeModel, functions: tuple[str, ...]) -> CompiledModel:
        """Some functions of a model with numbers, on Numba: ready in milliseconds, and no compiler is needed."""
        return CompiledModel(CodeRequest(code, "model", Scalar.DOUBLE, functions), "numba")

    def __repr__(self) -> str:
        return (
            f"CompiledModel({self._request.code.robot.name!r}, backend {self.backend!r}: {', '.join(self.functions)})"
        )

    def __call__(self, q: Any, v: Any, a: Any) -> Array:
        """The same as `inverse_dynamics`."""
        return self.inverse_dynamics(q, v, a)

    def gravity(self, q: Any) -> Array:
        """Torques that hold the links [N m or N]; shape (nq,) to (nv,), or (samples, nq) to (samples, nv)."""
        return self._one("gravity", q)

    def coriolis(self, q: Any, v: Any) -> Array:
        """Coriolis and centrifugal torques C(q, v) v; shapes as `inverse_dynamics`."""
        return self._one("coriolis", q, v)

    def friction(self, q: Any, v: Any, a: Any = None) -> Array:
        """Torques of all terms but motor inertia; a is zero when None; shapes as `inverse_dynamics`."""
        return self._one("friction", q, v, np.zeros_like(np.asarray(v, dtype=float)) if a is None else a)

    def rigid_inverse_dynamics(self, q: Any, v: Any, a: Any) -> Array:
        """Torques of links and motor inertia; shapes as `inverse_dynamics`."""
        return self._one("rigid_inverse_dynamics", q, v, a)

    def inverse_dynamics(self, q: Any, v: Any, a: Any) -> Array:
        """Torques that a motion needs [N m or N].

        Args:
            q: Positions, shape (nq,) or (samples, nq).
            v: Velocities, shape (nv,) or (samples, nv).
            a: Accelerations, likewise.

        Returns:
            Torques, likewise.
        """
        return self._one("inverse_dynamics", q, v, a)

    def regressor_product(self, q: Any, v: Any, a: Any, b: Any) -> Array:
        """Torques W(q, v, a) b; base parameters b have the shape (base,), or one row per sample."""
        samples = np.shape(q)[:-1]
        return self._one("regressor_product", q, v, a, np.broadcast_to(b, (*samples, np.shape(b)[-1])))

    def mass_matrix(self, q: Any) -> Array:
        """M(q) with motor inertia; shape (nv, nv), or (samples, nv, nv)."""
        return self._square(self._one("mass_matrix", q))

    def coriolis_matrix(self, q: Any, v: Any) -> Array:
        """C(q, v), with the rate C + C' of M; shape (nv, nv), or (samples, nv, nv)."""
        return self._square(self._one("coriolis_matrix", q, v))

    def momentum(self, q: Any, v: Any) -> tuple[Array, Array]:
        """Generalised momentum p = M v, and C' v - g; shapes as `inverse_dynamics`."""
        p, rate = self._outputs("momentum", q, v)
        return p, rate

    def _square(self, flat: Array) -> Array:
        n = self._request.code.robot.nv
        return flat.reshape(*flat.shape[:-1], n, n)

    def _one(self, name: str, *inputs: Any) -> Array:
        return self._outputs(name, *inputs)[0]

    def _outputs(self, name: str, *inputs: Any) -> list[Array]:
        if name not in self._calls:
            reasons = " ".join(self._request.left_out)
            raise UnknownNameError("compiled function", name, self.functions, f" ({reasons})" if reasons else "")
        function, call = self._calls[name]
        arrays = [np.asarray(x, dtype=float) for x in inputs]
        single = arrays[0].ndim == 1
        samples = 1 if single else len(arrays[0])
        for array, (key, size) in zip(arrays, function.inputs, strict=True):
            if array.shape != ((size,) if single else (samples, size)):
                raise ShapeError(key, f"({size},) or (samples, {size}), alike for all", array.shape)
        outputs = call(*(np.ascontiguousarray(array.reshape(samples, -1)) for array in arrays))
        return [output[0] if single else output for output in outputs]


def _of_numba(request: CodeRequest) -> dict[str, tuple[Function, Call]]:
    """The functions on the machine that Numba compiled."""

    def called(function: Function) -> Call:
        program = program_of(function)
        ends = np.cumsum([size for _, size in function.outputs])[:-1]
        return lambda *inputs: np.split(run(program, np.hstack(inputs)), ends, axis=1)

    functions = [build_function(request.code, name) for name in request.names]
    return {function.name: (function, called(function)) for function in functions}


def _of_c(request: CodeRequest) -> dict[str, tuple[Function, Call]] | None:
    """The functions of a library that is built now; None where it cannot be."""
    values, functions = shared_values(request)
    p = request.prefix
    built = built_library(library_files(values), (f"{p}.c", f"{p}_samples.c"))
    return None if built is None else _loaded(built, p, functions)


def _loaded(path: Path, prefix: str, functions: list[Function]) -> dict[str, tuple[Function, Call]] | None:
    try:
        library = ctypes.CDLL(str(path))
    except OSError:
        return None
    return {function.name: (function, _c_call(library, prefix, function)) for function in functions}


def _c_call(library: ctypes.CDLL, prefix: str, function: Function) -> Call:
    raw = getattr(library, f"{prefix}_{function.name}_samples")
    raw.restype = None
    raw.argtypes = [ctypes.c_size_t] + [ctypes.c_void_p] * (len(function.inputs) + len(function.outputs))

    def call(*inputs: Array) -> list[Array]:
        outputs = [np.empty((len(inputs[0]), size)) for _, size in function.outputs]
        raw(len(inputs[0]), *(array.ctypes.data for array in (*inputs, *outputs)))
        return outputs

    return call
