"""Logs of floating robots: from poses, contacts and joints to states and rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dynid import Contact, DynamicModel, Log, Stance, load_robot
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.logs.floating_body import FloatingBody, base_poses, contact_torques
from dynid.model import link_pose
from dynid.robot import Robot, place_of_body, pose
from dynid.robot.assembly import assemble
from dynid.robot.description import BodyDescription, Description, JointDescription
from dynid.robot.joints import JointKind
from tests.floating_logs import needed, smooth_motion
from tests.strategies import random_inertia, random_pose


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("builtin:ur5", floating_base=True)


def test_a_robot_that_stands_on_a_body_has_it_where_it_rests(robot: Robot) -> None:
    q = smooth_motion(robot, 1.0).q
    T = pose(Rotation.from_rotvec([0.1, -0.2, 0.3]).as_matrix(), np.array([1.0, 2.0, 3.0]))
    for stance in (Stance("wrist_3_link", T), Stance("base", T)):
        whole = q.copy()
        whole[:, :7] = base_poses(robot, stance, q)
        link, placement = place_of_body(robot, stance.body)
        rotation, origin = link_pose(robot, link, whole)
        np.testing.assert_allclose(rotation @ placement[:3, :3], np.tile(T[:3, :3], (len(q), 1, 1)), atol=1e-12)
        np.testing.assert_allclose(origin + rotation @ placement[:3, 3], np.tile(T[:3, 3], (len(q), 1)), atol=1e-12)


def test_a_stance_without_a_pose_is_level_as_the_file_draws_it(robot: Robot) -> None:
    found = base_poses(robot, Stance("wrist_3_link"), robot.neutral[None])
    np.testing.assert_allclose(found[0, 3:], [0.0, 0.0, 0.0, 1.0], atol=1e-12)


def test_a_plate_in_the_world_and_a_sensor_in_the_body_measure_the_same(robot: Robot) -> None:
    q = smooth_motion(robot, 0.2, turn=1.0).q
    T = pose(Rotation.from_rotvec([0.3, 0.1, -0.4]).as_matrix(), np.array([0.2, -0.1, 0.5]))
    rng = np.random.default_rng(1)
    on_plate = rng.normal(size=(len(q), 6))
    link, placement = place_of_body(robot, "wrist_3_link")
    rotation, origin = link_pose(robot, link, q)
    R, p = rotation @ placement[:3, :3], origin + rotation @ placement[:3, 3]
    force, moment = (part @ T[:3, :3].T for part in np.split(on_plate, 2, axis=1))
    moment = moment + np.cross(T[:3, 3] - p, force)
    in_body = np.hstack([np.einsum("sji,sj->si", R, part) for part in (force, moment)])
    expected = contact_torques(robot, Contact("wrist_3_link", in_body), q)
    np.testing.assert_allclose(contact_torques(robot, Contact("wrist_3_link", on_plate, T), q), expected, atol=1e-12)


def test_contacts_that_are_not_measured_leave_out_the_rows_that_they_act_on(robot: Robot) -> None:
    count = 4
    log = Log(
        time=np.arange(count) / 10.0,
        position=np.zeros((count, 6)),
        torque=np.zeros((count, 6)),
        base_pose=np.tile([0.0, 0, 0, 0, 0, 0, 1], (count, 1)),
        contacts=[Contact("forearm_link")],
    )
    measured = FloatingBody(DynamicModel(robot)).measured(log)
    assert measured is not None
    assert measured[0].tolist() == [False] * 9 + [True] * 3
    assert FloatingBody(DynamicModel(robot)).measured(replace(log, contacts=[])) is None


def test_quaternions_may_change_their_sign_from_sample_to_sample(robot: Robot) -> None:
    motion = smooth_motion(robot, 2.0, turn=2.0)
    flipped = motion.q[:, :7].copy()
    flipped[::3, 3:] *= -1.0
    contacts = [Contact("base", needed(robot, motion)[:, :6])]
    logs = [
        Log(time=motion.t, position=motion.q[:, 7:], base_pose=poses, contacts=contacts)
        for poses in (motion.q[:, :7], flipped)
    ]
    body = FloatingBody(DynamicModel(robot))
    whole, other = (body.positions(log, log.position) for log in logs)
    sign = np.sign(other[0, 3:7] @ whole[0, 3:7])
    np.testing.assert_array_equal(whole[:, 3:7], sign * other[:, 3:7])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"base_pose": None}, InvalidRequestError),
        ({"contacts": None}, InvalidRequestError),
        ({"contacts": [Contact("nowhere")]}, UnknownNameError),
        ({"position": np.zeros((4, 5)), "torque": np.zeros((4, 5))}, ShapeError),
    ],
)
def test_logs_that_do_not_say_enough_are_refused(robot: Robot, change: dict, error: type[Exception]) -> None:
    whole = {
        "time": np.arange(4) / 10.0,
        "position": np.zeros((4, 6)),
        "torque": np.zeros((4, 6)),
        "base_pose": np.tile([0.0, 0, 0, 0, 0, 0, 1], (4, 1)),
        "contacts": [Contact("base", np.zeros((4, 6)))],
    }
    with pytest.raises(error):
        FloatingBody(DynamicModel(robot)).require_log(Log(**{**whole, **change}))


def test_a_fixed_robot_has_no_pose_of_its_base() -> None:
    fixed = load_robot("builtin:ur5")
    log = Log(time=np.array([0.0, 0.1]), position=np.zeros((2, 6)), torque=np.zeros((2, 6)), stance="base")
    with pytest.raises(InvalidRequestError, match="floating_base"):
        FloatingBody(DynamicModel(fixed)).require_log(log)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"base_pose": np.tile([0.0, 0, 0, 1, 1, 0, 0], (2, 1))}, InvalidRequestError),
        ({"base_pose": np.zeros((2, 6))}, ShapeError),
        ({"base_pose": np.tile([0.0, 0, 0, 0, 0, 0, 1], (2, 1)), "stance": "base"}, InvalidRequestError),
        ({"contacts": [Contact("base", np.zeros((3, 6)))]}, ShapeError),
        ({"contacts": ["base"]}, InvalidRequestError),
    ],
)
def test_poses_and_contacts_that_cannot_be_are_refused(given: dict, error: type[Exception]) -> None:
    with pytest.raises(error):
        Log(time=np.array([0.0, 0.1]), position=np.zeros((2, 6)), torque=np.zeros((2, 6)), **given)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Contact("base", np.zeros((2, 4))),
        lambda: Contact("base", "abc"),  # type: ignore[arg-type]
        lambda: Contact(3),  # type: ignore[arg-type]
        lambda: Log(time=np.zeros(1), position=np.zeros((1, 1)), contacts=[Contact("base", np.full((1, 6), np.nan))]),
        lambda: Log(time=np.zeros(1), position=np.zeros((1, 1)), contacts="base"),  # type: ignore[arg-type]
        lambda: Log(time=np.zeros(1), position=np.zeros((1, 1)), contacts=[], stance=5),  # type: ignore[arg-type]
        lambda: Log(time=np.zeros(1), position=np.zeros((1, 1)), contacts=[], stance=("base", np.eye(4))),  # type: ignore[arg-type]
        lambda: Contact("base", pose=np.eye(3)),
        lambda: Stance("base", 2.0 * np.eye(4)),
    ],
)
def test_contacts_and_stances_are_looked_at(make) -> None:
    with pytest.raises((ShapeError, InvalidRequestError)):
        make()


def test_parts_of_a_log_have_parts_of_its_wrenches() -> None:
    wrench = np.arange(12.0).reshape(2, 6)
    log = Log(time=np.array([0.0, 0.1]), position=np.zeros((2, 1)), contacts=[Contact("foot", wrench), Contact("hand")])
    part = log[1:]
    assert part.contacts is not None
    assert part.contacts[0].wrench.tolist() == [wrench[1].tolist()]  # type: ignore[union-attr]
    assert part.missing is not None
    assert part.missing.all()


def test_a_base_that_its_file_puts_elsewhere_is_where_the_pose_says() -> None:
    description = Description(
        "tilted",
        "tilted",
        (BodyDescription("trunk", random_inertia(np.random.default_rng(0))),),
        (JointDescription("free", JointKind.FREE_FLYER, None, "trunk", random_pose(np.random.default_rng(1), False)),),
    )
    robot = assemble(description)
    T = pose(Rotation.from_rotvec([0.3, -0.1, 0.2]).as_matrix(), np.array([0.5, -0.2, 1.0]))
    seen = np.hstack([T[:3, 3], Rotation.from_matrix(T[:3, :3]).as_quat()])
    nothing = Log(time=np.array([0.0, 0.1]), position=np.zeros((2, 0)), torque=np.zeros((2, 0)), contacts=[])
    logs = replace(nothing, base_pose=np.tile(seen, (2, 1))), replace(nothing, stance=Stance("trunk", T))
    for log in logs:
        q = FloatingBody(DynamicModel(robot)).positions(log, log.position)
        rotation, origin = link_pose(robot, 0, q)
        np.testing.assert_allclose(rotation[0], T[:3, :3], atol=1e-12)
        np.testing.assert_allclose(origin[0], T[:3, 3], atol=1e-12)


def test_gaps_of_poses_and_wrenches_are_filled_whatever_the_signs_of_quaternions(robot: Robot) -> None:
    motion = smooth_motion(robot, 2.0, turn=1.0)
    poses, wrench = motion.q[:, :7].copy(), needed(robot, motion)[:, :6].copy()
    poses[200:, 3:] *= -1.0
    poses[199:202] = np.nan
    wrench[100] = np.nan
    log = Log.with_gaps(
        motion.t, motion.q[:, 7:], base_pose=poses, contacts=[Contact("base", wrench), Contact("wrist_3_link")]
    )
    assert log.base_pose is not None
    assert log.contacts is not None
    sign = np.sign(np.sum(log.base_pose[0, 3:] * motion.q[0, 3:7]))
    np.testing.assert_allclose(sign * log.base_pose[:, 3:], motion.q[:, 3:7], atol=1e-5)
    assert log.contacts[0].wrench is not None
    np.testing.assert_allclose(log.contacts[0].wrench, needed(robot, motion)[:, :6], rtol=1e-3, atol=0.1)
    assert log.contacts[1].wrench is None
