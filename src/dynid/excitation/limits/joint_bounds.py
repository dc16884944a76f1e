"""Positions, velocities, accelerations and jerks of joints: at all samples, or as sums of amplitudes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Indices, frozen
from dynid.errors import InvalidRequestError
from dynid.excitation.limits.limit import Check, Limit
from dynid.excitation.motion import Grid, Motion
from dynid.excitation.trajectories.family import Family, ParametricTrajectory
from dynid.excitation.trajectories.fourier import Fourier
from dynid.excitation.trajectories.moves import MovesSmoothly
from dynid.robot import JointKind, Limits, Robot

QUANTITIES = ("position", "velocity", "acceleration", "jerk")
"""What is bounded, in the order of derivatives."""

_OPEN_RANGE = 100.0
"""A range that is open at one end is taken to be this wide [rad or m]."""

_ROUNDED_KINK = 1e-4
"""Amplitudes [rad or m] are rounded off at zero, where they have a kink, by this much and upwards."""


@dataclass(frozen=True, eq=False)
class JointBounds:
    """Each quantity of each joint within `middle +- half`, which is linear in the coefficients.

    Attributes:
        names: Names of the joints.
        units: For each joint "rad" or "m".
        middle: Middles, shape (4, joints); rows are position, velocity, acceleration and jerk.
        half: Half widths, shape (4, joints); infinite where nothing is limited.
        factor: Part of the widths that a design may use, shape (4,).
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    middle: Array
    half: Array
    factor: Array = field(default_factory=lambda: np.ones(4))

    @staticmethod
    def of(robot: Robot, limits: Sequence[Limits]) -> JointBounds:
        """Bounds of all coordinates of a robot.

        Args:
            robot: A robot whose independent joints have one degree of freedom each.
            limits: The limits of each coordinate.

        Raises:
            InvalidRequestError: If limits leave no room, or leave no motion.
        """
        joints = robot.independent_joints
        middle, half = np.zeros((4, len(joints))), np.full((4, len(joints)), math.inf)
        for k, (joint, limit) in enumerate(zip(joints, limits, strict=True)):
            _check(joint.name, limit)
            lower, upper = limit.lower, limit.upper
            if math.isfinite(lower) or math.isfinite(upper):
                lower = lower if math.isfinite(lower) else upper - _OPEN_RANGE
                upper = upper if math.isfinite(upper) else lower + _OPEN_RANGE
                middle[0, k], half[0, k] = (lower + upper) / 2, (upper - lower) / 2
            half[1:, k] = limit.velocity, limit.acceleration, limit.jerk
        units = tuple("m" if joint.kind is JointKind.PRISMATIC else "rad" for joint in joints)
        return JointBounds(tuple(joint.name for joint in joints), units, frozen(middle), frozen(half))

    @cached_property
    def room(self) -> Array:
        """Half widths that a design may use, shape (4, joints)."""
        return frozen(self.factor[:, None] * self.half)

    @cached_property
    def _entries(self) -> list[list[int]]:
        """For each joint the quantities that are limited."""
        return [[k for k in range(4) if math.isfinite(self.half[k, j])] for j in range(len(self.names))]

    def blocks(self, grid: Grid) -> list[tuple[Array, Array]]:
        """For each joint matrix and offset of `values = A x + b`, which must lie between -1 and 1."""
        blocks = []
        for j, entries in enumerate(self._entries):
            scale = [1.0 / (self.factor[k] * self.half[k, j]) for k in entries]
            rows = [c * grid.reduced[j][k] for c, k in zip(scale, entries, strict=True)]
            fixed = [
                c * (grid.bases[k] @ grid.free.fixed[:, j] - self.middle[k, j])
                for c, k in zip(scale, entries, strict=True)
            ]
            width = grid.free.sizes[j]
            blocks.append((np.concatenate([np.zeros((0, width)), *rows]), np.concatenate([np.zeros(0), *fixed])))
        return blocks

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

    def tightened(self, factor: float | Array) -> JointBounds:
        """With a part of all widths, or one for each quantity, shape (4,)."""
        return replace(self, factor=self.factor * factor)


def _check(name: str, limit: Limits) -> None:
    if not limit.lower < limit.upper:
        raise InvalidRequestError(
            f"the position limits of joint '{name}' exclude each other: {limit.lower:g} to {limit.upper:g}; widen them "
            f"with --position {name}=LOWER:UPPER ([excitation] position), or lock the joint with --lock {name}"
        )
    for what in ("velocity", "acceleration", "jerk", "effort"):
        if not getattr(limit, what) > 0.0:
            raise InvalidRequestError(
                f"the {what} limit of joint '{name}' is {getattr(limit, what):g} and leaves no motion; "
                f"state a positive one with --{what} {name}=VALUE ([excitation] {what}), or lock the joint with --lock"
            )


def _series(family: Family) -> Fourier:
    """The family of motions that have amplitudes."""
    if not isinstance(family, Fourier):
        raise InvalidRequestError(
            f"amplitudes are those of Fourier series, and the family is {family.name}; leave [excitation] bound out"
        )
    return family


