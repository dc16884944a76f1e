"""The robot as the recursions take it: frames with axes along z, and inertia lumped towards the base.

A frame can be turned about its origin as one likes. With the axis of every joint along z, most elements of what follows
are zero. And mass on the axis of a link that turns has the same effect on its parent: `Szz`, `hz` and `m` of the link's
pseudo-inertia move there, and vanish here. Of a link that slides it is `S`, since both turn alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.model.code.expressions import Expr, Number, call
from dynid.model.code.vectors import NOTHING, STILL, UNTURNED, ZERO, Matrix, PseudoInertia, Twist, Vector, Wrench
from dynid.robot import SIZE, WORLD, Joint, JointKind, Robot


@dataclass(frozen=True, eq=False)
class Body:
    """A link with the joint that moves it, in its frame: that of the joint, turned so that its axis is z.

    Attributes:
        joint: The joint.
        parent: Index of the body that carries it, or `WORLD`.
        turned: The joint's frame in terms of this one: own = turned' @ joint's, shape (3, 3).
        fixed: Rotation of the frame at position zero in the parent's.
        arm: Its place at position zero in the parent's frame [m].
        columns: For each velocity of the joint, how it moves the frame: the columns of its motion subspace.
    """

    joint: Joint
    parent: int
    turned: Array
    fixed: Matrix
    arm: Vector
    columns: tuple[Twist, ...]

    @property
    def rows(self) -> range:
        """Indices of its velocities and torques."""
        return range(self.joint.v.start, self.joint.v.stop)

    def pose(self, q: Sequence[Number]) -> Pose:
        """Its frame in the parent's, at positions q of the robot."""
        kind, own = self.joint.kind, q[self.joint.q]
        if kind.is_angular:
            angle = self._coordinate(own[0])
            c, s = call("cos", angle), call("sin", angle)
            turn = Matrix(Vector(c, -s, 0.0), Vector(s, c, 0.0), Vector(0.0, 0.0, 1.0))
            return Pose(self.fixed, turn, self.arm)
        if kind is JointKind.PRISMATIC:
            along = Vector(0.0, 0.0, self._coordinate(own[0]))
            return Pose(self.fixed, UNTURNED, self.arm + self.fixed(along))
        if kind is JointKind.SPHERICAL:
            return Pose(self.fixed, _of_quaternion(own), self.arm)
        x, y, z = own[:3]
        return Pose(self.fixed, _of_quaternion(own[3:]), self.arm + self.fixed(Vector(x, y, z)))

    def _coordinate(self, q: Number) -> Number:
        joint = self.joint
        return q if joint.leader is None else joint.ratio * q + joint.offset

    def twist(self, x: Sequence[Number]) -> Twist:
        """What the joint adds to its frame's velocity, of velocities x of the robot; or of accelerations."""
        total = STILL
        for column, row in zip(self.columns, self.rows, strict=True):
            total = total + column * x[row]
        return total

    def point(self, x: Array) -> Vector:
        """A point or vector of the joint's frame, shape (3,), in this one."""
        return Vector.of(self.turned.T @ x)


@dataclass(frozen=True)
class Pose:
    """A frame in its parent's: turned by `fixed`, then by `moving`, at `place`."""

    fixed: Matrix
    moving: Matrix
    place: Vector

    @property
    def rotation(self) -> Matrix:
        """Rotation of this frame in the parent's."""
        return self.fixed @ self.moving

    def down(self, x: Vector) -> Vector:
        """A vector of the parent's frame, along the axes of this one."""
        return self.moving.T(self.fixed.T(x))

    def up(self, x: Vector) -> Vector:
        """A vector of this frame, along the axes of the parent's."""
        return self.fixed(self.moving(x))

    def carried(self, wrench: Wrench) -> Wrench:
        """A wrench on this frame, in the parent's."""
        force = self.up(wrench.force)
        return Wrench(force, self.up(wrench.moment) + self.place.cross(force))


