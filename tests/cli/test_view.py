"""Robots in motion: poses, shapes and gauges, and the page itself where viser is installed."""

from __future__ import annotations

import importlib.util
import json
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from queue import Queue

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from typer.testing import CliRunner

from dynid import DynamicModel, Log, load_robot
from dynid.cli import app
from dynid.cli.page_guard import PageGuard, UnguardedViewerError, free_port
from dynid.cli.viewer_page import (
    Gauge,
    clearance_text,
    clearances_to_show,
    gauge_table,
    gauges,
    motion_to_show,
    serve,
)
from dynid.errors import FileProblemError, InvalidRequestError, ShapeError
from dynid.excitation import ExcitationSettings, Nearest, collisions_of, joint_limits
from dynid.excitation.collision.stated_collisions import surroundings_data
from dynid.excitation.trajectories.fourier import fourier_motion
from dynid.excitation.trajectory_formats import Written, json_text
from dynid.report.drawn_bodies import poses, quaternion, shapes
from dynid.robot.joints import rotation_from_quaternion
from dynid.robot.robot import WORLD
from tests.browser import ARGUMENTS, CHROMIUM, needs_chromium
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
    robot = load_robot("builtin:tx40")  # without shapes
    q = np.array([0.3, -1.0, 0.8, 0.2, 1.1, -0.4])
    T = poses(robot, q)
    for shape in shapes(robot):
        assert shape.kind == "capsule"
        children = [i for i, joint in enumerate(robot.joints) if joint.parent == shape.link]
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


STATED = {
    "clearance": 0.05,
    "floor": -0.3,
    "wall": [{"point": [-2.0, 0.0, 0.0], "normal": [1.0, 0.0, 0.0], "name": "<b>wall"}],
    "obstacle": [{"centre": [0.0, 0.0, 1.2], "size": [0.2, 0.2, 0.2], "name": "lamp"}],
    "ignore_pairs": [["wrist_2_link", "forearm_link"]],
}


def test_the_surroundings_of_a_saved_design_are_shown_with_it(tmp_path: Path) -> None:
    settings = ExcitationSettings.model_validate(STATED)
    model = collisions_of(settings, UR5, joint_limits(settings, UR5)).model
    saved = surroundings_data(settings, model)
    assert saved["floor"] == -0.3
    (tmp_path / "excitation.json").write_text(json.dumps({"schema": "dynid-excitation-1", "surroundings": saved}))
    (tmp_path / "segment_1").mkdir()
    path = trajectory(tmp_path / "trajectory.csv", list("123456"))
    motion = motion_to_show(path, UR5)
    for place in (tmp_path, path, trajectory(tmp_path / "segment_1" / "trajectory.csv", list("123456"))):
        found = clearances_to_show(place, UR5, motion)
        assert found is not None
        assert (found.required, found.model.floor) == (0.05, -0.3)
        assert [wall.name for wall in found.model.walls] == ["floor", "<b>wall"]
        assert [box.body for box in found.model.boxes] == ["lamp"]
        assert "wrist_2_link-forearm_link" not in {pair.name for pair in found.model.pairs}
        assert found.nearest[1] == pytest.approx(model.clearances(motion.q, 5.0).min(), abs=0.02)
    assert motion_to_show(tmp_path / "segment_1", UR5).q.shape == motion.q.shape
    path.unlink()
    with pytest.raises(FileProblemError, match="segment_1"):
        motion_to_show(tmp_path, UR5)
    alone = clearances_to_show(trajectory(tmp_path.parent / "alone.csv", list("123456")), UR5, motion)
    assert alone is not None
    assert (alone.required, alone.model.boxes) == (0.02, [])


def test_surroundings_that_are_none_are_refused(tmp_path: Path) -> None:
    path = trajectory(tmp_path / "trajectory.csv", list("123456"))
    motion = motion_to_show(path, UR5)
    for text in (
        "{",
        "[]",
        '{"surroundings": {"floor": "low"}}',
        '{"surroundings": {"wall": [1]}}',
        '{"surroundings": 3}',
    ):
        (tmp_path / "excitation.json").write_text(text)
        with pytest.raises(FileProblemError, match=r"excitation\.json"):
            clearances_to_show(path, UR5, motion)


def test_distances_below_what_is_required_are_marked_and_names_escaped() -> None:
    motion = motion_to_show(sines(seconds=2.0), UR5)
    found = clearances_to_show(sines(seconds=2.0), UR5, motion)
    assert found is not None
    near = Nearest("<b>pair", 0.001, np.zeros(3), np.zeros(3))
    text = clearance_text(replace(found, distances=np.full_like(found.distances, 0.5)), near)
    assert "&lt;b&gt;pair" in text
    assert text.count("1 mm !") == text.count("<b") == 1


