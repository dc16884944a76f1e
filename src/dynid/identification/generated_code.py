"""Code for controllers: of a result, of a model, or of a robot file, in memory and as a folder."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dynid.errors import InvalidRequestError, OutputExistsError, UnknownNameError
from dynid.files import is_file, replace_folder, require_replaceable
from dynid.identification.answers import Answer
from dynid.identification.code_drive import drive_notes
from dynid.identification.code_thresholds import StatedThresholds, contact_levels
from dynid.identification.result import Result
from dynid.identification.robot_output import UntrustedResultError
from dynid.model import DynamicModel, Observed, Term, find_base_parameters
from dynid.model.code.c_text import Scalar
from dynid.model.code.code_files import code_files
from dynid.model.code.code_request import RECORD_FILE, SCHEMA, CodeRequest
from dynid.model.code.compiled_model import Backend, CompiledModel
from dynid.model.code.functions import OFFERS, CodeModel
from dynid.model.code.names import checked_identifier, identifier
from dynid.model.code.ros2_files import ros2_files
from dynid.model.terms import TERMS
from dynid.robot import Robot, inertia

TARGETS = ("c", "ros2")
"""What code can be generated for."""

Target = Literal["c", "ros2"]
Source = Result | DynamicModel | Robot | str | Path

BUILT = {"build", "install", "log", "__pycache__"}
"""Folders in which build tools and Python leave what they make."""

_STATED = {"viscous": "damping", "coulomb": "friction", "armature": "armature"}
"""Terms that a robot file may state, each with the attribute of its joints."""

MASS_MATRIX_OF_BASE = (
    "mass_matrix: base parameters alone give one that need not be positive definite, and a controller that "
    "inverts it may diverge; take the physically consistent links (leave --parameters base out, or identify with "
    "physical.fit)"
)


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedCode:
    """Generated files, in memory.

    Attributes:
        files: Texts by path in the folder.
        target: What they are for.
        name: What names in them begin with.
        functions: Names of the functions.
        left_out: Functions that are not there, and why.
        warnings: What users of the files must know; they say so themselves.
    """

    files: Mapping[str, str]
    target: Target
    name: str
    functions: tuple[str, ...]
    left_out: tuple[str, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        size = sum(map(len, self.files.values())) / 1e3
        return f"GeneratedCode({self.name!r}, {self.target}: {len(self.files)} files, {size:.0f} kB)"

    def write(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the folder, whole or not at all.

        Args:
            folder: A new folder, or one with generated code that may be replaced.
            overwrite: Whether it may be.

        Raises:
            OutputExistsError: If the folder is there and may not be replaced.
            ForeignOutputError: If it holds something else.
        """
        folder = Path(folder)
        if folder.exists() and not overwrite:
            raise OutputExistsError(folder)
        if folder.exists():
            require_replaceable(folder, _written_names(folder), BUILT)

        def fill(made: Path) -> None:
            for name, text in self.files.items():
                path = made / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="ascii", newline="\n")

        replace_folder(folder, fill)
        return folder

    def to_dict(self) -> dict[str, Any]:
        """What was generated, as plain data for JSON, without the texts."""
        return {
            "target": self.target,
            "name": self.name,
            "files": {name: len(text) for name, text in self.files.items()},
            "functions": list(self.functions),
            "left_out": list(self.left_out),
            "warnings": list(self.warnings),
        }


