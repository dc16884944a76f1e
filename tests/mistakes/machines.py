"""Robots of the sweep, whose parameters are known."""

from functools import cache

import numpy as np

from dynid import Robot, load_robot
from dynid.arrays import Array, frozen
from dynid.robot import inertia
from dynid.robot.assembly import assemble
from dynid.robot.description import BodyDescription, Description, JointDescription
from dynid.robot.frames import pose, rotation_from_rpy
from dynid.robot.joints import JointKind, Limits
from tests.truth_logs import Truth

TERMS = ("viscous", "coulomb", "armature")
"""Terms that the robots have, and that users state."""

NAMES = ("ur5", "panda", "stanford")
"""Six revolute axes; seven; and five with a sliding one between."""

MIDDLES: dict[str, Array] = {"ur5": np.array([0.0, -1.2, 1.0, -0.8, 0.7, 0.0])}
"""Where robots with wide limits move about; the others move about the middle of their limits."""

HALF_PI = np.pi / 2

_STANFORD = (
    # kind, rpy, xyz, mass [kg], centre of mass [m], radii of gyration [m], range, largest speed
    (JointKind.REVOLUTE, (0, 0, 0), (0, 0, 0.41), 9.3, (0.0, 0.02, -0.11), (0.14, 0.13, 0.06), 2.8, 2.5),
    (JointKind.REVOLUTE, (-HALF_PI, 0, 0), (0, 0.15, 0), 5.0, (0.01, -0.03, 0.08), (0.11, 0.10, 0.07), 2.0, 2.5),
    (JointKind.PRISMATIC, (HALF_PI, 0, 0), (0, -0.1, 0), 4.3, (0.01, 0.02, -0.35), (0.25, 0.25, 0.03), 0.3, 1.0),
    (JointKind.REVOLUTE, (0, 0, 0), (0, 0, 0.1), 1.6, (0.01, -0.01, 0.05), (0.05, 0.05, 0.03), 2.8, 3.5),
    (JointKind.REVOLUTE, (-HALF_PI, 0, 0), (0, 0, 0.06), 1.1, (0.02, 0.01, 0.04), (0.05, 0.045, 0.03), 1.9, 3.5),
    (JointKind.REVOLUTE, (HALF_PI, 0, 0), (0, 0, 0), 0.9, (0.03, 0.02, 0.12), (0.06, 0.058, 0.03), 2.8, 3.5),
)


def stanford() -> Robot:
    """Six axes of which the third slides, after the arm of that name; masses and places are of our own."""
    bodies = [BodyDescription("base", frozen(np.zeros(inertia.SIZE)))]
    joints = []
    for k, (kind, rpy, xyz, mass, centre, radii, half, speed) in enumerate(_STANFORD, start=1):
        about = mass * np.diag(np.square(radii))
        body = inertia.from_mass_com_inertia(mass, np.array(centre), about)
        bodies.append(BodyDescription(f"link_{k}", frozen(body)))
        middle = 0.4 if kind is JointKind.PRISMATIC else 0.0
        joints.append(
            JointDescription(
                name=f"joint_{k}",
                kind=kind,
                parent=bodies[k - 1].name,
                child=bodies[k].name,
                placement=frozen(pose(rotation_from_rpy(*rpy), np.array(xyz, dtype=float))),
                axis=frozen((0.0, 0.0, 1.0)),
                limits=Limits(middle - half, middle + half, speed, effort=300.0),
            )
        )
    return assemble(Description("stanford", "tests", tuple(bodies), tuple(joints), frozen((0.0, 0.0, -9.81))))


@cache
def machine(name: str) -> Truth:
    """One of `NAMES`, with the links of its file, and with friction and motor inertia of their own."""
    return Truth(stanford() if name == "stanford" else load_robot(f"builtin:{name}"), TERMS, friction=0.1)


def middle(robot: Robot) -> Array:
    """Positions that a robot moves about, shape (joints,)."""
    if robot.name in MIDDLES:
        return MIDDLES[robot.name]
    return np.array([0.5 * (joint.limits.lower + joint.limits.upper) for joint in robot.joints])
