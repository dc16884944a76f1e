"""The identified robot as files: the user's own with identified numbers, and beside it what the format cannot hold."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, OutputExistsError, UnknownNameError
from dynid.files import is_file, write_bytes, write_text
from dynid.identification.answers import Answer
from dynid.identification.joint_models import JointModel, joint_models
from dynid.identification.not_held import (
    law_beside,
    laws_kept,
    nonlinear_parameters,
    not_in_fields,
    of_law,
    unheld_parameters,
)
from dynid.identification.result import Result
from dynid.identification.simulator_files import DEFAULT_STEP, isaaclab_text, lost_delay, mjlab_text
from dynid.model import DynamicModel, Role, of_joint
from dynid.robot import SIZE, ActuatorForm, Format, Joint, JointDynamics, PositionLaw, Written, write_back

SCHEMA = "dynid-robot-1"
"""What an exported JSON file says of itself."""

TERMS_SCHEMA = "dynid-terms-1"
"""What the file beside a robot says of itself."""

SAME_LINK = 1e-8
"""Links that differ by less than this fraction of their size are the same: a solver's rounding of known ones."""


@dataclass(frozen=True)
class Exported:
    """Files that were written.

    Attributes:
        path: The robot.
        format: Its format.
        edited: Whether it is the user's own file with other numbers.
        beside: The file with what of the model the robot's file does not hold; None where it holds everything.
        left_out: What else neither holds, in words.
        kept: What the file says of joints and the model does not, so that it stays, in words.
        impossible: Bodies of the user's file that were impossible before and still are (see `dynid repair`).
        difference: Largest relative difference between the file's torques and the wanted ones.
        warning: Why the files should not be trusted, as they say themselves; empty where they may be.
    """

    path: Path
    format: Format
    edited: bool
    beside: Path | None = None
    left_out: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    impossible: tuple[str, ...] = ()
    difference: float = 0.0
    warning: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give this as plain data for JSON."""
        beside = None if self.beside is None else str(self.beside)
        return vars(self) | {"path": str(self.path), "format": self.format.value, "beside": beside}


class UntrustedResultError(InvalidRequestError):
    """A result should not be trusted, and was to be written as a robot file.

    Attributes:
        reason: Why it should not be.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"the result should not be trusted ({reason.rstrip('.')}); mend that and identify again, or add --anyway "
            "(in Python: anyway=True) to write the file with a comment that says so"
        )


def export_result(
    result: Result,
    format: Format,  # noqa: A002
    path: Path,
    *,
    overwrite: bool = False,
    anyway: bool = False,
    step: float | None = None,
    actuators: ActuatorForm | None = None,
) -> Exported:
    """Write the identified robot.

    Args:
        result: The result; it must have physical links.
        format: URDF or MJCF: the user's own file where it is of that format, else a new one. Isaac Lab, mjlab: its
            joints as a Python file. JSON, YAML: all numbers.
        path: The file to write. What a robot file cannot hold goes to a file beside it, of the same name with `.yaml`
            added.
        overwrite: Whether existing files may be replaced.
        anyway: Whether a result that should not be trusted is written, too; the file then says why it should not.
        step: Physics step of the simulator [s], for Isaac Lab and mjlab; 5 ms when None.
        actuators: For MJCF. "keep": gains go to position actuators that there are; this is the default. "position":
            motors become `<position>` actuators, and joints without any get one. "general": all become `<general>`
            actuators, which hold torque offsets and errors of encoders, too.

    Raises:
        UntrustedResultError: If the verdict on the result is "no", and it was not to be written anyway.
        InvalidRequestError: If the result has no physical links, or an argument does not fit the format.
        OutputExistsError: If a file exists and may not be replaced.
    """
    _refuse_odd_requests(result, format, path, step, actuators)
    warning = result.verdict.headline if result.verdict.answer is Answer.NO else ""
    if warning and not anyway:
        raise UntrustedResultError(result.verdict.reason)
    joints = joint_models(result)
    if format.is_robot:
        return _export_robot(result, format, path, joints, overwrite, warning, actuators or "keep")
    if format.has_steps and not joints:
        raise InvalidRequestError(f"the robot has no joint that turns or slides, and {format.value} takes no others")
    left_out = not_in_fields(result, format, joints)
    if format.has_steps:
        write = isaaclab_text if format is Format.ISAACLAB else mjlab_text
        step = DEFAULT_STEP if step is None else step
        lost = "" if joints[0].delay is None else lost_delay(joints[0].delay, step)
        left_out = [lost, *left_out] if lost else left_out
        notes = [f"(warning) {warning}", *left_out] if warning else left_out
        text = write(result, joints, step, notes)
    else:
        text = _as_text({**({"warning": warning} if warning else {}), **_everything(result, joints)}, format)
    write_text(path, text, overwrite=overwrite)
    return Exported(path, format, edited=False, left_out=tuple(left_out), warning=warning)


