"""What files for robots and simulators have no place for: as data for a file beside them, and in words."""

from collections.abc import Sequence
from typing import Any

from dynid.identification.joint_models import JointModel
from dynid.identification.result import Result
from dynid.model import Role
from dynid.robot import ActuatorForm, Format, Written


def not_in_fields(result: Result, format: Format, joints: Sequence[JointModel]) -> list[str]:  # noqa: A002
    """What a file for a simulator has no field for, in words; JSON and YAML have everything."""
    if not format.has_steps:
        return []
    rows = [*unheld_parameters(result, format), *nonlinear_parameters(result)]
    roles = {parameter.name: parameter.role for parameter in result.base.model.parameters}
    offsets = [row for row in rows if roles.get(row["name"]) is Role.OFFSET]
    others = [row for row in rows if row not in offsets]
    found = of_law(joints, format)
    if any(row["value"] for row in offsets):
        shift = "; add COMMAND_SHIFT to commanded positions" if joints[0].kp is not None else ""
        found.append(f"constant torques ({_listed([row['name'] for row in offsets])}){shift}")
    symbols: dict[str, list[str]] = {}
    for row in others:
        value = f"{row['value']:.4g} {row['unit']} ({row['owner']})"
        symbols.setdefault(row["name"].rstrip("0123456789"), []).append(value)
    found += [f"{symbol}: {_listed(values)}" for symbol, values in symbols.items()]
    directions = [p for p in result.base.model.parameters if p.role is Role.COULOMB_FORWARD]
    found += ["friction of both directions: the file has the mean"] if directions else []
    negative = [j.name for j in joints for e in (j.armature, j.viscous, j.coulomb) if e is not None and e.value < 0.0]
    found += [f"negative values ({_listed(negative)}): the file has zero"] if negative else []
    commands = result.record.commands
    if commands is not None:
        unsure = [row.name for row in commands.parameters if row.state in ("undetermined", "bound")]
        found += [f"that the logs do not determine {_listed(unsure)}"] if unsure else []
        found += ["that torques are held between samples of the law"] if commands.law == "sampled" else []
    if commands is None or result.task.control.links == "prior":
        found.append("inertias of links: export urdf or mjcf, too")
    followers = [joint.name for joint in result.robot.joints if joint.leader is not None]
    if followers:
        found.append(f"followers ({_listed(followers)}): give them zero, their part is in their leaders' values")
    return found


def unheld_parameters(result: Result, format: Format) -> list[dict[str, Any]]:  # noqa: A002
    """The terms' parameters that a format has no place for."""
    held = {Role.VISCOUS, Role.COULOMB} | (set() if format is Format.URDF else {Role.ARMATURE})
    held |= {Role.STRIBECK} if format is Format.ISAACLAB else set()
    names = {parameter.name for parameter in result.base.model.parameters if parameter.role in held}
    physical = result.physical
    return [] if physical is None else [row.model_dump() for row in physical.terms if row.name not in names]


def nonlinear_parameters(result: Result) -> list[dict[str, Any]]:
    """Nonlinear parameters, as the identified model has them."""
    return [
        {
            "name": row.name,
            "value": row.used,
            "std": row.std,
            "unit": row.unit,
            "owner": row.owner,
            "source": row.source,
        }
        for row in result.nonlinear
    ]


def laws_kept(written: Written) -> list[str]:
    """Why gains have no place in a robot file, in words."""
    words = {
        "motor": "driven by motors (--actuators position turns these into position actuators)",
        "none": "no actuator (--actuators position adds position actuators)",
        "several": "more than one actuator each",
        "other": "driven by neither motors nor position actuators",
        "elsewhere": "their actuators stand in another file",
    }
    return [f"gains of {_listed(names)}: {words[reason]}" for reason, names in written.laws_kept.items()]


def law_beside(joints: Sequence[JointModel], format: Format) -> dict[str, Any]:  # noqa: A002
    """What a robot file does not hold of a control law: its delay, errors of encoders, and in URDF its gains."""
    keys = ("bias", "kp", "kd") if format is Format.URDF else ("bias",)
    plain = [joint.to_dict() for joint in joints]
    rows = [{"name": row["name"]} | {key: row[key] for key in keys if row[key]} for row in plain]
    delay = plain[0]["delay"] if plain else None
    return ({"delay": delay} if delay else {}) | ({"joints": rows} if any(len(row) > 1 for row in rows) else {})


def of_law(
    joints: Sequence[JointModel],
    format: Format,  # noqa: A002
    actuators: ActuatorForm = "keep",
) -> list[str]:
    """What a file does not hold of a control law, in words."""
    delay, biased = joints[0].delay if joints else None, [joint for joint in joints if joint.bias is not None]
    found = []
    if delay is not None and not format.has_steps:
        hint = " (MuJoCo 4 has `delay` and `nsample` of actuators)" if format is Format.MJCF else ""
        found.append(f"the delay of commands, {1e3 * delay.value:.4g} ms{hint}")
    if biased and actuators != "general":
        largest = max(biased, key=lambda joint: abs(joint.bias.value) if joint.bias else 0.0)
        size = abs(largest.bias.value) if largest.bias else 0.0
        general = "; --actuators general holds them" if format is Format.MJCF else ""
        advice = "; add COMMAND_SHIFT to commanded positions" if format.has_steps else general
        found.append(f"errors of encoders, up to {size:.3g} {largest.unit('bias')} ({largest.name}){advice}")
    has_offset = any(joint.offset is not None and joint.offset.value for joint in joints)
    if format is Format.MJCF and actuators != "general" and delay is not None and has_offset:
        found.append("torque offsets, which are in the file beside; --actuators general holds them")
    if format is Format.URDF and any(joint.kp is not None for joint in joints):
        found.append("gains")
    return found


def _listed(names: Sequence[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
