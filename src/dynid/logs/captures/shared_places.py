"""Places of joints and markers that all samples of a recording share, beside the postures of each, with their prior."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from dynid.arrays import Array
from dynid.logs.captures.marker_steps import PostureProblem, marker_std
from dynid.logs.captures.marker_tree import MarkerTree
from dynid.model import link_poses
from dynid.robot import WORLD, with_places


@dataclass(frozen=True)
class CalibrationThresholds:
    """What is known of places before they are calibrated, and when lengths count as determined."""

    marker_prior: float = 0.02
    """Standard deviation of where a marker is, along each axis [m]: landmarks are found to 1 or 2 cm. By judgement."""

    joint_prior: float = 0.03
    """Standard deviation of where a joint is on the segment before it, along each axis [m]: 5 % of a thigh or a trunk,
    and hips and shoulders of people of one height differ by as much. By judgement."""

    least_error: float = 1e-3
    """Least standard deviation that is assumed of a marker's coordinates [m]: that of cameras. By judgement."""

    determined: float = 0.006
    """Standard deviation of a length [m] up to which the recording determines it: 1.5 % of a thigh, and a third of that
    by the prior alone, where a joint does not move. By judgement."""


THRESHOLDS = CalibrationThresholds()

CHUNK = 40
"""Samples whose Jacobians are in memory together."""

LEAST_INFORMATION = 1e-9
"""Part of the largest element that is added where postures are eliminated."""


@dataclass(frozen=True, eq=False)
class CalibratedLength:
    """The distance of two joints on one link.

    Attributes:
        link: Name of the link.
        joints: Names of the joints: the one that moves the link, where it is one of the two, and those that it carries.
        before: The distance in the robot's file [m].
        length: The distance that was found [m].
        std: Its standard deviation [m], with the prior.
    """

    link: str
    joints: tuple[str, str]
    before: float
    length: float
    std: float

    @property
    def is_determined(self) -> bool:
        """Whether the recording determines it; else it is about that of the file."""
        return self.std < THRESHOLDS.determined


