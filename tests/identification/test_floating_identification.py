"""Identification of robots with floating bases and spherical joints: exact logs give exact numbers by default."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dynid
from dynid import Contact, DynamicModel, Log, Result, load_result, load_robot
from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.model import specification
from dynid.robot import CHANNELS, Robot
from dynid.robot.assembly import assemble
from dynid.robot.description import BodyDescription, Description, JointDescription
from dynid.robot.joints import JointKind
from tests.floating_logs import RATE, Motion, needed, smooth_motion
from tests.free_flight import free_flight
from tests.standing_biped import two_feet
from tests.strategies import random_inertia

PLAIN = {"fit": False}


def errors(result: Result, parameters: Array) -> Array:
    """Errors of base parameters, relative to the largest."""
    true = result.base.to_base(parameters)
    found = np.array([row.value for row in result.parameters])
    return np.abs(found - true) / np.abs(true).max()


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("builtin:ur5", floating_base=True)


@pytest.fixture(scope="module")
def truth(robot: Robot) -> Array:
    """Links, the base among them, that can exist."""
    rng = np.random.default_rng(3)
    return np.concatenate([random_inertia(rng) for _ in robot.solid_links])


@pytest.fixture(scope="module")
def motion(robot: Robot) -> Motion:
    return smooth_motion(robot)


def log_of(motion: Motion, **others: object) -> Log:
    return Log(time=motion.t, position=motion.q[:, 7:], base_pose=motion.q[:, :7], **others)  # type: ignore[arg-type]


def test_the_wrench_on_a_moving_base_is_enough(robot: Robot, motion: Motion, truth: Array) -> None:
    wrench = needed(robot, motion, truth)[:, :6]
    result = dynid.identify(robot, log_of(motion, contacts=[Contact("base", wrench)]))
    assert len(result.parameters) == 52
    assert errors(result, truth).max() < 1e-7
    assert result.record.physical is not None
    assert result.record.physical.relative_error < 1e-6


def test_joint_torques_and_a_wrench_determine_friction_too(robot: Robot, motion: Motion, truth: Array) -> None:
    model = DynamicModel(robot, ["viscous", "coulomb"])
    p = np.concatenate([truth, np.linspace(1.0, 2.0, len(model.names) - len(truth))])
    rows = model.inverse_dynamics(motion.q, motion.v, motion.a, p)
    log = log_of(motion, torque=rows[:, 6:], contacts=[Contact("base", rows[:, :6])])
    result = dynid.identify(robot, log, ["viscous", "coulomb"], physical=PLAIN)
    assert errors(result, p).max() < 1e-7
    assert result.validate(log).relative_error < 1e-6


def test_a_wrench_at_a_hand_and_one_on_a_plate_add_up(robot: Robot, motion: Motion, truth: Array) -> None:
    rng = np.random.default_rng(0)
    hand = 5.0 * np.sin(motion.t[:, None] * rng.uniform(0.5, 2.0, 6))
    from dynid.logs.floating_body import contact_torques

    base = needed(robot, motion, truth)[:, :6] - contact_torques(robot, Contact("wrist_3_link", hand), motion.q)[:, :6]
    contacts = [Contact("base", base), Contact("wrist_3_link", hand)]
    result = dynid.identify(robot, log_of(motion, contacts=contacts), physical=PLAIN)
    assert errors(result, truth).max() < 1e-7


def test_in_free_flight_joint_torques_say_what_moves_the_base(robot: Robot, truth: Array) -> None:
    """The motion of the base is from the conservation of momentum, so that nothing acts on it but gravity."""
    flight = free_flight(robot, truth)
    rows = needed(robot, flight, truth)
    inside = slice(10, -10)  # differences at the ends are less exact
    assert np.abs(rows[inside, :6]).max() < 1e-6 * np.abs(rows[inside, 6:]).max()
    result = dynid.identify(robot, log_of(flight, torque=rows[:, 6:], contacts=[]), physical=PLAIN)
    assert result.model.row_count == 12
    assert len(result.parameters) == 52
    assert errors(result, truth).max() < 1e-7


def test_nothing_has_a_scale_where_neither_torques_nor_wrenches_were_measured(robot: Robot, motion: Motion) -> None:
    with pytest.raises(InvalidRequestError, match="scale"):
        dynid.identify(robot, log_of(motion, contacts=[]))


def ball_arm(floating: bool) -> Robot:
    """A body on a spherical joint, with a second on a hinge."""
    rng = np.random.default_rng(1)
    bodies = tuple(BodyDescription(name, random_inertia(rng)) for name in ("torso", "upper", "lower"))
    at = np.eye(4)
    at[:3, 3] = [0.0, 0.1, 0.3]
    joints = (
        JointDescription("shoulder", JointKind.SPHERICAL, "torso", "upper", at),
        JointDescription("elbow", JointKind.REVOLUTE, "upper", "lower", at, np.array([0.0, 1.0, 0.0])),
    )
    return assemble(Description("ball_arm", "ball_arm", bodies, joints), floating_base=floating)


def test_spherical_joints_are_identified_from_their_torques() -> None:
    robot = ball_arm(floating=False)
    motion = smooth_motion(robot, turn=0.8)
    log = Log(time=motion.t, position=motion.q, torque=needed(robot, motion))
    result = dynid.identify(robot, log, physical=PLAIN)
    assert errors(result, robot.parameters).max() < 1e-7


def test_spherical_joints_are_identified_from_the_wrench_on_a_base() -> None:
    robot = ball_arm(floating=True)
    motion = smooth_motion(robot, turn=0.8)
    log = log_of(motion, contacts=[Contact("torso", needed(robot, motion)[:, :6])])
    result = dynid.identify(robot, log, physical=PLAIN)
    assert errors(result, robot.parameters).max() < 1e-7


def test_a_result_is_saved_loaded_and_drawn(robot: Robot, motion: Motion, truth: Array, tmp_path: Path) -> None:
    log = log_of(motion, contacts=[Contact("base", needed(robot, motion, truth)[:, :6])])
    result = dynid.identify(robot, log, physical=PLAIN)
    result.save(tmp_path / "result")
    again = load_result(tmp_path / "result")
    assert again.model.observed == result.model.observed
    other = smooth_motion(robot, seed=9)
    unseen = log_of(other, contacts=[Contact("base", needed(robot, other, truth)[:, :6])])
    found = again.validate(unseen)
    assert found.unseen is not None
    assert found.relative_error < 1e-7
    assert [joint.name for joint in found.joints] == [f"base {channel}" for channel in CHANNELS]
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for joint in found.joints:
        assert f'<th scope="row">{joint.name}</th>' in page
        assert f"Measured and predicted torque of {joint.name} over time" in page
    assert "Friction of base" not in page


def test_an_experiment_file_states_poses_contacts_and_plates(
    robot: Robot, motion: Motion, truth: Array, tmp_path: Path
) -> None:
    wrench = -needed(robot, motion, truth)[:, :6] * [1e-3, 1e-3, 1e-3, 1e3, 1e3, 1e3]
    columns = {"t": motion.t} | {f"q{k}": x for k, x in enumerate(motion.q[:, 7:].T)}
    columns |= {name: 1e3 * x for name, x in zip("xyz", motion.q[:, :3].T, strict=True)}
    columns |= {f"r{name}": x for name, x in zip("xyzw", motion.q[:, 3:7].T, strict=True)}
    columns |= {f"w{k}": x for k, x in enumerate(wrench.T)}
    pl.DataFrame(columns).write_csv(tmp_path / "run.csv")
    (tmp_path / "arm.toml").write_text(
        """
        robot = "builtin:ur5"
        floating_base = true
        [physical]
        fit = false
        [[log]]
        time = { file = "run.csv", columns = "t" }
        position = { file = "run.csv", columns = "q*" }
        base_pose = { file = "run.csv", columns = ["x", "y", "z", "rx", "ry", "rz", "rw"], unit = "mm" }
        [[log.contact]]
        body = "base"
        sign = -1
        wrench = { file = "run.csv", columns = "w*", unit = ["kN", "kN", "kN", "N mm", "N mm", "N mm"] }
        """
    )
    result = dynid.identify(tmp_path / "arm.toml")
    assert errors(result, truth).max() < 1e-6


def test_a_base_that_stands_still_is_found_by_its_stance(robot: Robot, motion: Motion, truth: Array) -> None:
    still = np.zeros((len(motion.t), 6))
    q = np.hstack([np.tile([0.0, 0, 0, 0, 0, 0, 1], (len(still), 1)), motion.q[:, 7:]])
    v, a = (np.hstack([still, x[:, 6:]]) for x in (motion.v, motion.a))
    wrench = DynamicModel(robot).inverse_dynamics(q, v, a, truth)[:, :6]
    log = Log(time=motion.t, position=motion.q[:, 7:], stance="base", contacts=[Contact("base", wrench)])
    result = dynid.identify(robot, log, physical=PLAIN)
    assert len(result.parameters) < 52
    assert errors(result, truth).max() < 1e-7


def test_a_base_that_hangs_on_something_unknown_leaves_the_joints_beyond_it(
    robot: Robot, motion: Motion, truth: Array
) -> None:
    rows = needed(robot, motion, truth)
    log = log_of(motion, torque=rows[:, 6:], contacts=[Contact("base")])
    result = dynid.identify(robot, log, physical=PLAIN)
    assert result.model.row_names == tuple(joint.name for joint in robot.axes)
    assert not any(row.name.endswith("0") for row in result.parameters)
    assert errors(result, truth).max() < 1e-7


def test_a_log_that_hangs_and_one_that_is_held_by_a_sensor_add_up(robot: Robot, motion: Motion, truth: Array) -> None:
    rows = needed(robot, motion, truth)
    hanging = log_of(motion, torque=rows[:, 6:], contacts=[Contact("base")], name="hanging")
    held = log_of(motion, contacts=[Contact("base", rows[:, :6])], name="held")
    result = dynid.identify(robot, [hanging, held], physical=PLAIN)
    assert len(result.parameters) == 52
    assert errors(result, truth).max() < 1e-7


def test_table_3_3_of_the_two_link_arm_from_the_wrench_on_its_base() -> None:
    """Thirteen base parameters with these values: seed 000, table 3.3, in the order of our columns."""
    robot = load_robot("builtin:two_link", floating_base=True)
    motion = smooth_motion(load_robot("builtin:two_link"))
    still = np.zeros((len(motion.t), 6))
    q = np.hstack([np.tile([0.0, 0, 0, 0, 0, 0, 1], (len(still), 1)), motion.q])
    model = DynamicModel(robot, ["viscous", "coulomb"])
    rows = model.inverse_dynamics(q, np.hstack([still, motion.v]), np.hstack([still, motion.a]))
    log = Log(time=motion.t, position=motion.q, stance="base", contacts=[Contact("base", rows[:, :6])])
    found = {row.expression: row.value for row in dynid.identify(robot, log, physical=PLAIN).parameters}
    assert found == pytest.approx(
        {
            "m0 + m1 + m2": 3.0,
            "mx0 + 0.25*m1 + 0.25*m2": 0.5,
            "my0 + my1 + my2": 0.0,
            "mx1 + 0.5*m2": 0.75,
            "mz1 + 0.25*m2": 0.375,
            "Ixy1 - 0.5*my2": 0.0,
            "Iyy1 + 0.3125*m2": 0.416667,
            "Iyz1 - 0.25*my2": 0.0,
            "mx2": 0.25,
            "mz2": 0.125,
            "Ixy2": 0.0,
            "Iyy2": 0.104167,
            "Iyz2": 0.0,
        },
        abs=1e-6,
    )


def test_friction_between_links_does_not_show_in_the_wrench(robot: Robot, motion: Motion, truth: Array) -> None:
    model = DynamicModel(robot, ["viscous", "coulomb"])
    p = np.concatenate([truth, np.ones(len(model.names) - len(truth))])
    wrench = model.inverse_dynamics(motion.q, motion.v, motion.a, p)[:, :6]
    result = dynid.identify(robot, log_of(motion, contacts=[Contact("base", wrench)]), ["viscous"], physical=PLAIN)
    assert len(result.parameters) == 52
    assert "fv1" in result.base.no_effect


@pytest.mark.parametrize(
    "asked",
    [
        {"torque": "magnitude"},
        {"estimation": {"estimator": "power"}},
        {"estimation": {"estimator": "iv"}},
        {"drive": {"signs": "auto"}},
        {"terms": "auto"},
    ],
)
def test_what_is_for_fixed_bases_is_refused(robot: Robot, motion: Motion, asked: dict) -> None:
    log = log_of(motion, torque=np.zeros((len(motion.t), 6)), contacts=[Contact("base", np.zeros((len(motion.t), 6)))])
    with pytest.raises(InvalidRequestError, match="fixed base"):
        dynid.identify(robot, log, **asked)


def test_a_log_file_is_read_with_its_contacts(robot: Robot, motion: Motion, tmp_path: Path) -> None:
    columns = {"t": motion.t} | {f"q{k}": x for k, x in enumerate(motion.q[:, 7:].T)}
    columns |= {f"p{k}": x for k, x in enumerate(motion.q[:, :7].T)} | {f"w{k}": k + motion.t for k in range(6)}
    pl.DataFrame(columns).write_csv(tmp_path / "run.csv")
    log = dynid.read_log(
        tmp_path / "run.csv",
        robot,
        time="t",
        position="q*",
        base_pose="p*",
        contacts={"base": "w*", "wrist_3_link": None},
    )
    assert log.contacts is not None
    assert [contact.body for contact in log.contacts] == ["base", "wrist_3_link"]
    np.testing.assert_allclose(log.contacts[0].wrench, columns["w0"][:, None] + np.arange(6))  # type: ignore[arg-type]
    assert log.contacts[1].wrench is None
    standing = dynid.read_log(
        tmp_path / "run.csv", robot, time="t", position="q*", stance="base", contacts={"base": "w*"}
    )
    assert [one.body for one in standing.standing] == ["base"]


def test_feet_that_both_rest_are_where_the_log_has_them() -> None:
    """In another place than the file's: 30 cm apart instead of 20. Both feet are held by inverse kinematics."""
    from dynid.logs.floating_body import base_poses, contact_torques
    from dynid.logs.processing.signals import eighth_order
    from dynid.logs.timing import with_steady_signs
    from dynid.model import link_pose
    from dynid.model.standing import Standing
    from dynid.robot import place_of_body, pose

    robot = two_feet(5)
    apart = np.zeros(robot.nq)
    apart[6] = 1.0
    for side, sign in ((0, 1.0), (6, -1.0)):  # hips out, ankles level; knees bent
        apart[7 + side + np.array([1, 2, 3, 4, 5])] = sign * 0.08, -0.4, 0.8, -0.4, -sign * 0.08
    standing = Standing.of(robot, ("left5", "right5"), apart.tolist())
    t = np.arange(0.0, 20.0, 1.0 / RATE)
    rng = np.random.default_rng(0)
    drawn = np.tile(apart, (len(t), 1))
    for k in range(7, 13):  # the left leg moves, and the right one follows
        drawn[:, k] += sum(0.05 * np.sin(2 * np.pi * rng.uniform(0.1, 0.5) * t + rng.uniform(0, 6)) for _ in range(3))
    q, ok = standing.closed(drawn)
    assert ok.all()
    q, v, a = robot.motion_of(q, eighth_order(q, RATE), eighth_order(q, RATE, 2))
    wrench = needed(robot, Motion(t, q, v, a))[:, :6]
    right = Contact("right5", np.hstack([rng.normal(size=(len(t), 3)), np.zeros((len(t), 3))]))
    left = wrench - contact_torques(robot, right, q)[:, :6]
    for foot in ("left5", "right5"):  # each rests where the posture has it, and says the same of the base
        link, placement = place_of_body(robot, foot)
        R, p = link_pose(robot, link, apart[None])
        poses = with_steady_signs(base_poses(robot, dynid.Stance(foot, pose(R[0], p[0]) @ placement), q))
        np.testing.assert_allclose(poses * np.sign(poses[:1, 6:] * q[:1, 6:7]), q[:, :7], atol=1e-9)
    contacts = [Contact("trunk", left), right]  # a sensor on the trunk says the same as one in the foot
    log = Log(time=t, position=q[:, 7:], stance=["left5", "right5"], contacts=contacts)
    result = dynid.identify(robot, log, physical=PLAIN)
    assert result.model.observed.posture
    assert errors(result, robot.parameters).max() < 1e-5