def bodies_of(robot: Robot) -> tuple[Body, ...]:
    """The bodies of a robot, in the order of its joints."""
    bodies: list[Body] = []
    for joint in robot.joints:
        single = joint.kind.nv == 1
        turned = axis_frame(joint.axis) if single else np.eye(3)
        before = np.eye(3) if joint.parent == WORLD else bodies[joint.parent].turned
        S = np.vstack([turned.T @ joint.subspace[:3], turned.T @ joint.subspace[3:]])
        if single:
            S = np.round(S / joint.ratio) * joint.ratio
        bodies.append(
            Body(
                joint,
                joint.parent,
                turned,
                Matrix.rotation(before.T @ joint.placement[:3, :3] @ turned),
                Vector.of(before.T @ joint.placement[:3, 3]),
                tuple(Twist(Vector.of(column[:3]), Vector.of(column[3:])) for column in S.T),
            )
        )
    return tuple(bodies)


def axis_frame(axis: Array) -> Array:
    """A rotation, shape (3, 3), whose third column is a unit axis; an exact one for axes along x, y and z."""
    k = int(np.argmax(np.abs(axis)))
    if abs(abs(axis[k]) - 1.0) < 1e-15:
        R, sign = np.zeros((3, 3)), float(np.sign(axis[k]))
        R[k, 2], R[(k + 1) % 3, 0], R[(k + 2) % 3, 1] = sign, 1.0, sign
        return R
    x = np.zeros(3)
    x[int(np.argmin(np.abs(axis)))] = 1.0
    x -= axis * (axis @ x)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def inertia_of(bodies: Sequence[Body], robot: Robot, parameters: Sequence[Number]) -> list[PseudoInertia]:
    """Pseudo-inertias of the bodies, in their frames.

    Args:
        bodies: The bodies of the robot.
        robot: The robot.
        parameters: Inertial parameters of its solid links about their joint frames, `inertia.SIZE` for each.
    """
    found = [PseudoInertia(NOTHING, ZERO, 0.0)] * len(bodies)
    for k, i in enumerate(robot.solid_links):
        own = parameters[SIZE * k : SIZE * (k + 1)]
        found[i] = _of_parameters(own).moved(Matrix.rotation(bodies[i].turned.T), ZERO)
    return found


def lumped(bodies: Sequence[Body], inertia: Sequence[PseudoInertia]) -> list[PseudoInertia]:
    """Other pseudo-inertias with the same torques, and more zeros: what moves with the parent sits on it."""
    found = list(inertia)
    for i in reversed(range(len(bodies))):
        body, own = bodies[i], found[i]
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = own.second
        x, y, z = own.first
        if body.joint.kind.is_angular:
            kept = PseudoInertia(
                Matrix(Vector(xx, xy, xz), Vector(xy, yy, yz), Vector(xz, yz, 0.0)), Vector(x, y, 0.0), 0.0
            )
            moves = PseudoInertia(Matrix(ZERO, ZERO, Vector(0.0, 0.0, zz)), Vector(0.0, 0.0, z), own.mass)
        elif body.joint.kind is JointKind.PRISMATIC:
            kept = PseudoInertia(NOTHING, own.first, own.mass)
            moves = PseudoInertia(own.second, ZERO, 0.0)
        else:
            continue
        found[i] = kept
        if body.parent != WORLD:
            found[body.parent] = found[body.parent] + moves.moved(body.fixed, body.arm)
    return found


def _of_parameters(p: Sequence[Number]) -> PseudoInertia:
    """The pseudo-inertia of a 10-vector, in the order of `dynid.robot.inertia`."""
    m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz = (x if isinstance(x, Expr) else float(x) for x in p)
    half = 0.5 * (Ixx + Iyy + Izz)
    x, y, z = Vector(half - Ixx, -Ixy, -Ixz), Vector(-Ixy, half - Iyy, -Iyz), Vector(-Ixz, -Iyz, half - Izz)
    return PseudoInertia(Matrix(x, y, z), Vector(mx, my, mz), m)


def _of_quaternion(numbers: Sequence[Number]) -> Matrix:
    """Rotation of a quaternion (x, y, z, w) of any length but zero."""
    x, y, z, w = numbers
    s = 2.0 * call("reciprocal", x * x + y * y + z * z + w * w)
    return Matrix(
        Vector(1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)),
        Vector(s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)),
        Vector(s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)),
    )
