"""What standing robots may do: ranges, speeds, torques, distances, and the zero-moment point in the support polygon."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Flags, Indices, frozen
from dynid.errors import InvalidRequestError
from dynid.excitation.balance.balance_settings import BalanceSettings
from dynid.excitation.balance.closed_legs import ClosedLegs
from dynid.excitation.balance.ground_wrench import GroundWrench, zero_moment_points
from dynid.excitation.balance.held_base import with_held_base
from dynid.excitation.balance.stance import Stance
from dynid.excitation.balance.tree_motion import Frames, frames_of
from dynid.excitation.collision.collision_model import CollisionModel
from dynid.excitation.collision.solids import Solid, solids_of
from dynid.excitation.collision.stated_collisions import collisions_of
from dynid.excitation.limits.assumed import assumptions
from dynid.excitation.limits.stated import joint_limits, stated_limits
from dynid.excitation.settings import ExcitationSettings
from dynid.findings import Finding
from dynid.robot import Limits, Robot


@dataclass(frozen=True)
class StandingThresholds:
    """What a design keeps free of limits, for what lies between its samples."""

    range_reserve: float = 0.02
    """Part of each joint's range that a design keeps free at both ends. By judgement; motions are checked at 1 kHz."""

    clearance_reserve: float = 0.004
    """Distance [m] that a design keeps beyond the clearance that is asked for. By judgement; as before."""

    margin_reserve: float = 0.005
    """Distance [m] from the edges of the support polygon that postures keep beyond the margin, so that motions between
    them may be fast. By judgement; not calibrated."""

    torque_part: float = 0.9
    """Part of the torque limits that postures may use. By judgement; not calibrated."""


THRESHOLDS = StandingThresholds()


