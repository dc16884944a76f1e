"""A first experiment of logs as they come: names of every kind, several candidates, arms, recordings, and answers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dynid.errors import DynidError
from dynid.experiment.first.first_experiment import FirstExperiment, init
from dynid.experiment.reading import ExperimentError, read_experiment
from dynid.findings import has
from dynid.logs import read_source
from tests.bag_files import joint_states, write_bag
from tests.commands import run

T = np.arange(0.0, 5.0, 0.01)
Columns = dict[str, np.ndarray]
INERTIA = '<inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/>'
INERTIAL = f'<inertial><origin xyz="0 .05 .1"/><mass value="1.5"/>{INERTIA}</inertial>'


def link(name: str) -> str:
    return f'<link name="{name}">{INERTIAL}</link>'


def joint(name: str, parent: str, limits: tuple[float, float] = (-3, 3), kind: str = "revolute") -> str:
    limit = f'<limit lower="{limits[0]}" upper="{limits[1]}" velocity="3" effort="100"/>'
    ends = f'<parent link="{parent}"/><child link="of {name}"/><origin xyz="0 0 .2" rpy="1.57 0 0"/><axis xyz="0 0 1"/>'
    return f'{link(f"of {name}")}<joint name="{name}" type="{kind}">{ends}{limit}</joint>'


def chain(names: Sequence[str], limits: tuple[float, float] = (-3, 3)) -> str:
    parents = ["base", *(f"of {name}" for name in names)]
    return "".join(joint(name, parent, limits) for name, parent in zip(names, parents, strict=False))


def robot(folder: Path, *parts: str) -> Path:
    (folder / "arm.urdf").write_text(f'<robot name="arm">{link("base")}{"".join(parts)}</robot>')
    return folder / "arm.urdf"


def numbered(pattern: str, count: int = 7, first: int = 1) -> list[str]:
    return [pattern.format(k) for k in range(first, first + count)]


SEVEN = numbered("joint{}")


def moving(*names: str, scale: float = 1.0, seed: int = 0) -> Columns:
    """Columns that move as joints do, each in its own way, or torques of some size."""
    rng = np.random.default_rng(seed)
    return {name: scale * np.sin(T * rng.uniform(1, 3) + rng.uniform(0, 6)) for name in names}


def table(folder: Path, columns: Columns, name: str = "log.csv") -> Path:
    pl.DataFrame({"t": T} | columns).write_csv(folder / name)
    return folder / name


def codes(made: FirstExperiment) -> list[str]:
    return [question.code for question in made.questions]


@pytest.mark.parametrize(
    ("position", "torque", "first"),
    [
        ("ActualPos{}", "ActualTorque{}", 0),
        ("JointPos{}", "JointTrq{}", 1),
        ("joint_{}.position", "joint_{}.effort", 1),
        ("/joint_states/position[{}]", "/joint_states/effort[{}]", 0),
        ("J{}_pos", "J{}_tau", 1),
        ("arm1_joint{}_q", "arm1_joint{}_tau", 1),
        ("A{} Position [rad]", "A{} Drehmoment [Nm]", 1),
        ("field.position{}", "field.effort{}", 0),
    ],
)
def test_names_of_every_kind_are_matched_without_a_question(
    position: str, torque: str, first: int, tmp_path: Path
) -> None:
    columns = moving(*numbered(position, first=first)) | moving(*numbered(torque, first=first), scale=20.0)
    columns = dict(sorted(columns.items(), reverse=True))  # numbers count, not the order of columns
    made = init(robot(tmp_path, chain(SEVEN)), table(tmp_path, columns), folder=tmp_path)
    found = made.experiment.log[0]
    assert found.position.columns == tuple(numbered(position, first=first))
    assert found.torques.columns == tuple(numbered(torque, first=first))
    assert made.questions == ()
    assert made.joints == tuple(SEVEN)


ROBOTS = {
    "numbered": SEVEN,
    "from zero": numbered("right_j{}", first=0),
    "called": ["shoulder_pan_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint"],
    "short": ["left_s0", "left_s1", "left_e0", "left_e1", "left_w0"],
}
NAMES = [
    ("q{}", "tau{}"),
    ("joint{}/pos", "joint{}/eff"),
    ("Axis {} angle", "Axis {} torque"),
    ("r0_J{}_q", "r0_J{}_tau"),
]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("names", NAMES, ids=lambda names: names[0])
@pytest.mark.parametrize("of", ROBOTS)
def test_numbers_from_zero_or_one_go_with_the_joints_of_any_arm(
    of: str, names: tuple[str, str], first: int, tmp_path: Path
) -> None:
    arm = ROBOTS[of]
    finger = joint("gripper_finger_joint", f"of {arm[-1]}", (0.0, 0.04), "prismatic")
    position, torque = (numbered(name, len(arm), first) for name in names)
    columns = moving(*position) | moving(*torque, scale=20.0)
    made = init(robot(tmp_path, chain(arm), finger), table(tmp_path, columns), folder=tmp_path)
    assert (made.joints, made.locked, made.questions) == (tuple(arm), ("gripper_finger_joint",), ())
    assert made.experiment.log[0].position.columns == tuple(position)
    assert made.experiment.log[0].torques.columns == tuple(torque)


def test_where_all_agrees_the_file_is_short(tmp_path: Path) -> None:
    columns = moving(*numbered("q_{}")) | moving(*numbered("tau_{}"), scale=20.0)
    made = init(robot(tmp_path, chain(SEVEN)), table(tmp_path, columns), folder=tmp_path)
    comments = [line for line in made.text.splitlines() if line.startswith("#")]
    assert len(comments) == 2  # of the file, and how the log was sampled
    assert len(made.text.splitlines()) < 12


def test_names_of_joints_with_another_prefix_agree_and_a_gripper_is_locked(tmp_path: Path) -> None:
    arm = numbered("panda_joint{}")
    fingers = [joint(f"panda_finger_joint{k}", f"of {arm[-1]}", (0.0, 0.04), "prismatic") for k in (1, 2)]
    columns = moving(*numbered("J{}")) | moving(*numbered("tau_J{}"), scale=20.0)
    columns = {f"pos_{name}" if not name.startswith("tau") else name: values for name, values in columns.items()}
    made = init(robot(tmp_path, chain(arm), *fingers), table(tmp_path, columns), folder=tmp_path)
    assert made.joints == tuple(arm)
    assert made.locked == ("panda_finger_joint1", "panda_finger_joint2")
    assert made.questions == ()
    assert has(made.findings, "joints-held")


def test_a_gripper_is_not_taken_for_an_arm_of_as_many_joints(tmp_path: Path) -> None:
    fingers = [joint(f"grip_{side}", "of elbow", (0.0, 0.04), "prismatic") for side in ("left", "right")]
    columns = moving("Theta1", "Theta2") | moving("Torque1", "Torque2", scale=20.0)
    made = init(robot(tmp_path, chain(["shoulder", "elbow"]), *fingers), table(tmp_path, columns), folder=tmp_path)
    assert (made.joints, made.questions) == (("shoulder", "elbow"), ())


def test_joints_without_torques_are_locked(tmp_path: Path) -> None:
    finger = joint("finger_joint", "of joint7", (-2.0, 2.0))
    columns = moving(*(f"{name}_pos" for name in (*SEVEN, "finger_joint")))
    columns |= moving(*(f"{name}_tau" for name in SEVEN), scale=20.0)
    made = init(robot(tmp_path, chain(SEVEN), finger), table(tmp_path, columns), folder=tmp_path)
    assert (made.joints, made.locked, made.questions) == (tuple(SEVEN), ("finger_joint",), ())
    assert has(made.findings, "joints-without-torque")
    assert not has(made.findings, "joints-held")


def test_of_several_columns_of_time_the_one_that_advances_is_taken(tmp_path: Path) -> None:
    clock = {"stamp.secs": np.floor(T), "stamp.nsecs": 1e9 * (T % 1.0), "t": 0 * T, "time_us": 1e6 * T}
    columns = clock | moving(*numbered("q_{}")) | moving(*numbered("tau_{}"), scale=20.0)
    made = init(robot(tmp_path, chain(SEVEN)), table(tmp_path, columns), folder=tmp_path)
    time = made.experiment.log[0].time
    assert time is not None
    assert (time.columns, time.unit) == (("time_us",), "us")
    del columns["time_us"]
    made = init(robot(tmp_path, chain(SEVEN)), table(tmp_path, columns), folder=tmp_path)
    time = made.experiment.log[0].time
    assert time is not None
    assert (time.columns, time.unit) == (("stamp.secs", "stamp.nsecs"), ("s", "ns"))
    assert made.layouts[0].rows is None
    assert np.allclose(read_source(made.experiment.log[0]).time, T)


@pytest.mark.parametrize("names", [("q_motor_{}", "q_link_{}"), ("position_{}", "position2_{}")])
def test_of_two_encoders_the_one_behind_the_gears_is_taken(names: tuple[str, str], tmp_path: Path) -> None:
    motor, behind = (numbered(name) for name in names)
    columns = moving(*motor, scale=100.0) | moving(*behind) | moving(*numbered("tau_{}"), scale=20.0)
    made = init(robot(tmp_path, chain(SEVEN)), table(tmp_path, columns), folder=tmp_path)
    assert made.experiment.log[0].position.columns == tuple(behind)
    assert made.experiment.drive.positions == "joint"
    assert has(made.findings, "columns-passed-over")


def test_two_encoders_that_disagree_are_a_question_with_a_guess(tmp_path: Path) -> None:
    one, other = numbered("enc_a_{}"), numbered("enc_b_{}")
    columns = moving(*one) | moving(*other, seed=3) | moving(*numbered("tau_{}"), scale=20.0)
    arm, path = robot(tmp_path, chain(SEVEN)), table(tmp_path, columns)
    made = init(arm, path, folder=tmp_path)
    (question,) = made.questions
    assert (question.code, question.key, question.guess) == ("choose-columns", "position", "enc_a_*")
    assert question.candidates == ("enc_a_*", "enc_b_*")
    assert made.text.splitlines()[made.line_of(question) - 1].startswith("position = ")
    answered = init(arm, path, folder=tmp_path, position="enc_b_*")
    assert answered.questions == ()
    assert answered.experiment.log[0].position.columns == tuple(other)


def test_measured_torques_are_taken_and_never_external_ones(tmp_path: Path) -> None:
    names = ["tau_ext_{}", "tau_J_d_{}", "tau_cmd_{}", "tau_gravity_{}", "dtau_{}", "tau_{}"]
    columns = moving(*numbered("q_{}"), *numbered("q_d_{}"), *numbered("qdd_{}"), *numbered("dq_{}"))
    for name in names:
        columns |= moving(*numbered(name), scale=20.0)
    arm = robot(tmp_path, chain(SEVEN))
    made = init(arm, table(tmp_path, columns), folder=tmp_path)
    found = made.experiment.log[0]
    assert found.torques.columns == tuple(numbered("tau_{}"))
    assert found.position.columns == tuple(numbered("q_{}"))
    assert found.velocity is not None
    assert found.velocity.columns == tuple(numbered("dq_{}"))
    assert made.questions == ()
    notes = {f.values["quantity"]: f.values for f in made.findings if f.code == "columns-passed-over"}
    assert len(notes["torque"]["others"]) == 4
    assert len(notes["position"]["others"]) == 1
    for name in numbered("tau_{}"):
        del columns[name]
    only_commanded = init(arm, table(tmp_path, columns), folder=tmp_path)
    assert "choose-columns" in codes(only_commanded)
    left = {name: values for name, values in columns.items() if not name.startswith(("tau_J", "tau_c", "tau_g"))}
    only_external = init(arm, table(tmp_path, left), folder=tmp_path)
    (question,) = only_external.questions
    assert (question.code, question.guess, question.candidates) == ("choose-missing", None, ("tau_ext_*",))
    with pytest.raises(ExperimentError) as error:
        _ = only_external.experiment
    assert error.value.line == only_external.line_of(question)


def test_of_a_controller_of_universal_robots_measured_currents_are_taken(tmp_path: Path) -> None:
    arm = ["shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", *(f"wrist_{k}_joint" for k in (1, 2, 3))]
    columns: Columns = {}
    for name in ("target_q", "actual_q", "target_qd", "actual_qd", "target_qdd", "actual_current", "target_current"):
        columns |= moving(*(f"{name}_{k}" for k in range(6)))
    for name in ("target_moment", "actual_TCP_pose", "actual_TCP_force"):
        columns |= moving(*(f"{name}_{k}" for k in range(6)), scale=30.0)
    made = init(robot(tmp_path, chain(arm, (-6.3, 6.3))), table(tmp_path, columns), folder=tmp_path)
    found = made.experiment.log[0]
    assert found.position.columns == tuple(f"actual_q_{k}" for k in range(6))
    assert found.torques.columns == tuple(f"actual_current_{k}" for k in range(6))
    assert found.torques.unit == "A"
    assert made.experiment.drive.torque_constants == "unknown"
    assert made.questions == ()


LEFT, RIGHT = numbered("left_joint_{}"), numbered("right_joint_{}")


def test_either_arm_of_a_robot_is_an_open_question_that_locking_answers(tmp_path: Path) -> None:
    arms = robot(tmp_path, chain(LEFT), chain(RIGHT))
    path = table(tmp_path, moving(*numbered("q_{}")) | moving(*numbered("tau_{}"), scale=20.0))
    out = tmp_path / "first.toml"
    status, shown, _ = run("init", arms, path, "--out", out, "--json")
    (question,) = json.loads(shown)["questions"]
    assert (status, question["code"], question["guess"]) == (0, "choose-joints", None)
    with pytest.raises(ExperimentError) as error:
        read_experiment(out)
    assert error.value.line == question["line"]
    for option, joints in (("right_*", LEFT), ("left_*", RIGHT)):
        made = init(arms, path, folder=tmp_path, lock=[option])
        assert made.questions == ()
        assert made.joints == tuple(joints)
    text = out.read_text().replace("# position =", "position =")  # the arm that stands there
    out.write_text(text)
    assert set(read_experiment(out).lock) == set(RIGHT)


def test_the_arm_that_names_or_limits_speak_for_is_taken(tmp_path: Path) -> None:
    torques = moving(*numbered("tau_{}"), scale=20.0)
    named = moving(*numbered("RightPos{}")) | moving(*numbered("RightTorque{}"), scale=20.0)
    made = init(robot(tmp_path, chain(LEFT), chain(RIGHT)), table(tmp_path, named), folder=tmp_path)
    assert (made.joints, made.questions) == (tuple(RIGHT), ())
    arms = robot(tmp_path, chain(LEFT, (1.5, 3.0)), chain(RIGHT))
    made = init(arms, table(tmp_path, moving(*numbered("q_{}")) | torques), folder=tmp_path)
    assert (made.joints, made.questions) == (tuple(RIGHT), ())
    both = named | moving(*numbered("LeftPos{}")) | moving(*numbered("LeftTorque{}"), scale=20.0)
    made = init(arms, table(tmp_path, both), folder=tmp_path)
    assert made.joints == (*LEFT, *RIGHT)
    assert made.experiment.log[0].position.columns == (*numbered("LeftPos{}"), *numbered("RightPos{}"))


def test_names_that_say_nothing_are_taken_by_order_with_a_question(tmp_path: Path) -> None:
    columns = moving("pos_Rotation", "pos_Pitch") | moving("tor_Rotation", "tor_Pitch", scale=20.0)
    arm = robot(tmp_path, chain(["shoulder_pan", "elbow_flex"]))
    made = init(arm, table(tmp_path, columns), folder=tmp_path)
    assert codes(made) == ["choose-order"]
    made = init(arm, table(tmp_path, columns), folder=tmp_path, position="pos_Pitch,pos_Rotation", torque=["tor_*"])
    assert made.experiment.log[0].position.columns == ("pos_Pitch", "pos_Rotation")
    assert made.questions == ()


@pytest.mark.parametrize(("count", "locked"), [(6, ("joint7",)), (8, ())])
def test_fewer_or_more_columns_than_joints_are_a_question_with_a_guess(
    count: int, locked: tuple[str, ...], tmp_path: Path
) -> None:
    columns = moving(*numbered("q{}", count)) | moving(*numbered("tau{}", count), scale=20.0)
    made = init(robot(tmp_path, chain(SEVEN)), table(tmp_path, columns), folder=tmp_path)
    assert codes(made) == ["choose-part"]
    assert made.locked == locked


def test_a_column_whose_joint_is_misspelt_is_a_question(tmp_path: Path) -> None:
    names = ["pos_shoulder", "pos_elbov", "pos_wrist"]
    columns = moving(*names) | moving(*(name.replace("pos", "tau") for name in names), scale=20.0)
    arm = robot(tmp_path, chain(["shoulder", "elbow", "wrist"]))
    made = init(arm, table(tmp_path, columns), folder=tmp_path)
    assert (codes(made), made.locked) == (["choose-part"], ("elbow",))
    torques = [name.replace("pos", "tau") for name in names]
    made = init(arm, table(tmp_path, columns), folder=tmp_path, position=names, torque=torques)
    assert (made.questions, made.locked) == ((), ())


def test_a_unit_that_names_and_numbers_disagree_about_is_a_question(tmp_path: Path) -> None:
    columns = moving(*numbered("q_{}_deg")) | moving(*numbered("tau_{}"), scale=20.0)
    arm, path = robot(tmp_path, chain(SEVEN)), table(tmp_path, columns)
    made = init(arm, path, folder=tmp_path)
    assert [(question.code, question.guess) for question in made.questions] == [("choose-unit", "deg")]
    made = init(arm, path, folder=tmp_path, unit={"position": "rad"})
    assert made.experiment.log[0].position.unit == "rad"
    assert made.questions == ()


def test_motors_by_name_are_joints_where_the_numbers_fit_them(tmp_path: Path) -> None:
    columns = moving(*numbered("motor_position_{}")) | moving(*numbered("motor_torque_{}"), scale=20.0)
    made = init(robot(tmp_path, chain(SEVEN)), table(tmp_path, columns), folder=tmp_path)
    assert (made.experiment.drive.positions, made.experiment.drive.torques) == ("joint", "joint")
    assert made.experiment.drive.ratios is None
    assert [f.code for f in made.findings].count("motors-at-joints") == 2


def test_files_without_names_are_named_on_the_command_line(tmp_path: Path) -> None:
    q, tau = (np.column_stack(list(moving(*SEVEN, scale=scale).values())) for scale in (1.0, 20.0))
    np.savetxt(tmp_path / "log.csv", np.column_stack([T, q, np.gradient(q, T, axis=0), tau, 2 * tau]), delimiter=",")
    arm, out = robot(tmp_path, chain(SEVEN)), tmp_path / "first.toml"
    made = init(arm, tmp_path / "log.csv", folder=tmp_path)
    assert [(question.code, question.key, question.guess) for question in made.questions] == [
        ("choose-by-width", "position", "1..7"),
        ("choose-missing", "torque", None),
    ]
    names = "t,q1..q7,v1..v7,tau1..tau7,_,_"
    status, _, error = run("init", arm, tmp_path / "log.csv", "--columns", names, "--out", out)
    assert status == 0, error
    found = read_experiment(out).log[0]
    assert found.torques.columns == tuple(range(15, 22))
    assert found.velocity is not None
    assert found.velocity.columns == tuple(range(8, 15))
    by_number = init(arm, tmp_path / "log.csv", folder=tmp_path, position="1..7", torque=range(15, 22), time=0)
    assert by_number.experiment.log[0].torques.columns == tuple(range(15, 22))
    assert by_number.questions == ()


def test_one_array_without_names_is_taken_by_its_width_and_can_be_named(tmp_path: Path) -> None:
    q, tau = (np.column_stack(list(moving(*SEVEN, scale=scale).values())) for scale in (1.0, 20.0))
    np.savez(tmp_path / "log.npz", data=np.column_stack([T, q, tau]))
    arm = robot(tmp_path, chain(SEVEN))
    made = init(arm, tmp_path / "log.npz", folder=tmp_path)
    assert codes(made) == ["choose-by-width"]
    assert made.experiment.log[0].torques.columns == tuple(range(8, 15))
    made = init(arm, tmp_path / "log.npz", folder=tmp_path, columns="t,q1..7,tau1..7")
    assert made.questions == ()
    assert made.experiment.log[0].torques.columns == tuple(range(8, 15))


def test_joints_of_a_bag_may_have_other_names(tmp_path: Path) -> None:
    kind, columns = "sensor_msgs/msg/JointState", moving("a", "b", "c")
    q = np.column_stack(list(columns.values()))
    arm = robot(tmp_path, chain(["x", "y", "z"]))
    made = [
        write_bag(tmp_path / f"run_{k}", "mcap", {"/js": (kind, joint_states("mcap", names, T, q, 20.0 * q))})
        for k, names in enumerate([["c", "a", "b"], ["r_3", "r_1", "r_2"]])
    ]
    first = init(arm, made[0], folder=tmp_path)
    assert codes(first) == ["choose-order"]
    stated = init(arm, made[0], folder=tmp_path, position="a,b,c")
    assert stated.questions == ()
    assert stated.experiment.log[0].position.columns == stated.experiment.log[0].torques.columns == ("a", "b", "c")
    by_number = init(arm, made[1], folder=tmp_path)
    assert by_number.questions == ()
    assert by_number.experiment.log[0].torques.columns == ("r_1", "r_2", "r_3")


def test_several_recordings_are_several_logs_in_one_unit(tmp_path: Path) -> None:
    paths = []
    for k, scale in enumerate((57.3, 1.5, 40.0)):  # a small motion in degrees looks like one in radians
        columns = moving(*numbered("q_{}"), scale=scale, seed=k) | moving(*numbered("tau_{}"), scale=20.0, seed=k)
        paths.append(table(tmp_path, columns, f"run{k}.csv"))
    made = init(robot(tmp_path, chain(SEVEN)), paths, folder=tmp_path)
    assert [log.position.unit for log in made.experiment.log] == ["deg", "deg", "deg"]
    files, line = made.held_out
    assert files == (paths[-1],)
    assert made.text.splitlines()[line - 1] == "[[log]]"


def test_recordings_of_several_files_each_are_told_apart_by_their_names(tmp_path: Path) -> None:
    paths = []
    for run_name in ("monday", "tuesday"):
        paths.append(table(tmp_path, moving(*numbered("q_{}")), f"{run_name}_position.csv"))
        paths.append(table(tmp_path, moving(*numbered("tau_{}"), scale=20.0), f"{run_name}_torque.csv"))
    made = init(robot(tmp_path, chain(SEVEN)), sorted(paths, reverse=True), folder=tmp_path)
    found = [(Path(log.position.file).stem, Path(log.torques.file).stem) for log in made.experiment.log]
    assert sorted(found) == [("monday_position", "monday_torque"), ("tuesday_position", "tuesday_torque")]


def test_two_robots_in_one_bag_are_an_open_question(tmp_path: Path) -> None:
    names, kind = ("joint_1", "joint_2"), "sensor_msgs/msg/JointState"
    q, other = (np.column_stack(list(moving(*names, seed=seed).values())) for seed in (0, 1))
    topics = {
        f"/{side}/joint_states": (kind, joint_states("mcap", list(names), T, values, 5.0 * values))
        for side, values in (("left", q), ("right", other))
    }
    path = write_bag(tmp_path / "run", "mcap", topics)
    made = init("builtin:two_link", path, folder=tmp_path)
    assert [(question.code, question.guess) for question in made.questions] == [("choose-columns", None)]
    made = init("builtin:two_link", path, folder=tmp_path, position="/right/joint_states")
    assert made.questions == ()
    assert made.experiment.log[0].position.topic == "/right/joint_states"
    assert made.layouts[0].torque is not None
    assert made.layouts[0].torque.topic == "/right/joint_states"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--position", "Pos?"], r"position: 5 columns \(Pos1, .*joint6, joint7 have none.*--lock joint6,joint7"),
        (["--torque", "tork*"], "torque: there is no column 'tork.'"),
        (["--torque", "99"], "there is no column 99"),
        (["--unit", "torque=lbf"], "no unit of torque 'lbf'"),
        (["--unit", "speed=rpm"], "no quantity 'speed'"),
        (["--unit", "mA"], "'mA' is no unit of a quantity"),
        (["--lock", "finger"], "no joint 'finger' to lock"),
        (["--lock", "*"], "all joints would be locked"),
        (["--columns", "t,q1..q7"], "names its columns itself"),
        (["--position", "q9..q1"], "no range"),
        (["--time", "t", "--rate", "100"], "either the column of time or the rate"),
    ],
)
def test_answers_that_do_not_fit_are_one_sentence(options: list[str], message: str, tmp_path: Path) -> None:
    columns = moving(*numbered("q{}"), *numbered("Pos{}", 5)) | moving(*numbered("tau{}"), scale=20.0)
    out = tmp_path / "first.toml"
    status, _, error = run("init", robot(tmp_path, chain(SEVEN)), table(tmp_path, columns), "--out", out, *options)
    assert status == 2
    assert re.search(message, error.replace("\n", " "))
    assert not out.exists()


@pytest.mark.parametrize("time", [np.zeros_like(T), np.full_like(T, np.inf)], ids=["constant", "infinite"])
def test_time_that_does_not_advance_is_one_sentence(time: np.ndarray, tmp_path: Path) -> None:
    columns = {"t": time} | moving(*numbered("q{}")) | moving(*numbered("tau{}"), scale=20.0)
    with pytest.raises(DynidError, match="taken for time"):
        init(robot(tmp_path, chain(SEVEN)), table(tmp_path, columns), folder=tmp_path)


def test_stated_locks_stand_in_the_file_and_their_columns_are_left_out(tmp_path: Path) -> None:
    columns = moving(*numbered("q_{}")) | moving(*numbered("tau_{}"), scale=20.0)
    made = init(robot(tmp_path, chain(SEVEN)), table(tmp_path, columns), folder=tmp_path, lock={"joint7": 0.25})
    assert dict(made.experiment.lock) == {"joint7": 0.25}
    assert made.experiment.log[0].position.columns == tuple(numbered("q_{}", 6))


def test_names_of_columns_cannot_leave_their_comment(tmp_path: Path) -> None:
    evil = "tau_ext\nrobot = 'builtin:ur5'\n\x1b[31m_{}"
    columns = {"t": T} | moving(*numbered("q_{}")) | moving(*numbered("tau_{}", 7)) | moving(*numbered(evil))
    pl.DataFrame(columns).write_parquet(tmp_path / "log.parquet")
    made = init(robot(tmp_path, chain(SEVEN)), tmp_path / "log.parquet", folder=tmp_path)
    assert Path(made.experiment.robot).name == "arm.urdf"
    assert "\x1b" not in made.text


def test_a_file_that_is_not_understood_is_not_dropped(tmp_path: Path) -> None:
    table = {f"q_{k}": np.sin(np.arange(200) / 20 + k) for k in (1, 2)} | {f"tau_{k}": np.ones(200) for k in (1, 2)}
    for name, columns in (("one", {"t": np.arange(200) / 100, **table}), ("two", {"alpha": np.ones(200)})):
        pl.DataFrame(columns).write_csv(tmp_path / f"{name}.csv")
    made = init("builtin:two_link", tmp_path / "one.csv", tmp_path / "two.csv")
    assert len(made.layouts) == 2
    assert made.questions
