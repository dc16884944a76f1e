"""What the templates of generated files are filled with."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import dynid
from dynid.errors import InvalidRequestError
from dynid.model.code.c_text import LARGEST_FLOAT, Scalar, body, constant, helpers, signature
from dynid.model.code.code_request import CodeRequest, record_of
from dynid.model.code.functions import Function, build_function
from dynid.model.code.names import shown
from dynid.model.code.term_torques import name_of
from dynid.model.terms.nonlinear_friction import REFERENCE_TEMPERATURE
from dynid.robot import CHANNELS, Joint, JointKind

if TYPE_CHECKING:
    from jinja2 import Environment

COMMENT_WIDTH = 100
"""Characters of a line of comment."""

_LARGEST = {Scalar.DOUBLE: float(np.finfo(float).max), Scalar.FLOAT: LARGEST_FLOAT}
"""What stands for infinity."""


@cache
def _environment() -> Environment:
    """Jinja for text that is no HTML: what is put into it are numbers, made identifiers, and `shown` names."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("dynid.model.code", "templates")
    return Environment(loader=loader, undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """A template with values, ending in one line break."""
    return _environment().get_template(template).render(values).rstrip("\n") + "\n"


def library_files(values: Mapping[str, Any]) -> dict[str, str]:
    """The texts of what becomes a library, by name."""
    p = values["p"]
    return {
        f"{p}.h": rendered("model.h.j2", values),
        f"{p}.c": rendered("model.c.j2", values),
        f"{p}_samples.c": rendered("samples.c.j2", values),
    }


def shared_values(request: CodeRequest) -> tuple[dict[str, Any], list[Function]]:
    """What the templates need, and the functions."""
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
        "base_values": _base_values(request) if base else [],
        "base": ", ".join(f"`{name}`" if name == shown(name) else shown(name) for name in base),
        "order": order,
        "joints": [f"{where}: {what}" for where, what in order],
        "warnings": [shown_sentence(line) for line in request.warnings],
        "left_out": [shown_sentence(line) for line in request.left_out],
        "notes": list(request.notes),
        "gravity": "({:g}, {:g}, {:g})".format(*robot.gravity),
        "frames": list(_frames(request)),
        "terms": _terms(request),
        "has_observer": request.has_observer,
        "thresholds": _thresholds(request),
        "helpers": helpers(functions, p),
        "functions": [_function_values(function, request) for function in functions],
    }
    return values, functions


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


def _base_values(request: CodeRequest) -> list[str]:
    """The model's own base parameters as constants."""
    code = request.code
    assert code.base is not None
    return [constant(float(x), request.scalar, "a base parameter") for x in code.base.to_base(code.parameters)]


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
