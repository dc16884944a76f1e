"""Transmissions in robot files: `<transmission>` of URDF (ros_control), and actuators on fixed tendons of MJCF.

Velocities of actuators over those of joints are as the classes of `transmission_interface` have them, with reductions
n_a of actuators and n_j of joints:

* SimpleTransmission: w = n_a n_j v (one of the two is 1);
* DifferentialTransmission: w_1 = n_a1 (n_j1 v_1 + n_j2 v_2), w_2 = n_a2 (n_j1 v_1 - n_j2 v_2);
* FourBarLinkageTransmission: w_1 = n_a1 n_j1 v_1, w_2 = n_a2 (v_1 + n_j2 v_2).

Torques follow from the same power on both sides. (The class of the four-bar linkage maps torques otherwise, with which
power is not the same on both sides.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dynid.findings import Finding
from dynid.robot.joints import JointDynamics
from dynid.robot.motors import Motor

if TYPE_CHECKING:
    from dynid.robot.formats.mujoco_compiler import MjModel
    from dynid.robot.formats.xml_files import Element

KINDS = {"SimpleTransmission": 1, "DifferentialTransmission": 2, "FourBarLinkageTransmission": 2}
"""The transmissions that are known, and how many joints and actuators each has."""


def urdf_motors(root: Element, joints: set[str]) -> tuple[tuple[Motor, ...], list[Finding]]:
    """The motors of a URDF file, and what of its transmissions could not be read.

    Args:
        root: The root element.
        joints: Names of the file's joints.
    """
    motors: list[Motor] = []
    findings: list[Finding] = []
    driven: set[str] = set()
    for element in root.findall("transmission"):
        name = element.get("name") or "transmission"
        found = _transmission(element, joints)
        if isinstance(found, str):
            findings.append(Finding.of("transmission-ignored", f"transmission '{name}'", reason=found))
            continue
        own = {str(key) for motor in found for key, _ in motor.ratios}
        if own <= driven:  # the same joints once more, for another hardware interface
            continue
        driven |= own
        motors += found
    return tuple(motors), findings


def _transmission(element: Element, joints: set[str]) -> list[Motor] | str:
    """The motors of a transmission, or why it cannot be read."""
    stated = (element.findtext("type") or element.get("type") or "").strip()
    kind = stated.rpartition("/")[2]
    if kind not in KINDS:  # of a single joint nothing is lost: it has a motor of its own
        return f"its type '{stated}' is not known" if len(element.findall("joint")) > 1 else []
    parts = [_in_order(element.findall(tag), tag) for tag in ("joint", "actuator")]
    if any(len(each) != KINDS[kind] for each in parts):
        return f"a {kind} has {KINDS[kind]} of <joint> and <actuator>"
    names = [each.get("name") or "" for each in parts[0]]
    unknown = [name for name in names if name not in joints]
    if unknown:
        return f"the robot has no joint '{unknown[0]}'"
    try:
        j, a = ([_number(each, "mechanicalReduction", 1.0) for each in part] for part in parts)
        offsets = [_number(each, "offset", 0.0) for each in parts[0]]
    except ValueError as error:
        return str(error)
    if 0.0 in (*j, *a):
        return "a mechanicalReduction is zero"
    rows = {
        "SimpleTransmission": [[a[0] * j[0]]],
        "DifferentialTransmission": [[a[0] * j[0], a[0] * j[-1]], [a[-1] * j[0], -a[-1] * j[-1]]],
        "FourBarLinkageTransmission": [[a[0] * j[0], 0.0], [a[-1], a[-1] * j[-1]]],
    }[kind]
    return [
        Motor(
            names[k],
            tuple((name, ratio) for name, ratio in zip(names, row, strict=True) if ratio != 0.0),
            parts[1][k].get("name") or "",
            tuple(offset for offset, ratio in zip(offsets, row, strict=True) if ratio != 0.0),
        )
        for k, row in enumerate(rows)
    ]


def _in_order(elements: Sequence[Element], tag: str) -> list[Element]:
    """Elements by the numbers of their roles, such as "joint1"; in the file's order where they have none."""
    roles = [(element.findtext("role") or "").strip() for element in elements]
    order = [role.removeprefix(tag) for role in roles]
    if not all(number.isdigit() for number in order):
        return list(elements)
    return [elements[k] for k in sorted(range(len(order)), key=lambda k: int(order[k]))]


