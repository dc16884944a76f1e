"""What is to be generated of a model, and what the files say of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import dynid
from dynid.model.code.c_text import Scalar
from dynid.model.code.contact_levels import ContactLevels
from dynid.model.code.functions import CodeModel
from dynid.model.code.term_torques import name_of

SCHEMA = "dynid-code-1"
"""What `model.json` beside generated code says of itself."""

RECORD_FILE = "model.json"
"""The file beside generated code with everything that it is made of."""


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
        notes: What lies between the robot's joints and signals of its drives: sentences of numbers, without names.
    """

    code: CodeModel
    prefix: str
    scalar: Scalar
    names: tuple[str, ...]
    thresholds: ContactLevels | None = None
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def has_observer(self) -> bool:
        """Whether there is an observer of the momentum."""
        return {"momentum", "friction"} <= set(self.names)

    @property
    def observer_names(self) -> tuple[str, ...]:
        """Functions of the observer, which have a state that the caller keeps."""
        contact = () if self.thresholds is None else ("contact_thresholds", "contact")
        return ("observer_reset", "observer_step", *contact) if self.has_observer else ()


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
        "notes": list(request.notes),
        "thresholds": None if request.thresholds is None else request.thresholds.to_dict(),
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def recorded(files: Mapping[str, str], record: str) -> dict[str, str]:
    """Files with a record of what they are made of, which lists them all."""
    names = json.dumps([*sorted(files), RECORD_FILE])
    return {**files, RECORD_FILE: record.replace("{\n", f'{{\n  "files": {names},\n', 1)}
