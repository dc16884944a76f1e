"""Checks of joint limits: missing ones, and those that leave no room."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from dynid.findings import Finding, Severity, prose
from dynid.robot.audit.case import Case, line_of, names, subject, vector
from dynid.robot.audit.inertias import SMALLEST_MASS
from dynid.robot.joints import JointKind, Limits
from dynid.robot.robot import Joint


def missing_limits(case: Case) -> Iterator[Finding]:
    """Joints without position, velocity or effort limits."""
    lacking: dict[tuple[Joint, ...], list[str]] = {}
    for what, lacks in (
        ("position range", _lacks_range),
        ("velocity limit", lambda joint: math.isinf(joint.limits.velocity)),
        ("effort limit", lambda joint: math.isinf(joint.limits.effort)),
    ):
        lacking.setdefault(tuple(filter(lacks, case.one_dof_joints)), []).append(what)
    for joints, what in lacking.items():
        if joints:
            listed = " and ".join(f"no {limit}" for limit in what)
            text = f"{listed} stated for {names(joints)}; to plan motions, add what is known"
            yield prose(Severity.NOTE, subject("joint", joints), text)


def _lacks_range(joint: Joint) -> bool:
    ends = (joint.limits.lower, joint.limits.upper)
    return joint.kind is not JointKind.CONTINUOUS and not all(map(math.isfinite, ends))


def limits_without_room(case: Case) -> Iterator[Finding]:
    """Joints whose limits allow no motion, speed or effort."""
    checks: tuple[tuple[str, Callable[[Limits], bool]], ...] = (
        ("lower and upper limit are equal: no room to move", lambda limits: limits.lower == limits.upper),
        ("the velocity limit is zero or negative: no motion is allowed", lambda limits: limits.velocity <= 0.0),
        ("the effort limit is zero or negative: no torque or force is allowed", lambda limits: limits.effort <= 0.0),
    )
    for what, fails in checks:
        joints = [joint for joint in case.one_dof_joints if fails(joint.limits)]
        if joints:
            text = f"{what} for {names(joints)}; write the real limit, or leave it out if there is none"
            yield prose(Severity.WARNING, subject("joint", joints), text)


LARGEST_ANGLE = 25.0  # [rad], four turns: more is hardly meant as a limit in rad
UNLIMITED_ANGLE = 1000.0  # [rad]: more is hardly meant as a limit in degrees either
LARGEST_DISTANCE = 20.0  # [m], between joints, or of a centre of mass from its frame
LARGEST_GEOMETRY = 50.0  # [m]
LARGEST_BODY_MASS = 2000.0  # [kg]
LARGEST_TOTAL_MASS = 10000.0  # [kg]
LARGEST_GYRATION = 5.0  # [m]
LARGEST_GYRATION_TO_SIZE = 10.0
SMALLEST_GYRATION = 1e-4  # [m]
USUAL_GRAVITY = (8.0, 12.0)  # [m/s^2]


def angles_in_degrees(case: Case) -> Iterator[Finding]:
    """Position limits that are too wide to be in rad."""

    def widest(joint: Joint) -> float:
        return max((abs(end) for end in (joint.limits.lower, joint.limits.upper) if math.isfinite(end)), default=0.0)

    angular = [joint for joint in case.one_dof_joints if joint.kind.is_angular]
    for severity, low, high, advice in (
        (Severity.WARNING, LARGEST_ANGLE, UNLIMITED_ANGLE, "are they in degrees? Write them in rad"),
        (Severity.NOTE, UNLIMITED_ANGLE, math.inf, "where there is no limit, make the joint continuous"),
    ):
        joints = [joint for joint in angular if low < widest(joint) <= high]
        if joints:
            example = f"{joints[0].limits.lower:.5g} to {joints[0].limits.upper:.5g} rad"
            text = f"position limits beyond {low:g} rad for {names(joints)}, such as {example}; {advice}"
            yield prose(severity, subject("joint", joints), text)


def lengths_in_millimetres(case: Case) -> Iterator[Finding]:
    """Distances that are too long to be in m."""
    for joint in case.robot.description.joints:
        if (distance := float(np.linalg.norm(joint.placement[:3, 3]))) > LARGEST_DISTANCE:
            text = f"it is {distance:.4g} m away from the frame of '{joint.parent or 'world'}'{line_of(joint)}"
            yield prose(Severity.WARNING, f"joint '{joint.name}'", f"{text}; is that in mm? Write it in m")
    for solid in case.solids:
        if (distance := float(np.linalg.norm(solid.com))) > LARGEST_DISTANCE:
            text = f"its centre of mass is {distance:.4g} m away from its frame{line_of(solid.body)}"
            yield prose(Severity.WARNING, f"body '{solid.body.name}'", f"{text}; is that in mm? Write it in m")


def geometry_in_millimetres(case: Case) -> Iterator[Finding]:
    """Geometry that is too large to be in m."""
    sizes = {body.name: case.extent(body) for body in case.robot.description.bodies if body.name in case.boxes}
    large = [name for name, size in sizes.items() if size > LARGEST_GEOMETRY]
    if 2 * len(large) > len(sizes):
        text = (
            f"the geometry of {len(large)} of {len(sizes)} bodies is larger than {LARGEST_GEOMETRY:g} m, "
            f"that of '{large[0]}' {sizes[large[0]]:.4g} m; is it in mm? Scale meshes by 0.001"
        )
        yield prose(Severity.WARNING, f"robot '{case.robot.name}'", text)


def masses_in_grams(case: Case) -> Iterator[Finding]:
    """Masses that are too large to be in kg."""
    for solid in case.solids:
        if solid.mass > LARGEST_BODY_MASS:
            text = f"its mass is {solid.mass:.5g} kg{line_of(solid.body)}; is that in g? Write it in kg"
            yield prose(Severity.WARNING, f"body '{solid.body.name}'", text)
    total = sum(solid.mass for solid in case.solids)
    if total > LARGEST_TOTAL_MASS:
        text = f"the masses add up to {total:.5g} kg; are they in g? Write them in kg"
        yield prose(Severity.WARNING, f"robot '{case.robot.name}'", text)


def inertias_in_other_units(case: Case) -> Iterator[Finding]:
    """Inertias that do not go with mass and size."""
    for solid in case.solids:
        size = max(case.extent(solid.body), case.scale)
        if solid.gyration > LARGEST_GYRATION or 0.0 < size < solid.gyration / LARGEST_GYRATION_TO_SIZE:
            verdict = "its inertia is far too large: is it in kg mm^2 or g mm^2? Write it in kg m^2"
        elif 0.0 < solid.gyration < SMALLEST_GYRATION and solid.mass > SMALLEST_MASS:
            verdict = "its inertia is far too small: check its unit, and write it in kg m^2"
        else:
            continue
        compared = f", while distances in the robot are up to {size:.3g} m" if size > 0.0 else ""
        evidence = f"its radius of gyration, sqrt(I/m), is {solid.gyration:.3g} m for {solid.mass:.3g} kg{compared}"
        text = f"{evidence}{line_of(solid.body)}; {verdict}"
        yield prose(Severity.WARNING, f"body '{solid.body.name}'", text)


def unusual_gravity(case: Case) -> Iterator[Finding]:
    """Gravity that is zero or not the Earth's."""
    magnitude = float(np.linalg.norm(case.robot.gravity))
    if magnitude == 0.0:
        text = "it is zero, so that masses show in accelerations only; state it unless the robot is weightless"
        yield prose(Severity.NOTE, "gravity", text)
    elif not USUAL_GRAVITY[0] <= magnitude <= USUAL_GRAVITY[1]:
        text = f"it is {vector(case.robot.gravity)} m/s^2, {magnitude:.4g} in all; on Earth it is 9.81 m/s^2"
        yield prose(Severity.NOTE, "gravity", text)
