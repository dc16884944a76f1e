"""Joints as simulators have them: motor inertia, friction, gains, limits and delay, with standard deviations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dynid.errors import InvalidRequestError
from dynid.identification.result import Result
from dynid.model import Role, of_joint
from dynid.robot import LARGEST_NUMBER, Joint, JointKind

UNITS = {
    "armature": ("kg m^2", "kg"),
    "viscous": ("N m s/rad", "N s/m"),
    "coulomb": ("N m", "N"),
    "static": ("N m", "N"),
    "offset": ("N m", "N"),
    "bias": ("rad", "m"),
    "kp": ("N m/rad", "N/m"),
    "kd": ("N m s/rad", "N s/m"),
    "effort_limit": ("N m", "N"),
    "velocity_limit": ("rad/s", "m/s"),
    "delay": ("s", "s"),
}
"""Units of what a joint model holds, of joints that turn and of joints that slide."""


@dataclass(frozen=True)
class Estimate:
    """A value with its standard deviation; None where that is not known, or the value was stated."""

    value: float
    std: float | None = None


@dataclass(frozen=True)
class JointModel:
    """What a simulator needs to know of a joint beside its links; see `UNITS`. None where the result does not have it.

    The torque of the motor is kp (command - position) - kd velocity, within the effort limit, with commands that are
    `delay` old. What a servo's motor loses with speed beyond that limit (back-EMF) is in `viscous`. The joint resists
    with viscous velocity + coulomb sign(velocity) + offset, and holds up to `static`.

    Attributes:
        name: The joint.
        slides: Whether it is prismatic: forces in place of torques.
        armature: Motor inertia, seen at the joint.
        viscous: Viscous friction.
        coulomb: Dry friction while moving; the mean of both directions.
        static: Dry friction at rest, where it is another than while moving.
        offset: Constant torque.
        bias: Error of the encoder: what it shows less the position.
        kp: Torque per error of position.
        kd: Torque per error of velocity.
        effort_limit: Largest torque.
        velocity_limit: Largest speed that the robot file states.
        delay: Age of commands, the same for all joints.
    """

    name: str
    slides: bool = False
    armature: Estimate | None = None
    viscous: Estimate | None = None
    coulomb: Estimate | None = None
    static: Estimate | None = None
    offset: Estimate | None = None
    bias: Estimate | None = None
    kp: Estimate | None = None
    kd: Estimate | None = None
    effort_limit: Estimate | None = None
    velocity_limit: Estimate | None = None
    delay: Estimate | None = None

    def unit(self, key: str) -> str:
        """The unit of one of its values."""
        return UNITS[key][self.slides]

    def to_dict(self) -> dict[str, Any]:
        """As plain data: each value with its standard deviation and unit."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name in UNITS}
        return {"name": self.name} | {
            key: None if estimate is None else {**vars(estimate), "unit": self.unit(key)}
            for key, estimate in values.items()
        }


def joint_models(result: Result) -> tuple[JointModel, ...]:
    """What a result says of its joints, as simulators have it.

    Args:
        result: The result; it must have physically consistent links, and parameters in SI units.

    Returns:
        One for each joint that turns about an axis or slides along one, in the robot's order. Joints that follow
        another have none: their part is in the leader's values.

    Raises:
        InvalidRequestError: If the result has no physically consistent model.
    """
    physical, commands = result.physical, result.record.commands
    if physical is None and commands is None:
        raise InvalidRequestError("the result has no physically consistent links; identify with physical.fit")
    rows = {row.name: Estimate(row.value, row.std) for row in (() if physical is None else physical.terms)}
    if commands is not None:  # what output error found is more exact than what torques show
        rows |= {row.name: Estimate(row.value, row.std) for row in commands.parameters}
    stated = _commanded(result)
    joints = [joint for joint in result.robot.independent_joints if joint.kind.nv == 1]
    return tuple(_joint_model(result, joint, rows, stated.get(joint.name, {})) for joint in joints)


def _joint_model(
    result: Result, joint: Joint, rows: Mapping[str, Estimate], stated: Mapping[str, Estimate]
) -> JointModel:
    def total(*roles: Role) -> Estimate | None:
        """The sum of a joint's parameters of some roles, with the largest standard deviation that it can have."""
        found = [rows[p.name] for p in of_joint(result.model.parameters, joint.name, *roles) if p.name in rows]
        if not found:
            return None
        stds = [each.std for each in found if each.std is not None]
        return Estimate(sum(each.value for each in found), sum(stds) if len(stds) == len(found) else None)

    coulomb, both = total(Role.COULOMB), total(Role.COULOMB_FORWARD, Role.COULOMB_BACKWARD)
    if both is not None:
        coulomb = _sum(Estimate(both.value / 2, None if both.std is None else both.std / 2), coulomb)
    rise = total(Role.STRIBECK)
    limits = {"effort_limit": joint.limits.effort, "velocity_limit": joint.limits.velocity}
    of_file = {key: Estimate(value) for key, value in limits.items() if 0.0 < value < LARGEST_NUMBER}
    return JointModel(
        joint.name,
        joint.kind is JointKind.PRISMATIC,
        armature=total(Role.ARMATURE),
        viscous=_with_back_emf(result, joint, total(Role.VISCOUS)),
        coulomb=coulomb,
        static=None if rise is None else _sum(rise, coulomb),
        offset=total(Role.OFFSET),
        **{**of_file, **stated},
    )


def _with_back_emf(result: Result, joint: Joint, viscous: Estimate | None) -> Estimate | None:
    """Viscous friction, and what a servo's motor loses with speed: simulators have one damping for both."""
    commands = result.record.commands
    if commands is None or commands.back_emf is None:
        return viscous
    back_emf = Estimate(commands.back_emf[joint.v.start])
    return back_emf if viscous is None else Estimate(viscous.value + back_emf.value, viscous.std)


def _sum(first: Estimate, second: Estimate | None) -> Estimate:
    if second is None:
        return first
    unknown = first.std is None or second.std is None
    return Estimate(first.value + second.value, None if unknown else (first.std or 0.0) + (second.std or 0.0))


def _commanded(result: Result) -> dict[str, dict[str, Estimate]]:
    """What was found or stated of the control law, by joint; empty where torques were measured."""
    found = result.record.commands
    if found is None:
        return {}
    stds = {(row.name.rstrip("0123456789"), row.owner): row.std for row in found.parameters}
    values: dict[str, dict[str, Estimate]] = {}
    for joint in result.robot.independent_joints:
        if joint.kind.nv != 1:
            continue
        k, name = joint.v.start, joint.name
        share = stds.get(("scale", name))  # of gains that were estimated, relative to those that were stated
        own = {"delay": Estimate(found.delay, found.delay_std)}
        for key, gain in {"kp": found.kp[k], "kd": found.kd[k]}.items():
            scale = 1.0 if found.gain_scales is None else found.gain_scales[k]
            own[key] = Estimate(gain, None if share is None else abs(gain / scale) * share)
        if found.effort_limit is not None and found.effort_limit[k] < LARGEST_NUMBER:
            own["effort_limit"] = Estimate(found.effort_limit[k])
        if found.bias is not None:
            own["bias"] = Estimate(found.bias[k], stds.get(("bias", name)))
        values[name] = own
    return values
