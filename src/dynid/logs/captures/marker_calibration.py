"""Where joints and markers are on a person or robot, from a recording of its markers: `calibrate_markers`.

Places of joints on the segments before them, and of markers on theirs, are the same in all samples; postures are each
sample's own. All are found together by least squares. What the recording does not determine stays where the robot's
file has it: each place has a prior there, which is wide enough for people, and hardly counts where markers say more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.captures.capture import Capture
from dynid.logs.captures.first_postures import first_postures, with_restarts
from dynid.logs.captures.inverse_kinematics import problem_of
from dynid.logs.captures.marker_findings import findings_on_lengths
from dynid.logs.captures.marker_steps import PostureProblem, marker_std, solved, with_unseen_held
from dynid.logs.captures.marker_tree import MarkerTree, matched_labels
from dynid.logs.captures.outlying_markers import without_outliers
from dynid.model import link_poses
from dynid.robot import WORLD, Robot, as_robot, with_places


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

SAMPLES = 110
"""Samples, spread over the recording, that a calibration is made of."""

ROUNDS = 12
"""Steps of the places: each is exact but for postures that are far from the file's."""

SMALL_CHANGE = 3e-5
"""Change of places [m] that ends them: a thirtieth of the noise of cameras."""

POSTURE_STEPS = 6
"""Steps of the postures between two of the places: they need not be exact before the places are."""

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


@dataclass(frozen=True, eq=False, repr=False)
class MarkerCalibration:
    """A robot whose joints and markers are where a recording shows them.

    How a link's frame lies on the link is a convention that no recording shows: it is near to that of the file, and
    zeros of joints with it. Lengths do not depend on it.

    Attributes:
        robot: The robot; its inertial parameters are those of the file, about the same joint frames.
        lengths: Distances of joints on each link.
        before: Root mean square of the residuals of the markers with the robot's file [m].
        after: The same with the calibrated robot [m].
        findings: What was noticed.
    """

    robot: Robot
    lengths: tuple[CalibratedLength, ...]
    before: float
    after: float
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        lengths = [{**vars(one), "is_determined": one.is_determined} for one in self.lengths]
        findings = [finding.to_dict() for finding in self.findings]
        return {"lengths": lengths, "before": self.before, "after": self.after, "findings": findings}

    def __repr__(self) -> str:
        count = sum(one.is_determined for one in self.lengths)
        parts = f"{count} of {len(self.lengths)} lengths determined"
        return f"MarkerCalibration: {parts}, residuals {1e3 * self.before:.3g} to {1e3 * self.after:.3g} mm"


def calibrate_markers(
    robot: Robot, capture: Capture, *, labels: Mapping[str, str] | None = None, joints: bool = True
) -> MarkerCalibration:
    """Find where joints and markers are on the links of a robot, from a recording in which all its joints move.

    Args:
        robot: The robot; its file has the markers as massless bodies.
        capture: The recording.
        labels: Bodies by labels of the capture, where they are called otherwise.
        joints: Whether joints move on their links, too; markers alone when false.

    Raises:
        InvalidRequestError: If no marker is of the robot, or none was seen.
    """
    bodies, _ = matched_labels(robot, capture.names, labels)
    free = as_robot(robot, floating_base=True)
    few = capture.at(np.unique(np.linspace(0, len(capture) - 1, 6 * SAMPLES).astype(int)))
    problem = problem_of(MarkerTree.of(free, tuple(bodies.values())), few.markers[:, list(bodies)])
    q = first_postures(problem)
    problem, q = with_unseen_held(problem, q)
    rows = np.unique(np.linspace(0, len(q) - 1, SAMPLES).astype(int))
    problem = problem.of(rows)
    q = with_restarts(problem, solved(problem, q[rows]))
    before, start = _rms(problem, q), _Places.of(problem.tree, joints)
    places, problem, q = _fitted(start, problem, q)
    problem, q = without_outliers(problem, q)
    places, problem, q = _fitted(places, problem, q)
    own = with_places(robot, *places.by_name(places.values))
    lengths = tuple(places.lengths(places.covariance(problem, q)))
    return MarkerCalibration(
        own,
        lengths,
        before,
        _rms(problem, q),
        findings_on_lengths([one.link for one in lengths if not one.is_determined]),
    )


@dataclass(frozen=True, eq=False)
class _Places:
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
    def of(cls, tree: MarkerTree, joints: bool) -> _Places:
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
        return np.asarray(np.linalg.inv(total / _variance(problem, q) + np.diag(self.stds**-2.0)), dtype=np.float64)

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


CHUNK = 40
"""Samples whose Jacobians are in memory together."""


def _fitted(places: _Places, problem: PostureProblem, q: Array) -> tuple[_Places, PostureProblem, Array]:
    """Places and postures that fit best together: Gauss and Newton's steps of the places, which postures follow."""
    problem = replace(problem, tree=places.moved_tree(places.values))
    known = places.stds**-2.0
    for _ in range(ROUNDS):
        variance = _variance(problem, q)
        total, side = places.equations(problem, q)
        pull = known * (places.values - places.prior).ravel()
        step = np.linalg.solve(total / variance + np.diag(known), side / variance - pull).reshape(-1, 3)
        places = replace(places, values=places.values + step)
        problem = replace(problem, tree=places.moved_tree(places.values))
        q = solved(problem, q, POSTURE_STEPS)
        if np.abs(step).max() < SMALL_CHANGE:
            break
    return places, problem, solved(problem, q)


def _rms(problem: PostureProblem, q: Array) -> float:
    """Root mean square of the residuals of the markers that count [m]."""
    squares = np.sum((problem.seen - problem.tree.positions(q)) ** 2, axis=2)[problem.weights > 0.0]
    return float(np.sqrt(squares.mean()))


def _variance(problem: PostureProblem, q: Array) -> float:
    """Variance of a coordinate of a marker [m^2] by the residuals: what skin and cameras do."""
    residuals = np.linalg.norm(problem.seen - problem.tree.positions(q), axis=2)
    return max(marker_std(problem, residuals), THRESHOLDS.least_error) ** 2
