"""Files that LeRobot arms replay: data sets of both layouts, and plain actions."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

import dynid
from dynid import DynamicModel, Robot, Servo, load_robot
from dynid.errors import InvalidRequestError
from dynid.excitation import Excitation
from dynid.excitation.limits.servo_drive import ServoDrive
from dynid.excitation.replay_frames import ReplayFrames, ReplayNumbers
from dynid.excitation.replay_settings import ReplaySettings
from dynid.excitation.trajectory_formats import require_formats
from dynid.logs import read_source
from tests.servo_truth import ServoPendulum

SERVO = Servo(voltage=12.0, stall_torque=6.0, no_load_speed=6.0, kp=5.0)
RANGES = {"shoulder": (-2.0, 2.4)}


@pytest.fixture(scope="module")
def robot() -> Robot:
    return ServoPendulum().robot


@pytest.fixture(scope="module")
def found(robot: Robot) -> Excitation:
    return dynid.excite(
        robot, servo=SERVO, time_limit=30, starts=1, period=4.02, acceleration=50.0, collisions=False, home=(0.5,)
    )


def frames_of(folder: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    (path,) = folder.glob("data/*/*.parquet")
    return pl.read_parquet(path), json.loads((folder / "meta/info.json").read_text())


def test_both_layouts_are_those_that_lerobot_publishes(found: Excitation, tmp_path: Path) -> None:
    """Paths, columns, types and keys of `lerobot.datasets` (v3.0: io_utils, dataset_metadata; v2.1: utils)."""
    found.save(tmp_path / "out", ["lerobot", "lerobot2"])
    v3, v2 = (tmp_path / "out" / f"trajectory_{name}" for name in ("lerobot", "lerobot2"))
    relative = {str(path.relative_to(v3)) for path in v3.rglob("*") if path.is_file()}
    assert relative == {
        *("README.md", "meta/info.json", "meta/stats.json", "meta/tasks.parquet", "data/chunk-000/file-000.parquet"),
        "meta/episodes/chunk-000/file-000.parquet",
    }
    for folder, version in ((v3, "v3.0"), (v2, "v2.1")):
        table, info = frames_of(folder)
        assert info["codebase_version"] == version
        assert info["fps"] == 30
        assert info["total_frames"] == len(table) == 60 + 122
        assert info["features"]["action"] == {"dtype": "float32", "shape": [1], "names": ["shoulder.pos"]}
        kinds = {"float32": pl.Float32, "int64": pl.Int64}
        for key in ("timestamp", "frame_index", "episode_index", "index", "task_index"):
            assert table.schema[key] == kinds[info["features"][key]["dtype"]]
        assert table.schema["action"] == pl.Array(pl.Float32, 1)
        assert set(table.columns) == set(info["features"])
        assert np.allclose(table["timestamp"], np.arange(182) / 30.0, atol=1e-6)
    assert info["data_path"].format(episode_chunk=0, episode_index=0) == "data/chunk-000/episode_000000.parquet"
    episode = pl.read_parquet(v3 / "meta/episodes/chunk-000/file-000.parquet").to_dicts()[0]
    assert (episode["dataset_from_index"], episode["dataset_to_index"], episode["length"]) == (0, 182, 182)
    line = json.loads((v2 / "meta/episodes.jsonl").read_text())
    assert line == {"episode_index": 0, "tasks": ["exciting motion"], "length": 182}
    stats = json.loads((v2 / "meta/episodes_stats.jsonl").read_text())["stats"]
    assert stats["action"]["max"][0] == pytest.approx(table["action"].arr.get(0).max(), rel=1e-6)


def test_actions_begin_and_end_at_rest_and_are_commands_in_degrees(found: Excitation, tmp_path: Path) -> None:
    found.save(tmp_path / "out", ["csv", "actions", "lerobot"])
    rows = list(csv.reader((tmp_path / "out/trajectory_actions.csv").read_text().splitlines()))
    assert rows[0] == ["t", "shoulder.pos"]
    sent = np.array(rows[1:], dtype=float)
    assert np.ptp(sent[:31, 1]) == np.ptp(sent[-30:, 1]) == 0.0
    data = json.loads((tmp_path / "out/trajectory_actions.json").read_text())
    assert (data["fps"], data["units"]) == (30, ["deg"])
    assert np.allclose(data["actions"], sent[:, 1:])
    table, _ = frames_of(tmp_path / "out/trajectory_lerobot")
    assert np.allclose(table["action"].arr.get(0), sent[:, 1], atol=1e-4)
    q = found.states(np.clip(sent[:, 0] - 1.0, 0.0, found.duration))[0]
    assert np.allclose(table["observation.state"].arr.get(0), np.degrees(q[:, 0]), atol=1e-4)
    # weight holds the arm down: commands are further out than positions, by torque over kp
    error, weight = np.radians(sent[0, 1]) - q[0, 0], 9.80665 * 0.15 * np.sin(q[0, 0])
    assert error == pytest.approx(weight / (6.0 * 5.0), rel=1e-2)
    assert {path.name for path in (tmp_path / "out").glob("*_lerobot")} == {
        *("trajectory_lerobot", "trajectory_10_percent_lerobot", "trajectory_50_percent_lerobot"),
        *("approach_lerobot", "return_lerobot"),
    }


def test_dynid_reads_the_data_set_back(found: Excitation, robot: Robot, tmp_path: Path) -> None:
    found.save(tmp_path / "out", ["lerobot"])
    (tmp_path / "arm.urdf").write_text(ServoPendulum().urdf)
    (source,) = dynid.init(tmp_path / "arm.urdf", tmp_path / "out/trajectory_lerobot").experiment.log
    log = read_source(source.model_copy(update={"kp": 30.0, "kd": 0.0}), robot)
    q = found.states(np.clip(log.time - 1.0, 0.0, found.duration))[0]
    assert np.allclose(log.position, q, atol=1e-6)
    drive = ServoDrive.of(DynamicModel(robot), SERVO, {}, 30.0)
    assert log.position_command is not None
    still = slice(0, 30)
    none = np.zeros_like(q[still])
    assert np.allclose(log.position_command[still], drive.commands(q[still], none, none), atol=1e-6)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"unit": "degrees"}, (0.0, 57.29578)),
        ({"unit": "radians", "zero": {"shoulder": 1.0}}, (-1.0, 0.0)),
        ({"unit": "radians", "reversed": ("shoulder",)}, (0.0, -1.0)),
        ({"unit": "normalised", "range": RANGES}, (-9.090909, 36.363636)),
        ({"unit": "normalised", "range": RANGES, "reversed": ("shoulder",)}, (9.090909, -36.363636)),
        ({"percent": ("shoulder",), "range": RANGES}, (45.454545, 68.181818)),
        ({"percent": ("shoulder",), "range": RANGES, "reversed": ("shoulder",)}, (54.545454, 31.818181)),
    ],
)
def test_numbers_stand_for_positions_as_they_are_stated(
    robot: Robot, stated: dict[str, Any], expected: tuple[float, float]
) -> None:
    """LeRobot normalises ticks to (x - low) / (high - low), times 200 less 100, or times 100."""
    numbers = ReplayNumbers.of(robot, ReplaySettings(**stated))
    assert np.allclose(numbers.of_positions(np.array([[0.0], [1.0]]))[:, 0], expected)


def test_what_cannot_be_replayed_is_named(found: Excitation, robot: Robot, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match=r"whole frames per second.*rate is 12.5 Hz.*--rate 30"):
        require_formats(["lerobot"], robot, rate=12.5)
    with pytest.raises(InvalidRequestError, match="whole frames per second"):
        ReplayFrames.of(found.trajectory, 125.0, ReplayNumbers.of(robot, ReplaySettings()), None)
    with pytest.raises(dynid.DynidError, match="elbow"):
        ReplayNumbers.of(robot, ReplaySettings(zero={"elbow": 1.0}))
    with pytest.raises(ValidationError, match="state its calibrated ends"):
        ReplaySettings(range={"shoulder": (1.0, -1.0)})
    with pytest.raises(ValidationError, match="zero in the middle"):
        ReplaySettings(unit="normalised", zero={"shoulder": 1.0})
    wheel = load_robot("builtin:two_link")
    if not all(np.isfinite(joint.limits.upper) for joint in wheel.independent_joints):
        with pytest.raises(InvalidRequestError, match="has no range in the robot's file"):
            ReplayNumbers.of(wheel, ReplaySettings(unit="normalised"))
