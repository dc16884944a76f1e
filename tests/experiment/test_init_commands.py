"""First experiments of logs with commands in place of torques, and of robots whose floating base is held."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dynid
from dynid.errors import InvalidRequestError
from dynid.experiment.first.first_experiment import FirstExperiment
from dynid.experiment.first.naming import label_of
from dynid.experiment.reading import read_experiment
from dynid.logs import Quantity
from tests.commands import run
from tests.datasets import needs_logs
from tests.mjcf_texts import TILTED
from tests.torch_files import torch_save

T = np.arange(300) / 200.0
Q = np.column_stack([np.sin(3 * T), np.cos(2 * T)])
COMMAND = np.column_stack([np.sin(3 * T + 0.1), np.cos(2 * T + 0.1)])
COMMANDS = ("des_dof_pos", "dof_pos_target", "q_des", "q_cmd", "target_pos", "desired_position", "joint_pos_des")


def columns(**arrays: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{name}_{k + 1}": column for name, array in arrays.items() for k, column in enumerate(array.T)}


def csv(folder: Path, table: dict[str, np.ndarray], name: str = "run.csv") -> Path:
    pl.DataFrame({"t": T, **table}).write_csv(folder / name)
    return folder / name


def made_of(folder: Path, table: dict[str, np.ndarray]) -> FirstExperiment:
    return dynid.init("builtin:two_link", csv(folder, table), folder=folder)


@pytest.mark.parametrize("name", [*COMMANDS, "cmd_pos", "action", "actions"])
def test_commands_and_gains_are_known_by_their_names(name: str, tmp_path: Path) -> None:
    gains = np.tile([20.0, 30.0], (300, 1))
    made = made_of(tmp_path, columns(q=Q, **{name: COMMAND}, kp=gains, kd=0.1 * gains))
    log = made.experiment.log[0]
    assert log.torque is None
    assert log.position.columns == ("q_1", "q_2")
    assert log.position_command is not None
    assert log.position_command.columns == (f"{name}_1", f"{name}_2")
    assert isinstance(log.kp, Quantity)
    assert isinstance(log.kd, Quantity)
    assert made.experiment.terms == ("armature", "viscous", "coulomb", "offset")
    assert not made.needed
    assert not made.questions


NAMES = {
    "kp": ("kp", "Kp_3", "p_gain_1", "joint_stiffness[2]", "kp_pos_1"),
    "kd": ("kd", "damping_1", "d_gains[0]"),
    "torque": ("tau_damping_1",),
    "position": ("action_2",),
}


def test_names_of_gains_are_known() -> None:
    assert {
        role: tuple(name for name in names if label_of(name).role == role) for role, names in NAMES.items()
    } == NAMES


def test_velocity_commands_and_torques_that_are_added_are_found_where_they_are_not_zero(tmp_path: Path) -> None:
    table = columns(q=Q, dq=Q, q_des=COMMAND, dq_des=COMMAND, tau_ff=COMMAND, kp=np.full((300, 2), 9.0))
    log = made_of(tmp_path, table).experiment.log[0]
    assert log.velocity_command is not None
    assert log.velocity_command.columns == ("dq_des_1", "dq_des_2")
    assert log.torque_command is not None
    assert log.torque_command.columns == ("tau_ff_1", "tau_ff_2")
    zero = made_of(tmp_path, table | columns(dq_des=0 * Q, tau_ff=0 * Q)).experiment.log[0]
    assert zero.velocity_command is None
    assert zero.torque_command is None


def test_measured_torques_come_before_commands_and_torques_that_never_change_after_them(tmp_path: Path) -> None:
    table = columns(q=Q, q_des=COMMAND, kp=np.full((300, 2), 9.0), tau=Q)
    measured = made_of(tmp_path, table).experiment.log[0]
    assert measured.torque is not None
    assert measured.position_command is None
    made = made_of(tmp_path, table | columns(tau=0 * Q))
    assert made.experiment.log[0].torque is None
    assert "torques-constant" in {finding.code for finding in made.findings}
    commanded = {name.replace("tau", "tau_cmd"): values for name, values in table.items()}
    log = made_of(tmp_path, commanded).experiment.log[0]
    assert (log.torque, log.torque_command is not None) == (None, True)


@pytest.mark.parametrize("has_velocities", [True, False])
def test_torques_of_the_law_itself_are_not_added_to_it(has_velocities: bool, tmp_path: Path) -> None:
    v = np.column_stack([3 * np.cos(3 * T), -2 * np.sin(2 * T)])
    noise = 0.05 * np.random.default_rng(0).standard_normal(Q.shape)
    total, gains = 20.0 * (COMMAND - Q) - 0.2 * v + noise, columns(kp=np.full((300, 2), 20.0))
    table = columns(q=Q, q_cmd=COMMAND, **({"v": v} if has_velocities else {})) | gains
    made = made_of(tmp_path, table | columns(tau_cmd=total))
    log = made.experiment.log[0]
    assert (log.torque, log.torque_command) == (None, None)
    assert "torques-of-law" in {finding.code for finding in made.findings}
    added = made_of(tmp_path, table | columns(tau_cmd=total + 3.0 * np.cos(Q)))
    assert added.experiment.log[0].torque_command is not None
    assert "torques-of-law" not in {finding.code for finding in added.findings}
    tau = columns(tau_cmd=total)
    pl.DataFrame({"t": T[::3], **{name: x[::3] for name, x in tau.items()}}).write_csv(tmp_path / "run_tau.csv")
    csv(tmp_path, table)
    dynid.init("builtin:two_link", [tmp_path / "run.csv", tmp_path / "run_tau.csv"], folder=tmp_path)


def test_actions_that_positions_do_not_follow_are_no_commands(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).standard_normal((300, 2))
    made = made_of(tmp_path, columns(q=Q, action=noise, kp=np.full((300, 2), 9.0)))
    assert [question.key for question in made.questions] == ["torque"]


def test_gains_that_no_column_holds_are_needed_and_have_a_place(tmp_path: Path) -> None:
    made = made_of(tmp_path, columns(q=Q, q_des=COMMAND))
    assert "gains-needed" in {finding.code for finding in made.findings}
    assert len(made.needed) == 1
    assert "# kp = 20.0" in made.text
    filled = made.text.replace("# kp = 20.0", "kp = 20.0").replace("# kd = 0.5", "kd = 0.5")
    (tmp_path / "filled.toml").write_text(filled)
    assert read_experiment(tmp_path / "filled.toml").control.kp == 20.0
    servo = made.text[made.text.index("# [control.servo]") : made.text.index("[[log]]")]
    lines = [line.removeprefix("# ") for line in servo.splitlines()]
    (tmp_path / "servo.toml").write_text(made.text.replace(servo, "\n".join(lines) + "\n"))
    stated = read_experiment(tmp_path / "servo.toml").control.servo
    assert stated is not None
    assert stated.firmware == "feetech_sts"


def test_one_gain_for_all_joints_is_written_as_a_number(tmp_path: Path) -> None:
    path = torch_save(tmp_path / "run.pt", {"time": T, "dof_pos": Q, "q_des": COMMAND, "kp": 25.0, "kd": [1.0, 2.0]})
    made = dynid.init("builtin:two_link", path, folder=tmp_path)
    log = made.experiment.log[0]
    assert log.kp == 25.0
    assert isinstance(log.kd, Quantity)
    assert log.kd.columns == "kd"
    stated = dynid.read_log(
        path, "builtin:two_link", position="dof_pos", position_command="q_des", kp="kp", kd="kd[1]", time="time"
    )
    assert stated.commands is not None
    assert np.allclose(stated.commands.kp, 25.0)
    assert np.allclose(stated.commands.kd, 2.0)
    read = dynid.read_log(path, "builtin:two_link")
    assert read.commands is not None
    assert np.allclose(read.commands.kp, 25.0)
    assert np.allclose(read.commands.kd, [1.0, 2.0])


def test_joints_at_rest_are_locked_with_their_commands(tmp_path: Path) -> None:
    still = np.column_stack([Q[:, 0], np.full(300, 0.4)])
    made = made_of(tmp_path, columns(q=still, q_des=COMMAND, kp=np.tile([20.0, 30.0], (300, 1))))
    log = made.experiment.log[0]
    assert log.position_command is not None
    assert log.position_command.columns == ("q_des_1",)
    assert isinstance(log.kp, Quantity)
    assert log.kp.columns == ("kp_1",)


def floating(folder: Path) -> Path:
    (folder / "beast.xml").write_text(TILTED.format(name="float"))
    return folder / "beast.xml"


def test_a_floating_base_is_held_where_the_log_has_no_motion_of_it(tmp_path: Path) -> None:
    table = columns(q=0.5 * Q, q_des=0.5 * COMMAND, kp=np.full((300, 2), 9.0))
    made = dynid.init(floating(tmp_path), csv(tmp_path, table), folder=tmp_path)
    assert 'lock = ["base"]' in made.text
    assert made.experiment.lock == {"base": 0.0}
    assert made.joints == ("hip", "slide")
    assert "base-held" in {finding.code for finding in made.findings}
    still = table | {"q_2": np.full(300, 0.1)}
    assert dynid.init(tmp_path / "beast.xml", csv(tmp_path, still), folder=tmp_path).experiment.lock == {
        "base": 0.0,
        "slide": pytest.approx(0.1),
    }


def test_a_base_that_moves_is_refused_unless_it_is_stated_to_be_held(tmp_path: Path) -> None:
    table = columns(q=0.5 * Q, tau=Q) | {"base_pos_z": 0.3 + 0.1 * Q[:, 0]}
    with pytest.raises(InvalidRequestError, match="base_pos_z"):
        dynid.init(floating(tmp_path), csv(tmp_path, table), folder=tmp_path)
    for word in ("base", "trunk", "float"):
        made = dynid.init(tmp_path / "beast.xml", csv(tmp_path, table), folder=tmp_path, lock=[word])
        assert made.experiment.lock == {"base": 0.0}
        assert "base-held" not in {finding.code for finding in made.findings}
    table["base_pos_z"][:] = 0.3
    assert dynid.init(tmp_path / "beast.xml", csv(tmp_path, table), folder=tmp_path).experiment.lock == {"base": 0.0}


@needs_logs
def test_logs_of_a_real_quadruped_make_an_experiment_that_is_ready(tmp_path: Path) -> None:
    folder = Path(os.environ["DYNID_DATASETS"]) / "go2"
    made = dynid.init(folder / "go2.xml", *(folder / f"traj_{k}.pt" for k in range(3)), folder=tmp_path)
    experiment = made.experiment
    assert len(experiment.log) == 3
    assert experiment.lock == {"base": 0.0}
    assert experiment.terms == ("armature", "viscous", "coulomb", "offset")
    first = experiment.log[0]
    stated = (first.position, first.velocity, first.position_command, first.kp, first.kd)
    assert [one.columns for one in stated if isinstance(one, Quantity)] == [
        "dof_pos",
        "dof_vel",
        "des_dof_pos",
        "kp",
        "kd",
    ]
    assert not made.needed
    assert not made.questions


def test_commands_and_gains_are_stated_where_names_say_nothing(tmp_path: Path) -> None:
    path = csv(tmp_path, columns(q=Q, tau=Q, foo=COMMAND, bar=np.tile([20.0, 30.0], (300, 1))))
    made = dynid.init("builtin:two_link", path, folder=tmp_path, position_command="foo_*", kp="bar_*", kd=0.5)
    log = made.experiment.log[0]
    assert log.torque is None
    assert log.position_command is not None
    assert log.position_command.columns == ("foo_1", "foo_2")
    assert isinstance(log.kp, Quantity)
    assert log.kp.columns == ("bar_1", "bar_2")
    assert log.kd == 0.5
    with pytest.raises(InvalidRequestError, match="negative"):
        dynid.init("builtin:two_link", path, folder=tmp_path, position_command="foo_*", kp=-1.0)
    with pytest.raises(InvalidRequestError, match="position_command"):
        dynid.init("builtin:two_link", path, folder=tmp_path, position_command="foo_1")


def test_the_command_states_gains_as_numbers_or_columns(tmp_path: Path) -> None:
    path = csv(tmp_path, columns(q=Q, q_des=COMMAND))
    out = tmp_path / "first.toml"
    run("init", "builtin:two_link", str(path), "--kp", "20", "--kd", "0.5", "--out", str(out))
    log = read_experiment(out).log[0]
    assert (log.kp, log.kd) == (20.0, 0.5)


def test_columns_in_the_order_of_a_simulator_are_matched_by_the_names_beside_them(tmp_path: Path) -> None:
    names = [
        "shoulder_pan_joint",
        "shoulder_lift_joint",
        "elbow_joint",
        "wrist_1_joint",
        "wrist_2_joint",
        "wrist_3_joint",
    ]
    shuffled = [names[k] for k in (3, 0, 5, 1, 4, 2)]
    q = np.column_stack([np.sin((k + 1) * T) for k in range(6)])
    content = {"time": T, "dof_pos": q, "dof_pos_target": q + 0.01, "kp": np.arange(6.0) + 1.0, "dof_names": shuffled}
    made = dynid.init("builtin:ur5", torch_save(tmp_path / "run.pt", content), folder=tmp_path)
    log = made.experiment.log[0]
    assert log.position.columns == tuple(f"dof_pos.{name}" for name in names)
    assert isinstance(log.kp, Quantity)
    assert log.kp.columns == tuple(f"kp.{name}" for name in names)


def test_states_and_actions_of_learning_data_are_positions_and_commands(tmp_path: Path) -> None:
    rows = {"timestamp": T, "observation.state": Q.tolist(), "action": COMMAND.tolist()}
    pl.DataFrame(rows).write_parquet(tmp_path / "episode.parquet")
    made = dynid.init("builtin:two_link", tmp_path / "episode.parquet", folder=tmp_path, kp=20.0)
    log = made.experiment.log[0]
    assert log.position.columns == "observation.state"
    assert log.position_command is not None
    assert log.position_command.columns == "action"


@needs_logs
def test_columns_in_the_order_of_depth_are_doubted(tmp_path: Path) -> None:
    folder = Path(os.environ["DYNID_DATASETS"]) / "go2"
    log = dynid.read_log(folder / "traj_0.pt", dynid.load_robot(folder / "go2.xml", lock="base"))
    order = [leg * 3 + k for k in range(3) for leg in range(4)]
    content = {"time": log.time, "q": log.position[:, order], "q_des": log.position[:, order] + 0.01, "kp": 20.0}
    made = dynid.init(folder / "go2.xml", torch_save(tmp_path / "run.pt", content), folder=tmp_path)
    (doubt,) = (finding for finding in made.findings if finding.code == "columns-by-depth")
    assert doubt.values["joints"][:2] == ["FL_hip_joint", "FR_hip_joint"]
