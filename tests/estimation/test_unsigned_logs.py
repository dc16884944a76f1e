"""Torques that were logged without signs, from files and arrays to results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dynid import Finding, Result, identify, load_result
from dynid.errors import DynidError, InvalidRequestError
from dynid.experiment.reading import ExperimentError, read_experiment
from dynid.model.chunks import Chunk
from tests.datasets import example, needs_logs
from tests.decimated_logs import factorise_decimated
from tests.practice_logs import EXPERIMENT, LOGS, MODEL, PROCESSING, in_memory, log, magnitudes

UNSIGNED = EXPERIMENT.replace("terms =", 'torque = "magnitude"\nterms =')


def identified(columns: dict[str, np.ndarray], **settings: object) -> Result:
    """What is identified from torques without signs."""
    found: dict = {"torque": "magnitude", "processing": PROCESSING} | settings
    return identify(MODEL.robot, in_memory(columns), MODEL.terms, **found)


def of_code(result: Result, code: str) -> list[Finding]:
    return [finding for finding in result.findings if finding.code == code]


def test_magnitudes_give_the_parameters_that_signed_torques_give(write) -> None:
    unsigned = identify(write(magnitudes(log()), UNSIGNED))
    signed = identify(write())
    assert unsigned.record.signs
    assert all(segment.agrees is None for segment in unsigned.record.signs)
    assert signed.record.signs == ()
    gap = np.abs(unsigned.parameters.values - signed.parameters.values)
    assert (gap < 0.5 * signed.parameters.stds).all()


@pytest.mark.parametrize("method", ["ols", "wls"])
def test_every_estimator_takes_them_and_the_signs_of_two_logs_are_found_together(
    write, tmp_path: Path, method: str
) -> None:
    pl.DataFrame(magnitudes(log(seed=3))).write_csv(tmp_path / "new.csv")
    both = UNSIGNED.replace("[processing]", LOGS.replace("log.csv", "new.csv") + "[processing]")
    found = identify(write(magnitudes(log()), f'{both}\n[estimation]\nmethod = "{method}"\n'))
    assert {segment.log for segment in found.record.signs} == {1, 2}
    assert found.physical is not None
    assert found.relative_error < 0.02
    assert found.record.essential_relative_error < 0.05


def test_practice_says_how_many_signs_came_back(tmp_path: Path) -> None:
    found = identified(log(), discard_sign=True)
    assert all(segment.agrees for segment in found.record.signs if segment.word == "sure")
    (finding,) = of_code(found, "signs-agree")
    assert finding.values["sure_right"] == finding.values["sure"] > 0
    assert finding.values["segments"] == len(found.record.signs)
    assert found.record.sign_recovery is not None
    assert found.record.sign_recovery.proven
    found.save(tmp_path / "result")
    loaded = load_result(tmp_path / "result")
    assert loaded.record.signs == found.record.signs
    curves = loaded.sign_curves
    assert curves is not None
    assert np.allclose(np.abs(curves["torque_1"]), curves["magnitude_1"], atol=0.2)
    assert loaded.validate(in_memory(log(seed=5))).relative_error < 0.02


def test_torques_that_have_signs_are_a_finding() -> None:
    found = of_code(identified(log()), "torque-has-signs")
    assert [finding.subject for finding in found] == ["joint 'joint_1'", "joint 'joint_2'"]
    assert all(0.0 < finding.values["share"] < 1.0 for finding in found)


def test_a_constant_column_is_named() -> None:
    columns = magnitudes(log())
    columns["tau_2"] = np.full_like(columns["tau_2"], 2.5)
    found = identified(columns).findings
    assert Finding.of("torque-constant", "joint 'joint_2'", torque=2.5, samples=len(columns["t"])) in found


def test_a_motion_that_is_too_short_says_so() -> None:
    with pytest.raises(DynidError, match="signs of torques"):
        identified({name: values[:14] for name, values in magnitudes(log()).items()})


def test_held_out_magnitudes_take_the_signs_that_are_predicted(write) -> None:
    experiment = write(magnitudes(log()), UNSIGNED)
    result = identify(experiment)
    found = result.validate(experiment)
    note = next(finding for finding in found.findings if finding.code == "signs-by-prediction")
    assert 0.0 <= note.values["share"] < 0.5
    # All signs of this log are found, so that errors are those of the fit itself.
    assert found.relative_error == pytest.approx(result.record.relative_error, rel=0.2)
    wrong = magnitudes(log()) | {"tau_1": 2.0 * magnitudes(log())["tau_1"]}
    assert result.validate(write(wrong, UNSIGNED)).joints[0].rmse > 10.0 * found.joints[0].rmse


def test_discarding_signs_needs_magnitudes(write) -> None:
    with pytest.raises(ExperimentError, match="discard_sign"):
        read_experiment(write(log(), EXPERIMENT.replace("terms =", "discard_sign = true\nterms =")))
    with pytest.raises(ExperimentError, match="needs every sample"):
        read_experiment(write(magnitudes(log()), UNSIGNED + '[estimation]\nestimator = "momentum"\n'))


@pytest.mark.parametrize(
    "settings",
    [
        {"processing": {"period": 2.0}},
        {"processing": {"outliers": "repair"}},
        {"processing": {"idle": "cut"}},
        {"drive": {"signs": "auto"}},
    ],
    ids=["period", "outliers", "idle", "drive signs"],
)
def test_what_needs_signs_is_refused_without_them(settings: dict) -> None:
    with pytest.raises(InvalidRequestError, match="without signs"):
        identified(magnitudes(log()), **settings)


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
def both(request: pytest.FixtureRequest) -> tuple[str, Result, Result]:
    name = request.param
    return name, identify(example(f"{name}_unsigned")), identify(example(name))


@needs_logs
def test_signs_of_real_logs_come_back(both, tmp_path: Path) -> None:
    name, unsigned, signed = both
    signs, recovery = unsigned.record.signs, unsigned.record.sign_recovery
    assert all(segment.agrees for segment in signs if segment.word == "sure")
    assert sum(segment.word == "sure" for segment in signs) >= 0.85 * len(signs)
    assert recovery.mirror_margin > 50.0
    assert recovery.proven
    unsigned.save(tmp_path / "result")
    predicted = load_result(tmp_path / "result").validate(example(name))
    assert predicted.relative_error <= 1.02 * signed.relative_error
    # Coefficients beside the signed ones, in standard deviations of the latter.
    gap = np.abs(unsigned.parameters.values - signed.parameters.values) / signed.parameters.stds
    assert np.median(gap) < 1.0