def test_offsets_of_sensors_are_parameters_of_a_term(robot: Robot, motion: Motion, truth: Array) -> None:
    from dynid.logs.floating_body import contact_torques

    offsets = {"base": np.array([5.0, -3.0, 8.0, 0.5, -0.2, 0.1]), "wrist_3_link": np.array([1.0, 2, 3, 0.1, 0.2, 0.3])}
    hand = 5.0 * np.sin(motion.t[:, None] * np.linspace(0.5, 2.0, 6))
    base = needed(robot, motion, truth)[:, :6] - contact_torques(robot, Contact("wrist_3_link", hand), motion.q)[:, :6]
    contacts = [Contact("base", base + offsets["base"]), Contact("wrist_3_link", hand + offsets["wrist_3_link"])]
    terms = ["contact_offset:base:wrist_3_link"]
    result = dynid.identify(robot, log_of(motion, contacts=contacts), terms, physical=PLAIN)
    assert errors(result, np.concatenate([truth, *offsets.values()])).max() < 1e-7
    found = {row.name: row.value for row in result.parameters}
    assert found["oFz6"] == pytest.approx(3.0, abs=1e-6)
    assert specification(result.model.terms[0]) == terms[0]


def test_delays_are_of_joint_torques_alone(robot: Robot, motion: Motion, truth: Array) -> None:
    rows, late = needed(robot, motion, truth), 0.05
    shift = round(late * RATE)
    torque = np.vstack([np.zeros((shift, 6)), rows[:-shift, 6:]])
    whole = log_of(motion, torque=torque, contacts=[Contact("base", rows[:, :6])])
    result = dynid.identify(robot, whole[2 * shift :], drive={"delay": late}, physical=PLAIN)
    assert errors(result, truth).max() < 1e-6


