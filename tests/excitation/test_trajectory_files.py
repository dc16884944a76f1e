"""Tables of trajectories: every column counts for the joint that it names, or is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dynid import DynidError, load_robot
from dynid.excitation.trajectories.fourier import fourier_motion
from dynid.excitation.trajectories.sampled import Trajectory
from dynid.excitation.trajectory_files import read_coefficients, read_table
from dynid.excitation.trajectory_formats import Written, json_text
from dynid.robot.robot import Robot
from dynid.simulation.desired_motion import Repeated, check_limits

T = np.linspace(0.0, 2.0, 201)
Q = 0.2 * (1 - np.cos(np.pi * T))
V = 0.2 * np.pi * np.sin(np.pi * T)
A = 0.2 * np.pi**2 * np.cos(np.pi * T)

BODY = (
    '<link name="{}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/><axis xyz="0 1 0"/>'
    '<limit lower="-3" upper="3" effort="100" velocity="10"/>{}</joint>'
)


@pytest.fixture(scope="module")
def mimic(tmp_path_factory) -> Robot:
    path = tmp_path_factory.mktemp("robot") / "mimic.urdf"
    follows = '<mimic joint="a" multiplier="-2" offset="0.1"/>'
    joints = JOINT.format("a", "w", "l1", "") + JOINT.format("b", "l1", "l2", follows)
    path.write_text(f'<robot name="m"><link name="w"/>{BODY.format("l1")}{BODY.format("l2")}{joints}</robot>')
    return load_robot(path)


def written(path: Path, **columns: np.ndarray) -> Path:
    pl.DataFrame({"t": T} | columns).write_csv(path)
    return path


def test_a_mimic_joints_column_leaves_its_leaders_as_it_is(tmp_path: Path, mimic: Robot) -> None:
    both = written(tmp_path / "t.csv", q_a=Q, q_b=0.1 - 2 * Q, v_b=-2 * V, v_a=V)
    trajectory = read_table(both, mimic)
    assert np.allclose(trajectory.q[:, 0], Q)
    assert trajectory.v is not None
    assert np.allclose(trajectory.v[:, 0], V)


def test_a_mimic_joints_column_that_contradicts_its_leader_is_refused(tmp_path: Path, mimic: Robot) -> None:
    with pytest.raises(DynidError, match="'b' follows 'a', but column 'q_b' is up to"):
        read_table(written(tmp_path / "t.csv", q_a=Q, q_b=Q), mimic)


def test_two_columns_for_one_joint_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", q_1=Q, q_2=Q, q_joint_1=2 * Q)
    with pytest.raises(DynidError, match="'q_1' and 'q_joint_1' are both for one joint"):
        read_table(path, load_robot("builtin:two_link"))


def test_velocities_and_accelerations_must_be_slopes(tmp_path: Path) -> None:
    robot = load_robot("builtin:two_link")
    good = dict(zip(("q_1", "q_2", "v_1", "v_2", "a_1", "a_2"), (Q, 0 * Q, V, 0 * Q, A, 0 * Q), strict=True))
    read_table(written(tmp_path / "good.csv", **good), robot)
    for name, values in (("v_1", np.degrees(V)), ("v_1", -V), ("v_2", 0.1 + 0 * V), ("a_1", np.degrees(A))):
        with pytest.raises(DynidError, match=f"column '{name}' is not the derivative of"):
            read_table(written(tmp_path / "bad.csv", **good | {name: values}), robot)


def test_rows_may_be_few_and_positions_rounded(tmp_path: Path) -> None:
    robot = load_robot("builtin:two_link")
    columns = {"t": T, "q_1": Q, "q_2": Q, "v_1": V, "v_2": V, "a_1": A, "a_2": A}
    pl.DataFrame({name: values[::40] for name, values in columns.items()}).write_csv(tmp_path / "few.csv")
    assert len(read_table(tmp_path / "few.csv", robot)) == 6
    rounded = np.round(Q, 2)
    read_table(written(tmp_path / "t.csv", q_1=rounded, q_2=rounded, v_1=V, v_2=V), robot)


def test_the_first_row_whose_time_does_not_advance_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("t,q_1,q_2\n0,0,0\n1,0,0\n0.5,0,0\n2,0,0\n")
    with pytest.raises(DynidError, match=r"does not advance in row 4: 0\.5 s"):
        read_table(tmp_path / "t.csv", load_robot("builtin:two_link"))


def test_limits_hold_at_the_very_end(mimic: Robot) -> None:
    ramp = Trajectory(np.array([0.0, 1.0]), np.array([[0.0], [3.5]]))
    with pytest.raises(DynidError, match=r"at 1 s its position is 3\.5"):
        check_limits(Repeated(ramp, 1), mimic)


@pytest.mark.parametrize("change", [{"periods": 10**308}, {"periods": 10**6}, {"frequency": 1e-300}, {"speed": 1e-300}])
def test_coefficients_of_endless_motions_are_refused(change: dict[str, float], tmp_path: Path) -> None:
    series = fourier_motion(2.0, np.zeros(2), np.zeros((2, 2)), np.full((2, 2), 0.1))
    path = tmp_path / "motion.json"
    path.write_text(json.dumps(json.loads(json_text(Written(series, ("a", "b"), 125.0))) | change))
    with pytest.raises(DynidError, match=r"it lasts|holds no trajectory"):
        read_coefficients(path)
