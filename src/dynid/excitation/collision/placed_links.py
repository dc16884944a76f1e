"""Links of a robot, and capsules around their parts, placed in the world in many postures at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array, Indices
from dynid.excitation.collision.solids import Capsule
from dynid.model import link_poses
from dynid.robot import Robot


@dataclass(frozen=True, eq=False)
class MovingCapsules:
    """Capsules that move with links.

    Attributes:
        begin: Ends in the joint frames of their links [m], shape (n, 3).
        end: The other ends.
        radius: Radii [m], shape (n,).
        link: Indices of their links, shape (n,).
    """

    begin: Array
    end: Array
    radius: Array
    link: Indices

    @staticmethod
    def of(capsules: Sequence[Capsule], links: Sequence[int]) -> MovingCapsules:
        """Capsules in the joint frames of links."""
        begin = np.array([one.begin for one in capsules]).reshape(-1, 3)
        end = np.array([one.end for one in capsules]).reshape(-1, 3)
        return MovingCapsules(begin, end, np.array([one.radius for one in capsules]), np.array(links, dtype=np.intp))

    def placed(self, poses: LinkPoses) -> tuple[Array, Array]:
        """Ends of all capsules in all postures in the world, each of shape (n, samples, 3)."""
        R, p = poses.rotations[self.link], poses.origins[self.link]
        a = np.einsum("nsij,nj->nsi", R, self.begin) + p
        return a, np.einsum("nsij,nj->nsi", R, self.end) + p


@dataclass(frozen=True, eq=False)
class LinkPoses:
    """Joint frames of many postures; those of the world are the last, at the index `WORLD`.

    Attributes:
        robot: The robot.
        rotations: Shape (joints + 1, samples, 3, 3).
        origins: Shape (joints + 1, samples, 3).
        parts: Capsules that move with the links.
    """

    robot: Robot
    rotations: Array
    origins: Array
    parts: MovingCapsules

    @staticmethod
    def of(robot: Robot, q: Array, parts: MovingCapsules) -> LinkPoses:
        """Those of postures, shape (samples, nq)."""
        return LinkPoses(robot, *link_poses(robot, q), parts)

    @property
    def samples(self) -> int:
        """Number of postures."""
        return self.origins.shape[1]

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        return self.parts.placed(self)

    def ends(self, which: Indices, sample: Indices) -> tuple[Array, Array]:
        """Both ends of some parts in some postures in the world [m], each of shape (rows, 3)."""
        begin, end = self._ends
        return begin[which, sample], end[which, sample]

    def pulled(self, links: Indices, points: Array, along: Array) -> Array:
        """Slopes over positions of points [m] that move with links, along directions; row k is of posture k.

        Args:
            links: Index of each row's link, shape (rows,).
            points: The points in the world, shape (rows, 3).
            along: The directions, shape (rows, 3).
        """
        total = np.zeros((len(points), self.robot.nv))
        for k, joint in enumerate(self.robot.joints):
            moved = self._carries[links, k]
            if not moved.any():
                continue
            R, origin = self.rotations[k][moved], self.origins[k][moved]
            S = joint.subspace[:, 0]
            column = R @ S[:3] + np.cross(R @ S[3:], points[moved] - origin)
            total[moved, joint.v.start] += np.einsum("rk,rk->r", column, along[moved])
        return total

    @cached_property
    def _carries(self) -> NDArray[np.bool_]:
        """Whether joint k moves link i; the world's row, which nothing moves, is the last."""
        joints = self.robot.joints
        carries = np.zeros((len(joints) + 1, len(joints)), dtype=bool)
        for i in range(len(joints)):
            carries[i, list(self.robot.chain(i))] = True
        return carries