def test_gear_ratios_are_of_the_joints_of_a_floating_robot(robot: Robot, motion: Motion, truth: Array) -> None:
    rows, ratios = needed(robot, motion, truth), np.array([50.0, 40, 30, 20, 10, 5])
    log = Log(
        time=motion.t,
        position=motion.q[:, 7:] * ratios,
        torque=rows[:, 6:] / ratios,
        base_pose=motion.q[:, :7],
        contacts=[Contact("base", rows[:, :6])],
    )
    drive = {"ratios": ratios.tolist(), "positions": "motor", "torques": "motor"}
    result = dynid.identify(robot, log, drive=drive, physical=PLAIN)
    assert errors(result, truth).max() < 1e-7


def test_a_spike_of_a_force_sensor_is_repaired_and_said(robot: Robot, motion: Motion, truth: Array) -> None:
    wrench = needed(robot, motion, truth)[:, :6].copy()
    wrench[1000, 2] += 5000.0
    result = dynid.identify(robot, log_of(motion, contacts=[Contact("base", wrench)]), physical=PLAIN)
    assert "processing-outliers" in [finding.code for finding in result.findings]
    assert errors(result, truth).max() < 1e-3


def test_a_spike_in_a_log_with_spherical_joints_is_repaired() -> None:
    robot = ball_arm(floating=False)
    motion = smooth_motion(robot, turn=0.8)
    torque = needed(robot, motion).copy()
    torque[1000, 3] += 500.0
    result = dynid.identify(robot, Log(time=motion.t, position=motion.q, torque=torque), physical=PLAIN)
    assert errors(result, robot.parameters).max() < 1e-3


def test_a_fixed_robot_takes_no_contacts() -> None:
    log = Log(time=np.arange(100) / 100.0, position=np.zeros((100, 6)), torque=np.zeros((100, 6)), contacts=[])
    with pytest.raises(InvalidRequestError, match="floating_base"):
        dynid.identify("builtin:ur5", log)


def test_offsets_need_a_sensor_in_every_log(robot: Robot, motion: Motion) -> None:
    contacts = [Contact("base", np.ones((len(motion.t), 6)))]
    with pytest.raises(InvalidRequestError, match="contact_offset"):
        dynid.identify(robot, log_of(motion, contacts=contacts), ["contact_offset:wrist_3_link"])
