"""Where joints and markers are on a person or robot, from a recording of its markers: `calibrate_markers`.

Places of joints on the segments before them, and of markers on theirs, are the same in all samples; postures are each
sample's own. All are found together by least squares. What the recording does not determine stays where the robot's
file has it: each place has a prior there, which is wide enough for people, and hardly counts where markers say more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.captures.capture import Capture
from dynid.logs.captures.first_postures import first_postures, with_restarts
from dynid.logs.captures.inverse_kinematics import problem_of
from dynid.logs.captures.marker_findings import findings_on_lengths
from dynid.logs.captures.marker_steps import PostureProblem, solved, with_unseen_held
from dynid.logs.captures.marker_tree import MarkerTree, matched_labels
from dynid.logs.captures.outlying_markers import without_outliers
from dynid.logs.captures.robot_markers import of_robot
from dynid.logs.captures.shared_places import CalibratedLength, SharedPlaces, marker_variance
from dynid.robot import Robot, as_robot, with_places

SAMPLES = 110
"""Samples, spread over the recording, that a calibration is made of."""

ROUNDS = 12
"""Steps of the places: each is exact but for postures that are far from the file's."""

SMALL_CHANGE = 3e-5
"""Change of places [m] that ends them: a thirtieth of the noise of cameras."""

POSTURE_STEPS = 6
"""Steps of the postures between two of the places: they need not be exact before the places are."""


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

    Labels that are exchanged throughout are put right first, as in logs.

    Args:
        robot: The robot; its file has the markers as massless bodies.
        capture: The recording.
        labels: Bodies by labels of the capture, where they are called otherwise.
        joints: Whether joints move on their links, too; markers alone when false.

    Raises:
        InvalidRequestError: If no marker is of the robot, or none was seen.
    """
    own, findings = labelled_as(robot, capture, labels)
    found = calibrated(robot, own, joints=joints)
    return replace(found, findings=(*findings, *found.findings))


def labelled_as(
    robot: Robot, capture: Capture, labels: Mapping[str, str] | None = None
) -> tuple[Capture, tuple[Finding, ...]]:
    """A capture whose labels are those of a robot's bodies, and what was noticed about it."""
    bodies, _ = matched_labels(robot, capture.names, labels)
    names = [bodies.get(k, name) for k, name in enumerate(capture.names)]
    own, notes = of_robot(robot, replace(capture, names=names))
    return own, (*capture.findings, *notes)


def calibrated(robot: Robot, capture: Capture, *, joints: bool = True) -> MarkerCalibration:
    """The calibration of a robot by a recording whose labels are those of its bodies."""
    bodies, _ = matched_labels(robot, capture.names)
    free = as_robot(robot, floating_base=True)
    few = capture.at(np.unique(np.linspace(0, len(capture) - 1, 6 * SAMPLES).astype(int)))
    problem = problem_of(MarkerTree.of(free, tuple(bodies.values())), few.markers[:, list(bodies)])
    q = first_postures(problem)
    problem, q = with_unseen_held(problem, q)
    rows = np.unique(np.linspace(0, len(q) - 1, SAMPLES).astype(int))
    problem = problem.of(rows)
    q = with_restarts(problem, solved(problem, q[rows]))
    before, start = _rms(problem, q), SharedPlaces.of(problem.tree, joints)
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


def _fitted(places: SharedPlaces, problem: PostureProblem, q: Array) -> tuple[SharedPlaces, PostureProblem, Array]:
    """Places and postures that fit best together: Gauss and Newton's steps of the places, which postures follow."""
    problem = replace(problem, tree=places.moved_tree(places.values))
    known = places.stds**-2.0
    for _ in range(ROUNDS):
        variance = marker_variance(problem, q)
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
