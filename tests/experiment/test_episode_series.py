"""Data sets of episodes as experiments: one table states them all; their numbers are those of the same CSV files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dynid
from dynid.experiment.first import guesses
from dynid.experiment.first.first_experiment import FEW
from tests.commands import run
from tests.episode_files import Episode, aloha, lerobot

ROBOT = dynid.load_robot("builtin:two_link")
MODEL = dynid.DynamicModel(ROBOT)
JOINTS = [joint.name for joint in ROBOT.joints]
RATE = 50.0


def single(values: np.ndarray) -> np.ndarray:
    """Numbers as the data sets hold them."""
    return values.astype(np.float32).astype(float)


def moving(seed: int, count: int = 80) -> Episode:
    """A motion with torques of the robot's dynamics and of friction, and the commands that it follows."""
    rng = np.random.default_rng(seed)
    t, phase, w = np.arange(count) / RATE, rng.uniform(0.0, 6.0, 2), np.array([3.0, 2.0])
    angle = np.outer(t, w) + phase
    q, v, a = 0.8 * np.sin(angle), 0.8 * w * np.cos(angle), -0.8 * w**2 * np.sin(angle)
    tau = MODEL.inverse_dynamics(q, v, a) + 0.3 * v + 0.2 * np.sign(v) + 0.02 * rng.normal(size=q.shape)
    return Episode(single(q), single(0.8 * np.sin(angle + 0.05)), single(tau))


EPISODES = [moving(k) for k in range(FEW + 2)]


def csv_files(folder: Path, episodes: Sequence[Episode]) -> Path:
    folder.mkdir()
    for k, one in enumerate(episodes):
        t = pl.Series("timestamp", np.arange(len(one.state)) / RATE, dtype=pl.Float32).cast(pl.Float64)
        assert one.effort is not None
        columns = {f"q_{j + 1}": one.state[:, j] for j in range(2)} | {
            f"tau_{j + 1}": one.effort[:, j] for j in range(2)
        }
        pl.DataFrame({"timestamp": t, **columns}).write_csv(folder / f"episode_{k:06d}.csv")
    return folder


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sets")
    return {
        "csv": csv_files(folder / "csv", EPISODES),
        "v2": lerobot(folder / "v2", EPISODES, version="v2.1", names=JOINTS, image=True),
        "v3": lerobot(folder / "v3", EPISODES, version="v3.0", names={"motors": JOINTS}, per_file=6),
        "aloha": aloha(folder / "aloha", EPISODES),
    }


@pytest.fixture(scope="module")
def results(sets: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dynid.Result]:
    folder = tmp_path_factory.mktemp("results")
    made = {name: dynid.init("builtin:two_link", sets[name], folder=folder) for name in ("csv", "v3")}
    return {name: dynid.identify(one.save(folder / f"{name}.toml"), cache=False) for name, one in made.items()}


@pytest.mark.parametrize("name", ["csv", "v2", "v3", "aloha"])
def test_one_table_states_all_episodes(name: str, sets: dict[str, Path]) -> None:
    made = dynid.init("builtin:two_link", sets[name], rate=RATE if name == "aloha" else None)
    assert made.text.count("[[log]]") == 1
    assert made.count == len(EPISODES)
    assert len(made.experiment.log) == len(EPISODES)


def test_a_data_set_gives_the_numbers_of_the_same_logs_in_csv(results: dict[str, dynid.Result]) -> None:
    one, other = (results[name].parameters.to_frame() for name in ("csv", "v3"))
    for column in ("value", "std"):
        np.testing.assert_array_equal(one[column].to_numpy(), other[column].to_numpy())


def test_commands_that_were_logged_beside_torques_stand_in_the_experiment(sets: dict[str, Path]) -> None:
    assert "# position_command = { file = " in dynid.init("builtin:two_link", sets["v3"]).text


def test_logs_of_a_data_set_are_read_in_python(sets: dict[str, Path]) -> None:
    for name in ("v2", "v3", "aloha"):
        logs = dynid.read_logs(sets[name], ROBOT, rate=RATE if name == "aloha" else None)
        assert len(logs) == len(EPISODES)
        for log, own in zip(logs, EPISODES, strict=True):
            np.testing.assert_array_equal(log.position, own.state)
            np.testing.assert_array_equal(log.torque, own.effort)


def test_a_result_is_validated_on_an_episode_of_another_data_set(
    results: dict[str, dynid.Result], tmp_path: Path
) -> None:
    other = lerobot(tmp_path / "other", [moving(99), moving(98)], version="v3.0", names=JOINTS)
    assert results["v3"].validate(other).relative_error < 0.05


def test_all_logs_of_a_long_series_have_the_same_columns(
    sets: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guesses, "THRESHOLDS", replace(guesses.THRESHOLDS, looked_at=3))
    folder = lerobot(tmp_path / "set", EPISODES, version="v2.1", names=JOINTS)
    other = lerobot(tmp_path / "other", EPISODES, version="v2.1", names=["waist", "jaw"], rates={3: 30.0})
    assert dynid.init("builtin:two_link", folder).count == len(EPISODES)
    odd = other / "data/chunk-000/episode_000003.parquet"
    table = pl.read_parquet(odd).with_columns(pl.col("action").list.head(1))
    table.write_parquet(folder / "data/chunk-000/episode_000003.parquet")
    status, _, problem = run("init", "builtin:two_link", folder, "--out", tmp_path / "arm.toml")
    assert status == 2
    assert "episode_000003.parquet" in problem
    assert "action" in problem
    assert not (tmp_path / "arm.toml").exists()


def test_an_episode_at_another_rate_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guesses, "THRESHOLDS", replace(guesses.THRESHOLDS, looked_at=3))
    folder = lerobot(tmp_path / "set", EPISODES, version="v2.1", names=JOINTS, rates={3: 30.0})
    (found,) = (one for one in dynid.init("builtin:two_link", folder).findings if one.code == "rates-differ")
    assert found.values["logs"] == ["episode_000003.parquet"]


def test_two_hundred_episodes_go_all_the_way_to_the_report_that_plain_logs_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    many = [moving(k, 30) for k in range(200)]
    csv_files(tmp_path / "csv", many)
    lerobot(tmp_path / "v3", many, version="v3.0", names=JOINTS, per_file=64)
    found = {}
    for name in ("csv", "v3"):
        for arguments in (
            ("init", "builtin:two_link", name, "--out", f"{name}.toml"),
            ("identify", f"{name}.toml", "--out", f"result_{name}", "--no-cache"),
            ("report", f"result_{name}", "--out", f"{name}.html"),
        ):
            status, _, problem = run(*arguments)
            assert status == 0, problem
        found[name] = headings(Path(f"{name}.html").read_text(encoding="utf-8"))
    one, other = (dynid.load_result(f"result_{name}").record for name in ("csv", "v3"))
    assert one.parameters == other.parameters
    assert one.joints == other.joints
    assert one.verdict == other.verdict
    assert found["csv"] == found["v3"]


def headings(page: str) -> list[str]:
    """The headings of a report."""
    return re.findall(r"<h[123][^>]*>(.*?)</h[123]>", page)
