"""Where all joints are and how they move, seen from the world: the frame in which momenta of links add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.robot.robot import WORLD, Robot


@dataclass(frozen=True, eq=False)
class WorldKinematics:
    """Poses, velocities and motion subspaces of all joints in the world; spatial vectors are (linear; angular).

    Attributes:
        rotations: Of each joint's frame, shape (samples, 3, 3).
        origins: Of each joint's frame [m], shape (samples, 3).
        velocities: Of each joint's link, at the world's origin, shape (samples, 6).
        subspaces: Motion of each joint's link per unit of its velocities, at the world's origin, shape (samples, 6, nv
            of the joint).
    """

    rotations: list[Array]
    origins: list[Array]
    velocities: list[Array]
    subspaces: list[Array]

    @staticmethod
    def of(robot: Robot, q: Array, v: Array) -> WorldKinematics:
        """From positions, shape (samples, nq), and velocities, shape (samples, nv), that `Robot.states` has checked."""
        found = WorldKinematics([], [], [], [])
        for joint in robot.joints:
            R, x = joint.move(q)
            velocity = np.zeros((len(q), 6))
            if joint.parent != WORLD:
                below = found.rotations[joint.parent]
                x = np.einsum("sij,sj->si", below, x) + found.origins[joint.parent]
                R, velocity = below @ R, found.velocities[joint.parent]
            S = np.empty((len(q), 6, joint.subspace.shape[1]))
            S[:, 3:] = R @ joint.subspace[3:]
            S[:, :3] = R @ joint.subspace[:3] + np.cross(x[:, :, None], S[:, 3:], axis=1)
            found.rotations.append(R)
            found.origins.append(x)
            found.subspaces.append(S)
            found.velocities.append(velocity + np.einsum("skn,sn->sk", S, v[:, joint.v]))
        return found

    def own_velocity(self, joint: int) -> tuple[Array, Array]:
        """Velocity of a link's joint frame, along that frame: linear and angular, each of shape (samples, 3)."""
        R, V = self.rotations[joint], self.velocities[joint]
        linear = V[:, :3] + np.cross(V[:, 3:], self.origins[joint])
        return np.einsum("sji,sj->si", R, linear), np.einsum("sji,sj->si", R, V[:, 3:])
