"""A log is read once in every path: each of its files is opened a single time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dynid import DynamicModel, load_robot
from dynid.cli import app
from dynid.logs import tables
from dynid.model.terms import Coulomb, Viscous

MODEL = DynamicModel(load_robot("builtin:two_link"), [Viscous(), Coulomb()])
RATE, PERIOD = 200.0, 5.0

EXPERIMENT = """
robot = "builtin:two_link"
terms = ["viscous", "coulomb"]
[[log]]
position = { file = "log.csv", columns = "q_*" }
torque = { file = "log.csv", columns = "tau_*" }
time = { file = "log.csv", columns = "t" }
"""
TEMPERATURE = 'temperature = { file = "log.csv", columns = "warm" }\n'
STATED = "[processing]\ntrim = 5\nvelocity_threshold = 0.05\n"

CASES = {
    "plain": EXPERIMENT,
    "stated processing": EXPERIMENT + STATED,
    "signs of drives": EXPERIMENT + '[drive]\nsigns = "auto"\n',
    "temperature": EXPERIMENT + TEMPERATURE,
    "friction over temperature": EXPERIMENT.replace('"viscous"', '"viscous_temperature"') + TEMPERATURE + STATED,
    "magnitudes": EXPERIMENT.replace("terms", 'torque = "magnitude"\nterms') + TEMPERATURE + STATED,
    "averaged periods": EXPERIMENT + f'[processing]\nperiod = {PERIOD}\n[drive]\nsigns = "auto"\n',
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a log of four periods, the joints getting warmer."""
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 4 * PERIOD, 1.0 / RATE)
    w = 2 * np.pi / PERIOD * np.array([1, 3, 4])
    sizes, phases = rng.uniform(0.2, 0.8, (2, 3)), rng.uniform(0, 6, (2, 3))
    angle = np.multiply.outer(t, w)[:, None] + phases
    q, v, a = (sizes * np.sin(angle)).sum(2), (sizes * w * np.cos(angle)).sum(2), -(sizes * w**2 * np.sin(angle)).sum(2)
    torque = MODEL.inverse_dynamics(q, v, a) + 0.01 * rng.normal(size=q.shape)
    columns = {"t": t, "warm": 20.0 + t} | {f"q_{k + 1}": q[:, k] for k in range(2)}
    pl.DataFrame(columns | {f"tau_{k + 1}": torque[:, k] for k in range(2)}).write_csv(tmp_path / "log.csv")
    return tmp_path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file was opened."""
    count: Counter[str] = Counter()
    original = tables.source_of

    def counted(path: Path, *arguments: Any) -> Any:
        count[path.name] += 1
        return original(path, *arguments)

    monkeypatch.setattr(tables, "source_of", counted)
    return count


def run(*arguments: object) -> None:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("case", CASES)
def test_identification_reads_a_log_once(case: str, files: Path, reads: Counter[str]) -> None:
    (files / "experiment.toml").write_text(CASES[case])
    run("identify", files / "experiment.toml", "--out", files / "result")
    assert reads == {"log.csv": 1}


def test_a_report_reads_a_log_once(files: Path, reads: Counter[str]) -> None:
    (files / "experiment.toml").write_text(CASES["temperature"])
    run("identify", files / "experiment.toml", "--out", files / "result")
    reads.clear()
    run("report", files / "result", "--out", files / "report.html")
    assert reads == {"log.csv": 1}


def test_validation_reads_a_log_once(files: Path, reads: Counter[str]) -> None:
    (files / "experiment.toml").write_text(CASES["plain"])
    run("identify", files / "experiment.toml", "--out", files / "result")
    reads.clear()
    run("validate", files / "result", files / "log.csv")
    assert reads == {"log.csv": 1}


def test_validation_by_simulation_reads_a_log_once(files: Path, reads: Counter[str]) -> None:
    (files / "experiment.toml").write_text(CASES["plain"])
    run("identify", files / "experiment.toml", "--out", files / "result")
    rest = pl.DataFrame({"t": [0.0, 10.0, 20.0], "q_1": [0.0] * 3, "q_2": [0.0] * 3})
    rest.write_csv(files / "rest.csv")
    (files / "followed.toml").write_text(CASES["plain"] + '[simulation]\ntrajectory = "rest.csv"\n')
    reads.clear()
    run("validate", files / "result", files / "followed.toml", "--simulate")
    assert reads["log.csv"] == 1
