"""What a robot stands on: its feet, where they are, the legs that follow, and the support polygon."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Indices, frozen
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.excitation.balance.balance_settings import BalanceSettings
from dynid.excitation.balance.standing_posture import StandingPosture, standing_posture
from dynid.excitation.balance.support_polygon import SupportPolygon
from dynid.excitation.balance.tree_motion import chain_joints, frames_of, point_jacobian
from dynid.excitation.collision.solids import Solid, solids_of
from dynid.robot import Robot, pose, rotation_about


@dataclass(frozen=True)
class StanceThresholds:
    """What counts as standing on level ground."""

    touching: float = 0.005
    """Points of a foot that are no higher than this [m] above its lowest touch the ground: soles have rounded edges. By
    judgement; not calibrated."""

    tilt: float = 0.1
    """A foot whose vertical axis is tilted by less than this [rad] in the standing posture is put level. By judgement:
    the half-sitting postures of TALOS and iCub tilt theirs by 0.002 and 0.007."""

    step: float = 0.03
    """Feet whose heights differ by less than this [m] in the standing posture are put on one level; more is a posture
    that does not stand. By judgement; not calibrated."""

    apart: float = 0.01
    """Smallest distance [m] between the soles of two feet. By judgement; not calibrated."""

    lean: float = 0.02
    """Largest cosine between gravity and the ground. By judgement: about one degree."""


THRESHOLDS = StanceThresholds()


@dataclass(frozen=True, eq=False)
class Foot:
    """A body that stands still on the ground.

    Attributes:
        body: Its name.
        link: Index of its link.
        placement: Its frame in the joint frame of the link, shape (4, 4).
        target: Where its frame stands in the world, shape (4, 4).
        is_flat: Whether it neither slides nor turns; otherwise its origin stands still, and it turns about that.
        leg: Columns of the joints that follow, so that it stands still, shape (6,) or (3,); none for a single foot.
        contacts: Points x, y [m] in the world in which it touches the ground, shape (points, 2).
    """

    body: str
    link: int
    placement: Array
    target: Array
    is_flat: bool
    leg: Indices
    contacts: Array

    @property
    def rows(self) -> int:
        """How many of its motions the ground stops."""
        return 6 if self.is_flat else 3


@dataclass(frozen=True, eq=False)
class Stance:
    """A robot on its feet.

    Attributes:
        robot: A robot with a floating base.
        feet: What it stands on.
        polygon: The support polygon; None where the feet are bolted to the ground.
        posture: Positions in which it stands, nearly: the legs are not closed yet, shape (nq,).
        source: Where these are from, in words.
    """

    robot: Robot
    feet: tuple[Foot, ...]
    polygon: SupportPolygon | None
    posture: Array
    source: str

    @property
    def is_single(self) -> bool:
        """Whether one foot alone stands on the ground: the base follows, and there is no closed loop."""
        return len(self.feet) == 1

    @property
    def dependent(self) -> Indices:
        """Columns of velocities that follow from the others: the legs', or those of the base of a single foot."""
        return np.arange(6) if self.is_single else np.concatenate([foot.leg for foot in self.feet])

    @property
    def standing_links(self) -> set[int]:
        """The links that the feet belong to."""
        return {foot.link for foot in self.feet}

    @staticmethod
    def of(robot: Robot, settings: BalanceSettings, srdf: str | None = None) -> Stance:
        """The stance that settings state.

        Raises:
            UnknownNameError: If the robot has no such body.
            InvalidRequestError: If the robot cannot stand so.
        """
        _require_level_ground(robot)
        posture = standing_posture(robot, settings.posture, srdf)
        solids = solids_of(robot)
        places = [_place(robot, name) for name in settings.stands_on]
        _require_different_links(robot, settings.stands_on, places)
        legs = _legs(robot, settings.stands_on, [link for link, _ in places], posture)
        feet, heights = [], []
        for name, (link, placement), leg in zip(settings.stands_on, places, legs, strict=True):
            found = frames_of(robot, chain_joints(robot, [link]), posture.q[None])[link]
            target = _levelled(pose(found[0][0], found[1][0]) @ placement)
            target = _placed(target, settings.place.get(name))
            foot = Foot(name, link, placement, target, len(leg) != 3, leg, np.zeros((0, 2)))
            own = [] if solids.is_bare else [solid for solid in solids.solids if solid.link == link]
            foot, height = _grounded(foot, own, settings.half_size)
            feet.append(foot)
            heights.append(height)
        _require_one_level(feet, heights)
        _require_apart(feet)
        polygon = None if settings.bolted else _polygon(feet, settings)
        q = posture.q.copy()
        q[2] -= float(np.mean(heights))
        return Stance(robot, tuple(feet), polygon, frozen(q), posture.source)


