"""Scripts for robots in `examples/`: they compile without the robots' packages, and read what `dynid excite` writes."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import dynid

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = ("ros2_arm", "ur_rtde_arm")


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def motion() -> dynid.Trajectory:
    limits = {"velocity": 1.0, "acceleration": 2.0, "effort": 1e6, "period": 5.0}
    return dynid.excite("builtin:ur5", starts=1, time_limit=60.0, harmonics=3, **limits)


@pytest.fixture(scope="module")
def folder(motion: dynid.Trajectory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "motion"
    motion.save(folder)
    return folder


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_say_that_they_are_untested_and_call_no_motion_safe(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert "NOT TESTED ON HARDWARE" in text.splitlines()[0]
    assert "Nothing checks for collisions" in text
    assert "safe" not in text.lower()


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_play_at_a_tenth_of_the_speed_unless_asked(name: str, monkeypatch, capsys) -> None:
    module, played = script(name), []
    monkeypatch.setattr(module, "play", lambda *arguments: played.append(arguments))
    monkeypatch.setattr("builtins.input", lambda _: "move")
    host = ["192.168.1.10"] if name == "ur_rtde_arm" else []
    module.main(["play", *host, "trajectory.csv"])
    assert 0.1 in played[0]
    monkeypatch.setattr("builtins.input", lambda _: "no")
    module.main(["play", *host, "trajectory.csv"])
    assert len(played) == 1
    with pytest.raises(SystemExit):
        module.main(["play", *host, "trajectory.csv", "--speed", "2"])


def test_the_rtde_script_follows_the_trajectory_slowly(folder: Path, motion: dynid.Trajectory) -> None:
    module = script("ur_rtde_arm")
    times, q, v = module.read_trajectory(str(folder / "trajectory.csv"))
    assert np.allclose(q, motion.q, atol=1e-9)
    points = np.array(module.set_points(times, q, v, speed=0.1, step=0.008))
    assert len(points) == pytest.approx(10 * motion.t[-1] / 0.008, abs=3)
    expected = np.column_stack([np.interp(0.0008 * np.arange(len(points)), motion.t, column) for column in motion.q.T])
    assert np.abs(points - expected).max() < 1e-3
    speeds = np.diff(points, axis=0) / 0.008
    assert np.abs(speeds).max() < 0.101 * np.abs(motion.v).max()
    assert np.abs(np.diff(speeds, axis=0)).max() / 0.008 < 0.011 * np.abs(motion.a).max() + 1e-3


def test_the_ros_script_scales_derivatives_with_time(folder: Path, motion: dynid.Trajectory) -> None:
    module = script("ros2_arm")
    joints, times, q, v, a = module.read_trajectory(str(folder / "trajectory.csv"))
    assert joints == [joint.name for joint in dynid.load_robot("builtin:ur5").joints]
    points = module.slowed(times, q, v, a, speed=0.5, start=3.0)
    assert points[-1]["seconds"] == pytest.approx(3.0 + 2.0 * motion.t[-1])
    k = len(points) // 3
    before, here, after = (np.array(points[k + step]["positions"]) for step in (-1, 0, 1))
    step = points[k + 1]["seconds"] - points[k]["seconds"]
    assert np.allclose(points[k]["velocities"], (after - before) / (2 * step), atol=1e-3)
    assert np.allclose(points[k]["accelerations"], (after - 2 * here + before) / step**2, atol=2e-2)
    assert module.approach_time(dict.fromkeys(joints, 0.0), joints, [math.pi] * 6) == pytest.approx(10 * math.pi)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_trajectory_that_breaks_limits_is_not_played(name: str, folder: Path, tmp_path: Path) -> None:
    text = (folder / "trajectory.csv").read_text(encoding="utf-8")
    marked = tmp_path / "trajectory.csv"
    marked.write_text(f"# WARNING: it breaks limits\n{text}", encoding="utf-8")
    with pytest.raises(SystemExit, match="not played: WARNING"):
        script(name).read_trajectory(str(marked))
    marked.write_text("time,x\n0,1\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="expected the columns"):
        script(name).read_trajectory(str(marked))
