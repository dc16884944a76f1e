"""Positions, velocities, accelerations and jerks of joints: limits that are linear in the coefficients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Indices, frozen
from dynid.errors import InvalidRequestError
from dynid.excitation.limits.limit import Check, Limit
from dynid.excitation.motion import Grid, Motion
from dynid.excitation.trajectories.family import MovesSmoothly
from dynid.robot.joints import JointKind, Limits
from dynid.robot.robot import Robot

QUANTITIES = ("position", "velocity", "acceleration", "jerk")
"""What is bounded, in the order of derivatives."""

_FAR = 100.0
"""A range that is open at one end is taken to be this wide [rad or m]."""


@dataclass(frozen=True, eq=False)
class JointBounds(Limit):
    """Each quantity of each joint within `middle +- half`.

    Attributes:
        names: Names of the joints.
        units: For each joint "rad" or "m".
        middle: Middles, shape (4, joints); rows are position, velocity, acceleration and jerk.
        half: Half widths, shape (4, joints); infinite where nothing is limited.
        factor: Part of the widths that a design may use.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    middle: Array
    half: Array
    factor: float = 1.0

    @staticmethod
    def of(robot: Robot, limits: Sequence[Limits]) -> JointBounds:
        """Bounds of all coordinates of a robot.

        Args:
            robot: A robot whose independent joints have one degree of freedom each.
            limits: The limits of each coordinate.

        Raises:
            InvalidRequestError: If limits leave no room, or leave the motion without bound.
        """
        joints = robot.independent_joints
        _require_limits([joint.name for joint in joints], limits)
        middle, half = np.zeros((4, len(joints))), np.full((4, len(joints)), math.inf)
        for k, (joint, limit) in enumerate(zip(joints, limits, strict=True)):
            _check(joint.name, limit)
            lower, upper = limit.lower, limit.upper
            if math.isfinite(lower) or math.isfinite(upper):
                lower = lower if math.isfinite(lower) else upper - _FAR
                upper = upper if math.isfinite(upper) else lower + _FAR
                middle[0, k], half[0, k] = (lower + upper) / 2, (upper - lower) / 2
            half[1:, k] = limit.velocity, limit.acceleration, limit.jerk
        units = tuple("m" if joint.kind is JointKind.PRISMATIC else "rad" for joint in joints)
        return JointBounds(tuple(joint.name for joint in joints), units, frozen(middle), frozen(half))

    @cached_property
    def _entries(self) -> list[list[int]]:
        """For each joint the quantities that are limited."""
        return [[k for k in range(4) if math.isfinite(self.half[k, j])] for j in range(len(self.names))]

    def blocks(self, grid: Grid) -> list[tuple[Array, Array]]:
        """For each joint matrix and offset of `values = A x + b`, which must lie between -1 and 1."""
        blocks = []
        for j, entries in enumerate(self._entries):
            scale = [1.0 / (self.factor * self.half[k, j]) for k in entries]
            rows = [c * grid.reduced[j][k] for c, k in zip(scale, entries, strict=True)]
            fixed = [
                c * (grid.bases[k] @ grid.free.fixed[:, j] - self.middle[k, j])
                for c, k in zip(scale, entries, strict=True)
            ]
            width = grid.free.sizes[j]
            blocks.append((np.concatenate([np.zeros((0, width)), *rows]), np.concatenate([np.zeros(0), *fixed])))
        return blocks

    def slacks(self, motion: Motion) -> Array:
        """Below and above, joint by joint, shape (2 * values,)."""
        parts = zip(self.blocks(motion.grid), motion.grid.free.slices, strict=True)
        values = np.concatenate([A @ motion.x[where] + b for (A, b), where in parts])
        return np.concatenate([1.0 - values, 1.0 + values])

    def slopes(self, motion: Motion, which: Indices) -> Array:
        """Rows of the blocks, which do not depend on the motion."""
        blocks = self.blocks(motion.grid)
        J = np.zeros((sum(len(A) for A, _ in blocks), len(motion.x)))
        begin = 0
        for (A, _), where in zip(blocks, motion.grid.free.slices, strict=True):
            J[begin : begin + len(A), where] = A
            begin += len(A)
        return np.concatenate([-J, J])[which]

    def checks(self, trajectory: MovesSmoothly, times: Array) -> list[Check]:
        """One for each limited quantity of each joint."""
        motions = [*trajectory.states(times), trajectory.jerk(times)]
        found = []
        for j, entries in enumerate(self._entries):
            for k in entries:
                name = f"{QUANTITIES[k]} of {self.names[j]}"
                unit = self.units[j] + ("" if k == 0 else "/s" if k == 1 else f"/s^{k}")
                middle, half = float(self.middle[k, j]), float(self.half[k, j])
                values = motions[k][:, j]
                reached = (float(values.min()), float(values.max()))
                found.append(Check(name, (middle - half, middle + half), reached, unit, symmetric=k > 0))
        return found

    def tightened(self, factor: float) -> JointBounds:
        """With a part of all widths."""
        return replace(self, factor=self.factor * factor)


def _check(name: str, limit: Limits) -> None:
    if not limit.lower < limit.upper:
        raise InvalidRequestError(
            f"the position limits of joint '{name}' exclude each other: {limit.lower:g} to {limit.upper:g}; widen them "
            "in [excitation] position, or lock the joint"
        )
    for what in ("velocity", "acceleration", "jerk", "effort"):
        if not getattr(limit, what) > 0.0:
            raise InvalidRequestError(
                f"the {what} limit of joint '{name}' is {getattr(limit, what):g} and leaves no motion; "
                f"state a positive one in [excitation] {what}, or lock the joint"
            )


def _require_limits(names: Sequence[str], limits: Sequence[Limits]) -> None:
    """Refuse joints that may move as fast as they like; names all of them."""
    pairs = list(zip(names, limits, strict=True))
    fast = [name for name, limit in pairs if math.isinf(limit.velocity)]
    if fast:
        raise InvalidRequestError(
            f"{_have(fast)} no velocity limit in the robot's file; state one in [excitation] velocity "
            f"(rad/s or m/s), for all joints or by name: velocity = {{ {fast[0]} = 1.0 }}"
        )
    sudden = [name for name, limit in pairs if math.isinf(limit.acceleration) and math.isinf(limit.effort)]
    if sudden:
        raise InvalidRequestError(
            f"{_have(sudden)} neither an acceleration nor an effort limit in the robot's file; state one in "
            "[excitation] acceleration (rad/s^2 or m/s^2) or effort (N m or N), for all joints or by name"
        )


def _have(names: Sequence[str]) -> str:
    quoted = ", ".join(f"'{name}'" for name in names)
    return f"joint {quoted} has" if len(names) == 1 else f"joints {quoted} have"
