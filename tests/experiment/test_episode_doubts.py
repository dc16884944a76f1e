"""What is odd about episodes is named: each mistake by its own code."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynid
from dynid.experiment.first.first_experiment import FirstExperiment
from dynid.logs import RecordingError
from tests.commands import run
from tests.episode_files import Episode, aloha, lerobot

JOINTS = ["joint_1", "joint_2"]


def moving(seed: int, count: int = 60) -> Episode:
    rng = np.random.default_rng(seed)
    angle = np.outer(np.arange(count) / 50.0, [3.0, 2.0]) + rng.uniform(0.0, 6.0, 2)
    return Episode(0.8 * np.sin(angle), 0.8 * np.sin(angle + 0.05), np.cos(angle))


EPISODES = [moving(k) for k in range(3)]


def changed(**signals: Any) -> list[Episode]:
    return [replace(one, **{key: change(one) for key, change in signals.items()}) for one in EPISODES]


def made_of(
    folder: Path, episodes: list[Episode], names: Any = JOINTS, robot: str = "builtin:two_link"
) -> FirstExperiment:
    return dynid.init(robot, lerobot(folder / "set", episodes, version="v2.1", names=names))


def codes(made: FirstExperiment) -> set[str]:
    return {finding.code for finding in made.findings} | {question.code for question in made.questions}


NAMED = {"torques-zero", "actions-are-deltas", "actions-not-followed", "joints-unnamed", "positions-normalised"}


def nothing(_: Episode) -> None:
    return None


def zeros(one: Episode) -> np.ndarray:
    return np.zeros_like(one.state)


def steps(one: Episode) -> np.ndarray:
    return np.diff(one.state, axis=0, append=one.state[-1:])


def noise(one: Episode) -> np.ndarray:
    return np.random.default_rng(5).normal(size=one.state.shape)


def in_degrees(one: Episode) -> np.ndarray:
    return np.degrees(one.state)


def normalised(one: Episode) -> np.ndarray:
    return np.clip(150.0 * one.state, -100.0, 100.0)


@pytest.mark.parametrize(
    ("episodes", "named"),
    [
        (EPISODES, set()),
        (changed(effort=zeros, action=zeros), {"torques-zero"}),
        (changed(effort=nothing, action=steps), {"actions-are-deltas"}),
        (changed(effort=nothing, action=noise), {"actions-not-followed"}),
        (changed(state=in_degrees), {"positions-normalised"}),
        (changed(state=normalised), {"positions-normalised"}),
    ],
)
def test_each_mistake_has_its_code(episodes: list[Episode], named: set[str], tmp_path: Path) -> None:
    assert codes(made_of(tmp_path, episodes)) & NAMED == named


def test_zero_efforts_beside_actions_leave_the_commands(tmp_path: Path) -> None:
    made = made_of(tmp_path, changed(effort=zeros))
    assert codes(made) >= {"torques-constant", "gains-needed"}
    assert "position_command" in made.text


def test_joints_without_names_are_taken_in_their_order_and_that_is_said(tmp_path: Path) -> None:
    assert codes(made_of(tmp_path, EPISODES, names=None)) & NAMED == {"joints-unnamed"}


def test_names_of_another_kind_are_a_question(tmp_path: Path) -> None:
    assert "choose-order" in codes(made_of(tmp_path, EPISODES, names=["one", "other"]))


def test_an_episode_of_another_robot_is_refused(tmp_path: Path) -> None:
    wide = Episode(*(np.hstack([one, one[:, :1]]) for one in (EPISODES[0].state, EPISODES[0].action)))
    with pytest.raises(RecordingError, match=r"episode_000003.*other columns.*another robot"):
        made_of(tmp_path, [*EPISODES, wide])


def test_positions_in_degrees_are_taken_as_degrees(tmp_path: Path) -> None:
    made = made_of(tmp_path, changed(state=in_degrees))
    assert made.experiment.log[0].position.unit == "deg"


def test_the_rate_of_an_hdf5_file_is_asked_for_with_the_convention(tmp_path: Path) -> None:
    made = dynid.init("builtin:two_link", aloha(tmp_path / "set", EPISODES))
    (asked,) = (question for question in made.questions if question.key == "rate")
    assert asked.is_open
    assert asked.code == "choose-rate-of-episodes"
    assert asked.option == "--rate 50"


def test_episodes_that_were_not_downloaded_are_counted(tmp_path: Path) -> None:
    folder = lerobot(tmp_path / "set", EPISODES, version="v2.1", names=JOINTS)
    (folder / "data/chunk-000/episode_000001.parquet").unlink()
    (found,) = (one for one in dynid.init("builtin:two_link", folder).findings if one.code == "episodes-missing")
    assert found.values == {"found": 2, "stated": 3}
    chosen = dynid.init("builtin:two_link", f"{folder}/data/*/*.parquet")
    assert "episodes-missing" not in {one.code for one in chosen.findings}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("truncated", "damaged"),
        ("videos", "without episodes"),
        ("version 1", "version 1"),
        ("robots", "another robot"),
    ],
)
def test_a_data_set_that_cannot_be_read_is_refused_by_name(damage: str, said: str, tmp_path: Path) -> None:
    wide = Episode(*(np.hstack([one, one[:, :1]]) for one in (EPISODES[0].state, EPISODES[0].action)))
    episodes = [*EPISODES, wide] if damage == "robots" else EPISODES
    folder = lerobot(tmp_path / "set", episodes, version="v2.1", names=JOINTS)
    file = folder / "data/chunk-000/episode_000001.parquet"
    if damage == "truncated":
        file.write_bytes(file.read_bytes()[:200])
    elif damage == "videos":
        shutil.rmtree(folder / "data")
        (folder / "videos").mkdir()
    elif damage == "version 1":
        shutil.rmtree(folder / "meta")
        (folder / "meta_data").mkdir()
        (folder / "meta_data/info.json").write_text('{"fps": 50}')
    status, _, problem = run("init", "builtin:two_link", folder, "--out", tmp_path / "arm.toml")
    assert status == 2
    assert said in problem
    assert not (tmp_path / "arm.toml").exists()
