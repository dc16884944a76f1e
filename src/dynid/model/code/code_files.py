"""The files around generated functions: header and source, C++ class, loader for Python, build files, test, notes."""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import dynid
from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.model.code.c_text import LARGEST_FLOAT, Scalar, body, constant, helpers, signature
from dynid.model.code.contact_levels import ContactLevels
from dynid.model.code.functions import CodeModel, Function, build_function
from dynid.model.code.names import shown
from dynid.model.code.stored_samples import check_against_model, stored_states
from dynid.model.code.term_torques import name_of
from dynid.model.terms.nonlinear_friction import REFERENCE_TEMPERATURE
from dynid.robot import CHANNELS, Joint, JointKind

if TYPE_CHECKING:
    from jinja2 import Environment

SCHEMA = "dynid-code-1"
"""What `model.json` beside generated code says of itself."""

COMMENT_WIDTH = 100
"""Characters of a line of comment."""

_LARGEST = {Scalar.DOUBLE: float(np.finfo(float).max), Scalar.FLOAT: LARGEST_FLOAT}
"""What stands for infinity."""

_TOLERANCE = {Scalar.DOUBLE: 1e-10, Scalar.FLOAT: 2e-4}
"""Relative difference that the test beside generated code allows."""


@dataclass(frozen=True, eq=False)
class CodeRequest:
    """What is to be generated of a model.

    Attributes:
        code: The model with its numbers.
        prefix: What names in the code begin with.
        scalar: The type of numbers.
        names: Names of the functions, in the order of `OFFERS`.
        thresholds: Contact thresholds, where they are known.
        warnings: What users of the files must know, in sentences.
        left_out: Functions that are not there, and why, in words.
    """

    code: CodeModel
    prefix: str
    scalar: Scalar
    names: tuple[str, ...]
    thresholds: ContactLevels | None = None
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def has_observer(self) -> bool:
        """Whether there is an observer of the momentum."""
        return {"momentum", "friction"} <= set(self.names)