@dataclass(frozen=True, eq=False)
class AmplitudeLimit(Limit):
    """`sum_k (k w)^d amplitude_k <= half` for positions (d = 0, with the constant's distance from the middle) to jerks.

    The harder limits of the UR5 thesis (equation 3.57): a motion never exceeds the sum of its amplitudes, so they hold
    at all times without looking at any; they leave less room than the motion needs.

    Attributes:
        bounds: What the sums are limited by.
    """

    knows_curvature = True

    bounds: JointBounds

    def slacks(self, motion: Motion) -> Array:
        """One for each quantity of each joint; 1 where it is not limited, shape (4 * joints,)."""
        family = _series(motion.grid.free.family)
        return (1.0 - self._sums(family, motion.coefficients, _ROUNDED_KINK) / (self.factor * self.bounds.half)).ravel()

    def slopes(self, motion: Motion, which: Indices) -> Array:
        """Only the joint's own coefficients matter."""
        J = np.zeros((len(which), len(motion.x)))
        free = motion.grid.free
        for row, (k, j) in enumerate(zip(*np.divmod(which, len(free.slices)), strict=True)):
            parts, sizes, factors = self._parts(motion, int(k), int(j))
            slope = (parts * (factors / sizes)[:, None]).T  # (2, waves)
            J[row, free.slices[j]] = -(self._ordered(slope) @ free.directions[j]) / self._room(k, j)
        return J

    def curvature(self, motion: Motion, which: Indices, weights: Array) -> Array:
        """Of each amplitude across its direction: 1 / amplitude."""
        H = np.zeros((len(motion.x), len(motion.x)))
        free = motion.grid.free
        for k, j, weight in zip(*np.divmod(which, len(free.slices)), weights, strict=True):
            parts, sizes, factors = self._parts(motion, int(k), int(j))
            own = np.zeros((2 * len(sizes), 2 * len(sizes)))
            for n, (pair, size, factor) in enumerate(zip(parts, sizes, factors, strict=True)):
                both = [n, n + len(sizes)]
                own[np.ix_(both, both)] = factor * (np.eye(2) / size - np.outer(pair, pair) / size**3)
            order = self._order(len(sizes))
            own = own[np.ix_(order, order)]
            D = free.directions[j]
            H[free.slices[j], free.slices[j]] += weight / self._room(k, j) * (D.T @ own @ D)
        return H

    def _room(self, k: int, j: int) -> float:
        return float(self.factor * self.bounds.half[k, j])

    def _parts(self, motion: Motion, k: int, j: int) -> tuple[Array, Array, Array]:
        """Of one sum the cosine and sine of each wave, shape (waves, 2), its size and factor; the constant first."""
        family = _series(motion.grid.free.family)
        C, n = motion.coefficients[:, j], family.harmonics
        constant = [C[0] - self.bounds.middle[0, j], 0.0]
        parts = np.concatenate([[constant], np.column_stack([C[1 : n + 1], C[n + 1 :]])])
        factors = np.concatenate([[1.0 if k == 0 else 0.0], (family.frequency * np.arange(1, n + 1)) ** k])
        return parts, np.sqrt(np.sum(parts**2, axis=1) + _ROUNDED_KINK**2), factors

    @staticmethod
    def _order(waves: int) -> Indices:
        """Where the coefficients of a joint stand among all cosines, then all sines."""
        return np.concatenate([np.arange(waves), waves + 1 + np.arange(waves - 1)])

    def _ordered(self, both: Array) -> Array:
        """Values of cosines and sines, shape (2, waves), in the order of coefficients."""
        return both.reshape(-1)[self._order(both.shape[1])]

    def _sums(self, family: Fourier, C: Array, rounded: float) -> Array:
        """The sums, shape (4, joints)."""
        n = family.harmonics
        rates = family.frequency * np.arange(1, n + 1)
        size = np.sqrt(C[1 : n + 1] ** 2 + C[n + 1 :] ** 2 + rounded**2)
        sums = np.array([rates**k @ size for k in range(4)], dtype=float)
        sums[0] += np.sqrt((C[0] - self.bounds.middle[0]) ** 2 + rounded**2)
        return sums

    def checks(self, trajectory: MovesSmoothly, times: Array) -> list[Check]:
        """One for each limited quantity of each joint; none for motions without amplitudes."""
        if not isinstance(trajectory, ParametricTrajectory):
            return []
        sums = self._sums(_series(trajectory.family), trajectory.coefficients, 0.0)
        found = []
        for check in self.bounds.checks(trajectory, times[:1]):
            quantity, _, joint = check.name.partition(" of ")
            k, j = QUANTITIES.index(quantity), self.bounds.names.index(joint)
            total = float(sums[k, j] * trajectory.speed**k)
            half = float(self.bounds.half[k, j])
            found.append(Check(f"amplitudes of {check.name}", (-half, half), (0.0, total), check.unit))
        return found
