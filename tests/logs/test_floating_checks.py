"""What is said of wrong logs of floating bases, on robots whose files are 15 % off, and nothing of good ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dynid import Contact, Log, Robot, Stance, load_robot
from dynid.arrays import Array
from dynid.logs import Drive, Processing, prepare
from dynid.logs.floating_body import base_poses, contact_torques
from dynid.logs.processing.signals import eighth_order
from dynid.model import DynamicModel, link_pose
from dynid.robot import SIZE, inertia, place_of_body
from tests.floating_logs import RATE, needed, smooth_motion
from tests.references import example_robot_file

FEET = ("left_sole_link", "right_sole_link")
CODES = ("base-pose-jumps", "contact-")
STATED = Processing(derivative="eighth_order", trim=10)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot(example_robot_file("talos_reduced.urdf"), floating_base=True)


def truth_of(robot: Robot, rng: np.random.Generator, off: float = 0.15) -> Array:
    """Links about 15 % off the file, each by a congruence of its pseudo-inertia."""
    links = []
    for p in robot.parameters.reshape(-1, SIZE):
        scale = np.eye(4) + off / 2 * rng.normal(size=(4, 4)) / 2
        scale[:3, 3] *= 0.2  # metres: of about the size of a link
        links.append(inertia.from_pseudo_inertia(scale @ inertia.to_pseudo_inertia(p) @ scale.T))
    return np.concatenate(links)


def standing_log(robot: Robot, seed: int) -> tuple[Log, Array]:
    """A log on two feet, of which the second is held by inverse kinematics of nobody: it may move, and bears a part."""
    rng = np.random.default_rng(seed)
    motion = smooth_motion(robot, 4.0, seed)
    q = motion.q.copy()
    q[:, 7:] *= 0.15
    q[:, :7] = base_poses(robot, Stance(FEET[0]), q)
    q, v, a = robot.motion_of(q, eighth_order(q, RATE), eighth_order(q, RATE, 2))
    rows = needed(robot, type(motion)(motion.t, q, v, a), truth_of(robot, rng))[:, :6]
    share = 0.5 + 0.1 * np.sin(motion.t)[:, None]
    link, placement = place_of_body(robot, FEET[1])
    R, _ = link_pose(robot, link, q)
    up = np.einsum("sji,j->si", R @ placement[:3, :3], [0.0, 0.0, 880.0]) * share
    right = Contact(FEET[1], np.hstack([up, rng.normal(size=(len(q), 3))]))
    rest = rows - contact_torques(robot, right, q)[:, :6]
    left = Contact(FEET[0], as_measured(robot, FEET[0], q, rest))
    log = Log(time=motion.t, position=q[:, 7:], stance=FEET[0], contacts=[left, right])
    return log, q


def as_measured(robot: Robot, body: str, q: Array, on_base: Array) -> Array:
    """The wrench at a body that amounts to one on the base."""
    link, placement = place_of_body(robot, body)
    base, at = link_pose(robot, 0, q)
    R, p = link_pose(robot, link, q)
    p = p + R @ placement[:3, 3]
    R = R @ placement[:3, :3]
    force = np.einsum("sij,sj->si", base, on_base[:, :3])
    moment = np.einsum("sij,sj->si", base, on_base[:, 3:]) + np.cross(at - p, force)
    return np.hstack([np.einsum("sji,sj->si", R, part) for part in (force, moment)])


def codes(robot: Robot, log: Log) -> list[str]:
    ready = prepare(log, DynamicModel(robot, (), "wrench_moving"), Drive(), STATED)
    return [finding.code for finding in ready.findings if finding.code.startswith(CODES)]


def without_slips(found: list[str]) -> list[str]:
    """The second foot of these logs moves."""
    return [code for code in found if code != "contact-slips"]


@pytest.fixture(scope="module")
def good(robot: Robot) -> Log:
    return standing_log(robot, 0)[0]


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_said_of_good_logs_though_the_file_is_off(robot: Robot, seed: int) -> None:
    log, q = standing_log(robot, seed)
    assert without_slips(codes(robot, log)) == []
    assert codes(robot, replace(log, stance=None, base_pose=q[:, :7])) == []


def turned(axis: str, degrees: float) -> Callable[[Array], Array]:
    R = Rotation.from_euler(axis, degrees, degrees=True).as_matrix()
    return lambda w: np.hstack([w[:, :3] @ R.T, w[:, 3:] @ R.T])


def same(w: Array) -> Array:
    return w


def times(factor: float) -> Callable[[Array], Array]:
    return lambda w: factor * w


def shifted(w: Array) -> Array:
    return np.hstack([w[:, :3], w[:, 3:] + np.cross([0.2, 0.0, 0.0], w[:, :3])])


@pytest.mark.parametrize(
    ("left", "right", "code"),
    [
        (times(1e-3), times(1e-3), "contact-forces-small"),
        (times(3.0), times(3.0), "contact-forces-large"),
        (times(-1.0), times(-1.0), "contact-forces-turned-round"),
        (same, times(-1.0), "contact-frame-turned"),
        (same, turned("x", 90), "contact-frame-turned"),
        (turned("y", 30), same, "contact-frame-turned"),
        (shifted, same, "contact-origin-shifted"),
    ],
)
def test_wrong_contacts_are_named(robot: Robot, good: Log, left: Callable, right: Callable, code: str) -> None:
    assert good.contacts is not None
    contacts = [one.changed(change) for one, change in zip(good.contacts, (left, right), strict=True)]
    assert without_slips(codes(robot, replace(good, contacts=contacts))) == [code]


def test_a_missing_contact_is_named(robot: Robot, good: Log) -> None:
    assert good.contacts is not None
    assert without_slips(codes(robot, replace(good, contacts=good.contacts[:1]))) == ["contact-forces-small"]


def test_a_force_plate_in_another_frame_is_found_by_gravity(robot: Robot) -> None:
    log, q = standing_log(robot, 1)
    assert log.contacts is not None
    link, placement = place_of_body(robot, FEET[0])
    R, _ = link_pose(robot, link, q)
    on_plate = log.contacts[0].wrench  # the left foot rests in the origin, so that a plate there measures the same
    T = np.eye(4)
    T[:3, :3] = (R @ placement[:3, :3])[0]
    right_plate = Contact(FEET[0], on_plate, T)
    assert without_slips(codes(robot, replace(log, contacts=[right_plate, log.contacts[1]]))) == []
    wrong = T.copy()
    wrong[:3, :3] = T[:3, :3] @ Rotation.from_euler("x", 180, degrees=True).as_matrix()
    assert without_slips(codes(robot, replace(log, contacts=[Contact(FEET[0], on_plate, wrong), log.contacts[1]]))) == [
        "contact-frame-turned"
    ]


def test_a_pose_that_jumps_is_named(robot: Robot) -> None:
    log, q = standing_log(robot, 2)
    pose = q[:, :7].copy()
    pose[400:, 1] += 0.04
    assert "base-pose-jumps" in codes(robot, replace(log, stance=None, base_pose=pose))


def test_feet_that_slip_are_named(robot: Robot, good: Log) -> None:
    assert "contact-slips" in codes(robot, good)
    assert good.contacts is not None
    lifted = good.contacts[1].changed(lambda w: 0.0 * w)
    assert "contact-slips" not in codes(robot, replace(good, contacts=[good.contacts[0], lifted]))


def test_a_gap_of_time_is_no_jump(robot: Robot) -> None:
    log, q = standing_log(robot, 3)
    gone = np.r_[0:300, 500 : len(log)]
    assert codes(robot, replace(log, stance=None, base_pose=q[:, :7]).at(gone)) == []


def test_a_robot_that_stands_on_nothing_is_named(robot: Robot, good: Log) -> None:
    torque = np.zeros((len(good), good.position.shape[1]))
    nothing = replace(good, contacts=[], torque=torque, missing=None)
    assert "contact-forces-small" in codes(robot, nothing)
