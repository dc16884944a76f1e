"""A report is sections: each with a title, a template and data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dynid.report.subject import Subject
from dynid.robot.joints import JointKind


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a report.

    Attributes:
        key: Its name in links.
        title: Its title.
        template: The template that shows it.
        data: What the template needs.
    """

    key: str
    title: str
    template: str
    data: Mapping[str, Any]


def units_of(subject: Subject) -> list[tuple[str, str]]:
    """Units of velocity and torque of each row."""
    model = subject.result.base.model
    units = []
    for joint in model.robot.independent_joints:
        units += [("m/s", "N") if joint.kind is JointKind.PRISMATIC else ("rad/s", "N m")] * joint.kind.nv
    return units[model.rows]