def generate_code(
    source: Source,
    target: Target = "c",
    *,
    scalar: str = "double",
    name: str | None = None,
    functions: Sequence[str] | None = None,
    parameters: Literal["physical", "base"] | None = None,
    terms: str | Sequence[str | Term] | None = None,
    thresholds: StatedThresholds | None = None,
    anyway: bool = False,
) -> GeneratedCode:
    """Generate code of a model for controllers.

    Args:
        source: A result, a model or a robot; or the folder of a result, or a robot's file.
        target: "c": C99 with a C++ class, a loader for Python, build files and a test. "ros2": a ROS 2 package with a
            plugin of `inverse_dynamics_solver`.
        scalar: "double" or "float".
        name: What names in the code begin with; made of the robot's name when None.
        functions: Names of functions, as in `dynid.model.code.functions.OFFERS`; all that can be when None.
        parameters: Of a result: "physical" for its physically consistent links, "base" for its base parameters;
            physical where there are such links when None.
        terms: Of a robot: its friction and actuator terms, at the file's values; those that the file states when None.
        thresholds: Contact thresholds of the momentum observer, for the header: those that `contact_thresholds` found,
            the file that holds them, or numbers.
        anyway: Whether code is generated of a result, too, whose verdict is "no"; the files then say why.

    Raises:
        UntrustedResultError: If the verdict on the result is "no", and it was not to be generated anyway.
        InvalidRequestError: If what was asked for does not go with the model, or a number does not fit the type.
        UnknownNameError: If a name is none of those above.
    """
    if target not in TARGETS:
        raise UnknownNameError("target of generated code", target, TARGETS)
    request = code_request(
        source,
        scalar=scalar,
        name=name,
        functions=functions,
        parameters=parameters,
        terms=terms,
        thresholds=thresholds,
        anyway=anyway,
    )
    files = code_files(request) if target == "c" else ros2_files(request)
    names = (*request.names, *request.observer_names)
    return GeneratedCode(files, target, request.prefix, names, request.left_out, request.warnings)


def code_request(
    source: Source,
    *,
    scalar: str = "double",
    name: str | None = None,
    functions: Sequence[str] | None = None,
    parameters: str | None = None,
    terms: str | Sequence[str | Term] | None = None,
    thresholds: StatedThresholds | None = None,
    anyway: bool = False,
) -> CodeRequest:
    """What is to be generated; arguments as `generate_code`."""
    if scalar not in list(Scalar):
        raise UnknownNameError("type of numbers", scalar, list(Scalar))
    source, notes = _loaded(source), ()
    if isinstance(source, Result):
        if terms is not None:
            raise InvalidRequestError("the result has terms of its own; leave terms out")
        code, warnings = _of_result(source, parameters, anyway=anyway)
        notes = drive_notes(source)
    else:
        if parameters is not None:
            raise InvalidRequestError("only results have physical links beside base parameters; leave parameters out")
        code, warnings = _of_model(source, terms)
    names, left_out = _chosen(code, functions)
    levels = contact_levels(thresholds, code)
    prefix = identifier(code.robot.name) if name is None else checked_identifier(name)
    return CodeRequest(code, prefix, Scalar(scalar), names, levels, warnings, left_out, notes)


def compile_model(
    source: Source,
    *,
    backend: Backend | None = None,
    parameters: Literal["physical", "base"] | None = None,
    terms: str | Sequence[str | Term] | None = None,
    functions: Sequence[str] | None = None,
) -> CompiledModel:
    """The functions of a result, a model or a robot, ready to be called.

    Args:
        source: As `generate_code`.
        backend: "c" or "numba"; "c" where a compiler is there, else "numba", when None.
        parameters: As `generate_code`.
        terms: As `generate_code`.
        functions: As `generate_code`.
    """
    if backend not in (None, "c", "numba"):
        raise UnknownNameError("backend", backend, ("c", "numba"))
    request = code_request(source, parameters=parameters, terms=terms, functions=functions, anyway=True)
    return CompiledModel(request, backend)


def _loaded(source: Source) -> Result | DynamicModel | Robot:
    if not isinstance(source, str | Path):
        return source
    import dynid

    return dynid.load_result(source) if Path(source).is_dir() else dynid.load_robot(source)


