"""Robots in motion: poses, shapes and gauges, and the page itself where viser is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from typer.testing import CliRunner

from dynid import DynamicModel, Log, load_robot
from dynid.cli import app
from dynid.cli.viewer_page import Gauge, gauge_table, gauges, motion_to_show, serve
from dynid.errors import FileProblemError, ShapeError
from dynid.excitation.trajectories import fourier_motion
from dynid.excitation.trajectory_formats import Written, json_text
from dynid.report.drawn_bodies import poses, quaternion, shapes
from dynid.robot.joints import rotation_from_quaternion
from dynid.robot.robot import WORLD
from tests.verdict_cases import motion as sines

UR5 = load_robot("builtin:ur5")


def trajectory(path: Path, names: list[str], **more: np.ndarray) -> Path:
    t, q, v, a = sines(seconds=2.0)
    columns = {"t": t + 5.0}
    for letter, values in (("q", q), ("v", v), ("a", a)):
        columns |= {f"{letter}_{name}": values[:, k] for k, name in enumerate(names)}
    pl.DataFrame(columns | more).write_csv(path)
    return path


def test_columns_are_found_by_names_of_joints_or_numbers_in_their_order(tmp_path: Path) -> None:
    by_name = motion_to_show(trajectory(tmp_path / "a.csv", [joint.name for joint in UR5.joints]), UR5)
    by_number = motion_to_show(trajectory(tmp_path / "b.csv", list("123456")), UR5)
    _, q, v, a = sines(seconds=2.0)
    for motion in (by_name, by_number):
        assert np.allclose(motion.q, q)
        assert motion.time[0] == 0.0
        assert not motion.measured
        assert np.allclose(motion.torque, DynamicModel(UR5).inverse_dynamics(q, v, a))


def test_logged_torques_are_shown_as_they_are(tmp_path: Path) -> None:
    t, *_ = sines(seconds=2.0)
    torques = {f"tau_{k}": np.full(len(t), float(k)) for k in range(1, 7)}
    motion = motion_to_show(trajectory(tmp_path / "a.csv", list("123456"), **torques), UR5)
    assert motion.measured
    assert motion.torque[3].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_other_names_count_in_their_order_and_columns_need_not_be_derivatives(tmp_path: Path) -> None:
    """Logs to look at have noise, and names of their own: here they count from zero."""
    path = trajectory(tmp_path / "a.csv", list("012345"))
    frame = pl.read_csv(path)
    frame.with_columns(pl.col("^v_.*$") * 10.0).write_csv(path)
    motion = motion_to_show(path, UR5)
    _, q, v, _ = sines(seconds=2.0)
    assert np.allclose(motion.q, q)
    assert np.allclose(motion.v, 10.0 * v)


def test_coefficients_are_shown_too(tmp_path: Path) -> None:
    series = fourier_motion(2.0, np.zeros(6), np.zeros((6, 2)), np.full((6, 2), 0.1))
    names = tuple(joint.name for joint in reversed(UR5.joints))
    (tmp_path / "a.json").write_text(json_text(Written(series, names, 125.0)))
    motion = motion_to_show(tmp_path / "a.json", UR5)
    assert np.allclose(motion.q, series.states(motion.time)[0])


def test_logs_in_memory_are_shown_with_their_torques() -> None:
    t, q, v, _ = sines(seconds=2.0)
    motion = motion_to_show(Log(time=t, position=q, torque=2.0 * q, velocity=v), UR5)
    assert motion.measured
    assert np.array_equal(motion.torque, 2.0 * q)
    assert np.array_equal(motion.v, v)
    with pytest.raises(ShapeError):
        motion_to_show(Log(time=t, position=q[:, :5], torque=q[:, :5]), UR5)


def test_arrays_are_shown_too() -> None:
    t, q, v, a = sines(seconds=2.0)
    motion = motion_to_show((t, q, v, a), UR5)
    assert np.allclose(motion.torque, DynamicModel(UR5).inverse_dynamics(q, v, a))


def test_a_time_that_goes_back_is_an_error(tmp_path: Path) -> None:
    path = trajectory(tmp_path / "a.csv", list("123456"))
    frame = pl.read_csv(path)
    frame.with_columns(pl.col("t").reverse()).write_csv(path)
    with pytest.raises(FileProblemError, match="does not advance in row"):
        motion_to_show(path, UR5)


def test_capsules_reach_from_joint_to_joint() -> None:
    """The ends of the capsules are where forward kinematics has the joints."""
    q = np.array([0.3, -1.0, 0.8, 0.2, 1.1, -0.4])
    T = poses(UR5, q)
    for shape in shapes(UR5):
        assert shape.kind == "capsule"
        children = [i for i, joint in enumerate(UR5.joints) if joint.parent == shape.link]
        if not children:
            continue
        own = np.eye(4) if shape.link == WORLD else T[shape.link]
        end = own @ shape.placement @ [0.0, 0.0, 0.5 * shape.size[1], 1.0]
        start = own @ shape.placement @ [0.0, 0.0, -0.5 * shape.size[1], 1.0]
        assert min(np.linalg.norm(end - T[child][:, 3]) for child in children) < 1e-9
        assert np.linalg.norm(start - own[:, 3]) < 1e-9


@given(arrays(float, 4, elements=st.floats(-1, 1)).filter(lambda x: np.linalg.norm(x) > 0.1))
def test_quaternions_give_their_rotation_back(x: np.ndarray) -> None:
    R = rotation_from_quaternion(x[None, :])[0]
    w, *xyz = quaternion(R)
    assert np.allclose(rotation_from_quaternion(np.array([[*xyz, w]]))[0], R, atol=1e-9)


def test_gauges_tell_what_is_beyond_limits(tmp_path: Path) -> None:
    motion = motion_to_show(trajectory(tmp_path / "a.csv", list("123456")), UR5)
    first = gauges(UR5, motion, 0)[:3]
    limits = UR5.joints[0].limits
    assert first[0].share == pytest.approx(abs(motion.q[0, 0]) / limits.upper)
    assert first[2].share == pytest.approx(abs(motion.torque[0, 0]) / limits.effort)
    text = gauge_table([Gauge("<b>x", "position", 1.0, 1.2), *first[1:]], measured=True)
    assert "&lt;b&gt;x" in text
    assert "(120%) !" in text


def test_without_viser_the_command_says_how_to_get_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    path = trajectory(tmp_path / "a.csv", list("123456"))
    done = CliRunner().invoke(app, ["view", str(path), "--robot", "builtin:ur5"])
    assert (done.exit_code, "pip install 'dynid[view]'" in done.stderr) == (2, True)


@pytest.mark.skipif(importlib.util.find_spec("viser") is None, reason="viser is not installed")
@pytest.mark.filterwarnings("ignore")
def test_the_page_moves_the_robot(tmp_path: Path) -> None:
    motion = motion_to_show(trajectory(tmp_path / "a.csv", list("123456")), UR5)
    addresses: list[str] = []
    left = iter(range(5))
    serve(UR5, motion, 18080, addresses.append, lambda: next(left, None) is not None)
    assert addresses[0].startswith("http://127.0.0.1:")


def test_meshes_that_cannot_be_read_become_capsules(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed")
    from dynid.cli.viewer_page import _meshes

    (tmp_path / "broken.stl").write_text("solid nothing")
    links = "".join(
        f'<link name="l{k}"><visual><geometry><mesh filename="broken.stl"/></geometry></visual></link>'
        for k in range(3)
    )
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="0 0 0.3"/><axis xyz="0 1 0"/></joint>'
        for k in range(2)
    )
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm">{links}{joints}</robot>')
    robot = load_robot(tmp_path / "arm.urdf")
    assert {shape.kind for shape in shapes(robot)} == {"mesh"}
    assert [shape.kind for shape, _ in _meshes(robot, trimesh)] == ["capsule"] * 3