def _require_level_ground(robot: Robot) -> None:
    gravity = robot.gravity / max(float(np.linalg.norm(robot.gravity)), 1e-12)
    if gravity[2] > -1.0 + THRESHOLDS.lean or not any(robot.links[k].parameters[0] > 0.0 for k in robot.solid_links):
        what = f"gravity {np.round(robot.gravity, 3).tolist()}" if gravity[2] > -0.98 else "no mass in its file"
        raise InvalidRequestError(
            f"'{robot.name}' has {what}, and balance is for robots with masses on level ground, with gravity along -z"
        )


def _place(robot: Robot, name: str) -> tuple[int, Array]:
    """The link of a body, and the body's frame in its joint frame."""
    for index, link in enumerate(robot.links):
        for body in link.bodies:
            if body.name == name:
                return index, body.placement
    raise UnknownNameError("body", name, [body.name for link in robot.links for body in link.bodies])


def _require_different_links(robot: Robot, names: Sequence[str], places: Sequence[tuple[int, Array]]) -> None:
    for (one, (a, _)), (other, (b, _)) in itertools.combinations(zip(names, places, strict=True), 2):
        above = a in robot.chain(b) or b in robot.chain(a)
        if above:
            raise InvalidRequestError(
                f"'{one}' and '{other}' are on one leg of '{robot.name}', and each foot needs a leg of its own; name "
                "one of them in stands_on"
            )


def _legs(robot: Robot, names: Sequence[str], links: Sequence[int], posture: StandingPosture) -> list[Indices]:
    """For each foot the columns of the joints that follow; none where a single foot carries all."""
    if len(links) == 1:
        return [np.zeros(0, dtype=np.intp)]
    chains = [set(robot.chain(link)) for link in links]
    found = []
    for name, link, chain in zip(names, links, chains, strict=True):
        others = set().union(*(other for other in chains if other is not chain))
        own = [robot.joints[k] for k in sorted(chain - others)]
        columns = np.array([one.v.start for one in own if one.leader is None and one.kind.nv == 1], dtype=np.intp)
        if len(columns) < 3:
            raise InvalidRequestError(
                f"the leg to '{name}' has {len(columns)} joints of its own, and a foot that stands still while others "
                "do needs 3, or 6 where it is flat; name bodies at the ends of legs in stands_on, or one body only"
            )
        found.append(_independent(robot, link, columns, posture, 6 if len(columns) >= 6 else 3))
    return found


def _independent(robot: Robot, link: int, columns: Indices, posture: StandingPosture, count: int) -> Indices:
    """The joints of a leg that move its foot best, where it has more than it needs."""
    if len(columns) == count:
        return columns
    from scipy.linalg import qr

    frames = frames_of(robot, chain_joints(robot, [link]), posture.q[None])
    J = point_jacobian(robot, frames, link, frames[link][1])[0, :count][:, columns]
    *_, order = qr(J, mode="r", pivoting=True)
    return np.sort(columns[np.asarray(order)[:count]])


def _levelled(target: Array) -> Array:
    """A frame with the axis vertical that nearly is."""
    k = int(np.argmax(np.abs(target[2, :3])))
    axis = np.sign(target[2, k]) * target[:3, k]
    turn = np.cross(axis, [0.0, 0.0, 1.0])
    sine = float(np.linalg.norm(turn))
    if not 1e-12 < sine < THRESHOLDS.tilt:
        return target
    level = target.copy()
    level[:3, :3] = rotation_about(turn / sine, np.array([np.arcsin(sine)]))[0] @ target[:3, :3]
    return level


