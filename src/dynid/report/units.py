"""Units of the rows of a result."""

from __future__ import annotations

from dynid.report.subject import Subject
from dynid.robot.joints import JointKind


def units_of(subject: Subject) -> list[tuple[str, str]]:
    """Units of velocity and torque of each row."""
    model = subject.result.base.model
    units = []
    for joint in model.robot.independent_joints:
        units += [("m/s", "N") if joint.kind is JointKind.PRISMATIC else ("rad/s", "N m")] * joint.kind.nv
    return units[model.rows]
