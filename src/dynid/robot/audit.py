"""What users should know about their robot file before they trust it: limits, units, and inertias.

Each check looks at the file's bodies and joints, or at the links that they are welded into, and yields findings;
`audit` only chains the checks.
"""

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from dynid.findings import Finding, Severity
from dynid.robot import inertia_checks
from dynid.robot.geometry import bounds
from dynid.robot.inertia_checks import SMALLEST_MASS, Case, line_of, names, subject
from dynid.robot.joints import JointKind, Limits
from dynid.robot.robot import Joint, Robot

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
        ("position-limits-in-degrees", LARGEST_ANGLE, UNLIMITED_ANGLE),
        ("position-limits-without-meaning", UNLIMITED_ANGLE, math.inf),
    ):
        joints = [joint for joint in angular if low < widest(joint) <= high]
        if joints:
            first, about = joints[0].limits, subject("joint", joints)
            yield Finding.of(code, about, bound=low, joints=names(joints), lower=first.lower, upper=first.upper)


def lengths_in_millimetres(case: Case) -> Iterator[Finding]:
    """Distances that are too long to be in m."""
    for joint in case.robot.description.joints:
        if (distance := float(np.linalg.norm(joint.placement[:3, 3]))) > LARGEST_DISTANCE:
            about, parent = f"joint '{joint.name}'", joint.parent or "world"
            yield Finding.of("joint-distant", about, distance=distance, parent=parent, where=line_of(joint))
    for solid in case.solids:
        if (distance := float(np.linalg.norm(solid.com))) > LARGEST_DISTANCE:
            about = f"body '{solid.body.name}'"
            yield Finding.of("centre-of-mass-distant", about, distance=distance, where=line_of(solid.body))


def geometry_in_millimetres(case: Case) -> Iterator[Finding]:
    """Geometry that is too large to be in m."""
    sizes = {body.name: case.extent(body) for body in case.robot.description.bodies if body.name in case.boxes}
    large = [name for name, size in sizes.items() if size > LARGEST_GEOMETRY]
    if 2 * len(large) > len(sizes):
        yield Finding.of(
            "geometry-large",
            f"robot '{case.robot.name}'",
            sizes={name: sizes[name] for name in large},
            bodies=len(sizes),
            bound=LARGEST_GEOMETRY,
        )


def masses_in_grams(case: Case) -> Iterator[Finding]:
    """Masses that are too large to be in kg."""
    for solid in case.solids:
        if solid.mass > LARGEST_BODY_MASS:
            yield Finding.of("mass-large", f"body '{solid.body.name}'", mass=solid.mass, where=line_of(solid.body))
    total = sum(solid.mass for solid in case.solids)
    if total > LARGEST_TOTAL_MASS:
        yield Finding.of("total-mass-large", f"robot '{case.robot.name}'", mass=total)


def inertias_in_other_units(case: Case) -> Iterator[Finding]:
    """Inertias that do not go with mass and size."""
    for solid in case.solids:
        size = max(case.extent(solid.body), case.scale)
        if solid.gyration > LARGEST_GYRATION or 0.0 < size < solid.gyration / LARGEST_GYRATION_TO_SIZE:
            code = "inertia-large"
        elif 0.0 < solid.gyration < SMALLEST_GYRATION and solid.mass > SMALLEST_MASS:
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
    elif not USUAL_GRAVITY[0] <= magnitude <= USUAL_GRAVITY[1]:
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
