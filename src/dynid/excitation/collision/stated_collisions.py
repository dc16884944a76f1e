"""From settings to what a robot is kept away from: its solids, surroundings and pairs, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.excitation.collision.collision_model import CollisionModel
from dynid.excitation.collision.pairs import Names, Pair, excused_pairs, link_pairs
from dynid.excitation.collision.solids import Solid, has_coal, solids_of
from dynid.excitation.collision.surroundings import Surroundings, surroundings_of
from dynid.excitation.settings import ExcitationSettings
from dynid.findings import Finding
from dynid.robot import Limits, Robot


@dataclass(frozen=True)
class CollisionThresholds:
    """Which pairs are kept apart, where nothing is stated."""

    postures: int = 300
    """Random postures by which pairs are found that always touch. By judgement: a share of 95 % is then known to about
    1 %."""

    touching_share: float = 0.95
    """Pairs nearer than the clearance in at least this share of random postures are not kept apart: their shapes
    overlap by construction, as those of a motor and the next but one link. By judgement: the share that the setup
    assistant of MoveIt uses."""

    few_joints: int = 2
    """A design does not look at pairs that so many joints or fewer move and that no posture brings near, such as a
    shoulder that only turns above the floor: random postures are dense there. The check afterwards does. By
    judgement."""

    many_postures: int = 1000
    """Random postures for that. By judgement."""

    distant: float = 0.002
    """Such pairs stay above the clearance by as much [m]. By judgement: the check afterwards finds what this
    misses."""


THRESHOLDS = CollisionThresholds()


@dataclass(frozen=True, eq=False)
class Collisions:
    """What a robot is kept away from, and what was noticed.

    Attributes:
        model: Distances and their slopes, of all pairs that are kept apart.
        moving: The same without pairs that are never near: what a design looks at.
        findings: What was assumed or left out.
    """

    model: CollisionModel
    moving: CollisionModel
    findings: tuple[Finding, ...]


def collisions_of(settings: ExcitationSettings, robot: Robot, limits: Sequence[Limits]) -> Collisions:
    """What settings keep a robot away from.

    Args:
        settings: The settings.
        robot: A robot whose joints have one degree of freedom each.
        limits: The limits of each coordinate.

    Raises:
        SemanticFileError: If an SRDF file is named that cannot be used.
        InvalidRequestError: If a pair of bodies is named that does not exist.
    """
    own = solids_of(robot)
    postures = postures_within(limits, THRESHOLDS.postures)
    around = surroundings_of(settings, robot, own.solids, postures)
    excused, srdf = excused_pairs(robot, settings.ignore_pairs, settings.srdf)
    solids = (*own.solids, *around.boxes)
    pairs = (*link_pairs(robot, solids, excused), *_wall_pairs(robot, solids, around))
    model = CollisionModel(robot, solids, around.walls, pairs, _of_bodies(robot, excused))
    model, touching = without_touching(model, postures, settings.clearance)
    apart = f"{len(model.pairs)} pairs are kept {settings.clearance:g} m apart"
    kept = apart if model.pairs else "nothing can be touched"
    found = [Finding.of("collisions-checked", "collisions", kept=kept, floor=around.floor)]
    if own.is_bare and model.pairs:
        found.append(Finding.of("collision-shapes-assumed", "collisions"))
    if own.unread:
        found.append(Finding.of("collision-meshes-unread", "collisions", meshes=list(own.unread)))
    if touching:
        source = "" if srdf is None else f" besides those that {srdf.name} excuses"
        found.append(Finding.of("collision-pairs-touching", "collisions", pairs=touching, source=source))
    if not has_coal():
        found.append(Finding.of("collision-library-missing", "collisions"))
    return Collisions(model, without_distant(model, limits, settings.clearance), tuple(found))


def _of_bodies(robot: Robot, excused: set[Names]) -> tuple[tuple[str, str], ...]:
    """The excused pairs whose bodies the robot has, in their order; SRDF files may name others."""
    names = {body.name for body in robot.description.bodies}
    pairs = [tuple(sorted(pair)) for pair in excused if len(pair) == 2 and pair <= names]
    return tuple(sorted((first, second) for first, second in pairs))


SURROUNDINGS = ("clearance", "floor", "wall", "obstacle", "ignore_pairs", "position")
"""Keys of `[excitation]` that a saved design keeps, for whoever looks at it: what the robot may not touch."""


def surroundings_data(settings: ExcitationSettings, model: CollisionModel | None) -> dict[str, Any]:
    """What a robot was kept away from, as plain data for JSON: keys of `[excitation]` with the floor that was found.

    Pairs that an SRDF file excuses are listed: the file is not needed any more.

    Args:
        settings: The settings.
        model: The solids and pairs that were looked at; None where there were none.
    """
    data = settings.model_dump(mode="json", include={"collisions", *SURROUNDINGS})
    if model is not None:
        data["floor"] = False if model.floor is None else model.floor
        data["ignore_pairs"] = [list(pair) for pair in model.excused]
    return data


def _wall_pairs(robot: Robot, solids: Sequence[Solid], around: Surroundings) -> list[Pair]:
    pairs = []
    for link, part in enumerate(robot.links):
        own = [k for k, solid in enumerate(solids) if solid.link == link]
        for w, wall in enumerate(around.walls if own else ()):
            pairs.append(Pair(f"{part.name}-{wall.name}", link, w, tuple((k, w) for k in own), is_wall=True))
    return pairs


def postures_within(limits: Sequence[Limits], count: int) -> Array:
    """So many random postures within limits, shape (count, joints)."""
    lower, upper = np.array([limit.interval(2 * np.pi) for limit in limits]).T
    return np.random.default_rng(0).uniform(lower, upper, (count, len(limits)))


def without_touching(model: CollisionModel, q: Array, clearance: float) -> tuple[CollisionModel, list[str]]:
    """The model without parts that are nearly always nearer than the clearance [m], and the names of such bodies."""
    parts = [(pair, part) for pair in model.pairs for part in pair.parts]
    single = replace(model, pairs=tuple(replace(pair, parts=(part,)) for pair, part in parts))
    distances = single.clearances(q, clearance)
    near = (distances < clearance).mean(axis=0)
    touching: list[str] = []
    kept: dict[int, list[tuple[int, int]]] = {}
    where = [k for k, pair in enumerate(model.pairs) for _ in pair.parts]
    for k, (pair, part), share in zip(where, parts, near, strict=True):
        if share < THRESHOLDS.touching_share:
            kept.setdefault(k, []).append(part)
        else:
            second = model.walls[part[1]].name if pair.is_wall else model.solids[part[1]].body
            touching.append(f"{model.solids[part[0]].body}-{second}")
    pairs = tuple(replace(model.pairs[k], parts=tuple(left)) for k, left in kept.items())
    return replace(model, pairs=pairs), list(dict.fromkeys(touching))


def without_distant(model: CollisionModel, limits: Sequence[Limits], clearance: float) -> CollisionModel:
    """The model without pairs that two joints or fewer move, and that stay above the clearance [m] wherever these are.

    So few joints are known well by random postures.
    """
    few = [k for k, pair in enumerate(model.pairs) if len(model.joints_between(pair)) <= THRESHOLDS.few_joints]
    some = replace(model, pairs=tuple(model.pairs[k] for k in few))
    above = clearance + THRESHOLDS.distant
    lowest = some.clearances(postures_within(limits, THRESHOLDS.many_postures), above).min(axis=0)
    distant = {k for k, distance in zip(few, lowest, strict=True) if distance > above}
    return replace(model, pairs=tuple(pair for k, pair in enumerate(model.pairs) if k not in distant))