def _placed(target: Array, place: tuple[float, float, float] | None) -> Array:
    """A level frame at a place that is stated: x, y, and the angle of its x axis about the vertical."""
    if place is None:
        return target
    x, y, angle = place
    now = np.arctan2(target[1, 0], target[0, 0])
    found = target.copy()
    found[:3, :3] = rotation_about(np.array([0.0, 0.0, 1.0]), np.array([angle - now]))[0] @ target[:3, :3]
    found[:2, 3] = x, y
    return found


def _grounded(foot: Foot, solids: Sequence[Solid], half_size: tuple[float, float] | None) -> tuple[Foot, float]:
    """A foot with its contact points, moved so that its lowest is at height zero; and how high that was [m]."""
    T = foot.target @ np.linalg.inv(foot.placement)
    points = [solid.points @ T[:3, :3].T + T[:3, 3] - [0.0, 0.0, solid.radius] for solid in solids]
    corners = np.concatenate(points) if points else foot.target[None, :3, 3]
    lowest = float(corners[:, 2].min())
    contacts = corners[corners[:, 2] <= lowest + THRESHOLDS.touching, :2]
    if half_size is not None and foot.is_flat:
        along = foot.target[:2, 0] if abs(foot.target[2, 0]) < 0.7 else foot.target[:2, 1]
        along = along / np.linalg.norm(along)
        axes = np.array([along, [-along[1], along[0]]])
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=2)))
        contacts = foot.target[:2, 3] + (signs * np.array(half_size)) @ axes
    elif not foot.is_flat:
        contacts = contacts.mean(axis=0)[None]
    return replace(foot, contacts=frozen(contacts), target=_raised(foot.target, -lowest)), lowest


def _raised(target: Array, height: float) -> Array:
    found = target.copy()
    found[2, 3] += height
    return frozen(found)


def _require_one_level(feet: Sequence[Foot], heights: Sequence[float]) -> None:
    """Refuse a posture in which a foot is in the air."""
    low, high = int(np.argmin(heights)), int(np.argmax(heights))
    if heights[high] - heights[low] > THRESHOLDS.step:
        raise InvalidRequestError(
            f"'{feet[high].body}' is {heights[high] - heights[low]:.3g} m higher than '{feet[low].body}' in the "
            "standing posture, and both are to stand on level ground; state the joints of a posture that stands in "
            "[excitation.balance] posture, or leave one out of stands_on"
        )


def _require_apart(feet: Sequence[Foot]) -> None:
    """Refuse feet that stand on each other."""
    for one, other in itertools.combinations(feet, 2):
        hulls = [foot.contacts for foot in (one, other)]
        if _distance(*hulls) < THRESHOLDS.apart:
            raise InvalidRequestError(
                f"'{one.body}' and '{other.body}' stand on each other or closer than {THRESHOLDS.apart:g} m; state "
                "where they stand in [excitation.balance] place, or another posture"
            )


def _distance(first: Array, second: Array) -> float:
    """Distance [m] of the convex hulls of two sets of points on the ground; not positive where they overlap.

    It is the largest gap along the edges' normals, which is the distance, or less at corners.
    """
    along = np.array([[np.cos(angle), np.sin(angle)] for angle in np.linspace(0.0, np.pi, 180, endpoint=False)])
    a, b = first @ along.T, second @ along.T
    return float(np.maximum(b.min(axis=0) - a.max(axis=0), a.min(axis=0) - b.max(axis=0)).max())


def _polygon(feet: Sequence[Foot], settings: BalanceSettings) -> SupportPolygon:
    """The support polygon of all feet, with room for the margin."""
    points = (
        np.concatenate([foot.contacts for foot in feet]) if settings.polygon is None else np.array(settings.polygon)
    )
    found = SupportPolygon.around(points)
    if found.inner_radius <= settings.margin:
        raise InvalidRequestError(
            f"no point of the support polygon is {settings.margin:g} m away from all of its edges: the largest circle "
            f"in it has a radius of {found.inner_radius:.3g} m; state a smaller margin in [excitation.balance] margin"
        )
    return found