@dataclass(frozen=True, eq=False)
class SharedPlaces:
    """Places that all samples share.

    Attributes:
        tree: The markers on the robot of the file.
        joints: Indices of joints whose places are free.
        prior: Where the file has joints and then markers [m], shape (places, 3).
        values: Where they are [m], likewise.
    """

    tree: MarkerTree
    joints: tuple[int, ...]
    prior: Array
    values: Array

    @classmethod
    def of(cls, tree: MarkerTree, joints: bool) -> SharedPlaces:
        """Places as the robot of the file has them; those of joints are free only where that is asked for."""
        robot = tree.robot
        free = tuple(i for i, joint in enumerate(robot.joints)
                     if joints and joint.parent != WORLD and not robot.links[joint.parent].is_virtual)  # fmt: skip
        at = np.array([*(robot.joints[i].placement[:3, 3] for i in free), *tree.places]).reshape(-1, 3)
        return cls(tree, free, at, at)

    @cached_property
    def stds(self) -> Array:
        """Standard deviations of the prior [m], of each coordinate."""
        each = [THRESHOLDS.joint_prior] * len(self.joints) + [THRESHOLDS.marker_prior] * len(self.tree.names)
        return np.repeat(each, 3)

    def by_name(self, values: Array) -> tuple[dict[str, Array], dict[str, Array]]:
        """Places of joints, and of markers, by their names."""
        names = [self.tree.robot.joints[i].name for i in self.joints]
        split = len(self.joints)
        return dict(zip(names, values[:split], strict=True)), dict(zip(self.tree.names, values[split:], strict=True))

    def moved_tree(self, values: Array) -> MarkerTree:
        """The markers on the robot with these places."""
        return MarkerTree.of(with_places(self.tree.robot, *self.by_name(values)), self.tree.names)

    def slopes(self, tree: MarkerTree, q: Array) -> Array:
        """Motion of the markers per motion of the places, shape (samples, 3 markers, 3 places)."""
        R, _ = link_poses(tree.robot, q)
        found = np.zeros((len(q), len(tree.names), 3, len(self.values), 3))
        for m, link in enumerate(tree.links):
            chain = set() if link == WORLD else set(tree.robot.chain(link))
            for k, joint in enumerate(self.joints):
                if joint in chain:
                    found[:, m, :, k] = R[tree.robot.joints[joint].parent]
            found[:, m, :, len(self.joints) + m] = R[link]
        return found.reshape(len(q), 3 * len(tree.names), -1)

    def equations(self, problem: PostureProblem, q: Array) -> tuple[Array, Array]:
        """Normal equations of the places in squares of metres, from which those of the postures are eliminated."""
        size = 3 * len(self.values)
        total, side = np.zeros((size, size)), np.zeros(size)
        free = np.flatnonzero(problem.free)
        for first in range(0, len(q), CHUNK):
            own, part = problem.of(slice(first, first + CHUNK)), q[first : first + CHUNK]
            w = np.repeat(np.sqrt(own.weights), 3, axis=1)
            errors, H, _ = own.equations(part)
            r = np.where(w > 0.0, w * errors.reshape(len(part), -1), 0.0)
            Jq = w[:, :, None] * own.tree.jacobian(part).reshape(len(part), w.shape[1], -1)[:, :, free]
            Jc = w[:, :, None] * self.slopes(own.tree, part)
            H = H[:, free[:, None], free]
            H += LEAST_INFORMATION * H.max() * np.eye(len(free))
            cross = Jq.transpose(0, 2, 1) @ np.concatenate([Jc, r[:, :, None]], axis=2)
            carried = np.linalg.solve(H, cross)
            flat = Jc.reshape(-1, size)
            rows = cross.reshape(-1, size + 1)[:, :-1].T @ carried.reshape(-1, size + 1)
            total += flat.T @ flat - rows[:, :-1]
            side += flat.T @ r.ravel() - rows[:, -1]
        return total, side

    def covariance(self, problem: PostureProblem, q: Array) -> Array:
        """Covariance of the places [m^2], with their prior."""
        total, _ = self.equations(problem, q)
        return np.asarray(
            np.linalg.inv(total / marker_variance(problem, q) + np.diag(self.stds**-2.0)), dtype=np.float64
        )

    def lengths(self, covariance: Array) -> Iterator[CalibratedLength]:
        """Distances of joints on each link, with a covariance of all places."""
        robot = self.tree.robot
        for link, body in enumerate(robot.links):
            ends = [(k, robot.joints[i].name) for k, i in enumerate(self.joints) if robot.joints[i].parent == link]
            if robot.joints[link].parent != WORLD:  # the frame of the link is at its joint
                ends = [(None, robot.joints[link].name), *ends]
            for (one, name), (other, other_name) in combinations(ends, 2):
                places = [
                    np.zeros((2, 3)) if k is None else np.stack([self.prior[k], self.values[k]]) for k in (one, other)
                ]
                before, way = places[1] - places[0]
                slope = np.zeros(len(covariance))
                for k, sign in ((one, -1.0), (other, 1.0)):
                    if k is not None:
                        slope[3 * k : 3 * k + 3] = sign * way / max(float(np.linalg.norm(way)), 1e-12)
                std = float(np.sqrt(slope @ covariance @ slope))
                length = float(np.linalg.norm(way))
                yield CalibratedLength(body.name, (name, other_name), float(np.linalg.norm(before)), length, std)


def marker_variance(problem: PostureProblem, q: Array) -> float:
    """Variance of a coordinate of a marker [m^2] by the residuals: what skin and cameras do."""
    residuals = np.linalg.norm(problem.seen - problem.tree.positions(q), axis=2)
    return max(marker_std(problem, residuals), THRESHOLDS.least_error) ** 2