def test_without_viser_the_command_says_how_to_get_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    path = trajectory(tmp_path / "a.csv", list("123456"))
    done = CliRunner().invoke(app, ["view", str(path), "--robot", "builtin:ur5"])
    assert (done.exit_code, "pip install 'dynid[view]'" in done.stderr) == (2, True)


needs_viser = pytest.mark.skipif(importlib.util.find_spec("viser") is None, reason="viser is not installed")


@needs_viser
@pytest.mark.filterwarnings("ignore")
def test_the_page_moves_the_robot(tmp_path: Path) -> None:
    motion = motion_to_show(trajectory(tmp_path / "a.csv", list("123456")), UR5)
    addresses: list[str] = []
    left = iter(range(5))
    serve(UR5, motion, 18080, addresses.append, lambda: next(left, None) is not None)
    assert addresses[0].startswith("http://127.0.0.1:")


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    """The address of a page that is served meanwhile."""
    pytest.importorskip("viser", reason="viser is not installed")
    t, q, v, a = sines(seconds=1.0)
    addresses: Queue[str] = Queue()
    done = threading.Event()
    motion = motion_to_show((t, q, v, a), UR5)
    near = clearances_to_show((t, q), UR5, motion)
    arguments = (UR5, motion, 18180, addresses.put, lambda: not done.is_set(), near)
    server = threading.Thread(target=serve, args=arguments, daemon=True)
    server.start()
    yield addresses.get(timeout=30.0)
    done.set()
    server.join(timeout=10.0)


def socket_status(address: str, origin: str | None, host: str | None = None) -> int:
    """Open a websocket as the page's script does; the status that the server answers with."""
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    version = importlib.import_module("viser").__version__
    headers = {} if host is None else {"Host": host}
    try:
        with connect(
            address.replace("http://", "ws://").rstrip("/"),
            origin=origin,  # type: ignore[arg-type]
            subprotocols=[f"viser-v{version}"],  # type: ignore[list-item]
            additional_headers=headers,
            max_size=None,
        ) as client:
            assert client.recv(timeout=10.0)
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def page_status(address: str, **headers: str) -> int:
    from urllib.error import HTTPError
    from urllib.request import Request, build_opener

    try:
        return build_opener().open(Request(address, headers=headers), timeout=10.0).status
    except HTTPError as refused:
        return refused.code


@needs_viser
@pytest.mark.filterwarnings("ignore")
def test_the_scene_is_for_its_own_page_with_the_token(page: str) -> None:
    here, token, _ = page.removeprefix("http://").split("/")
    port = here.partition(":")[2]
    assert len(token) >= 32
    assert socket_status(page, f"http://{here}") == 101
    assert socket_status(f"http://localhost:{port}/{token}/", f"http://localhost:{port}") == 101
    for origin in ("http://evil.example", f"http://evil.example:{port}", "http://127.0.0.1:1", "null", None):
        assert socket_status(page, origin) == 403
    for path in ("", "/", "/viser", f"/{token[:-1]}", f"/{token}x", f"/x/{token}", f"/?{token}"):
        assert socket_status(f"http://{here}{path}", f"http://{here}") == 403


@needs_viser
@pytest.mark.filterwarnings("ignore")
def test_the_page_too_needs_its_token_and_a_name_of_this_machine(page: str) -> None:
    here = page.removeprefix("http://").partition("/")[0]
    assert page_status(page) == 200
    assert page_status(page + "../../etc/passwd") in (400, 403, 404)
    assert page_status(f"http://{here}/") == 403
    assert page_status(page, Origin="http://evil.example") == 403
    assert page_status(page, Host=f"evil.example:{here.partition(':')[2]}") == 403  # a name that leads here


@needs_viser
@pytest.mark.filterwarnings("ignore")
def test_a_viewer_that_asks_no_guard_is_not_shown(monkeypatch) -> None:
    monkeypatch.setattr(PageGuard, "before", lambda _, process_request: process_request)
    addresses: list[str] = []
    with pytest.raises(UnguardedViewerError):
        serve(UR5, motion_to_show(sines(seconds=1.0), UR5), 18280, addresses.append)
    assert addresses == []


def test_taken_ports_are_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) > port
    with socket.socket() as last:
        last.bind(("127.0.0.1", 65535))
        last.listen()
        with pytest.raises(InvalidRequestError, match="65535"):
            free_port(65535)


@needs_chromium
@needs_viser
@pytest.mark.filterwarnings("ignore")
def test_the_scene_reaches_the_browser(page: str) -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            shown = browser.new_page()
            shown.goto(page)
            shown.wait_for_selector("text=torque (needed)", timeout=30_000)  # what a websocket brought
            shown.wait_for_selector("text=clearance (required: 2 cm)", timeout=30_000)
        finally:
            browser.close()


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
