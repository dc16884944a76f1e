"""Checks of joint limits: missing ones, and those that leave no room."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from dynid.findings import Finding, Severity
from dynid.robot.audit.case import Case, names, subject
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
            yield Finding(Severity.NOTE, subject("joint", joints), text)


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
            yield Finding(Severity.WARNING, subject("joint", joints), text)
