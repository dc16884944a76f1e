"""What users should know about their robot file before they trust it.

Each check looks at the file's bodies and joints, or at the links that they are welded into, and yields findings;
`audit` only chains the checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dynid.findings import Finding, Severity
from dynid.robot.audit import inertias, plausibility
from dynid.robot.audit.case import Case
from dynid.robot.geometry import bounds
from dynid.robot.robot import Robot

CHECKS: tuple[Callable[[Case], Iterable[Finding]], ...] = (
    inertias.links_without_inertia,
    inertias.inconsistent_inertias,
    inertias.centres_of_mass,
    inertias.point_masses,
    inertias.placeholders,
    plausibility.missing_limits,
    plausibility.limits_without_room,
    plausibility.angles_in_degrees,
    plausibility.lengths_in_millimetres,
    plausibility.geometry_in_millimetres,
    plausibility.masses_in_grams,
    plausibility.inertias_in_other_units,
    plausibility.unusual_gravity,
)


def audit(robot: Robot) -> tuple[Finding, ...]:
    """Find what is wrong, suspicious or missing in a robot's file.

    Args:
        robot: The robot, as it was loaded.

    Returns:
        What the reader of the file noticed and what the checks find; errors first, then warnings, then notes.
    """
    bodies = robot.description.bodies
    case = Case(robot, {body.name: box for body in bodies if (box := bounds(body, complete=True)) is not None})
    found = [*robot.description.findings, *(finding for check in CHECKS for finding in check(case))]
    order = list(Severity)
    return tuple(sorted(found, key=lambda finding: order.index(finding.severity)))
