"""Bodies that links are expected to be like: the robot file's, or, where no file says anything, plain ones.

They serve as priors, and as the scale of each link's numbers.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.model import DynamicModel
from dynid.robot import Robot, inertia

PLAIN_DENSITY = 2000.0
"""Of plain bodies [kg/m^3]: links of arms, with motors and gears, come near it."""

SLENDERNESS = 0.2
"""Radius of plain bodies in parts of their length."""

SMALLEST_RADIUS = 0.08
"""Radius of plain bodies at least, in parts of the robot's reach (or of 1 m, where all joints are in one place)."""

THINNEST_REFERENCE = 1e-3
"""A reference whose pseudo-inertia is below this part of a plain body's, in some direction, is made so thick there."""


GUESSED_WEIGHT = 1.0
"""Weight at most of plain bodies, and of the friction of files: they are known within a factor of about two."""


class Origin(StrEnum):
    """Where a reference comes from."""

    FILE = "file"
    """The robot file."""
    MENDED = "file, made possible"
    """The robot file, but the body was impossible, or all but flat, and was changed until it was possible."""
    PLAIN = "plain body"
    """The file does not state its mass: a rounded rod along the link."""
    MASSLESS = "massless"
    """The file gives inertia to other links, and to this one neither that nor a shape: it is a frame without mass."""


@dataclass(frozen=True, eq=False)
class Reference:
    """What a link is expected to be like.

    Attributes:
        link: Index of the link.
        parameters: Its 10-vector about the joint frame, shape (10,); strictly physical, but for massless links.
        origin: Where it comes from.
        share: Weight of its prior relative to that of the others.
        stds: Standard deviations of its parameters, for the Euclidean prior at a weight of 1, shape (10,); its mass and
            size stand for them when None.
    """

    link: int
    parameters: Array
    origin: Origin
    share: float = 1.0
    stds: Array | None = None

    @property
    def most_weight(self) -> float:
        """Weight that its prior is never above: a guess is never trusted as a file is."""
        return GUESSED_WEIGHT if self.origin is Origin.PLAIN else np.inf


def references(robot: Robot, heavy: Collection[int] = ()) -> tuple[Reference, ...]:
    """The reference of every solid link of a robot.

    Args:
        robot: The robot.
        heavy: Indices of links that have mass, whatever the file says.
    """
    stated = [i for i in robot.solid_links if robot.links[i].parameters[0] > 0.0]
    ratios = [robot.links[i].parameters[0] / plain_body(robot, i)[0] for i in stated]
    density = float(np.exp(np.mean(np.log(ratios)))) if ratios else 1.0
    frames = {i for i in robot.solid_links if stated and i not in heavy and not robot.links[i].has_unknown_mass}
    return tuple(_reference(robot, i, i in frames, density) for i in robot.solid_links)


def _reference(robot: Robot, i: int, is_frame: bool, density: float) -> Reference:
    """The reference of a link; plain bodies have so many times the usual density."""
    stated, plain = robot.links[i].parameters, plain_body(robot, i)
    if not stated.any():
        massless = Reference(i, np.zeros(inertia.SIZE), Origin.MASSLESS)
        return massless if is_frame else Reference(i, density * plain, Origin.PLAIN)
    L = np.linalg.cholesky(inertia.to_pseudo_inertia(plain))
    K = np.linalg.solve(L, np.linalg.solve(L, inertia.to_pseudo_inertia(stated)).T)
    sizes, axes = np.linalg.eigh(0.5 * (K + K.T))
    if sizes[0] >= THINNEST_REFERENCE * sizes[-1]:
        return Reference(i, stated, Origin.FILE)
    thick = np.maximum(sizes, THINNEST_REFERENCE * max(sizes[-1], THINNEST_REFERENCE))
    mended = inertia.from_pseudo_inertia(L @ (axes * thick) @ axes.T @ L.T)
    # Thin bodies, such as rods, are possible as they are: only the scale of the numbers needs the mended one.
    return Reference(i, mended, Origin.FILE if inertia.is_physical(stated) else Origin.MENDED)


def plain_body(robot: Robot, i: int) -> Array:
    """A rounded rod of even density from a link's joint to the farthest joint or frame on it, shape (10,)."""
    ends = [joint.placement[:3, 3] for joint in robot.joints if joint.parent == i]
    ends += [body.placement[:3, 3] for body in robot.links[i].bodies]
    end = max(ends, key=lambda point: float(np.linalg.norm(point)), default=np.zeros(3))
    length = float(np.linalg.norm(end))
    reach = sum(float(np.linalg.norm(joint.placement[:3, 3])) for joint in robot.joints)
    radius = max(SLENDERNESS * length, SMALLEST_RADIUS * (reach or 1.0))
    mass = PLAIN_DENSITY * np.pi * radius**2 * (length + 4.0 / 3.0 * radius)
    Sigma = mass * (np.outer(end, end) / 12.0 + radius**2 / 5.0 * np.eye(3))
    return inertia.from_mass_com_inertia(mass, end / 2.0, np.trace(Sigma) * np.eye(3) - Sigma)


def require_same_links(model: DynamicModel, other: Robot) -> None:
    """Refuse another robot's file as the reference of a model.

    Raises:
        UnknownNameError: If it lacks one of the model's links.
        InvalidRequestError: If one of its joints stands or points elsewhere.
    """
    robot = model.robot
    theirs = {link.name: k for k, link in enumerate(other.links)}
    for i in robot.solid_links:
        name = robot.links[i].name
        if name not in theirs:
            raise UnknownNameError("link", name, theirs, f" in the prior's robot '{other.name}'")
    mine = [(joint.name, joint.parent, joint.kind.nv) for joint in robot.joints]
    if mine != [(joint.name, joint.parent, joint.kind.nv) for joint in other.joints]:
        raise InvalidRequestError(
            f"the prior's robot '{other.name}' has other joints than '{robot.name}'; give a file of the same robot"
        )
    for ours, its in zip(robot.joints, other.joints, strict=True):
        if not (np.allclose(ours.placement, its.placement, atol=1e-3) and np.allclose(ours.axis, its.axis, atol=1e-3)):
            raise InvalidRequestError(
                f"joint '{ours.name}' stands or points elsewhere in the prior's robot '{other.name}' than in "
                f"'{robot.name}'; links can only be compared in the same frames"
            )