def _number(element: Element, tag: str, otherwise: float) -> float:
    text = element.findtext(tag)
    if text is None or not text.strip():
        return otherwise
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"<{tag}> is '{text.strip()[:40]}', which is no number") from None
    if not np.isfinite(value):
        raise ValueError(f"<{tag}> is '{text.strip()[:40]}', which is no finite number")
    return value


def mjcf_motors(m: MjModel, joint_names: Sequence[str]) -> tuple[Motor, ...]:
    """The motors of an MJCF model: actuators on joints and on fixed tendons; none where no tendon couples joints.

    What a tendon states of armature, damping and dry friction is its motor's, behind the actuator's gear.

    Args:
        m: The model.
        joint_names: Names of the joints, in its order.
    """
    rows = list(_actuated(m))
    if not any(len(row) > 1 for _, row, _ in rows):
        return ()
    motors: list[Motor] = []
    free = dict.fromkeys(range(len(joint_names)))
    for k, row, dynamics in sorted(rows, key=lambda each: len(each[1])):
        places = [j for j in row if j in free] or list(row)
        beside = max(places, key=lambda j: abs(row[j]))
        free.pop(beside, None)
        ratios = tuple((joint_names[j], ratio) for j, ratio in sorted(row.items()))
        motors.append(Motor(joint_names[beside], ratios, f"actuator {k + 1}", (), dynamics))
    return tuple(motors)


def _actuated(m: MjModel) -> Iterator[tuple[int, dict[int, float], JointDynamics]]:
    """Of each actuator its number, velocities over those of joints, and the motor's own dynamics."""
    from dynid.robot.formats.mujoco_compiler import enum_name

    outputs = getattr(m, "actuator_outadr", range(len(m.actuator_trntype)))
    for k, kind in enumerate(m.actuator_trntype):
        gear, target = float(m.actuator_gear[outputs[k], 0]), int(m.actuator_trnid[k, 0])
        name = enum_name("mjtTrn", kind)
        if gear == 0.0:
            continue
        if name in ("mjTRN_JOINT", "mjTRN_JOINTINPARENT") and _is_single(m, target):
            yield k, {target: gear}, JointDynamics()
        elif name == "mjTRN_TENDON":
            first, count = int(m.tendon_adr[target]), int(m.tendon_num[target])
            parts = range(first, first + count)
            if all(enum_name("mjtWrap", m.wrap_type[w]) == "mjWRAP_JOINT" for w in parts):
                row: dict[int, float] = {}
                for w in parts:
                    j = int(m.wrap_objid[w])
                    row[j] = row.get(j, 0.0) + gear * float(m.wrap_prm[w])
                yield k, {j: ratio for j, ratio in row.items() if ratio != 0.0}, _of_tendon(m, target, gear)


def _is_single(m: MjModel, joint: int) -> bool:
    from dynid.robot.formats.mujoco_compiler import enum_name

    return enum_name("mjtJoint", m.jnt_type[joint]) in ("mjJNT_HINGE", "mjJNT_SLIDE")


def _of_tendon(m: MjModel, tendon: int, gear: float) -> JointDynamics:
    """A tendon's armature, damping and dry friction, at the motor behind the gear."""

    def value(name: str) -> float:
        field = getattr(m, name, None)
        return 0.0 if field is None else float(np.ravel(field[tendon])[0])

    return JointDynamics(
        damping=value("tendon_damping") / gear**2,
        friction=value("tendon_frictionloss") / abs(gear),
        armature=value("tendon_armature") / gear**2,
    )
