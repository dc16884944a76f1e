"""What users should know about their robot file before they trust it: limits, units, and inertias.

Each check looks at the file's bodies and joints, or at the links that they are welded into, and yields findings;
`audit` only chains the checks.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dynid.findings import Finding, Severity
from dynid.robot import inertia_checks
from dynid.robot.geometry import bounds
from dynid.robot.inertia_checks import Case, line_of, names, subject
from dynid.robot.joints import JointKind, Limits
from dynid.robot.robot import Joint, Robot


@dataclass(frozen=True)
class AuditThresholds:
    """From where on numbers of a robot file look like another unit, or like a mistake.

    Calibrated on the 66 robot files of `tests/robot/test_example_robots.py`: none is accused but a pendulum whose
    inertia is a placeholder. Files that must be accused are in `tests/robot/test_audit.py`.
    """

    largest_angle: float = 25.0
    """Position limit [rad] above which degrees are suspected: four turns, more than any joint with limits has."""

    unlimited_angle: float = 1000.0
    """Position limit [rad] above which no unit makes sense of it: three turns in degrees; such limits stand for
    none."""

    largest_distance: float = 20.0
    """Distance [m] between joints, or of a centre of mass from its frame, above which millimetres are suspected: no
    link is so long, and 20 mm are a short one."""

    largest_geometry: float = 50.0
    """Longest edge [m] of a body's geometry above which millimetres are suspected, where most bodies exceed it: a mesh
    of 50 mm is a small one."""

    largest_body_mass: float = 2000.0
    """Mass [kg] of a body above which grams are suspected: hardly a link of an industrial arm weighs a ton."""

    largest_total_mass: float = 10000.0
    """Mass [kg] of a robot above which grams are suspected: few industrial arms weigh half of it."""

    largest_gyration: float = 5.0
    """Radius of gyration [m] above which the unit of an inertia is suspected: a body of so much inertia for its mass is
    longer than 10 m."""

    largest_gyration_to_size: float = 10.0
    """Radius of gyration over the size of the body, or of the robot, above which the unit of an inertia is suspected: a
    rigid body has at most about 1, kg mm^2 instead of kg m^2 make it 1000 times that."""

    smallest_gyration: float = 1e-4
    """Radius of gyration [m] below which the unit of an inertia is suspected: a body of 0.1 mm cannot weigh a gram."""

    usual_gravity: tuple[float, float] = (8.0, 12.0)
    """Magnitudes of gravity [m/s^2] that are not remarked: the Earth's, rounded as people round it; the Moon's and
    Mars' lie outside."""


THRESHOLDS = AuditThresholds()


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
            yield Finding.of("limits-missing", subject("joint", joints), limits=what, joints=names(joints))


def _lacks_range(joint: Joint) -> bool:
    ends = (joint.limits.lower, joint.limits.upper)
    return joint.kind is not JointKind.CONTINUOUS and not all(map(math.isfinite, ends))


def limits_without_room(case: Case) -> Iterator[Finding]:
    """Joints whose limits allow no motion, speed or effort."""
    checks: tuple[tuple[str, Callable[[Limits], bool]], ...] = (
        ("position-limits-equal", lambda limits: limits.lower == limits.upper),
        ("velocity-limit-not-positive", lambda limits: limits.velocity <= 0.0),
        ("effort-limit-not-positive", lambda limits: limits.effort <= 0.0),
    )
    for code, fails in checks:
        joints = [joint for joint in case.one_dof_joints if fails(joint.limits)]
        if joints:
            yield Finding.of(code, subject("joint", joints), joints=names(joints))


def angles_in_degrees(case: Case) -> Iterator[Finding]:
    """Position limits that are too wide to be in rad."""

    def widest(joint: Joint) -> float:
        return max((abs(end) for end in (joint.limits.lower, joint.limits.upper) if math.isfinite(end)), default=0.0)

    angular = [joint for joint in case.one_dof_joints if joint.kind.is_angular]
    for code, low, high in (
        ("position-limits-in-degrees", THRESHOLDS.largest_angle, THRESHOLDS.unlimited_angle),
        ("position-limits-without-meaning", THRESHOLDS.unlimited_angle, math.inf),
    ):
        joints = [joint for joint in angular if low < widest(joint) <= high]
        if joints:
            first, about = joints[0].limits, subject("joint", joints)
            yield Finding.of(code, about, bound=low, joints=names(joints), lower=first.lower, upper=first.upper)


