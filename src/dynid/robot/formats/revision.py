"""A robot's description with identified values: who of the bodies that are welded together takes the change."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.robot import inertia
from dynid.robot.assembly import assemble
from dynid.robot.description import BodyDescription, Description
from dynid.robot.frames import inverse
from dynid.robot.joints import JointDynamics
from dynid.robot.robot import Link, Robot

SOLVER_TOLERANCE = 1e-6
"""Links that are inconsistent by less than this fraction of their largest moment are consistent ones from a solver."""


def identified(robot: Robot, link_parameters: Array, dynamics: Mapping[str, JointDynamics]) -> Description:
    """What the robot's file would say with identified values.

    A link may be several bodies welded together. Its primary body (the one that the joint holds, or else the heaviest
    that has inertia) takes the whole change where it stays consistent; else the masses of all its bodies are deformed
    as little as possible (see `_deformed`). Links that do not change keep their bodies as they are.

    Args:
        robot: The robot.
        link_parameters: For every solid link its 10-vector about the joint frame, as in `robot.parameters`; shape
            (10 * solid links,) or (solid links, 10).
        dynamics: New friction and motor inertia of joints, by name; None in it leaves a value as it is.

    Returns:
        The description; the bodies of a link add up to its 10-vector.

    Raises:
        ShapeError: If there are not ten parameters a solid link.
        InvalidRequestError: If they are not finite.
        UnknownNameError: If there is no such joint.
    """
    given = np.asarray(link_parameters, dtype=float)
    count = len(robot.solid_links)
    if given.size != inertia.SIZE * count:
        raise ShapeError("link parameters", f"({inertia.SIZE * count},)", given.shape)
    if not np.isfinite(given).all():
        raise InvalidRequestError("link parameters hold NaN or infinity; give every link ten finite numbers")
    inertias: dict[str, Array] = {}
    for i, parameters in zip(robot.solid_links, given.reshape(count, inertia.SIZE), strict=True):
        if not np.array_equal(parameters, robot.links[i].parameters):
            inertias |= _distributed(robot.links[i], parameters)
    known = {joint.name: joint for joint in robot.description.joints}
    for name in dynamics:
        if name not in known:
            raise UnknownNameError("joint", name, known)
    description = robot.description
    return replace(
        description,
        bodies=tuple(
            replace(body, inertia=frozen(inertias[body.name])) if body.name in inertias else body
            for body in description.bodies
        ),
        joints=tuple(
            replace(joint, dynamics=_updated(joint.dynamics, dynamics[joint.name])) if joint.name in dynamics else joint
            for joint in description.joints
        ),
    )


def revised(robot: Robot, link_parameters: Array, dynamics: Mapping[str, JointDynamics]) -> Robot:
    """The same robot, with the same joints locked under the same gravity, with identified values."""
    return assemble(identified(robot, link_parameters, dynamics), lock=robot.locked, gravity=robot.gravity)


def _updated(old: JointDynamics, new: JointDynamics) -> JointDynamics:
    return replace(old, **{name: value for name, value in vars(new).items() if value is not None})


def _distributed(link: Link, parameters: Array) -> dict[str, Array]:
    """New 10-vectors of the link's bodies, each in its own frame, that add up to the link's in its joint frame."""
    primary = _primary(link)
    others = [body for body in link.bodies if body is not primary and body.states_inertia]
    values = [inertia.moved(body.parameters, body.placement) for body in others]
    rest = parameters - sum(values, np.zeros(inertia.SIZE))
    # Solvers leave a link that lies on the boundary a little outside; its bodies need not be better than the link.
    tolerance = 0.0 if inertia.is_physical(parameters, 0.0) else SOLVER_TOLERANCE
    changed: dict[str, Array] = {}
    if others and not inertia.is_physical(rest, tolerance) and inertia.is_physical(parameters, tolerance):
        rest = parameters
        deformed = _deformed(values, inertia.moved(primary.parameters, primary.placement), parameters, tolerance)
        for body, value in zip(others, deformed, strict=True):
            changed[body.name] = _in_body_frame(value, body.placement)
            rest = rest - inertia.moved(changed[body.name], body.placement)
    return changed | {primary.name: inertia.moved(rest, inverse(primary.placement))}


def _in_body_frame(parameters: Array, placement: Array) -> Array:
    """A body seen from its own frame; extents of mass that are rounding of zero are zero: points stay points."""
    mass, com, _ = inertia.to_mass_com_inertia(parameters)
    if mass == 0.0:
        return inertia.moved(parameters, inverse(placement))
    J = inertia.to_pseudo_inertia(parameters)
    spread, axes = np.linalg.eigh(J[:3, :3] - mass * np.outer(com, com))
    spread[np.abs(spread) <= 1e-12 * np.trace(J[:3, :3])] = 0.0
    R, at = placement[:3, :3], placement[:3, 3]
    about_com = np.eye(3) * spread.sum() - (axes * spread) @ axes.T
    return inertia.from_mass_com_inertia(mass, R.T @ (com - at), R.T @ about_com @ R)


def _primary(link: Link) -> BodyDescription:
    """The body that the joint holds if it has inertia, else the heaviest that has one, else the one that it holds."""
    solid = [body for body in link.bodies if not body.virtual]
    heavy = [body for body in solid if body.states_inertia]
    held = [body for body in heavy if body.name == link.name]
    if held or heavy:
        return held[0] if held else max(heavy, key=lambda body: float(body.parameters[0]))
    return next((body for body in solid if body.name == link.name), solid[0])


def _deformed(others: list[Array], primary: Array, total: Array, tolerance: float) -> list[Array]:
    """The other bodies' 10-vectors in the joint frame when the whole mass distribution is deformed to a new total.

    With J0 the sum of the bodies' pseudo-inertias and J the new total, the congruence with
    M = J0^-1/2 (J0^1/2 J J0^1/2)^1/2 J0^-1/2, the optimal transport between the two, gives M J0 M = J, and
    M Jk M is consistent for every body k that was. Where J0 is not positive definite (points on a line, inconsistent
    bodies) the other bodies shrink by halves until the primary one is consistent.
    """
    before = inertia.to_pseudo_inertia(primary + sum(others))
    scale = np.sqrt(np.abs(np.diag(before)))
    if (scale > 0.0).all() and np.linalg.eigvalsh(before / np.outer(scale, scale))[0] > 1e-9:
        root = _root(before)
        inverse_root = np.linalg.inv(root)
        M = inverse_root @ _root(root @ inertia.to_pseudo_inertia(total) @ root) @ inverse_root
        moved = [inertia.from_pseudo_inertia(M @ inertia.to_pseudo_inertia(other) @ M) for other in others]
        if inertia.is_physical(total - sum(moved, np.zeros(inertia.SIZE))):
            return moved
    for halvings in range(1, 50):
        shrunk = [0.5**halvings * other for other in others]
        if inertia.is_physical(total - sum(shrunk, np.zeros(inertia.SIZE)), tolerance):
            return shrunk
    return [0.0 * other for other in others]


def _root(matrix: Array) -> Array:
    """The symmetric square root of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