@cache
def _environment() -> Environment:
    """Jinja for text that is no HTML: what is put into it are numbers, made identifiers, and `shown` names."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("dynid.model.code", "templates")
    return Environment(loader=loader, undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """A template with values, ending in one line break."""
    return _environment().get_template(template).render(values).rstrip("\n") + "\n"


def code_files(request: CodeRequest) -> dict[str, str]:
    """The texts of all files of a folder of C by name.

    Raises:
        InvalidRequestError: If a number does not fit the type, or a term has no form in C.
    """
    values, functions, states = shared_values(request)
    p = request.prefix
    files = {
        f"{p}.h": rendered("model.h.j2", values),
        f"{p}.c": rendered("model.c.j2", values),
        f"{p}_samples.c": rendered("samples.c.j2", values),
        f"{p}.hpp": rendered("model.hpp.j2", values),
        f"{p}.py": rendered("loader.py.j2", values),
        f"test_{p}.c": test_text(request, functions, states, values),
        "CMakeLists.txt": rendered("CMakeLists.txt.j2", values),
        "model.json": values["record"],
    }
    about = {
        f"{p}.h": "all functions, in C99 and C++",
        f"{p}.c": "their code, which needs nothing but the C library",
        f"{p}_samples.c": "loops over samples, for Python",
        f"{p}.hpp": "the same functions for C++, with `std::array`",
        f"{p}.py": "the same functions for Python, with NumPy arrays",
        f"test_{p}.c": "compares the functions with stored samples; exit status 0 where they agree",
        "CMakeLists.txt": "builds the library and the test",
        "model.json": "names of joints and parameters, and all numbers",
    }
    use = f"Build and test: `cmake -B build && cmake --build build && ctest --test-dir build`. Without CMake: `cc -std=c99 -O2 {p}.c test_{p}.c -lm`."  # noqa: E501
    return files | {"README.md": rendered("README.md.j2", values | {"contents": list(about.items()), "use": use})}


def shared_values(request: CodeRequest) -> tuple[dict[str, Any], list[Function], dict[str, Array]]:
    """What the templates need, the functions, and the states of the stored samples."""
    code, robot, p = request.code, request.code.robot, request.prefix
    _require_fit(request)
    functions = [build_function(code, name) for name in request.names]
    record = record_of(request)
    digest = hashlib.sha256(record.encode()).hexdigest()[:16]
    record = record.replace("{\n", f'{{\n  "digest": "{digest}",\n', 1)
    base = () if code.base is None or "regressor_product" not in request.names else code.base.names
    order = [(where, f"{shown(joint.name)}, {_kind(joint)}") for joint in robot.independent_joints
             for where in [_elements(joint)]]  # fmt: skip
    values: dict[str, Any] = {
        "p": p,
        "P": p.upper(),
        "title": f"Dynamics of {shown(robot.name)}",
        "version": dynid.__version__,
        "digest": digest,
        "record": record,
        "scalar": request.scalar.value,
        "numpy_scalar": "float64" if request.scalar is Scalar.DOUBLE else "float32",
        "fabs": f"fabs{request.scalar.suffix}",
        "nq": robot.nq,
        "nv": robot.nv,
        "nb": len(base),
        "base": ", ".join(f"`{name}`" if name == shown(name) else shown(name) for name in base),
        "order": order,
        "joints": [f"{where}: {what}" for where, what in order],
        "warnings": [shown_sentence(line) for line in request.warnings],
        "left_out": [shown_sentence(line) for line in request.left_out],
        "gravity": "({:g}, {:g}, {:g})".format(*robot.gravity),
        "frames": list(_frames(request)),
        "terms": _terms(request),
        "has_observer": request.has_observer,
        "thresholds": _thresholds(request),
        "helpers": helpers(functions, p),
        "functions": [_function_values(function, request) for function in functions],
    }
    return values, functions, stored_states(code)


def _function_values(function: Function, request: CodeRequest) -> dict[str, Any]:
    kinds = {"q": "Positions", "b": "BaseParameters"}
    (output, _), *_ = function.outputs
    return {
        "name": function.name,
        "about": function.about,
        "comment": textwrap.wrap(function.about, COMMENT_WIDTH),
        "inputs": function.inputs,
        "outputs": function.outputs,
        "signature": signature(function, request.prefix),
        "lines": body(function, request.prefix, request.scalar),
        "cpp_inputs": ", ".join(f"const {kinds.get(name, 'Velocities')} &{name}" for name, _ in function.inputs),
        "cpp_result": "Matrix" if output in ("M", "C") else "Velocities",
    }


def test_text(
    request: CodeRequest, functions: Sequence[Function], states: Mapping[str, Array], values: Mapping[str, Any]
) -> str:
    """The test program with its stored samples."""
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


def _require_fit(request: CodeRequest) -> None:
    """Refuse parameters that are no numbers of the type, by name."""
    largest = _LARGEST[request.scalar]
    for parameter, value in zip(request.code.model.parameters, request.code.parameters.tolist(), strict=True):
        if not abs(value) <= largest:
            advice = "use double" if request.scalar is Scalar.FLOAT and np.isfinite(value) else "look at that estimate"
            raise InvalidRequestError(
                f"the parameter {parameter.name} of '{parameter.owner}' is {value:g}, which does not fit "
                f"{request.scalar}; {advice}"
            )


def record_of(request: CodeRequest) -> str:
    """Everything that the code is made of, as JSON in ASCII."""
    code, model = request.code, request.code.model
    content = {
        "schema": SCHEMA,
        "version": dynid.__version__,
        "robot": model.robot.name,
        "prefix": request.prefix,
        "scalar": request.scalar.value,
        "joints": [
            {
                "name": joint.name,
                "kind": joint.kind.value,
                "positions": list(range(joint.q.start, joint.q.stop)),
                "velocities": list(range(joint.v.start, joint.v.stop)),
                "leader": None if joint.leader is None else model.robot.joints[joint.leader].name,
                "ratio": joint.ratio,
                "offset": joint.offset,
            }
            for joint in model.robot.joints
        ],
        "kinematics": model.robot.kinematics(),
        "gravity": model.robot.gravity.tolist(),
        "terms": [name_of(term) for term in model.terms],
        "parameters": dict(zip(model.names, code.parameters.tolist(), strict=True)),
        "nonlinear": {parameter.name: parameter.value for parameter in model.nonlinear},
        "base_parameters": [] if code.base is None else list(code.base.expressions),
        "functions": list(request.names),
        "warnings": list(request.warnings),
        "left_out": list(request.left_out),
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _elements(joint: Joint) -> str:
    q, v = joint.q, joint.v
    if joint.kind.nv == 1:
        return f"q[{q.start}], v[{v.start}], tau[{v.start}]"
    return f"q[{q.start}] to q[{q.stop - 1}], v[{v.start}] to v[{v.stop - 1}] and tau alike"


def _kind(joint: Joint) -> str:
    if joint.kind is JointKind.PRISMATIC:
        return "prismatic [m, m/s, N]"
    if joint.kind is JointKind.SPHERICAL:
        return "spherical: quaternion (x, y, z, w) [1], angular velocity in its own frame [rad/s], N m"
    if joint.kind is JointKind.FREE_FLYER:
        return f"free: position [m] and quaternion (x, y, z, w) [1], velocities in its own frame [m/s, rad/s], {' '.join(CHANNELS)}"  # noqa: E501
    return f"{joint.kind.value} [rad, rad/s, N m]"


def _frames(request: CodeRequest) -> Iterator[str]:
    for joint in request.code.robot.joints:
        if joint.leader is not None:
            leader = request.code.robot.joints[joint.leader]
            moves = f"{joint.ratio:g} times its position plus {joint.offset:g}"
            yield f"{shown(joint.name)} follows {shown(leader.name)}: {moves}."


def _terms(request: CodeRequest) -> str:
    names = [shown(name_of(term)) for term in request.code.model.terms]
    if not names:
        return "None: the links alone."
    warm = any(term.needs_temperature for term in request.code.model.terms)
    note = (
        f" Friction that depends on temperature is that at {REFERENCE_TEMPERATURE:g} degrees Celsius." if warm else ""
    )
    return ", ".join(names) + "." + note


def shown_sentence(text: str) -> str:
    """A sentence of ours that may hold names, as it may stand in any comment."""
    return " ".join(shown(word) for word in text.split())


def _thresholds(request: CodeRequest) -> dict[str, Any] | None:
    """Contact thresholds for templates.

    Raises:
        InvalidRequestError: If there is no observer for them.
    """
    stated = request.thresholds
    if stated is None:
        return None
    if not request.has_observer:
        raise InvalidRequestError("contact thresholds need the observer; leave functions out, so that all are written")
    columns = stated.columns(request.code.robot.nv)
    rows = {
        name: ", ".join(
            constant(min(x, _LARGEST[request.scalar]), request.scalar, f"the contact levels' {name}") for x in column
        )
        for name, column in columns.items()
    }
    return {"rows": rows, "about": [shown_sentence(line) for line in stated.about]}
