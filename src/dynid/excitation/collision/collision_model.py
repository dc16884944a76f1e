"""Distances between the parts of a robot, and to what stands around it, for many postures at once.

Capsules around links, then around their parts, give lower bounds for all postures with a few array operations; Coal
computes only the distances of parts that may be near. Slopes come from the nearest points of both parts: a distance
changes by n . (J2 - J1) with the direction n between them and the Jacobians J1, J2 of the points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array, Indices
from dynid.excitation.collision.pairs import Pair, is_of_robot
from dynid.excitation.collision.solids import Capsule, Solid, capsule_around, closest_points
from dynid.excitation.collision.surroundings import FLOOR, Wall
from dynid.model import joint_poses
from dynid.robot import WORLD, Robot

_GJK_TOLERANCE = 1e-10
"""Distances between curved shapes are found by iteration to about this [m]: slopes must agree with them."""

_FIRST_LOOKS = 32
"""Postures of a path that are looked at first in search of the nearest; twice as many in each round after that."""

_SAME_DISTANCE = 1e-6
"""Distances [m] that differ by less are the same in that search."""

_AT_ONCE = 16
"""Parts of one posture whose distances are computed before it is asked whether others may be nearer."""

_GJK_ITERATIONS = 500
"""Most steps of that iteration."""

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

    def _clearances(self, q: Array, within: float, enough: float | None) -> Array:
        poses = _Poses.of(self.robot, q)
        found = self._bounds_of_links(poses)
        sample, pair = np.nonzero(found < within)
        if not len(sample):
            return found
        found[sample, pair] = self._nearest_parts(poses, sample, pair, within, enough)[0]
        return found

    def _nearest_parts(
        self, poses: _Poses, sample: Indices, pair: Indices, within: float = np.inf, enough: float | None = None
    ) -> tuple[Array, Indices, Indices]:
        """The distance of pairs of links [m] in postures, and the parts of both that are nearest; each (rows,).

        The part with the smallest bound is looked at first; then those that may be nearer still.
        """
        row, first, second = self._parts(pair)
        distance = self._bounds_of_parts(poses, sample[row], pair[row], first, second)
        is_open = ~self._is_exact(pair[row], first, second)
        best = np.full(len(pair), within)
        np.minimum.at(best, row[~is_open], distance[~is_open])
        for some in (_smallest(row, distance), np.arange(len(row))):
            looked_at = some[is_open[some] & (distance[some] < best[row[some]])]
            looked_at = looked_at[np.argsort(distance[looked_at])]
            which = (sample[row[looked_at]], pair[row[looked_at]], first[looked_at], second[looked_at])
            distance[looked_at] = self._exact(poses, *which, distance[looked_at], enough).distance
            is_open[looked_at] = False
            np.minimum.at(best, row[looked_at], distance[looked_at])
            if enough is not None and (distance[looked_at] <= enough).any():
                break
        nearest = _smallest(row, distance)
        return distance[nearest], first[nearest], second[nearest]

    def slopes(self, q: Array, pair: Indices) -> tuple[Array, Array]:
        """Distances [m] of one pair for each posture, and their slopes.

        Args:
            q: Positions, shape (rows, nq).
            pair: Index of the pair of each row, shape (rows,).

        Returns:
            Distances, shape (rows,), and slopes over positions, shape (rows, nv).
        """
        poses = _Poses.of(self.robot, q)
        row = np.arange(len(pair))
        distance, first, second = self._nearest_parts(poses, row, pair)
        found = self._exact(poses, row, pair, first, second, distance, with_points=True)
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
            poses = _Poses.of(self.robot, q[begin : begin + _AT_A_TIME])
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
        poses = _Poses.of(self.robot, q[None, :])
        row, first, second = self._parts(np.arange(len(self.pairs)))
        sample = np.zeros(len(row), dtype=np.intp)
        bounds = self._bounds_of_parts(poses, sample, row, first, second)
        order, best = np.argsort(bounds), None
        for begin in range(0, len(order), _AT_ONCE):
            some = order[begin : begin + _AT_ONCE]
            if best is not None and bounds[some[0]] >= best.distance:
                break
            found = self._exact(poses, sample[some], row[some], first[some], second[some], bounds[some], None, True)
            k = int(np.argmin(found.distance))
            if best is None or found.distance[k] < best.distance:
                pair = self.pairs[row[some[k]]].name
                best = Nearest(pair, float(found.distance[k]), found.first[k], found.second[k])
        return best

    def _nearest_of(self, poses: _Poses, k: int, bounds: Array, way: Array, below: float) -> tuple[float, int]:
        """The smallest distance of pair k [m] and its sample, where it is smaller than another."""
        best, at, looks = below, 0, _FIRST_LOOKS
        known = np.full(len(bounds), np.nan)
        some = np.arange(0, len(bounds), max(len(bounds) // looks, 1))
        some = some[bounds[some] < best]
        while len(some):
            known[some] = self._nearest_parts(poses, some, np.full(len(some), k))[0]
            nearest = int(some[np.argmin(known[some])])
            if known[nearest] < best:
                best, at = float(known[nearest]), nearest
            left = np.flatnonzero(np.maximum(bounds, _at_least(known, way)) < best - _SAME_DISTANCE)
            some, looks = left[np.argsort(bounds[left])[:looks]], 2 * looks
        return best, at

    def _ways(self, poses: _Poses) -> Array:
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

    def _parts(self, pair: Indices) -> tuple[Indices, Indices, Indices]:
        """For all pairs of parts of some pairs of links the row, and both solids; a wall for the second."""
        counts, starts, flat = self._flat_parts
        row = np.repeat(np.arange(len(pair)), counts[pair])
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts[pair]) - counts[pair], counts[pair])
        which = flat[starts[pair][row] + within]
        return row, which[:, 0], which[:, 1]

    @cached_property
    def _flat_parts(self) -> tuple[Indices, Indices, Indices]:
        counts = np.array([len(one.parts) for one in self.pairs], dtype=np.intp)
        flat = np.array([part for one in self.pairs for part in one.parts], dtype=np.intp).reshape(-1, 2)
        return counts, np.cumsum(counts) - counts, flat

    @cached_property
    def _of_walls(self) -> NDArray[np.bool_]:
        return np.array([one.is_wall for one in self.pairs], dtype=bool)

    @cached_property
    def _planes(self) -> tuple[Array, Array]:
        """Normals, shape (walls, 3), and offsets [m], shape (walls,)."""
        normals = np.array([wall.normal for wall in self.walls]).reshape(-1, 3)
        return normals, np.array([wall.offset for wall in self.walls])

    @cached_property
    def _part_capsules(self) -> _Capsules:
        return _Capsules.of([solid.capsule for solid in self.solids], [solid.link for solid in self.solids])

    @cached_property
    def _link_capsules(self) -> tuple[_Capsules, _Capsules]:
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
        return _Capsules.of(ends[0], links[0]), _Capsules.of(ends[1], links[1])

    def _bounds_of_links(self, poses: _Poses) -> Array:
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

    def _bounds_of_parts(self, poses: _Poses, sample: Indices, pair: Indices, first: Indices, second: Indices) -> Array:
        """Lower bounds of the distances of parts [m], shape (rows,); exact between capsules."""
        capsules = self._part_capsules
        found = np.empty(len(first))
        wall = np.flatnonzero(self._of_walls[pair])
        found[wall] = self._wall_contacts(poses, sample[wall], first[wall], second[wall])[0]
        solid = np.flatnonzero(~self._of_walls[pair])
        if len(solid):
            ends = (
                *poses.ends(capsules, first[solid], sample[solid]),
                *poses.ends(capsules, second[solid], sample[solid]),
            )
            p, q = closest_points(*ends)
            radii = capsules.radius[first[solid]] + capsules.radius[second[solid]]
            found[solid] = np.linalg.norm(p - q, axis=-1) - radii
        return found

    def _wall_contacts(self, poses: _Poses, sample: Indices, solid: Indices, wall: Indices) -> tuple[Array, Array]:
        """Heights of solids above walls [m], shape (rows,), and their lowest points in the world, shape (rows, 3)."""
        normals, offsets = self._planes
        link = self._links[solid]
        R, p = poses.rotations[link, sample], poses.origins[link, sample]
        down = -(normals[wall][:, None, :] @ R)[:, 0, :]
        points = np.zeros((len(solid), 3))
        for k in np.unique(solid):
            rows = solid == k
            points[rows] = self.solids[k].furthest(down[rows])
        points = (R @ points[:, :, None])[:, :, 0] + p
        return np.einsum("rk,rk->r", points, normals[wall]) - offsets[wall], points

    def _is_exact(self, pair: Indices, first: Indices, second: Indices) -> NDArray[np.bool_]:
        """Whether the bounds of parts are their distances: between capsules, and from walls, shape (rows,)."""
        of_wall = self._of_walls[pair]
        return of_wall | (self._are_capsules[first] & self._are_capsules[np.where(of_wall, first, second)])

    @cached_property
    def _are_capsules(self) -> NDArray[np.bool_]:
        return np.array([solid.is_capsule for solid in self.solids], dtype=bool)

    def _exact(
        self,
        poses: _Poses,
        sample: Indices,
        pair: Indices,
        first: Indices,
        second: Indices,
        bounds: Array,
        enough: float | None = None,
        with_points: bool = False,
    ) -> Contacts:
        """Distances of parts, with nearest points or not; once one is not above `enough`, others keep their bounds."""
        rows = len(first)
        found = Contacts(bounds.copy(), np.zeros((rows, 3)), np.zeros((rows, 3)), np.zeros((rows, 3)))
        exact = self._is_exact(pair, first, second)
        if with_points and exact.any():
            self._capsule_contacts(poses, sample, pair, first, second, np.flatnonzero(exact), found)
        self._coal_contacts(poses, sample, first, second, np.flatnonzero(~exact), found, enough, with_points)
        return found

    def _capsule_contacts(
        self,
        poses: _Poses,
        sample: Indices,
        pair: Indices,
        first: Indices,
        second: Indices,
        rows: Indices,
        found: Contacts,
    ) -> None:
        """Between capsules, and from any solid to walls."""
        walls = rows[self._of_walls[pair[rows]]]
        if len(walls):
            which = second[walls]
            height, points = self._wall_contacts(poses, sample[walls], first[walls], which)
            n = self._planes[0][which]
            found.first[walls], found.normal[walls] = points, -n
            found.second[walls] = points - height[:, None] * n
        rows = rows[~self._of_walls[pair[rows]]]
        capsules = self._part_capsules
        ends = (*poses.ends(capsules, first[rows], sample[rows]), *poses.ends(capsules, second[rows], sample[rows]))
        p, q = closest_points(*ends)
        way = q - p
        normal = way / np.maximum(np.linalg.norm(way, axis=1), 1e-12)[:, None]
        found.first[rows] = p + capsules.radius[first[rows], None] * normal
        found.second[rows] = q - capsules.radius[second[rows], None] * normal
        found.normal[rows] = normal

    def _coal_contacts(
        self,
        poses: _Poses,
        sample: Indices,
        first: Indices,
        second: Indices,
        rows: Indices,
        found: Contacts,
        enough: float | None,
        with_points: bool,
    ) -> None:
        """Between all other parts, one after the other."""
        if not len(rows):
            return
        import coal

        one, other, request, result = (
            coal.Transform3s(),
            coal.Transform3s(),
            coal.DistanceRequest(),
            coal.DistanceResult(),
        )
        request.gjk_tolerance, request.gjk_max_iterations = _GJK_TOLERANCE, _GJK_ITERATIONS
        R1, p1 = self._placements(poses, first[rows], sample[rows])
        R2, p2 = self._placements(poses, second[rows], sample[rows])
        shapes = [solid.shape[0] for solid in self.solids]
        which = list(zip(rows.tolist(), first[rows].tolist(), second[rows].tolist(), strict=True))
        for k, (row, a, b) in enumerate(which):
            one.setTransform(R1[k], p1[k])
            other.setTransform(R2[k], p2[k])
            result.clear()
            distance = coal.distance(shapes[a], one, shapes[b], other, request, result)
            found.distance[row] = distance
            if with_points:
                found.first[row], found.second[row] = result.getNearestPoint1(), result.getNearestPoint2()
                found.normal[row] = result.normal
            elif enough is not None and distance <= enough:
                return

    @cached_property
    def _links(self) -> Indices:
        return np.array([solid.link for solid in self.solids], dtype=np.intp)

    @cached_property
    def _solid_frames(self) -> tuple[Array, Array]:
        """Frames of the shapes of solids in their links: rotations and origins [m]."""
        placements = np.array([solid.shape[1] for solid in self.solids])
        return placements[:, :3, :3], placements[:, :3, 3]

    def _placements(self, poses: _Poses, solid: Indices, sample: Indices) -> tuple[Array, Array]:
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


@dataclass(frozen=True, eq=False)
class _Poses:
    """Joint frames of many postures; those of the world are the last, at the index `WORLD`.

    Attributes:
        robot: The robot.
        rotations: Shape (joints + 1, samples, 3, 3).
        origins: Shape (joints + 1, samples, 3).
        known: Ends of capsules that were asked for.
    """

    robot: Robot
    rotations: Array
    origins: Array
    known: dict[int, tuple[Array, Array]] = field(default_factory=dict)

    @staticmethod
    def of(robot: Robot, q: Array) -> _Poses:
        R, p = joint_poses(robot, q)
        still = np.broadcast_to(np.eye(3), (1, len(q), 3, 3))
        return _Poses(robot, np.concatenate([R, still]), np.concatenate([p, np.zeros((1, len(q), 3))]))

    @property
    def samples(self) -> int:
        return self.origins.shape[1]

    def ends(self, capsules: _Capsules, which: Indices, sample: Indices) -> tuple[Array, Array]:
        """Both ends of some capsules in some postures in the world [m], each of shape (rows, 3)."""
        if id(capsules) not in self.known:
            self.known[id(capsules)] = capsules.placed(self)
        begin, end = self.known[id(capsules)]
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


@dataclass(frozen=True, eq=False)
class _Capsules:
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
    def of(capsules: Sequence[Capsule], links: Sequence[int]) -> _Capsules:
        begin = np.array([one.begin for one in capsules]).reshape(-1, 3)
        end = np.array([one.end for one in capsules]).reshape(-1, 3)
        return _Capsules(begin, end, np.array([one.radius for one in capsules]), np.array(links, dtype=np.intp))

    def placed(self, poses: _Poses) -> tuple[Array, Array]:
        """Ends of all capsules in all postures in the world, each of shape (n, samples, 3)."""
        R, p = poses.rotations[self.link], poses.origins[self.link]
        a = np.einsum("nsij,nj->nsi", R, self.begin) + p
        return a, np.einsum("nsij,nj->nsi", R, self.end) + p
