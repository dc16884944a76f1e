"""Joint angles and the pose of the base from markers, for any robot file that has the markers: `motion_of_markers`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError
from dynid.findings import Finding
from dynid.logs.captures.capture import Capture
from dynid.logs.captures.first_postures import first_postures, with_restarts
from dynid.logs.captures.marker_findings import findings_on_motion
from dynid.logs.captures.marker_steps import UNSEEN, PostureProblem, marker_std, solved, spreads, with_unseen_held
from dynid.logs.captures.marker_tree import MarkerTree, matched_labels
from dynid.logs.captures.outlying_markers import without_outliers
from dynid.logs.captures.still_base import base_is_seen, with_still_base
from dynid.logs.floating_body import base_positions
from dynid.logs.log import POSE_COLUMNS
from dynid.logs.quaternions import with_steady_signs
from dynid.model import link_pose
from dynid.robot import Robot, as_robot


@dataclass(frozen=True, eq=False, repr=False)
class MarkerMotion:
    """The motion of a robot that markers show.

    Attributes:
        time: Time stamps [s], those of the capture, shape (samples,).
        position: Positions of the joints [rad or m], as a log has them, shape (samples, joints). NaN where the markers
            that were seen do not show a joint; joints that no sample shows are at their neutral position.
        base_pose: Pose of the root body in the world: x, y, z [m] and quaternion (x, y, z, w), shape (samples, 7); NaN
            where markers do not show it. The same in all samples where the base of the robot is fixed.
        std: Standard deviations of positions by the residuals, of joints of one axis, shape (samples, axes). Errors
            that all samples share, such as lengths of segments, are not in them.
        names: The bodies of the robot's file that markers were seen of.
        residuals: Distances of the markers to where the motion has them [m], shape (samples, markers); NaN where one
            was not seen.
        left_out: Which markers did not count, because they do not fit to the others, shape (samples, markers).
        findings: What was noticed.
    """

    time: Array
    position: Array
    base_pose: Array
    std: Array
    names: tuple[str, ...]
    residuals: Array
    left_out: NDArray[np.bool_]
    findings: tuple[Finding, ...]

    @property
    def rms(self) -> float:
        """Root mean square of the residuals that count [m]."""
        return float(np.sqrt(np.nanmean(self.residuals[~self.left_out] ** 2)))

    @property
    def marker_rms(self) -> dict[str, float]:
        """Root mean square of the residuals of each marker that count [m]; NaN of one that never counts."""
        counts = np.isfinite(self.residuals) & ~self.left_out
        squares = np.where(counts, self.residuals, 0.0) ** 2
        with np.errstate(invalid="ignore"):
            found = np.sqrt(squares.sum(axis=0) / counts.sum(axis=0))
        return dict(zip(self.names, found.tolist(), strict=True))

    def __repr__(self) -> str:
        joints = f"{self.position.shape[1]} joints from {len(self.names)} markers"
        return f"MarkerMotion: {len(self.time)} samples, {joints}, residuals {1e3 * self.rms:.3g} mm"


def motion_of_markers(
    robot: Robot,
    capture: Capture,
    *,
    labels: Mapping[str, str] | None = None,
    base_pose: object = None,
) -> MarkerMotion:
    """Find the joint positions and the pose of the base for which markers are nearest to where they were seen.

    All joints and the base of a sample are found together, by least squares over its markers. A marker stands for the
    body of the robot's file of its name; markers that were not seen are left out, and those that do not fit to the
    others do not count. Joints beyond their limits are pulled back a little.

    Args:
        robot: The robot, such as the body that `dynid.human` makes, with massless bodies where its markers are. Where
            its base is fixed, the pose of the base in the world is estimated, too, one for all samples.
        capture: What was seen.
        labels: Bodies by labels of the capture, where they are called otherwise.
        base_pose: Where a fixed base is known to be: x, y, z [m] and quaternion (x, y, z, w), shape (7,).

    Raises:
        InvalidRequestError: If no marker is of the robot, or too few were seen.
        ShapeError: If the pose of the base has another shape.
    """
    free = as_robot(robot, floating_base=True)
    bodies, unknown = matched_labels(robot, capture.names, labels)
    problem = problem_of(MarkerTree.of(free, tuple(bodies.values())), capture.markers[:, list(bodies)])
    q, is_fixed = first_postures(problem), not robot.has_floating_base
    if is_fixed:
        known = None if base_pose is None else base_positions(free, checked_base(base_pose))
        problem, q = with_still_base(problem, q, known)
    elif base_pose is not None:
        raise InvalidRequestError(
            f"the base of '{robot.name}' is free, and markers show where it is; leave base_pose out"
        )
    problem, q = with_unseen_held(problem, q)
    q = with_restarts(problem, solved(problem, q))
    problem, q = without_outliers(problem, q)
    if is_fixed and base_pose is None:
        problem, q = with_still_base(problem, q)
    found = _motion(capture, problem, q, unknown)
    if is_fixed and base_pose is None and not base_is_seen(problem, q):
        return replace(found, findings=(*found.findings, Finding.of("base-not-seen", f"robot '{robot.name}'")))
    return found


def problem_of(tree: MarkerTree, seen: Array) -> PostureProblem:
    """The problem of all markers that were seen, shape (samples, markers, 3)."""
    is_seen = np.asarray(np.isfinite(seen).all(axis=2))
    if not is_seen.any():
        raise InvalidRequestError(f"no marker of '{tree.robot.name}' was seen in any sample of the capture")
    filled = np.where(is_seen[:, :, None], seen, 0.0)
    return PostureProblem(tree, filled, is_seen.astype(float), np.ones(tree.robot.nv, dtype=bool), is_seen)


def checked_base(pose: object) -> Array:
    """A pose of a base, shape (1, 7).

    Raises:
        ShapeError: If it has another shape.
    """
    given = np.asarray(pose, dtype=float)
    if given.shape != (POSE_COLUMNS,) or not np.isfinite(given).all() or not given[3:].any():
        raise ShapeError("the pose of the base: x, y, z and a quaternion x, y, z, w", f"({POSE_COLUMNS},)", given.shape)
    return given[None] / np.concatenate([np.ones(3), np.full(4, np.linalg.norm(given[3:]))])


def _motion(capture: Capture, problem: PostureProblem, q: Array, unknown: Sequence[str]) -> MarkerMotion:
    """What was found, with what markers do not show taken out."""
    robot, first = problem.tree.robot, POSE_COLUMNS
    q = _unwrapped(robot, q)
    errors = np.linalg.norm(problem.seen - problem.tree.positions(q), axis=2)
    residuals = np.where(problem.is_seen, errors, np.nan)
    left_out = problem.is_seen & (problem.weights == 0.0)
    spread = spreads(problem, q)
    sigma = marker_std(problem, residuals)
    position, base, of_q, of_v = q[:, first:].copy(), _base_poses(robot, q), *problem.columns
    lost = (spread > UNSEEN) & problem.free
    for column, motion in zip(of_q, of_v, strict=True):
        position[lost[:, motion], column - first] = np.nan
    for joint in robot.logged_joints:
        if joint.kind.has_quaternion:
            position[lost[:, joint.v].any(axis=1), joint.q.start - first : joint.q.stop - first] = np.nan
    base[lost[:, :6].any(axis=1)] = np.nan
    motion = MarkerMotion(capture.time, frozen(position), frozen(base), frozen(sigma * spread[:, of_v]),
                          problem.tree.names, frozen(residuals), left_out, ())  # fmt: skip
    return replace(motion, findings=tuple(findings_on_motion(problem, q, motion, lost, unknown)))


def _base_poses(robot: Robot, q: Array) -> Array:
    """Poses of the root body in the world, shape (samples, 7), whose quaternions go on from sample to sample."""
    from scipy.spatial.transform import Rotation

    R, p = link_pose(robot, 0, q)
    return with_steady_signs(np.hstack([p, Rotation.from_matrix(R).as_quat()]))


def _unwrapped(robot: Robot, q: Array) -> Array:
    """Positions in which angles without limits, and quaternions, go on from sample to sample."""
    q = q.copy()
    for joint in robot.independent_joints:
        if joint.kind.has_quaternion:
            q[:, joint.q] = with_steady_signs(q[:, joint.q])
        elif joint.kind.is_angular and joint.limits.upper - joint.limits.lower > 2.0 * np.pi:
            q[:, joint.q] = np.unwrap(q[:, joint.q], axis=0)
    return q
