"""Experiments whose torques have no signs, from files to results."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from dynid.identification.prediction import validate_result

from dynid.estimation.factors.decimation import factorise_decimated
from dynid.experiment.reading import ExperimentError, read_experiment
from dynid.identification.pipeline import Identification, identify
from dynid.identification.result import load_result, save_result
from dynid.model.chunks import Chunk
from tests.identification.test_pipeline import EXPERIMENT, MODEL, log, run

ROOT = Path(__file__).parents[2]
needs_logs = pytest.mark.skipif(
    "DYNID_DATASETS" not in os.environ, reason="real logs are not part of the project; set DYNID_DATASETS"
)
UNSIGNED = EXPERIMENT.replace("terms =", 'torque = "magnitude"\nterms =')


@pytest.fixture
def write(tmp_path: Path):
    def written(columns: dict[str, np.ndarray], experiment: str = UNSIGNED) -> Path:
        pl.DataFrame(columns).write_csv(tmp_path / "log.csv")
        (tmp_path / "experiment.toml").write_text(experiment)
        return tmp_path / "experiment.toml"

    return written


def magnitudes(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.abs(values) if name.startswith("tau") else values for name, values in columns.items()}


def test_magnitudes_give_the_parameters_that_signed_torques_give(write) -> None:
    unsigned = identify(read_experiment(write(magnitudes(log()))))
    signed = identify(read_experiment(write(log(), EXPERIMENT)))
    assert unsigned.signs is not None
    assert unsigned.signs.agrees == (None,) * len(unsigned.signs.recovered.segments)
    gap = np.abs(unsigned.estimate.values - signed.estimate.values)
    assert (gap < 0.5 * signed.estimate.stds).all()


@pytest.mark.parametrize("method", ["ols", "wls"])
def test_every_estimator_takes_them_and_two_logs_are_told_together(write, tmp_path: Path, method: str) -> None:
    logs = UNSIGNED[UNSIGNED.index("[[log]]") : UNSIGNED.index("[processing]")]
    pl.DataFrame(magnitudes(log(seed=3))).write_csv(tmp_path / "new.csv")
    both = UNSIGNED.replace("[processing]", logs.replace("log.csv", "new.csv") + "[processing]")
    found = identify(read_experiment(write(magnitudes(log()), f'{both}\n[estimation]\nmethod = "{method}"\n')))
    assert found.signs is not None
    assert {segment.log for segment in found.signs.recovered.segments} == {0, 1}
    assert found.physical is not None
    assert found.estimate.relative_error < 0.02
    assert found.essential.relative_error < 0.05


def test_practice_says_how_many_signs_came_back(write, tmp_path: Path) -> None:
    experiment = write(log(), UNSIGNED.replace("terms =", "discard_sign = true\nterms ="))
    status, out, _ = run("identify", experiment, "--out", tmp_path / "result", "--json")
    assert status == 0
    data = json.loads(out)
    assert all(segment["agrees"] for segment in data["signs"] if segment["word"] == "sure")
    assert set(data["signs"][0]) == {"log", "joint", "start", "stop", "sign", "margin", "word", "agrees"}
    assert any(finding["subject"] == "signs" for finding in data["findings"])
    with np.load(tmp_path / "result" / "signs.npz") as curves:
        assert np.allclose(np.abs(curves["torque_1"]), curves["magnitude_1"], atol=0.2)
    status, out, _ = run("identify", experiment)
    assert "physics rejects the mirror image" in out.replace("\n", " ")
    assert run("validate", tmp_path / "result", experiment)[0] == 0


def test_torques_that_have_signs_are_a_finding(write) -> None:
    found = identify(read_experiment(write(log())))
    assert sum("have signs already" in finding.text for finding in found.findings) == 2


def test_a_constant_column_is_named(write) -> None:
    columns = magnitudes(log())
    columns["tau_2"] = np.full_like(columns["tau_2"], 2.5)
    status, _, err = run("identify", write(columns))
    assert status == 2
    assert "its torque is 2.5 in all" in err


def test_a_motion_that_is_too_short_says_so(write) -> None:
    status, _, err = run("identify", write({name: values[:14] for name, values in magnitudes(log()).items()}))
    assert status == 2
    assert "the signs of torques cannot be told" in err


def test_validation_needs_signs(write, tmp_path: Path) -> None:
    experiment = write(magnitudes(log()))
    assert run("identify", experiment, "--out", tmp_path / "result")[0] == 0
    status, _, err = run("validate", tmp_path / "result", experiment)
    assert status == 2
    assert "without signs" in err


def test_discarding_signs_needs_magnitudes(write) -> None:
    with pytest.raises(ExperimentError, match="discard_sign"):
        read_experiment(write(log(), EXPERIMENT.replace("terms =", "discard_sign = true\nterms =")))
    with pytest.raises(ExperimentError, match="needs every sample"):
        read_experiment(write(magnitudes(log()), UNSIGNED + '[estimation]\nestimator = "momentum"\n'))


def test_decimation_leaves_out_rows_around_samples_that_are_not_kept() -> None:
    rng = np.random.default_rng(0)
    q, v, a, torque = (rng.normal(size=(1000, 2)) for _ in range(4))
    keep = np.ones((1000, 2), dtype=bool)
    whole = factorise_decimated(MODEL, [Chunk(q, v, a, torque, keep)], [10])
    keep[300:400, 1] = False
    part = factorise_decimated(MODEL, [Chunk(q, v, a, torque, keep)], [10])
    assert [factor.rows for factor in whole.joints.values()] == [100, 100]
    assert [factor.rows for factor in part.joints.values()] == [100, 89]


@pytest.fixture(scope="module", params=["panda", "tx40"])
def both(request: pytest.FixtureRequest) -> tuple[str, Identification, Identification]:
    name = request.param
    unsigned, signed = (identify(read_experiment(ROOT / f"examples/{name}{end}.toml")) for end in ("_unsigned", ""))
    return name, unsigned, signed


@needs_logs
def test_signs_of_real_logs_come_back(both, tmp_path: Path) -> None:
    name, unsigned, signed = both
    assert unsigned.signs is not None
    recovered = unsigned.signs.recovered
    words = [segment.word.value for segment in recovered.segments]
    assert all(right for right, word in zip(unsigned.signs.agrees, words, strict=True) if word == "sure")
    assert words.count("sure") >= 0.85 * len(words)
    assert recovered.mirror.margin > 50.0
    assert recovered.proven
    save_result(unsigned, ROOT / f"examples/{name}_unsigned.toml", tmp_path / "result")
    predicted = validate_result(load_result(tmp_path / "result"), [ROOT / f"examples/{name}.toml"])
    assert predicted["relative_error"] <= 1.02 * signed.estimate.relative_error
    # Coefficients beside the signed ones, in deviations of the latter.
    gap = np.abs(unsigned.estimate.values - signed.estimate.values) / signed.estimate.stds
    assert np.median(gap) < 1.0
