"""What a robot file says, before anything is made of it.

Readers of URDF, MJCF and DH tables give a `Description`; `Robot` is assembled from it, findings on the file are
drawn from it, and files are written from it.
"""

from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import numpy as np

from dynid.arrays import Array, frozen
from dynid.findings import Finding
from dynid.robot.inertia import SIZE
from dynid.robot.joints import JointDynamics, JointKind, Limits
from dynid.robot.motors import Motor

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""Gravity [m/s^2] where a file states none."""

INERTIA_ATTRIBUTES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
"""Where the attributes of `<inertia>` in URDF stand in the inertia matrix."""

FULL_INERTIA = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Elements of the inertia matrix in `fullinertia` of MJCF; `diaginertia` has the first three."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """A shape that is part of a body.

    Attributes:
        shape: "box", "sphere", "cylinder", "capsule" or "mesh".
        size: Sizes [m]: three edges of a box, the radius of a sphere, radius and length (along z; without its
            caps) of a cylinder or capsule, three scale factors of a mesh.
        placement: Its frame in the body's frame, shape (4, 4).
        mesh: The mesh file, where it was found.
        corners: Corners [m] in its frame, shape (n, 3), of a mesh of MJCF, whose shape is the box around it; else None.
    """

    shape: str
    size: tuple[float, ...]
    placement: Array
    mesh: Path | None = None
    corners: Array | None = None


@dataclass(frozen=True, eq=False)
class BodyDescription:
    """A rigid body (a `link` of URDF, a `body` of MJCF).

    Attributes:
        name: Its name in the file.
        inertia: 10-vector about its own frame, shape (10,); None when the file says nothing.
        placement: Its frame in the frame of the joint that moves it, shape (4, 4).
        geometry: Its shapes, for collision where the file has such, else for show.
        line: Line of the file that defines it, when known.
        virtual: Whether it only stands between two joints that move one real body, and so has no parameters.
        unweighed: Whether the file describes a body and leaves its mass out as unknown, as tables do.
    """

    name: str
    inertia: Array | None = None
    placement: Array = field(default_factory=lambda: frozen(np.eye(4)))
    geometry: tuple[Geometry, ...] = ()
    line: int | None = None
    virtual: bool = False
    unweighed: bool = False

    @property
    def states_inertia(self) -> bool:
        """Whether the file gives it a mass or an inertia other than zero."""
        return self.inertia is not None and bool(self.inertia.any())

    @property
    def parameters(self) -> Array:
        """The 10-vector about its own frame, shape (10,); zero where the file says nothing."""
        return np.zeros(SIZE) if self.inertia is None else self.inertia


@dataclass(frozen=True)
class MimicDescription:
    """A joint that follows another: q = ratio * q_leader + offset.

    Attributes:
        leader: Name of the joint that is followed.
        ratio: Ratio of the positions [rad/rad, m/rad, ...].
        offset: Position [rad or m] when the leader is at zero.
    """

    leader: str
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class JointDescription:
    """A joint between two bodies.

    Attributes:
        name: Its name in the file.
        kind: What motion it allows.
        parent: Name of the body that carries it; None for the world.
        child: Name of the body that it moves.
        placement: Its frame at position zero in the parent body's frame, shape (4, 4).
        axis: Unit axis in the joint frame, shape (3,).
        limits: What it may do.
        dynamics: Reference values of its own friction and motor inertia.
        mimic: The joint that it follows, if any.
        gains: Torque per error of position and of velocity of its position actuator, at the joint; None for none.
        line: Line of the file that defines it, when known.
        drawn_at: Position in which the file draws it, shape (nq,), where that is not the neutral one: of a free joint
            of MJCF, whose positions count from the world.
    """

    name: str
    kind: JointKind
    parent: str | None
    child: str
    placement: Array = field(default_factory=lambda: frozen(np.eye(4)))
    axis: Array = field(default_factory=lambda: frozen([0.0, 0.0, 1.0]))
    limits: Limits = Limits()
    dynamics: JointDynamics = JointDynamics()
    mimic: MimicDescription | None = None
    gains: tuple[float, float] | None = None
    line: int | None = None
    drawn_at: Array | None = None


@dataclass(frozen=True, eq=False)
class Description:
    """A robot as its file describes it.

    Attributes:
        name: The robot's name.
        source: Where it comes from: a path, or `builtin:NAME`.
        bodies: All bodies; those that no joint moves are welded to the world.
        joints: All joints, in the order in which coordinates are counted, parents before children.
        gravity: Gravity [m/s^2] in the world frame, shape (3,).
        couplings: Pairs of joint names whose motors turn each other (see `terms.Coupling`).
        motors: The motors and what they drive, where the file says it.
        no_contacts: Pairs of names of bodies that may touch, as the file says.
        findings: What the reader noticed.
        exact_frames: Whether right angles that the file rounds were kept as they are (see `rounded_frames`).
        is_freed: Whether a floating base was put under what the file says.
    """

    name: str
    source: str
    bodies: tuple[BodyDescription, ...]
    joints: tuple[JointDescription, ...]
    gravity: Array = field(default_factory=lambda: frozen(STANDARD_GRAVITY))
    couplings: tuple[tuple[str, str], ...] = ()
    motors: tuple[Motor, ...] = ()
    no_contacts: tuple[tuple[str, str], ...] = ()
    findings: tuple[Finding, ...] = ()
    exact_frames: bool = False
    is_freed: bool = False


def unique(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where it is taken; it is taken from then on."""
    free = name if name not in taken else next(n for k in count(2) if (n := f"{name}_{k}") not in taken)
    taken.add(free)
    return free