def _of_result(result: Result, parameters: str | None, *, anyway: bool) -> tuple[CodeModel, tuple[str, ...]]:
    """The model of a result with its numbers, and warnings."""
    if parameters not in (None, "physical", "base"):
        raise UnknownNameError("kind of parameters", parameters, ("physical", "base"))
    if result.is_in_amperes:
        raise InvalidRequestError(
            "the parameters are in units of current, because torque constants are not known, and controllers need "
            "torques; state drive.torque_constants [N m/A] and identify again"
        )
    bad = result.verdict.answer is Answer.NO
    if bad and not anyway:
        raise UntrustedResultError(result.verdict.reason)
    physical = parameters == "physical" or (parameters is None and result.physical is not None)
    model, observes_torques = result.model, result.model.observed == Observed.TORQUES
    if not physical and not observes_torques:
        raise InvalidRequestError(
            f"base parameters {model.observed.text} do not determine the torques of all motions; identify with "
            "physically consistent links (physical.fit)"
        )
    p = result.standard_parameters(physical=physical)
    plain = model if observes_torques else DynamicModel(model.robot, model.terms)
    code = CodeModel(plain, p, result.base if observes_torques else None, physical)
    return code, (result.verdict.headline,) if bad else ()


def _of_model(
    source: DynamicModel | Robot, terms: str | Sequence[str | Term] | None
) -> tuple[CodeModel, tuple[str, ...]]:
    """The model of a robot at the file's numbers, and warnings."""
    if isinstance(source, DynamicModel):
        if terms is not None:
            raise InvalidRequestError("the model has terms of its own; leave terms out")
        model = DynamicModel(source.robot, source.terms)
    else:
        model = DynamicModel(source, _stated_terms(source) if terms is None else terms)
    robot = model.robot
    unknown = next((robot.links[i].name for i in robot.solid_links if robot.links[i].has_unknown_mass), None)
    if unknown is not None:
        raise InvalidRequestError(
            f"the file of '{robot.name}' does not state the inertia of '{unknown}'; identify the robot and export the "
            "result, or complete the file"
        )
    odd = [robot.links[i].name for i in robot.solid_links if inertia.violations(robot.links[i].parameters)]
    warnings = () if not odd else (
        f"The file's links {', '.join(odd)} are physically inconsistent (see dynid repair): the mass matrix need not "
        "be positive definite.",
    )  # fmt: skip
    return CodeModel(model, np.nan_to_num(model.reference), find_base_parameters(model)), warnings


def _stated_terms(robot: Robot) -> list[Term]:
    """The terms of which a robot's file states values, on the joints that have one."""
    found: list[Term] = []
    for term, attribute in _STATED.items():
        joints = [joint.name for joint in robot.axes if getattr(joint.dynamics, attribute)]
        if joints:
            found.append(TERMS[term](joints))
    return found


def _chosen(code: CodeModel, functions: Sequence[str] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the functions that are generated, and why others are not."""
    reasons = {}
    if not code.has_links:
        reasons["mass_matrix"] = MASS_MATRIX_OF_BASE
    if code.base is None:
        reasons["regressor_product"] = "regressor_product: the base parameters are not those of joint torques"
    unknown = next((name for name in functions or () if name not in OFFERS), None)
    if unknown is not None:
        raise UnknownNameError("function of generated code", unknown, OFFERS)
    refused = next((reasons[name] for name in functions or () if name in reasons), None)
    if refused is not None:
        raise InvalidRequestError(f"this result has no {refused}")
    names = tuple(name for name in OFFERS if name not in reasons and (functions is None or name in functions))
    if not names:
        raise InvalidRequestError(f"no function is left to generate; name some of {', '.join(OFFERS)}")
    return names, tuple(reasons.values())


def _written_names(folder: Path) -> Collection[str] | None:
    """Names of the files that were generated into a folder; None where it holds no generated code."""
    path = folder / RECORD_FILE
    try:
        record = json.loads(path.read_bytes()) if is_file(path) else {}
        names = record["files"] if record.get("schema") == SCHEMA else None
        return names if isinstance(names, list) else None
    except (OSError, ValueError, AttributeError, KeyError, RecursionError):
        return None
