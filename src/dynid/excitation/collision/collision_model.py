"""Distances between the parts of a robot, and to what stands around it, for many postures at once.

Capsules around links, then around their parts, give lower bounds for all postures with a few array operations; Coal
computes only the distances of parts that may be near. Slopes come from the nearest points of both parts: a distance
changes by n . (J2 - J1) with the direction n between them and the Jacobians J1, J2 of the points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dynid.arrays import Array, Flags, Indices
from dynid.excitation.collision.pairs import Pair, is_of_robot
from dynid.excitation.collision.solids import Capsule, LinkPoses, MovingCapsules, Solid, capsule_around, closest_points
from dynid.excitation.collision.surroundings import FLOOR, Wall
from dynid.robot import WORLD, Robot

_GJK_TOLERANCE = 1e-10
"""Distances between curved shapes are found by iteration to about this [m]: slopes must agree with them."""

_GJK_ITERATIONS = 500
"""Most steps of that iteration."""

_FIRST_LOOKS = 32
"""Postures of a path that are looked at first in search of the nearest; twice as many in each round after that."""

_SAME_DISTANCE = 1e-6
"""Distances [m] that differ by less are the same in that search."""

_AT_ONCE = 16
"""Parts of one posture whose distances are computed before it is asked whether others may be nearer."""

_AT_A_TIME = 12_000
"""Postures whose poses are in memory at a time."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """Where parts are nearest, row by row.

    Attributes:
        distance: Their distance [m]; negative where they overlap, shape (rows,).
        first: The nearest point of the first part in the world [m], shape (rows, 3).
        second: That of the second.
        normal: Unit vector from the first to the second, shape (rows, 3).
    """

    distance: Array
    first: Array
    second: Array
    normal: Array

    def put(self, rows: Flags, others: Contacts) -> None:
        """Write others into some rows, which are true where these belong."""
        self.distance[rows], self.normal[rows] = others.distance, others.normal
        self.first[rows], self.second[rows] = others.first, others.second


@dataclass(frozen=True, eq=False)
class PartRows:
    """Pairs of parts in postures, row by row; each array has the shape (rows,).

    Attributes:
        sample: Index of the posture.
        first: Index of a solid.
        second: Index of another solid, or of a wall.
        of_wall: Whether the second is a wall.
    """

    sample: Indices
    first: Indices
    second: Indices
    of_wall: Flags

    def __len__(self) -> int:
        return len(self.sample)

    def __getitem__(self, rows: np.ndarray) -> PartRows:
        return PartRows(self.sample[rows], self.first[rows], self.second[rows], self.of_wall[rows])


@dataclass(frozen=True, eq=False)
class Nearest:
    """The two parts that are nearest to each other in a posture.

    Attributes:
        pair: The name of their pair.
        distance: Their distance [m]; negative where they overlap.
        first: The nearest point of the first part in the world [m], shape (3,).
        second: That of the second.
    """

    pair: str
    distance: float
    first: Array
    second: Array


@dataclass(frozen=True, eq=False)
class CollisionModel:
    """The solids of a robot and around it, and the pairs that are kept apart.

    Attributes:
        robot: A robot whose joints have one degree of freedom each.
        solids: Convex parts of the robot, and boxes around it.
        walls: The floor and walls.
        pairs: The pairs that are looked at.
        excused: Names of pairs of bodies that may touch, as settings and the robot's files say.
    """

    robot: Robot
    solids: tuple[Solid, ...]
    walls: tuple[Wall, ...]
    pairs: tuple[Pair, ...]
    excused: tuple[tuple[str, str], ...] = ()

    @property
    def boxes(self) -> list[Solid]:
        """The solids that stand around the robot."""
        return [solid for solid in self.solids if not is_of_robot(self.robot, solid)]

    @property
    def floor(self) -> float | None:
        """The height of the floor [m]; None where there is none."""
        return next((wall.offset for wall in self.walls if wall.name == FLOOR), None)

    def clearances(self, q: Array, within: float, enough: float | None = None) -> Array:
        """The distance of each pair in each posture [m], shape (samples, pairs); negative where they overlap.

        Args:
            q: Positions, shape (samples, nq).
            within: Distances below this [m] are exact; others may be smaller than they are, but not below this.
            enough: Once a distance is not above this [m], others are only bounded from below: something is broken.
        """
        parts = [self._clearances(q[k : k + _AT_A_TIME], within, enough) for k in range(0, len(q), _AT_A_TIME)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.pairs)))

    def _poses(self, q: Array) -> LinkPoses:
        return LinkPoses.of(self.robot, q, self._part_capsules)

    def _clearances(self, q: Array, within: float, enough: float | None) -> Array:
        poses = self._poses(q)
        found = self._bounds_of_links(poses)
        sample, pair = np.nonzero(found < within)
        if not len(sample):
            return found
        found[sample, pair] = self._nearest_parts(poses, sample, pair, within, enough)[0]
        return found

    def _nearest_parts(
        self, poses: LinkPoses, sample: Indices, pair: Indices, within: float = np.inf, enough: float | None = None
    ) -> tuple[Array, PartRows]:
        """The distance of pairs of links [m] in postures, shape (rows,), and the parts of both that are nearest.

        The part with the smallest bound is looked at first; then those that may be nearer still.
        """
        row, parts = self._parts(sample, pair)
        distance = self._bounds_of_parts(poses, parts)
        is_open = ~self._is_exact(parts)
        best = np.full(len(pair), within)
        np.minimum.at(best, row[~is_open], distance[~is_open])
        for some in (_smallest(row, distance), np.arange(len(row))):
            looked_at = some[is_open[some] & (distance[some] < best[row[some]])]
            looked_at = looked_at[np.argsort(distance[looked_at])]
            distance[looked_at] = self._distances(poses, parts[looked_at], distance[looked_at], enough)
            is_open[looked_at] = False
            np.minimum.at(best, row[looked_at], distance[looked_at])
            if enough is not None and (distance[looked_at] <= enough).any():
                break
        nearest = _smallest(row, distance)
        return distance[nearest], parts[nearest]

    def slopes(self, q: Array, pair: Indices) -> tuple[Array, Array]:
        """Distances [m] of one pair for each posture, and their slopes.

        Args:
            q: Positions, shape (rows, nq).
            pair: Index of the pair of each row, shape (rows,).

        Returns:
            Distances, shape (rows,), and slopes over positions, shape (rows, nv).
        """
        poses = self._poses(q)
        _, parts = self._nearest_parts(poses, np.arange(len(pair)), pair)
        found = self._contacts(poses, parts)
        links = np.array([(one.first, WORLD if one.is_wall else one.second) for one in self.pairs])[pair]
        ahead = poses.pulled(links[:, 1], found.second, found.normal)
        return found.distance, ahead - poses.pulled(links[:, 0], found.first, found.normal)

    def nearest(self, q: Array, below: float = np.inf) -> tuple[Array, Indices]:
        """The smallest distance [m] of each pair along a path, and the posture; both of shape (pairs,).

        Only postures that may be the nearest are looked at: from one whose distance is known, others are at least as
        far as that less the way that both parts have moved since.

        Args:
            q: Positions along the path, shape (samples, nq); neighbours in time are neighbours here.
            below: Distances [m] that are not smaller are not looked for: they are given as this.
        """
        smallest = np.full(len(self.pairs), below)
        at = np.zeros(len(self.pairs), dtype=np.intp)
        for begin in range(0, len(q), _AT_A_TIME):
            poses = self._poses(q[begin : begin + _AT_A_TIME])
            bounds, ways = self._bounds_of_links(poses), self._ways(poses)
            for k in range(len(self.pairs)):
                distance, sample = self._nearest_of(poses, k, bounds[:, k], ways[k], smallest[k])
                if distance < smallest[k]:
                    smallest[k], at[k] = distance, begin + sample
        return smallest, at

    def nearest_points(self, q: Array) -> Nearest | None:
        """The pair that is nearest in one posture, shape (nq,), with its nearest points; None where there are no pairs.

        Distances are computed in the order of their lower bounds, until these are above the smallest found.
        """
        poses = self._poses(q[None, :])
        row, parts = self._parts(np.zeros(len(self.pairs), dtype=np.intp), np.arange(len(self.pairs)))
        bounds = self._bounds_of_parts(poses, parts)
        order, best = np.argsort(bounds), None
        for begin in range(0, len(order), _AT_ONCE):
            some = order[begin : begin + _AT_ONCE]
            if best is not None and bounds[some[0]] >= best.distance:
                break
            found = self._contacts(poses, parts[some])
            k = int(np.argmin(found.distance))
            if best is None or found.distance[k] < best.distance:
                pair = self.pairs[row[some[k]]].name
                best = Nearest(pair, float(found.distance[k]), found.first[k], found.second[k])
        return best

    def _nearest_of(self, poses: LinkPoses, k: int, bounds: Array, way: Array, below: float) -> tuple[float, int]:
        """The smallest distance of pair k [m] and its sample, where it is smaller than another."""
        best, at, looks = below, 0, _FIRST_LOOKS
        known = np.full(len(bounds), np.nan)
        some = np.arange(0, len(bounds), max(len(bounds) // looks, 1))
        some = some[bounds[some] < best]
        if not len(some):  # what comes near may do so between these
            near = np.flatnonzero(bounds < best)
            some = near[np.argsort(bounds[near])[:looks]]
        while len(some):
            known[some] = self._nearest_parts(poses, some, np.full(len(some), k))[0]
            nearest = int(some[np.argmin(known[some])])
            if known[nearest] < best:
                best, at = float(known[nearest]), nearest
            left = np.flatnonzero(np.maximum(bounds, _at_least(known, way)) < best - _SAME_DISTANCE)
            some, looks = left[np.argsort(bounds[left])[:looks]], 2 * looks
        return best, at

    def _ways(self, poses: LinkPoses) -> Array:
        """How far any point of both parts of a pair has moved since the first posture [m], shape (pairs, samples)."""
        total = np.zeros((len(self.pairs), poses.samples))
        turned = np.linalg.norm(np.diff(poses.rotations, axis=1), axis=(2, 3)) / np.sqrt(2.0)  # 2 sin(angle / 2)
        for capsules in self._link_capsules:
            moved = [np.linalg.norm(np.diff(end, axis=1), axis=2) for end in capsules.placed(poses)]
            total[:, 1:] += np.maximum(*moved) + capsules.radius[:, None] * turned[capsules.link]
        return np.cumsum(total, axis=1)

    def joints_between(self, pair: Pair) -> set[int]:
        """Indices of the joints that the distance of a pair depends on."""
        second = WORLD if pair.is_wall else pair.second
        return set(self.robot.chain(pair.first)) ^ set(self.robot.chain(second))

    def _parts(self, sample: Indices, pair: Indices) -> tuple[Indices, PartRows]:
        """All parts of pairs of links in postures, and for each of them the row of its pair, ascending."""
        counts, starts, flat = self._flat_parts
        row = np.repeat(np.arange(len(pair)), counts[pair])
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts[pair]) - counts[pair], counts[pair])
        first, second = flat[starts[pair][row] + within].T
        return row, PartRows(sample[row], first, second, self._of_walls[pair[row]])

    @cached_property
    def _flat_parts(self) -> tuple[Indices, Indices, Indices]:
        counts = np.array([len(one.parts) for one in self.pairs], dtype=np.intp)
        flat = np.array([part for one in self.pairs for part in one.parts], dtype=np.intp).reshape(-1, 2)
        return counts, np.cumsum(counts) - counts, flat

    @cached_property
    def _of_walls(self) -> Flags:
        return np.array([one.is_wall for one in self.pairs], dtype=bool)

    @cached_property
    def _planes(self) -> tuple[Array, Array]:
        """Normals, shape (walls, 3), and offsets [m], shape (walls,)."""
        normals = np.array([wall.normal for wall in self.walls]).reshape(-1, 3)
        return normals, np.array([wall.offset for wall in self.walls])

    @cached_property
    def _part_capsules(self) -> MovingCapsules:
        return MovingCapsules.of([solid.capsule for solid in self.solids], [solid.link for solid in self.solids])

    @cached_property
    def _link_capsules(self) -> tuple[MovingCapsules, MovingCapsules]:
        """Around the parts that count of the first and of the second of each pair; walls have none."""
        around: dict[tuple[int, ...], Capsule] = {}

        def of(which: Sequence[int]) -> Capsule:
            key = tuple(sorted(set(which)))
            if key not in around:
                around[key] = capsule_around([self.solids[k] for k in key])
            return around[key]

        ends = [[of([part[0] for part in one.parts]) for one in self.pairs]]
        nothing = Capsule(np.zeros(3), np.zeros(3), 0.0)
        ends.append([nothing if one.is_wall else of([part[1] for part in one.parts]) for one in self.pairs])
        links = ([one.first for one in self.pairs], [WORLD if one.is_wall else one.second for one in self.pairs])
        return MovingCapsules.of(ends[0], links[0]), MovingCapsules.of(ends[1], links[1])

    def _bounds_of_links(self, poses: LinkPoses) -> Array:
        """Lower bounds of the distances of all pairs [m], shape (samples, pairs)."""
        if not self.pairs:
            return np.zeros((poses.samples, 0))
        first, second = self._link_capsules
        a0, a1 = first.placed(poses)
        b0, b1 = second.placed(poses)
        p, q = closest_points(a0, a1, b0, b1)
        found = np.linalg.norm(p - q, axis=-1) - first.radius[:, None] - second.radius[:, None]
        walls = np.flatnonzero(self._of_walls)
        if len(walls):
            normals, offsets = self._planes
            which = np.array([self.pairs[k].second for k in walls])
            heights = [np.einsum("psk,pk->ps", end[walls], normals[which]) for end in (a0, a1)]
            found[walls] = np.minimum(*heights) - offsets[which, None] - first.radius[walls, None]
        return found.T.copy()

    def _bounds_of_parts(self, poses: LinkPoses, parts: PartRows) -> Array:
        """Lower bounds of the distances of parts [m], shape (rows,); exact where `_is_exact` says so."""
        found = np.empty(len(parts))
        found[parts.of_wall] = self._wall_contacts(poses, parts[parts.of_wall]).distance
        found[~parts.of_wall] = self._capsule_contacts(poses, parts[~parts.of_wall]).distance
        return found

    def _is_exact(self, parts: PartRows) -> Flags:
        """Whether the bounds of parts are their distances: between capsules, and from walls, shape (rows,)."""
        other = np.where(parts.of_wall, parts.first, parts.second)
        return parts.of_wall | (self._are_capsules[parts.first] & self._are_capsules[other])

    @cached_property
    def _are_capsules(self) -> Flags:
        return np.array([solid.is_capsule for solid in self.solids], dtype=bool)

    def _contacts(self, poses: LinkPoses, parts: PartRows) -> Contacts:
        """Where parts are nearest."""
        found = Contacts(np.empty(len(parts)), *np.zeros((3, len(parts), 3)))
        capsules = self._is_exact(parts) & ~parts.of_wall
        found.put(parts.of_wall, self._wall_contacts(poses, parts[parts.of_wall]))
        found.put(capsules, self._capsule_contacts(poses, parts[capsules]))
        for row, result in self._coal_results(poses, parts, np.flatnonzero(~self._is_exact(parts))):
            found.distance[row], found.normal[row] = result.min_distance, result.normal
            found.first[row], found.second[row] = result.getNearestPoint1(), result.getNearestPoint2()
        return found

    def _distances(self, poses: LinkPoses, parts: PartRows, bounds: Array, enough: float | None) -> Array:
        """Distances of parts whose bounds are not exact [m]; once one is not above `enough`, others keep theirs."""
        found = bounds.copy()
        for row, result in self._coal_results(poses, parts, np.arange(len(parts))):
            found[row] = result.min_distance
            if enough is not None and found[row] <= enough:
                break
        return found

    def _wall_contacts(self, poses: LinkPoses, parts: PartRows) -> Contacts:
        """From the lowest points of solids to walls."""
        normals, offsets = self._planes
        n, link = normals[parts.second], self._links[parts.first]
        R, p = poses.rotations[link, parts.sample], poses.origins[link, parts.sample]
        down = -(n[:, None, :] @ R)[:, 0, :]
        points = np.zeros((len(parts), 3))
        for k in np.unique(parts.first):
            rows = parts.first == k
            points[rows] = self.solids[k].furthest(down[rows])
        points = (R @ points[:, :, None])[:, :, 0] + p
        height = np.einsum("rk,rk->r", points, n) - offsets[parts.second]
        return Contacts(height, points, points - height[:, None] * n, -n)

    def _capsule_contacts(self, poses: LinkPoses, parts: PartRows) -> Contacts:
        """Between the capsules around solids."""
        radius = self._part_capsules.radius
        p, q = closest_points(*poses.ends(parts.first, parts.sample), *poses.ends(parts.second, parts.sample))
        length = np.linalg.norm(q - p, axis=1)
        normal = (q - p) / np.maximum(length, 1e-12)[:, None]
        first, second = radius[parts.first], radius[parts.second]
        return Contacts(length - first - second, p + first[:, None] * normal, q - second[:, None] * normal, normal)

    def _coal_results(self, poses: LinkPoses, parts: PartRows, rows: Indices) -> Iterator[tuple[int, Any]]:
        """Coal's results for some parts, one after the other; each is only good until the next."""
        if not len(rows):
            return
        import coal

        one, other = coal.Transform3s(), coal.Transform3s()
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        request.gjk_tolerance, request.gjk_max_iterations = _GJK_TOLERANCE, _GJK_ITERATIONS
        some = parts[rows]
        R1, p1 = self._placements(poses, some.first, some.sample)
        R2, p2 = self._placements(poses, some.second, some.sample)
        shapes = [solid.shape[0] for solid in self.solids]
        pairs = zip(rows.tolist(), some.first.tolist(), some.second.tolist(), strict=True)
        for k, (row, a, b) in enumerate(pairs):
            one.setTransform(R1[k], p1[k])
            other.setTransform(R2[k], p2[k])
            result.clear()
            coal.distance(shapes[a], one, shapes[b], other, request, result)
            yield row, result

    @cached_property
    def _links(self) -> Indices:
        return np.array([solid.link for solid in self.solids], dtype=np.intp)

    @cached_property
    def _solid_frames(self) -> tuple[Array, Array]:
        """Frames of the shapes of solids in their links: rotations and origins [m]."""
        placements = np.array([solid.shape[1] for solid in self.solids])
        return placements[:, :3, :3], placements[:, :3, 3]

    def _placements(self, poses: LinkPoses, solid: Indices, sample: Indices) -> tuple[Array, Array]:
        """Frames of the shapes of solids in the world: rotations (rows, 3, 3) and origins [m] (rows, 3)."""
        R, p = self._solid_frames
        link = self._links[solid]
        below = poses.rotations[link, sample]
        return below @ R[solid], (below @ p[solid][:, :, None])[:, :, 0] + poses.origins[link, sample]


def _smallest(row: Indices, values: Array) -> Indices:
    """For each row, which stand one after the other, where the first of its smallest values stands."""
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    at = np.flatnonzero(values == np.minimum.reduceat(values, starts)[row]) if len(row) else row
    return at[np.flatnonzero(np.diff(row[at], prepend=-1))]


def _at_least(known: Array, way: Array) -> Array:
    """Lower bounds of distances along a path, shape (samples,), from those that are known; the others are NaN.

    From the known ones before and after a sample, it is nearer by the way [m] between at most.
    """
    at = np.flatnonzero(np.isfinite(known))
    after = np.searchsorted(at, np.arange(len(known)))
    before, after = at[np.maximum(after - 1, 0)], at[np.minimum(after, len(at) - 1)]
    return np.maximum(known[before] - np.abs(way - way[before]), known[after] - np.abs(way[after] - way))
