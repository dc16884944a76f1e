"""Where chosen frames may be, and how fast: workspace boxes and tool speeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Indices, frozen
from dynid.errors import UnknownNameError
from dynid.excitation.limits.limit import Check, Limit
from dynid.excitation.motion import Motion
from dynid.excitation.trajectories.moves import MovesSmoothly
from dynid.model import joint_poses
from dynid.robot import WORLD, Robot


@dataclass(frozen=True, eq=False)
class FramePoint:
    """A point that moves with a link: the origin of a body's frame.

    Attributes:
        robot: A robot whose joints have one degree of freedom each.
        name: Name of the body.
        link: Index of the link that it is part of.
        point: The point in the link's joint frame [m], shape (3,).
    """

    robot: Robot
    name: str
    link: int
    point: Array

    @staticmethod
    def of(robot: Robot, name: str) -> FramePoint:
        """The origin of a body of a robot, by the body's name in the file."""
        for link, part in enumerate(robot.links):
            for body in part.bodies:
                if body.name == name:
                    return FramePoint(robot, name, link, frozen(body.placement[:3, 3]))
        raise UnknownNameError("moving body", name, [body.name for part in robot.links for body in part.bodies])

    def motion(self, q: Array, v: Array) -> tuple[Array, Array, Array, Array]:
        """Position, velocity, and their slopes.

        Args:
            q: Positions, shape (samples, nq).
            v: Velocities, shape (samples, nv).

        Returns:
            Position [m] and velocity [m/s], shape (samples, 3); the slope J of the position over q, which is that of
            the velocity over v, and the slope of the velocity over q, both of shape (samples, 3, nv).
        """
        rotations, origins = joint_poses(self.robot, q)
        p = rotations[self.link] @ self.point + origins[self.link]
        chain = self._chain()
        axes, columns = [], []  # of the chain, from the ground up
        for k in chain:
            joint = self.robot.joints[k]
            is_angular = joint.kind.is_angular
            z = rotations[k] @ joint.subspace[3:, 0] if is_angular else rotations[k] @ joint.subspace[:3, 0]
            axes.append(z if is_angular else np.zeros_like(z))
            columns.append(np.cross(z, p - origins[k]) if is_angular else z)
        speeds = [column * v[:, self.robot.joints[k].v] for column, k in zip(columns, chain, strict=True)]
        J, H = np.zeros((len(p), 3, self.robot.nv)), np.zeros((len(p), 3, self.robot.nv))
        above, turning = sum(speeds, np.zeros_like(p)), np.zeros_like(p)  # velocity from joint k up; rotation below it
        velocity = above
        for n, k in enumerate(chain):
            c = self.robot.joints[k].v.start
            J[:, :, c] += columns[n]
            H[:, :, c] += np.cross(axes[n], above) + np.cross(turning, columns[n])
            above = above - speeds[n]
            turning = turning + axes[n] * v[:, c, None]
        return p, velocity, J, H

    def _chain(self) -> list[int]:
        chain, at = [], self.link
        while at != WORLD:
            chain.append(at)
            at = self.robot.joints[at].parent
        return chain[::-1]


@dataclass(frozen=True, eq=False)
class SpeedLimit(Limit):
    """Speed of a point.

    Attributes:
        frame: The point.
        limit: Largest speed [m/s].
    """

    frame: FramePoint
    limit: float

    def slacks(self, motion: Motion) -> Array:
        """From the square of the speed, one per sample, shape (samples,)."""
        q, v, _ = motion.states
        velocity = self.frame.motion(q, v)[1]
        return 1.0 - np.sum(velocity**2, axis=1) / (self.factor * self.limit) ** 2

    def slopes(self, motion: Motion, which: Indices) -> Array:
        """The velocity along its own slopes."""
        q, v, a = (part[which] for part in motion.states)
        _, velocity, J, H = self.frame.motion(q, v)
        scaled = -2.0 * velocity / (self.factor * self.limit) ** 2
        slopes = (np.einsum("sk,skn->sn", scaled, H), np.einsum("sk,skn->sn", scaled, J), np.zeros_like(a))
        return motion.pull_back_rows(which, slopes)

    def checks(self, trajectory: MovesSmoothly, times: Array) -> list[Check]:
        """One."""
        q, v, _ = trajectory.states(times)
        speeds = np.linalg.norm(self.frame.motion(q, v)[1], axis=1)
        return [Check.of_size(f"speed of {self.frame.name}", self.limit, speeds, "m/s")]


@dataclass(frozen=True, eq=False)
class BoxLimit(Limit):
    """A box along the world's axes that a point may not leave.

    Attributes:
        frame: The point.
        lower: Smallest x, y, z [m], shape (3,); minus infinity where it is open.
        upper: Largest x, y, z [m], shape (3,).
    """

    frame: FramePoint
    lower: Array
    upper: Array

    @property
    def _walls(self) -> tuple[Array, Array]:
        """For the six walls, lower ones first: direction inwards along the axis, and place."""
        widths = (self.upper - self.lower)[np.isfinite(self.upper - self.lower)]
        margin = (1.0 - self.factor) * 0.5 * min([1.0, *widths.tolist()])  # by a part of the box's size or of a metre
        return np.repeat([1.0, -1.0], 3), np.concatenate([self.lower + margin, self.upper - margin])

    def slacks(self, motion: Motion) -> Array:
        """Distances from the six walls [m]; 1 from those that are not there, shape (samples * 6,)."""
        inwards, place = self._walls
        p = self.frame.motion(motion.states[0], motion.states[1])[0]
        distances = inwards * (np.concatenate([p, p], axis=1) - np.where(np.isfinite(place), place, 0.0))
        return np.where(np.isfinite(place), distances, 1.0).ravel()

    def slopes(self, motion: Motion, which: Indices) -> Array:
        """The rows of the point's Jacobian."""
        sample, wall = np.divmod(which, 6)
        inwards, place = self._walls
        q, v, a = (part[sample] for part in motion.states)
        J = self.frame.motion(q, v)[2][np.arange(len(which)), wall % 3]
        there = np.isfinite(place[wall])
        return motion.pull_back_rows(sample, ((inwards[wall] * there)[:, None] * J, np.zeros_like(v), np.zeros_like(a)))

    def checks(self, trajectory: MovesSmoothly, times: Array) -> list[Check]:
        """One for each limited axis."""
        q, v, _ = trajectory.states(times)
        p = self.frame.motion(q, v)[0]
        return [
            Check(
                f"{axis} of {self.frame.name}",
                (float(self.lower[k]), float(self.upper[k])),
                (float(p[:, k].min()), float(p[:, k].max())),
                "m",
                symmetric=False,
            )
            for k, axis in enumerate("xyz")
            if np.isfinite(self.lower[k]) or np.isfinite(self.upper[k])
        ]
