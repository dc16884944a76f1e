"""Scripts for robots in `examples/`: they compile without the robots' packages, and read what `dynid excite` writes."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

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
def motion() -> Any:
    limits: dict[str, Any] = {"velocity": 1.0, "acceleration": 2.0, "effort": 1e6, "period": 5.0, "collisions": False}
    return dynid.excite("builtin:ur5", starts=1, time_limit=60.0, harmonics=2, **limits)


@pytest.fixture(scope="module")
def folder(motion: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "motion"
    motion.save(folder)
    return folder


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_say_that_they_are_untested_and_call_no_motion_safe(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert "NOT TESTED ON HARDWARE" in text.splitlines()[0]
    assert "Nothing checks the way to the first posture for" in " ".join(text.split())
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


def test_the_rtde_script_follows_the_trajectory_slowly(folder: Path, motion: Any) -> None:
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


def test_the_ros_script_scales_derivatives_with_time(folder: Path, motion: Any) -> None:
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


class Arm:
    """Stands in for `RTDEReceiveInterface` and `RTDEControlInterface` of ur_rtde."""

    done: tuple[str, ...] = ()
    points: tuple[list[float], ...] = ()

    def __init__(self, host: str, rate: float) -> None:
        self.step, self.calls = 1.0 / rate, 0
        type(self).done = type(self).points = ()

    def isConnected(self) -> bool:
        return True

    def getTimestamp(self) -> float:
        self.calls += 1
        return 100.0 + self.step * (self.calls // 3)  # asked more often than there are samples

    def getActualQ(self) -> list[float]:
        return [math.sin(0.01 * self.calls + k) for k in range(6)]

    def getActualQd(self) -> list[float]:
        return [math.cos(0.01 * self.calls + k) for k in range(6)]

    def getActualCurrent(self) -> list[float]:
        return [3.0 * math.sin(0.02 * self.calls + k) for k in range(6)]

    def moveJ(self, q: list[float], speed: float, acceleration: float) -> None:
        assert speed <= 0.5
        assert acceleration <= 0.5
        type(self).done += ("moveJ",)

    def servoJ(self, q: list[float], *_: float) -> None:
        type(self).points += (q,)

    def initPeriod(self) -> float:
        return 0.0

    def waitPeriod(self, _: float) -> None: ...

    def servoStop(self) -> None:
        type(self).done += ("servoStop",)

    def stopScript(self) -> None:
        type(self).done += ("stopScript",)


def test_the_rtde_script_records_what_dynid_reads(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "rtde_receive", SimpleNamespace(RTDEReceiveInterface=Arm))
    module = script("ur_rtde_arm")
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    module.main(["record", "192.168.1.10", "--seconds", "2", "--out", str(tmp_path / "run1.csv")])
    first = dynid.init("builtin:ur5", [tmp_path / "run1.csv"])
    rows = (tmp_path / "run1.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) - 1 == pytest.approx(250, abs=2)
    assert rows[0].startswith("t,q_1,")
    assert rows[0].endswith(",current_6_A")
    assert "torque-constants-needed" in [finding.code for finding in first.findings]


def test_the_rtde_script_moves_slowly_to_the_start_and_stops_at_the_end(folder: Path, motion: Any, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "rtde_control", SimpleNamespace(RTDEControlInterface=Arm))
    monkeypatch.setattr("builtins.input", lambda _: "move")
    script("ur_rtde_arm").main(["play", "192.168.1.10", str(folder / "trajectory.csv")])
    assert Arm.done == ("moveJ", "servoStop", "stopScript")
    assert np.allclose([Arm.points[0], Arm.points[-1]], motion.q[[0, -1]])
