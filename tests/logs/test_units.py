"""Units of logs: as stated, by the names of columns, and one for each joint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynid
from dynid import Drive, Robot, load_robot
from dynid.errors import InvalidRequestError
from dynid.logs import LogSource, read_source
from dynid.logs.units import unit_in

LIFT = """
name = "lift"
convention = "frames"
[[joint]]
name = "column"
type = "prismatic"
lower = 0.0
upper = 0.5
mass = 5.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "shoulder"
axis = [0, 1, 0]
lower = -3.0
upper = 3.0
mass = 3.0
com = [0.2, 0, 0]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
"""


@pytest.fixture
def lift(tmp_path: Path) -> Robot:
    (tmp_path / "lift.toml").write_text(LIFT)
    return load_robot(tmp_path / "lift.toml")


T = np.arange(0.0, 4.0, 0.01)
Q = np.column_stack([0.2 + 0.1 * np.sin(T), np.sin(2 * T)])
TAU = np.column_stack([40.0 + np.cos(T), np.cos(2 * T)])


def written(path: Path, header: str, q: np.ndarray = Q, tau: np.ndarray = TAU, t: np.ndarray = T) -> Path:
    np.savetxt(path, np.column_stack([t, q, tau]), delimiter=",", header=header, comments="")
    return path


@pytest.mark.parametrize(
    ("name", "role", "unit"),
    [
        ("q_1_deg", "position", "deg"),
        ("pos[deg]", "position", "deg"),
        ("Joint 1 Position (degrees)", "position", "deg"),
        ("q1 (rad)", "position", "rad"),
        ("q_deg_3", "position", "deg"),
        ("lift [mm]", "position", "mm"),
        ("lift [m]", "position", "m"),
        ("q_m", "position", None),  # of motors, or measured
        ("q[0]", "position", None),
        ("degree_of_freedom_1", "position", None),
        ("tau_Nmm", "torque", "N mm"),
        ("tau_1[N.mm]", "torque", "N mm"),
        ("tau_1 (Nm)", "torque", "N m"),
        ("torque_mNm_2", "torque", "mN m"),
        ("tau_m", "torque", None),
        ("tau_max", "torque", None),
        ("i_mA", "torque", "mA"),
        ("current_1 (A)", "torque", "A"),
        ("motor_current_amps", "torque", "A"),
        ("force [N]", "torque", "N"),
        ("t_ms", "time", "ms"),
        ("time [us]", "time", "us"),
        ("stamp_ns", "time", "ns"),
        ("t_s", "time", None),
        ("dq_1_deg_s", "velocity", "deg/s"),
        ("vel (deg/s)", "velocity", "deg/s"),
        ("speed_rpm", "velocity", "rpm"),
    ],
)
def test_names_of_columns_say_units(name: str, role: str, unit: str | None) -> None:
    assert unit_in(name, role) == unit


def test_names_of_joints_say_nothing_about_units() -> None:
    assert unit_in("arm_mm_joint_q", "position", ["arm_mm_joint"]) is None


def test_a_log_without_stated_units_is_read_by_its_names(tmp_path: Path) -> None:
    robot = load_robot("builtin:two_link")
    path = written(tmp_path / "log.csv", "t_ms,q_1_deg,q_2_deg,tau_1_Nmm,tau_2_Nmm", np.degrees(Q), 1e3 * TAU, 1e3 * T)
    source = {"position": {"file": str(path), "columns": "q_*"}, "torque": {"file": str(path), "columns": "tau_*"}}
    log = read_source(LogSource.model_validate(source | {"time": {"file": str(path), "columns": "t_ms"}}), robot)
    assert np.allclose(log.position, Q)
    assert np.allclose(log.torque, TAU)
    assert np.allclose(log.time, T)
    assert [f.code for f in log.findings].count("unit-by-name") == 3
    guessed = dynid.read_log(path, robot)
    for name in ("time", "position", "torque"):
        assert np.allclose(getattr(guessed, name), getattr(log, name))


def test_a_stated_unit_wins_and_the_contradiction_is_said(tmp_path: Path) -> None:
    robot = load_robot("builtin:two_link")
    path = written(tmp_path / "log.csv", "t,q_1_deg,q_2_deg,tau_1,tau_2")
    log = dynid.read_log(path, robot, position="q_*", torque="tau_*", time="t", units={"position": "rad"})
    assert np.allclose(log.position, Q)
    (finding,) = [f for f in log.findings if f.code == "unit-contradicts-name"]
    assert finding.severity == "warning"
    assert finding.values["said"] == "deg"
    assert finding.values["factor"] == pytest.approx(180 / np.pi)
    same = dynid.read_log(path, robot, position="q_*", torque="tau_*", time="t", units={"position": "deg"})
    assert "unit-contradicts-name" not in [f.code for f in same.findings]


def test_currents_by_name_need_torque_constants(tmp_path: Path) -> None:
    robot = load_robot("builtin:two_link")
    path = written(tmp_path / "log.csv", "t,q_1,q_2,i_1_mA,i_2_mA", tau=1e3 * TAU)
    source = LogSource.model_validate(
        {
            "position": {"file": str(path), "columns": "q_*"},
            "torque": {"file": str(path), "columns": "i_*"},
            "time": {"file": str(path), "columns": "t"},
        }
    )
    with pytest.raises(InvalidRequestError, match=r"currents need drive\.torque_constants"):
        read_source(source, robot, drive=Drive())
    assert np.allclose(read_source(source, robot, drive=Drive(torque_constants=(0.1, 0.2))).torque, TAU)


def test_degrees_do_not_scale_joints_that_slide(tmp_path: Path, lift: Robot) -> None:
    path = written(tmp_path / "log.csv", "t,q_1,q_2,tau_1,tau_2", np.column_stack([Q[:, 0], np.degrees(Q[:, 1])]))
    log = dynid.read_log(path, lift, position="q_*", torque="tau_*", time="t", units={"position": "deg"})
    assert np.allclose(log.position, Q)
    (finding,) = [f for f in log.findings if f.code == "unit-not-for-all"]
    assert finding.values["joints"] == ["column"]
    listed = dynid.read_log(path, lift, position="q_*", torque="tau_*", time="t", units={"position": ["m", "deg"]})
    assert np.allclose(listed.position, Q)
    assert not listed.findings
    with pytest.raises(InvalidRequestError, match="'column' cannot be in 'deg', because it slides"):
        dynid.read_log(path, lift, position="q_*", torque="tau_*", time="t", units={"position": ["deg", "deg"]})


def test_motors_of_joints_that_slide_turn(tmp_path: Path, lift: Robot) -> None:
    path = written(tmp_path / "log.csv", "t,q_1,q_2,tau_1,tau_2", np.degrees(Q))
    source = LogSource.model_validate(
        {
            "position": {"file": str(path), "columns": "q_*", "unit": "deg"},
            "torque": {"file": str(path), "columns": "tau_*"},
            "time": {"file": str(path), "columns": "t"},
        }
    )
    drive = Drive(ratios=(100.0, 50.0), positions="motor", torques="joint")
    assert np.allclose(read_source(source, lift, drive=drive).position, Q)


def test_init_writes_a_unit_for_each_joint(tmp_path: Path, lift: Robot) -> None:
    path = written(
        tmp_path / "log.csv",
        "t_ms,q_1_mm,q_2_deg,tau_1,tau_2",
        np.column_stack([1e3 * Q[:, 0], np.degrees(Q[:, 1])]),
        t=1e3 * T,
    )
    made = dynid.init(tmp_path / "lift.toml", path, folder=tmp_path)
    (log,) = made.experiment.log
    assert log.position.unit == ("mm", "deg")
    assert log.time is not None
    assert log.time.unit == "ms"
    read = read_source(log, lift)
    assert np.allclose(read.position, Q)
    assert np.allclose(read.time, T)


def test_init_believes_names_before_numbers(tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv", "t,q_1_deg,q_2_deg,tau_1_Nmm,tau_2_Nmm", Q, 1e3 * TAU)  # a motion of 2 degrees
    made = dynid.init("builtin:two_link", path, folder=tmp_path)
    (log,) = made.experiment.log
    assert (log.position.unit, log.torques.unit) == ("deg", "N mm")
    currents = written(tmp_path / "currents.csv", "t,q_1,q_2,i_1_mA,i_2_mA")
    (log,) = dynid.init("builtin:two_link", currents, folder=tmp_path).experiment.log
    assert log.torques.unit == "mA"


def test_small_motions_in_degrees_are_noticed_by_the_limits(tmp_path: Path) -> None:
    robot = load_robot("builtin:panda")
    t = np.arange(0.0, 4.0, 0.01)
    q = np.outer(np.sin(t), np.full(7, 12.0)) + np.array([0, 0, 0, -90, 0, 100, 0])  # a sweep of 24 degrees
    path = tmp_path / "log.csv"
    header = ",".join(["t", *(f"q_{k}" for k in range(1, 8)), *(f"tau_{k}" for k in range(1, 8))])
    np.savetxt(path, np.column_stack([t, q, q]), delimiter=",", header=header, comments="")
    columns: dict[str, Any] = {"position": "q_*", "torque": "tau_*", "time": "t"}
    log = dynid.read_log(path, robot, **columns)
    assert "positions-in-degrees" in [f.code for f in log.findings]
    log = dynid.read_log(path, robot, **columns, units={"position": "deg"})
    assert "positions-in-degrees" not in [f.code for f in log.findings]
