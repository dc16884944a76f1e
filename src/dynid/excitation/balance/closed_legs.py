"""Legs that follow: joints, or the base, from the condition that feet stand still, with exact derivatives.

Of all coordinates some are free: the pose of the base and the joints beside the legs, or, on a single foot, all joints.
The others follow. The feet's poses are conditions c(x, y) = 0 of free x and dependent y; Newton's method solves them
for all samples at once, and the implicit function theorem gives y' = -(dc/dy)^-1 (dc/dx) x'.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Flags, Indices
from dynid.excitation.balance.stance import Foot, Stance
from dynid.excitation.balance.tree_motion import Frames, chain_joints, frames_of, point_jacobian, rates_of

_ITERATIONS = 40
"""Steps of Newton's method at most."""

_LARGEST_STEP = 0.4
"""Largest change of a joint [rad or m] in one of them."""

_CLOSED = 1e-11
"""Feet are in place when they are nearer than this [m, rad]."""

_DAMPING = 1e-4
"""Damping of the first steps, relative to the error: straight legs are singular."""


@dataclass(frozen=True, eq=False)
class ClosedLegs:
    """The feet of a stance, held where they are.

    Attributes:
        stance: The stance.
    """

    stance: Stance

    @cached_property
    def _chain(self) -> list[int]:
        return chain_joints(self.stance.robot, self.stance.standing_links)

    @cached_property
    def free(self) -> Indices:
        """Columns of the velocities that are free."""
        return np.setdiff1d(np.arange(self.stance.robot.nv), self.stance.dependent)

    def frames(self, q: Array) -> Frames:
        """The joint frames of all legs."""
        return frames_of(self.stance.robot, self._chain, q)

    def closed(self, q: Array) -> tuple[Array, Flags]:
        """Positions with the feet in place.

        Args:
            q: Free positions, and dependent ones nearby, shape (samples, nq).

        Returns:
            The positions, and whether a solution was found, shape (samples,).
        """
        if self.stance.is_single:
            return self._seated(q), np.ones(len(q), dtype=bool)
        q, found = q.copy(), np.zeros(len(q), dtype=bool)
        open_ones = np.arange(len(q))
        for _ in range(_ITERATIONS):
            frames = self.frames(q[open_ones])
            errors = [self._error(foot, frames) for foot in self.stance.feet]
            worst = np.max([np.abs(error).max(axis=1) for error in errors], axis=0)
            found[open_ones[worst < _CLOSED]] = True
            is_open = worst >= _CLOSED
            if not is_open.any():
                break
            frames = {k: (R[is_open], p[is_open]) for k, (R, p) in frames.items()}
            open_ones = open_ones[is_open]
            for foot, error in zip(self.stance.feet, errors, strict=True):
                self._step(q, open_ones, foot, frames, error[is_open])
        return q, found

    def _step(self, q: Array, rows: Indices, foot: Foot, frames: Frames, error: Array) -> None:
        """One damped step of one leg, in place."""
        J = self._jacobian(foot, frames)[:, :, foot.leg]
        damping = _DAMPING * np.minimum(np.abs(error).max(axis=1), 1.0)
        normal = np.swapaxes(J, 1, 2) @ J + (damping**1.5)[:, None, None] * np.eye(len(foot.leg))
        normal += 1e-14 * np.eye(len(foot.leg))
        step = np.linalg.solve(normal, np.swapaxes(J, 1, 2) @ error[:, :, None])[:, :, 0]
        step *= np.minimum(1.0, _LARGEST_STEP / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
        q[rows[:, None], self._position_columns(foot.leg)] += step

    def _position_columns(self, columns: Indices) -> Indices:
        """Where the positions of velocities' columns stand: a free base has one position more."""
        return columns + (self.stance.robot.nq - self.stance.robot.nv)

    def _seated(self, q: Array) -> Array:
        """Positions with the base where a single foot holds it."""
        foot, robot = self.stance.feet[0], self.stance.robot
        q = q.copy()
        q[:, :7] = [0.0] * 6 + [1.0]
        R, p = self.frames(q)[foot.link]
        base = robot.joints[0].placement
        T = np.zeros((len(q), 4, 4))
        T[:, :3, :3], T[:, :3, 3], T[:, 3, 3] = R, p, 1.0
        relative = np.linalg.inv(base) @ T @ foot.placement
        found = np.linalg.inv(base) @ foot.target @ np.linalg.inv(relative)
        q[:, :3], q[:, 3:7] = found[:, :3, 3], quaternions(found[:, :3, :3])
        return q

    def _error(self, foot: Foot, frames: Frames) -> Array:
        """How far a foot is from its place: metres, then radians where it is flat, shape (samples, rows)."""
        R, p = frames[foot.link]
        moved = foot.target[:3, 3] - (R @ foot.placement[:3, 3] + p)
        if not foot.is_flat:
            return np.asarray(moved)
        return np.concatenate(
            [moved, rotation_vectors(foot.target[:3, :3] @ np.swapaxes(R @ foot.placement[:3, :3], 1, 2))], 1
        )

    def _jacobian(self, foot: Foot, frames: Frames) -> Array:
        """How a foot moves per velocity of all coordinates, shape (samples, rows, nv)."""
        R, p = frames[foot.link]
        points = R @ foot.placement[:3, 3] + p
        return point_jacobian(self.stance.robot, frames, foot.link, points)[:, : foot.rows]

    def jacobian(self, frames: Frames) -> Array:
        """How all feet move per velocity of all coordinates, shape (samples, rows of all, nv)."""
        return np.concatenate([self._jacobian(foot, frames) for foot in self.stance.feet], axis=1)

    def bend(self, q: Array) -> Array:
        """How far from straight all legs are: the smallest singular value of any [m], shape (samples,)."""
        if self.stance.is_single:
            return np.full(len(q), np.inf)
        frames = self.frames(q)
        legs = (self._jacobian(foot, frames)[:, :, foot.leg] for foot in self.stance.feet)
        return np.asarray(np.min([np.linalg.svd(J, compute_uv=False)[:, -1] for J in legs], axis=0))

    def follow(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Velocities and accelerations with the dependent ones that leave the feet at rest.

        Args:
            q: Positions with the feet in place, shape (samples, nq).
            v: Velocities; only free ones count, shape (samples, nv).
            a: Accelerations, likewise.
        """
        frames, y = self.frames(q), self.stance.dependent
        J = self.jacobian(frames)
        v, a = v.copy(), a.copy()
        v[:, y] = a[:, y] = 0.0
        v[:, y] = -_solved(J[:, :, y], J @ v[:, :, None])
        left = self._accelerations(frames, v, a)
        a[:, y] = -_solved(J[:, :, y], left[:, :, None])
        return v, a

    def _accelerations(self, frames: Frames, v: Array, a: Array) -> Array:
        """Accelerations of all feet, shape (samples, rows of all)."""
        rates = rates_of(self.stance.robot, frames, v, a)
        found = []
        for foot in self.stance.feet:
            R, _ = frames[foot.link]
            found.append(rates[foot.link].at(R @ foot.placement[:3, 3])[1])
            if foot.is_flat:
                found.append(rates[foot.link].turning_rate)
        return np.concatenate(found, axis=1)

    def reduced(self, frames: Frames, J: Array) -> Array:
        """A Jacobian over all coordinates, (samples, rows, nv), as one over the free ones: (samples, rows, free)."""
        own, y = self.jacobian(frames), self.stance.dependent
        follows = np.linalg.solve(own[:, :, y], own[:, :, self.free])
        return np.asarray(J[:, :, self.free] - J[:, :, y] @ follows)


def _solved(A: Array, b: Array) -> Array:
    return np.asarray(np.linalg.solve(A, b), dtype=np.float64)[:, :, 0]


def rotation_vectors(R: Array) -> Array:
    """Axis times angle [rad] of rotations, (samples, 3, 3) to (samples, 3)."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(R).as_rotvec())


def quaternions(R: Array) -> Array:
    """Unit quaternions x, y, z, w of rotations, (samples, 3, 3) to (samples, 4)."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(R).as_quat())
