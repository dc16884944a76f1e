"""The files of a folder of C: header and source, C++ class, loader for Python, build files, test, notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.model.code.c_text import Scalar, constant
from dynid.model.code.code_request import RECORD_FILE, CodeRequest, recorded
from dynid.model.code.functions import Function
from dynid.model.code.stored_samples import check_against_model, stored_states
from dynid.model.code.template_values import library_files, rendered, shared_values

_TOLERANCE = {Scalar.DOUBLE: 1e-10, Scalar.FLOAT: 2e-4}
"""Relative difference that the test beside generated code allows."""


def code_files(request: CodeRequest) -> dict[str, str]:
    """The texts of all files of a folder of C by name.

    Raises:
        InvalidRequestError: If a number does not fit the type, or a term has no form in C.
    """
    values, functions = shared_values(request)
    p = request.prefix
    files = {
        **library_files(values),
        f"{p}.hpp": rendered("model.hpp.j2", values),
        f"{p}.py": rendered("loader.py.j2", values),
        f"test_{p}.c": test_text(request, functions, values),
        "CMakeLists.txt": rendered("CMakeLists.txt.j2", values),
    }
    about = {
        f"{p}.h": "all functions, in C99 and C++",
        f"{p}.c": "their code, which needs nothing but the C library",
        f"{p}_samples.c": "loops over samples, for Python",
        f"{p}.hpp": "the same functions for C++, with `std::array`",
        f"{p}.py": "the same functions for Python, with NumPy arrays",
        f"test_{p}.c": "compares the functions with stored samples; exit status 0 where they agree",
        "CMakeLists.txt": "builds the library and the test",
        RECORD_FILE: "names of joints and parameters, and all numbers",
    }
    use = (
        "Build and test: `cmake -B build && cmake --build build && ctest --test-dir build`.\n"
        f"Without CMake: `cc -std=c99 -O2 {p}.c test_{p}.c -lm`."
    )
    files["README.md"] = rendered("README.md.j2", values | {"contents": list(about.items()), "use": use})
    return recorded(files, values["record"])


def test_text(request: CodeRequest, functions: Sequence[Function], values: Mapping[str, Any]) -> str:
    """The test program with its stored samples."""
    states = stored_states(request.code)
    wanted = check_against_model(request.code, functions, states)
    needed = {name for function in functions for name, _ in function.inputs}
    arrays = [
        (f"given_{name}", array.shape[1], _rows(array, request.scalar))
        for name, array in states.items()
        if name in needed
    ]
    checks = []
    for function in functions:
        compared = [
            (name, size, expected)
            for (name, size), expected in zip(function.outputs, wanted[function.name], strict=True)
            if expected is not None
        ]
        arrays += [(f"{function.name}_{name}", size, _rows(each, request.scalar)) for name, size, each in compared]
        checks.append(
            {
                "name": function.name,
                "inputs": function.inputs,
                "outputs": function.outputs,
                "compared": [(name, size) for name, size, _ in compared],
            }
        )
    has_observer = request.has_observer and "gravity" in request.names
    more = {"arrays": arrays, "checks": checks, "count": len(states["q"]), "tolerance": _TOLERANCE[request.scalar]}
    # The largest torque that cancels in the residual: in float, seven digits of it.
    size = max(1.0, *(float(np.abs(x).max()) for x in (wanted["gravity"][0], wanted["momentum"][0]) if x is not None))
    scale = f"{size * (1e6 if request.scalar is Scalar.DOUBLE else 10.0):.3g}"
    return rendered("test.c.j2", {**values, **more, "has_observer": has_observer, "observer_size": scale})


def _rows(array: Array, scalar: Scalar) -> list[str]:
    return [", ".join(constant(float(f"{x:.12g}"), scalar, "a stored sample") for x in row) for row in array]