@dataclass(frozen=True, eq=False)
class StandingLimits:
    """The limits of a robot on its feet.

    Attributes:
        legs: The robot on its feet.
        limits: Those of each joint, in the order of velocities.
        joints: Indices of the joints that move; what is asked of the others does not depend on a design.
        margin: Smallest distance of the zero-moment point from the edges of the support polygon [m].
        friction: Coefficient of friction of the feet on the ground.
        clearance: Smallest distance between bodies, and from the floor [m].
        collisions: The bodies that are kept apart, for positions of joints; None where they may touch.
        above_floor: The solids that are kept above the floor.
    """

    legs: ClosedLegs
    limits: tuple[Limits, ...]
    joints: Indices
    margin: float
    friction: float
    clearance: float
    collisions: CollisionModel | None
    above_floor: tuple[Solid, ...]

    @property
    def stance(self) -> Stance:
        """The feet and what they stand on."""
        return self.legs.stance

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.stance.robot

    @staticmethod
    def of(
        legs: ClosedLegs, joints: Indices, settings: ExcitationSettings, balance: BalanceSettings
    ) -> tuple[StandingLimits, list[Finding]]:
        """The limits that settings and the robot's file state, without collisions, and what was assumed.

        Args:
            legs: The robot on its feet.
            joints: Indices of the joints that move.
            settings: Limits of joints.
            balance: The margin of the zero-moment point, and the friction of the feet.

        Raises:
            InvalidRequestError: If friction alone takes all of a joint's torque.
        """
        held = with_held_base(legs.stance.robot)
        stated, limits = stated_limits(settings, held), joint_limits(settings, held)
        found = StandingLimits(
            legs, tuple(limits), joints, balance.margin, balance.friction, settings.clearance, None, ()
        )
        found._require_strength()
        return found, list(assumptions(stated, limits, held))

    def with_collisions(self, settings: ExcitationSettings, home: Array) -> tuple[StandingLimits, list[Finding]]:
        """The same limits with the bodies that are kept apart.

        Args:
            settings: What is kept apart.
            home: Positions in which the robot stands, shape (nq,); bodies that touch there may touch.
        """
        if not settings.collisions:
            return self, []
        held = with_held_base(self.robot)
        found = collisions_of(settings.model_copy(update={"floor": False}), held, self.limits)
        collisions, touching = _without_touching(found.model, home[7:], settings.clearance)
        above = _above_floor(self.stance, home, settings)
        findings = [one for one in found.findings if one.code != "collisions-checked"]
        kept = f"{len(collisions.pairs)} pairs are kept {settings.clearance:g} m apart"
        floor = f"{len(above)} solids above the ground that the feet stand on" if above else "no floor"
        findings.insert(0, Finding.of("collisions-checked", "collisions", kept=kept, floor=floor))
        if touching:
            findings.append(Finding.of("collision-pairs-near-at-home", "collisions", pairs=touching))
        return replace(self, collisions=collisions, above_floor=above), findings

    def _require_strength(self) -> None:
        """Refuse joints whose torque friction alone takes."""
        for k in self.joints:
            effort, friction = self.limits[k].effort, float(self.wrench.friction[6 + k])
            if friction >= 0.9 * effort:
                name = next(one.name for one in self.robot.independent_joints if one.v.start == 6 + k)
                raise InvalidRequestError(
                    f"the Coulomb friction of joint '{name}' in the robot's file ({friction:g}) takes all of its "
                    f"effort limit of {effort:g}; correct one of them, state [excitation] effort, or leave the "
                    "joint out of [excitation.balance] identify and balance"
                )

    @cached_property
    def wrench(self) -> GroundWrench:
        """What ground and joints have to give."""
        return GroundWrench(self.legs)

    @cached_property
    def ranges(self) -> tuple[Array, Array]:
        """Smallest and largest position of each joint [rad or m], each of shape (nv - 6,)."""
        low, high = np.array([(limit.lower, limit.upper) for limit in self.limits]).T
        return frozen(low), frozen(high)

    @cached_property
    def efforts(self) -> Array:
        """Largest torque of each joint beside dry friction [N m or N], shape (nv - 6,)."""
        limits = np.array([limit.effort for limit in self.limits])
        return frozen(limits - self.wrench.friction[6:])

    @cached_property
    def reserve(self) -> float:
        """How far [m] from the edges postures keep the zero-moment point, beyond the margin."""
        if self.stance.polygon is None:
            return 0.0
        return min(THRESHOLDS.margin_reserve, 0.3 * (self.stance.polygon.inner_radius - self.margin))

    def range_slack(self, q: Array) -> Array:
        """Smallest distance of joints from the ends of their ranges, relative to half of these, shape (samples,)."""
        low, high = (ends[self.joints] for ends in self.ranges)
        middle, half = (low + high) / 2, (high - low) / 2
        return np.asarray((1.0 - np.abs(q[:, 7 + self.joints] - middle) / half).min(axis=1))

    def balance_slack(self, wrench: Array) -> Array:
        """How far the zero-moment point is inside of the polygon less its margin [m], shape (samples,)."""
        if self.stance.polygon is None:
            return np.full(len(wrench), np.inf)
        slack = self.stance.polygon.clearance(zero_moment_points(wrench)) - self.margin
        return np.where(wrench[:, 2] > 0.0, slack, -np.inf)

    @cached_property
    def ground_rows(self) -> Array:
        """Rows whose products with the ground's wrench are not positive where the feet stay where they are, (rows, 6).

        The zero-moment point keeps its margin, and forces along the ground stay within a pyramid of friction.
        """
        polygon = self.stance.polygon
        if polygon is None:
            return np.zeros((0, 6))
        normals, offsets = polygon.edges
        rows = np.zeros((len(normals) + 4, 6))
        rows[: len(normals), 2] = self.margin - offsets
        rows[: len(normals), 3], rows[: len(normals), 4] = normals[:, 1], -normals[:, 0]
        rows[len(normals) :, :2] = [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)]
        rows[len(normals) :, 2] = -self.friction / np.sqrt(2.0)
        return rows

    def apart(self, q: Array, clearance: float) -> Flags:
        """Whether all bodies are a clearance [m] apart and above the floor, shape (samples,)."""
        frames = frames_of(self.robot, range(len(self.robot.joints)), q)
        found = self.heights(frames).min(axis=1, initial=np.inf) >= clearance
        which = np.flatnonzero(found)
        if self.collisions is not None and self.collisions.pairs and len(which):
            near = self.collisions.clearances(q[which, 7:], clearance)
            found[which] = near.min(axis=1) >= clearance
        return found

    def heights(self, frames: Frames) -> Array:
        """Heights of the lowest points of all solids that are kept above the floor [m], shape (samples, solids)."""
        if not self.above_floor:
            return np.zeros((len(frames[0][1]), 0))
        return np.stack([_height(solid, *frames[solid.link]) for solid in self.above_floor], axis=1)

    def shares_at_rest(self, q: Array) -> dict[str, float]:
        """The shares of postures that keep each kind of limit, for messages."""
        if not len(q):
            return {}
        wrench, torques = self.wrench.torques(q)
        strong = (np.abs(torques) <= THRESHOLDS.torque_part * self.efforts)[:, self.joints].all(axis=1)
        return {
            "ranges": float(np.mean(self.range_slack(q) >= 2.0 * THRESHOLDS.range_reserve)),
            "balance": float(np.mean(self.balance_slack(wrench) >= self.reserve)),
            "torques": float(np.mean(strong)),
            "distances": float(np.mean(self.apart(q, self.clearance + THRESHOLDS.clearance_reserve))),
        }

    def allows_at_rest(self, q: Array) -> Indices:
        """Indices of postures within all limits of a design, of postures with the feet in place (samples, nq)."""
        good = np.flatnonzero(self.range_slack(q) >= 2.0 * THRESHOLDS.range_reserve)
        wrench, torques = self.wrench.torques(q[good])
        steady = self.balance_slack(wrench) >= self.reserve
        strong = (np.abs(torques) <= THRESHOLDS.torque_part * self.efforts)[:, self.joints].all(axis=1)
        good = good[steady & strong]
        return good[self.apart(q[good], self.clearance + THRESHOLDS.clearance_reserve)]


def _height(solid: Solid, R: Array, p: Array) -> Array:
    """Height of the lowest point of a solid [m], shape (samples,)."""
    return np.asarray((solid.points @ R[:, 2].T).min(axis=0) + p[:, 2] - solid.radius)


def _without_touching(model: CollisionModel, q: Array, clearance: float) -> tuple[CollisionModel, list[str]]:
    """The model without pairs that are too near in a posture, and their names."""
    near = model.clearances(q[None], clearance)[0] < clearance + THRESHOLDS.clearance_reserve
    kept = tuple(pair for pair, is_near in zip(model.pairs, near, strict=True) if not is_near)
    names = [pair.name for pair, is_near in zip(model.pairs, near, strict=True) if is_near]
    return CollisionModel(model.robot, model.solids, model.walls, kept, model.excused), names


def _above_floor(stance: Stance, home: Array, settings: ExcitationSettings) -> tuple[Solid, ...]:
    """The solids that are kept above the floor: all that are not part of a foot, nor as low while the robot stands."""
    if settings.floor is False:
        return ()
    frames = frames_of(stance.robot, range(len(stance.robot.joints)), home[None])
    solids = [one for one in solids_of(stance.robot).solids if one.link >= 0 and one.link not in stance.standing_links]
    need = settings.clearance + THRESHOLDS.clearance_reserve
    return tuple(one for one in solids if _height(one, *frames[one.link])[0] >= need)