def _refuse_odd_requests(
    result: Result,
    format: Format,  # noqa: A002
    path: Path,
    step: float | None,
    actuators: str | None,
) -> None:
    if result.is_in_amperes:
        raise InvalidRequestError(
            "the parameters are in units of current, because torque constants are not known, and a robot file needs "
            "kg and N m; state drive.torque_constants [N m/A] and identify again"
        )
    if result.physical_values is None:
        raise InvalidRequestError(
            "the result has no physical links, and base parameters alone are no robot; identify again with them "
            "(physical.fit), and look at its findings"
        )
    if (
        not format.is_robot
        and path.suffix.lower() != format.suffix
        and not (format is Format.YAML and path.suffix == ".yml")
    ):
        kind = "Python" if format.has_steps else format.value.upper()
        raise InvalidRequestError(f"'{path}' is to be a file in {kind}; give it a name that ends in {format.suffix}")
    if step is not None and not format.has_steps:
        raise InvalidRequestError(
            f"a physics step is for isaaclab and mjlab, and the format is {format.value}; leave it out"
        )
    if step is not None and not 0.0 < step < 1.0:
        raise InvalidRequestError(f"the physics step is {step} s; expected more than 0 and less than 1, such as 0.005")
    if actuators is not None and actuators not in get_args(ActuatorForm):
        raise UnknownNameError("way to write actuators", actuators, get_args(ActuatorForm))
    if actuators is not None and format is not Format.MJCF:
        raise InvalidRequestError(f"actuators are written to MJCF, and the format is {format.value}; leave them out")
    if actuators in ("position", "general") and result.record.commands is None:
        raise InvalidRequestError(
            "the result has no gains, because torques were measured and not commanded; leave actuators as they are"
        )


def _export_robot(
    result: Result,
    format: Format,  # noqa: A002
    path: Path,
    joints: Sequence[JointModel],
    overwrite: bool,
    warning: str,
    actuators: ActuatorForm,
) -> Exported:
    """Write a robot file, and beside it what it cannot hold."""
    robot, values = result.base.model.robot, result.physical_values
    assert values is not None
    rest = [*unheld_parameters(result, format), *nonlinear_parameters(result)]
    law = law_beside(joints, format)
    beside = path.with_name(f"{path.name}.yaml") if rest or law else None
    written = _both(
        lambda: write_back(
            robot,
            _links(result, values),
            {joint.name: _with_back_emf(result, values, joint) for joint in robot.joints},
            path,
            format="mjcf" if format is Format.MJCF else "urdf",
            overwrite=overwrite,
            warning=warning,
            laws=_laws(result, joints, actuators),
            actuators=actuators,
        ),
        beside,
        _as_yaml(result, path, rest, warning, law, actuators),
        overwrite,
    )
    lost = of_law(joints, format, actuators)
    beside_it = {"motor inertia (armature)", "couplings of joints"} if beside is not None else set()
    return Exported(
        path,
        format,
        written.edited,
        beside,
        (
            *(item for item in written.left_out if item not in beside_it),
            *laws_kept(written),
            *lost,
        ),
        tuple(_kept(result, values)),
        written.impossible,
        written.difference,
        warning,
    )


def format_of(path: Path, format: str | None = None) -> Format:  # noqa: A002
    """The format of a robot's file: as stated, or by its ending.

    Raises:
        UnknownNameError: If there is no such format.
    """
    if format is None and path.suffix.lower() == ".py":
        raise InvalidRequestError(
            f"'{path}' can be a file for Isaac Lab or for mjlab; state isaaclab or mjlab as the format"
        )
    if format is None:
        format = next((each.value for each in Format if each.suffix == path.suffix.lower()), path.suffix)  # noqa: A001
    if format in ("c", "ros2"):
        raise InvalidRequestError("code is a folder: write it with dynid.generate_code(result).write(folder)")
    if format not in list(Format):
        raise UnknownNameError("robot format", format, list(Format))
    return Format(format)


def default_path(result: Result, folder: Path, format: Format) -> Path:  # noqa: A002
    """Where a robot is written when no name is given: in the result's folder, under the robot file's own name."""
    source = result.robot.description.source
    name = source.removeprefix("builtin:") if source.startswith("builtin:") else Path(source).stem
    return folder / f"{name}_identified{f'_{format.value}' if format.has_steps else ''}{format.suffix}"


def _links(result: Result, values: Mapping[str, float]) -> Array:
    """Parameters of links, shape (parameters,); links that were known, and come back from a solver, as they were."""
    robot = result.robot
    found = np.array([values[name] for name in result.model.names[: len(robot.parameters)]]).reshape(-1, SIZE)
    own = robot.parameters.reshape(-1, SIZE)
    mass, inertia = np.abs(own[:, :1]), np.abs(own[:, 4:]).max(axis=1, keepdims=True)
    scales = np.hstack([mass, *[np.sqrt(mass * inertia)] * 3, *[inertia] * (SIZE - 4)])
    same = (np.abs(found - own) <= SAME_LINK * scales).all(axis=1, keepdims=True)
    return np.where(same, own, found).ravel()