def lengths_in_millimetres(case: Case) -> Iterator[Finding]:
    """Distances that are too long to be in m."""
    for joint in case.robot.description.joints:
        if (distance := float(np.linalg.norm(joint.placement[:3, 3]))) > THRESHOLDS.largest_distance:
            about, parent = f"joint '{joint.name}'", joint.parent or "world"
            yield Finding.of("joint-distant", about, distance=distance, parent=parent, where=line_of(joint))
    for solid in case.solids:
        if (distance := float(np.linalg.norm(solid.com))) > THRESHOLDS.largest_distance:
            about = f"body '{solid.body.name}'"
            yield Finding.of("centre-of-mass-distant", about, distance=distance, where=line_of(solid.body))


def geometry_in_millimetres(case: Case) -> Iterator[Finding]:
    """Geometry that is too large to be in m."""
    sizes = {body.name: case.extent(body) for body in case.robot.description.bodies if body.name in case.boxes}
    large = [name for name, size in sizes.items() if size > THRESHOLDS.largest_geometry]
    if 2 * len(large) > len(sizes):
        yield Finding.of(
            "geometry-large",
            f"robot '{case.robot.name}'",
            sizes={name: sizes[name] for name in large},
            bodies=len(sizes),
            bound=THRESHOLDS.largest_geometry,
        )


def masses_in_grams(case: Case) -> Iterator[Finding]:
    """Masses that are too large to be in kg."""
    for solid in case.solids:
        if solid.mass > THRESHOLDS.largest_body_mass:
            yield Finding.of("mass-large", f"body '{solid.body.name}'", mass=solid.mass, where=line_of(solid.body))
    total = sum(solid.mass for solid in case.solids)
    if total > THRESHOLDS.largest_total_mass:
        yield Finding.of("total-mass-large", f"robot '{case.robot.name}'", mass=total)


def inertias_in_other_units(case: Case) -> Iterator[Finding]:
    """Inertias that do not go with mass and size."""
    for solid in case.solids:
        size = max(case.extent(solid.body), case.scale)
        if (
            solid.gyration > THRESHOLDS.largest_gyration
            or 0.0 < size < solid.gyration / THRESHOLDS.largest_gyration_to_size
        ):
            code = "inertia-large"
        elif (
            0.0 < solid.gyration < THRESHOLDS.smallest_gyration and solid.mass > inertia_checks.THRESHOLDS.smallest_mass
        ):
            code = "inertia-small"
        else:
            continue
        about, where = f"body '{solid.body.name}'", line_of(solid.body)
        yield Finding.of(code, about, gyration=solid.gyration, mass=solid.mass, size=size, where=where)


def unusual_gravity(case: Case) -> Iterator[Finding]:
    """Gravity that is zero or not the Earth's."""
    magnitude = float(np.linalg.norm(case.robot.gravity))
    if magnitude == 0.0:
        yield Finding.of("gravity-zero", "gravity")
    elif not THRESHOLDS.usual_gravity[0] <= magnitude <= THRESHOLDS.usual_gravity[1]:
        yield Finding.of("gravity-unusual", "gravity", gravity=case.robot.gravity.tolist(), magnitude=magnitude)


CHECKS: tuple[Callable[[Case], Iterable[Finding]], ...] = (
    inertia_checks.links_without_inertia,
    inertia_checks.inconsistent_inertias,
    inertia_checks.centres_of_mass,
    inertia_checks.point_masses,
    inertia_checks.placeholders,
    missing_limits,
    limits_without_room,
    angles_in_degrees,
    lengths_in_millimetres,
    geometry_in_millimetres,
    masses_in_grams,
    inertias_in_other_units,
    unusual_gravity,
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
