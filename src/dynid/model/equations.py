"""The equations that are measured: rows of the dynamics, or combinations of rows that depend on the posture.

Forces that are not measured are eliminated. On one foot, the six base rows give the wrench on it, and what is left are
the joint rows of the robot seen from that foot. Forces on further feet do not show in the part of these
rows that none of them reaches, `(1 - C C^+) rows` with C what forces on these feet do to the rows.

At rest, the ground's force balances the weight: with M the total mass, X(q) p the horizontal first moment of all masses
and c the centre of pressure, `X(q) p = c M`. On a free pivot the first moment about it is parallel to gravity.
"""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.model.kernels.kernel import joint_poses
from dynid.model.observed import CENTRE_OF_PRESSURE, MOUNTING, POINT, TORQUES, WRENCH, Observed
from dynid.model.standing import Standing
from dynid.model.still_bodies import place_on_link
from dynid.robot import Robot, skew

TOTAL_MASS = "total_mass"
"""Name of the equation of the robot's weight."""


def measured_rows(robot: Robot, observed: Observed) -> list[int]:
    """Indices of the rows of the dynamics whose right-hand side is measured, ascending."""
    words = set(observed.measured)
    rows: set[int] = set()
    if eliminates_from_base(observed):
        rows |= set(range(6))
    for joint in robot.independent_joints:
        is_base = robot.has_floating_base and joint is robot.joints[0]
        if WRENCH in words if is_base else TORQUES in words:
            rows |= set(range(robot.nv)[joint.v])
    for word in words - {WRENCH, TORQUES, CENTRE_OF_PRESSURE, MOUNTING}:
        rows |= set(range(robot.nv)[robot.joint(word).v])
    return sorted(rows)


def source_rows(robot: Robot, observed: Observed) -> list[int]:
    """Indices of the rows that equations are made of: the measured ones, and for combinations those of the base."""
    base = range(6) if observed.combines_rows else ()
    return sorted({*base, *measured_rows(robot, observed)})


def eliminates_from_base(observed: Observed) -> bool:
    """Whether base rows are among those that unmeasured forces are eliminated from: where none fixes the base."""
    return observed.eliminates_contacts and all(body.endswith(POINT) for body in observed.stands_on)


def equation_names(observed: Observed, of_rows: tuple[str, ...]) -> tuple[str, ...]:
    """Names of equations that combine rows, of which `of_rows` are the names of measured ones."""
    if MOUNTING in observed.measured:
        return tuple(f"{MOUNTING}[{k}]" for k in range(3))
    if CENTRE_OF_PRESSURE not in observed.measured:
        return of_rows
    weight = (TOTAL_MASS,) if of_rows else ()
    return (*of_rows, *(f"{CENTRE_OF_PRESSURE}[{k}]" for k in range(2)), *weight)


def combinations(robot: Robot, observed: Observed, q: Array) -> Array:
    """Matrices that make equations of the rows of the dynamics, shape (samples, equations, nv).

    Args:
        robot: A robot with a floating base.
        observed: What is measured.
        q: Positions, shape (samples, nq).
    """
    if MOUNTING in observed.measured:
        return about_pivot(robot, observed, q)
    rows = measured_rows(robot, observed)
    parts = [without_contacts(robot, observed, q, rows)] if observed.eliminates_contacts else []
    if not parts:
        parts = [np.broadcast_to(np.eye(robot.nv)[rows], (len(q), len(rows), robot.nv))]
    if CENTRE_OF_PRESSURE in observed.measured:
        # Beside others, which have a scale, the weight is a number that the pressure refers to.
        parts.append(about_ground(robot, observed, q)[:, : 3 if rows else 2])
    return np.concatenate(parts, axis=1)


def without_contacts(robot: Robot, observed: Observed, q: Array, rows: list[int]) -> Array:
    """Combinations of rows in which forces on the bodies that stand do not appear."""
    stance = Standing.of(robot, observed.stands_on, observed.posture)
    J = stance.jacobians(q)
    A = np.zeros((len(q), len(rows), robot.nv))
    A[:, np.arange(len(rows)), rows] = 1.0
    if stance.has_whole_body:
        own = np.array(rows, dtype=np.intp) - 6
        B, J = stance.eliminated(J)
        A[:, :, :6] = B.transpose(0, 2, 1)[:, own]
        C = J.transpose(0, 2, 1)[:, own]  # what forces on the other bodies do to these rows
    else:
        C = J.transpose(0, 2, 1)[:, rows]
    if not C.size:
        return A
    return A - C @ (np.linalg.pinv(C, rcond=1e-9) @ A)


def about_ground(robot: Robot, observed: Observed, q: Array) -> Array:
    """First moments of all masses along two horizontal directions, and their sum, shape (samples, 3, nv).

    They are about a point of the ground that does not move, and times the strength of gravity.
    """
    stance = Standing.of(robot, observed.stands_on, observed.posture)
    R, p = (pose[0] for pose in joint_poses(robot, q))
    up, across = vertical(robot)
    force, moment = np.zeros((2, len(q), 3, robot.nv))
    force[:, :, :3] = R
    moment[:, :, 3:6] = R
    moment[:, :, :3] = skew(p - stance.ground) @ R
    # A mass m at r needs the moment r x m g up; along e x up, with e horizontal, that is m g r . e.
    levers = np.cross(across, up)
    return np.concatenate([levers @ moment, up[None] @ force], axis=1)


def about_pivot(robot: Robot, observed: Observed, q: Array) -> Array:
    """Moments of the weight about the pivot, in the frame of the base, shape (samples, 3, nv)."""
    link, placement = place_on_link(robot, observed.pivot, "to mount")
    R, p = joint_poses(robot, q)
    point = placement[:3, :3] @ np.array(observed.point) + placement[:3, 3]
    at = p[link] + R[link] @ point - p[0]
    A = np.zeros((len(q), 3, robot.nv))
    A[:, :, :3] = -skew(np.einsum("sji,sj->si", R[0], at))
    A[:, :, 3:6] = np.eye(3)
    return A


def vertical(robot: Robot) -> tuple[Array, Array]:
    """The upward direction, shape (3,), and two horizontal ones, shape (2, 3), in the world.

    Raises:
        InvalidRequestError: If nothing weighs anything.
    """
    strength = float(np.linalg.norm(robot.gravity))
    if not strength:
        raise InvalidRequestError(f"'{robot.name}' has no gravity, which this measurement needs; state gravity")
    up = -robot.gravity / strength
    first = np.eye(3)[np.argmin(np.abs(up))]
    first = first - (first @ up) * up
    first /= np.linalg.norm(first)
    return up, np.array([first, skew(up) @ first])