def _both(write_robot: Any, beside: Path | None, text: str, overwrite: bool) -> Written:
    """Write the robot and what goes beside it, both or neither."""
    if beside is None:
        return write_robot()
    before = beside.read_bytes() if is_file(beside) else None
    if before is not None and TERMS_SCHEMA.encode() not in before:
        raise OutputExistsError(beside)  # not ours: not even with --force
    write_text(beside, text, overwrite=overwrite)
    try:
        return write_robot()
    except BaseException:
        if before is None:
            beside.unlink(missing_ok=True)
        else:
            write_bytes(beside, before, overwrite=True)
        raise


def _with_back_emf(result: Result, values: Mapping[str, float], joint: Joint) -> JointDynamics:
    """The dynamics of a joint; what a servo's motor loses with speed is damping, in files."""
    found, commands = _dynamics(result.base.model, values, joint), result.record.commands
    if commands is None or commands.back_emf is None or joint.kind.nv != 1 or joint.leader is not None:
        return found
    return replace(found, damping=(found.damping or 0.0) + commands.back_emf[joint.v.start])


def _dynamics(model: DynamicModel, values: Mapping[str, float], joint: Joint) -> JointDynamics:
    """What files can say of a joint, as far as the model has it; a mimic joint's part is in its leader's numbers."""
    owner = joint.name if joint.leader is None else model.robot.joints[joint.leader].name

    def total(*roles: Role) -> float | None:
        """The sum of a joint's parameters of some roles; None where there is none."""
        found = [values[p.name] for p in of_joint(model.parameters, owner, *roles)]
        return sum(found) if found else None

    friction, both = total(Role.COULOMB), total(Role.COULOMB_FORWARD, Role.COULOMB_BACKWARD)
    if both is not None:
        friction = both / 2 + (friction or 0.0)
    found = JointDynamics(total(Role.VISCOUS), friction, total(Role.ARMATURE))
    if joint.leader is None:
        return found
    stated, new = vars(joint.dynamics), vars(found)
    return JointDynamics(**{key: 0.0 if new[key] is not None and stated[key] else None for key in new})


def _laws(result: Result, joints: Sequence[JointModel], actuators: ActuatorForm) -> dict[str, PositionLaw]:
    """The control laws of the joints, with limits that the experiment stated, and with what acts as a constant."""
    commands = result.record.commands
    stated = commands is not None and commands.effort_limit is not None
    laws = {}
    for joint in joints:
        if joint.kp is None or joint.kd is None or joint.kp.value <= 0.0:
            continue
        limit = joint.effort_limit.value if stated and joint.effort_limit else None
        constant = None
        if actuators == "general":
            offset, bias = (0.0 if each is None else each.value for each in (joint.offset, joint.bias))
            constant = -offset - joint.kp.value * bias
        laws[joint.name] = PositionLaw(joint.kp.value, joint.kd.value, limit, constant)
    return laws


def _kept(result: Result, values: Mapping[str, float]) -> list[str]:
    """What the user's file says of joints that the model has no term for."""
    model, kept = result.base.model, []
    for key in ("damping", "friction", "armature"):
        joints = [
            joint.name
            for joint in model.robot.independent_joints
            if getattr(joint.dynamics, key) and getattr(_dynamics(model, values, joint), key) is None
        ]
        kept += [f"{key} of {', '.join(joints)}"] if joints else []
    return kept


def _as_yaml(
    result: Result,
    path: Path,
    rest: list[dict[str, Any]],
    warning: str,
    law: Mapping[str, Any],
    actuators: ActuatorForm,
) -> str:
    about = "Parameters of the identified model that the robot's file has no place for; see dynid's terms."
    if any(parameter.role is Role.COULOMB_FORWARD for parameter in result.base.model.parameters):
        about += " The friction in the robot's file is the mean of fsp and fsn; these two replace it."
    if actuators == "general":
        about += " Offsets and errors of encoders are in the first number of the actuators' biasprm, too."
    content = {
        "schema": TERMS_SCHEMA,
        **({"warning": warning} if warning else {}),
        "robot": result.record.robot,
        "file": path.name,
        "about": about,
        "terms": result.term_names,
        "parameters": rest,
        **({"commands": law} if law else {}),
    }
    return _as_text(content, Format.YAML)


def _as_text(content: Mapping[str, Any], format: Format) -> str:  # noqa: A002
    if format is Format.JSON:
        return json.dumps(content, indent=2, allow_nan=False) + "\n"
    import yaml

    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def _everything(result: Result, joints: Sequence[JointModel]) -> dict[str, Any]:
    physical = result.to_dict()["physical"]
    delay = joints[0].delay if joints else None
    return {
        "schema": SCHEMA,
        "robot": result.record.robot,
        "date": result.record.date,
        "verdict": str(result.verdict),
        "delay": None if delay is None else {**vars(delay), "unit": "s"},
        "joints": [{key: value for key, value in joint.to_dict().items() if key != "delay"} for joint in joints],
        "gravity": result.base.model.robot.gravity.tolist(),
        **{key: physical[key] for key in ("relative_error", "prior", "weight", "total_mass", "links", "terms")},
        "shapes": nonlinear_parameters(result),
    }
