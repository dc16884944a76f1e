"""From link to link: velocities and accelerations outwards, forces and momentum inwards.

Everything is along the axes of the links' own frames. What is zero, such as velocities for gravity, is the float 0.0:
what it is a factor of vanishes. There is one recursion for inverse dynamics, gravity, and Coriolis torques.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dynid.model.code.expressions import Number
from dynid.model.code.tree import Body, Pose
from dynid.model.code.vectors import NOTHING, STILL, ZERO, Matrix, MomentumMatrix, PseudoInertia, Twist, Vector, Wrench
from dynid.robot import WORLD

Numbers = Sequence[Number]


@dataclass(frozen=True)
class Motion:
    """How a link moves, along its own axes.

    Attributes:
        velocity: Its velocity.
        turning_rate: The rate of its angular velocity.
        U: Its points x are accelerated by U x + a.
        a: See `U`.
    """

    velocity: Twist
    turning_rate: Vector
    U: Matrix
    a: Vector

    def rate(self, column: Twist) -> Twist:
        """Rate of a column of the motion subspace, which turns and slides with its link."""
        v, w = self.velocity
        return Twist(w.cross(column.along) + v.cross(column.about), w.cross(column.about))


def poses(bodies: Sequence[Body], q: Numbers) -> list[Pose]:
    """Poses of the links in their parents' frames."""
    return [body.pose(q) for body in bodies]


def motions(bodies: Sequence[Body], at: Sequence[Pose], v: Numbers, a: Numbers, gravity: Vector) -> list[Motion]:
    """Motions of the links, where the ground is accelerated against gravity."""
    ground = Motion(STILL, ZERO, NOTHING, gravity * -1.0)
    found: list[Motion] = []
    for body, pose in zip(bodies, at, strict=True):
        before = ground if body.parent == WORLD else found[body.parent]
        joint, joint_rate = body.twist(v), body.twist(a)
        carried = pose.down(before.velocity.about)
        turning = carried + joint.about
        rate = pose.down(before.turning_rate) + joint_rate.about + carried.cross(joint.about)
        sliding = pose.down(before.velocity.along + before.velocity.about.cross(pose.place)) + joint.along
        centripetal = carried.cross(joint.along) + turning.cross(joint.along)
        acceleration = pose.down(before.a + before.U(pose.place)) + joint_rate.along + centripetal
        found.append(Motion(Twist(sliding, turning), rate, _second_order(turning, rate), acceleration))
    return found


def _second_order(w: Vector, rate: Vector) -> Matrix:
    """[rate] + [w][w], with products in common."""
    xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
    xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
    return Matrix(Vector(-(yy + zz), xy, xz), Vector(xy, -(xx + zz), yz), Vector(xz, yz, -(xx + yy))) + rate.skew


def gathered(
    bodies: Sequence[Body],
    at: Sequence[Pose],
    wrenches: Sequence[Wrench],
    columns: Callable[[int], Sequence[Twist]] | None = None,
) -> list[Number]:
    """Torques of the joints that exert wrenches on the links, each about and along its link's frame.

    Args:
        bodies: The bodies.
        at: Their poses.
        wrenches: The wrench on each.
        columns: For the index of a body, other columns than those of its motion subspace.
    """
    totals = list(wrenches)
    found: list[Number] = [0.0] * (1 + max(row for body in bodies for row in body.rows))
    for i in reversed(range(len(bodies))):
        body = bodies[i]
        for column, row in zip(body.columns if columns is None else columns(i), body.rows, strict=True):
            found[row] = found[row] + column @ totals[i]
        if body.parent != WORLD:
            totals[body.parent] = totals[body.parent] + at[i].carried(totals[i])
    return found


def inverse_dynamics(
    bodies: Sequence[Body], inertia: Sequence[PseudoInertia], q: Numbers, v: Numbers, a: Numbers, gravity: Vector
) -> list[Number]:
    """Torques that move the links, by recursive Newton-Euler.

    Args:
        bodies: The bodies.
        inertia: Their pseudo-inertias.
        q: Positions.
        v: Velocities.
        a: Accelerations.
        gravity: Gravity in the world frame.
    """
    at = poses(bodies, q)
    moving = motions(bodies, at, v, a, gravity)
    return gathered(bodies, at, [own.wrench(each.U, each.a) for own, each in zip(inertia, moving, strict=True)])


def momentum_matrix(inertia: PseudoInertia, motion: Motion) -> MomentumMatrix:
    """The momentum matrix of a link: its velocity matrix times its pseudo-inertia."""
    v, w = motion.velocity.along, motion.velocity.about.skew
    return MomentumMatrix(w @ inertia.second + v.outer(inertia.first), w(inertia.first) + v * inertia.mass)


def momentum(
    bodies: Sequence[Body], inertia: Sequence[PseudoInertia], q: Numbers, v: Numbers
) -> tuple[list[Number], list[Number]]:
    """Generalised momentum p = M v, and C' v: the rate of p by all but gravity and torques.

    With the momentum h of the links that a column S of the motion subspace moves, p is S . h; and C' v, for the
    Coriolis matrix that has M' = C + C', is the rate of S times h.
    """
    at = poses(bodies, q)
    moving = motions(bodies, at, v, [0.0] * len(v), ZERO)
    wrenches = [momentum_matrix(own, each).wrench for own, each in zip(inertia, moving, strict=True)]
    rates = gathered(bodies, at, wrenches, lambda i: [moving[i].rate(column) for column in bodies[i].columns])
    return gathered(bodies, at, wrenches), rates
