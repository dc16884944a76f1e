"""From files to parameters: what comes back, what is refused, and what is noticed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dynid import DynamicModel, identify, load_robot
from dynid.errors import InvalidRequestError
from dynid.identification.answers import Answer
from dynid.identification.result import Result, ResultError
from tests.commands import run
from tests.datasets import example, needs_logs
from tests.practice_logs import EXPERIMENT, LOGS, MODEL, PROCESSING, RATE, TRUTH, in_memory, log, spoiled, with_value


def assert_true(found: Result) -> None:
    """The truth is within intervals, but for what derivatives by differences cost."""
    for row in found.parameters:
        slack = 0.01 * abs(TRUTH[row.name]) + 1e-4
        assert row.lower - slack <= TRUTH[row.name] <= row.upper + slack, row.name


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_parameters_come_back_from_files(write, name: str) -> None:
    assert_true(identify(write(name=name, experiment=EXPERIMENT + "[estimation]\nconfidence = 0.9999\n")))


def test_the_path_of_an_experiment_may_be_a_string(write) -> None:
    path = write()
    assert identify(str(path)).values == identify(path).values


def test_degrees_motor_sides_and_currents_are_data(write) -> None:
    columns = log()
    for k, (ratio, constant) in enumerate([(100.0, 0.1), (-50.0, 0.2)], start=1):
        columns[f"q_{k}"] = np.degrees(columns[f"q_{k}"]) * ratio
        columns[f"tau_{k}"] = columns[f"tau_{k}"] / ratio / constant
    drive = """
[drive]
ratios = [100, -50]
torque_constants = [0.1, 0.2]
positions = "motor"
torques = "motor"
"""
    text = EXPERIMENT.replace('"q_*" }', '"q_*", unit = "deg" }').replace('"tau_*" }', '"tau_*", unit = "A" }') + drive
    found = identify(write(columns, text))
    plain = identify(write())
    assert np.allclose(found.parameters.values, plain.parameters.values, rtol=1e-9)


def test_a_log_is_added_to_a_result_without_reading_the_old_ones(write, tmp_path: Path) -> None:
    identify(write()).save(tmp_path / "first")
    pl.DataFrame(log(seed=3)).write_csv(tmp_path / "new.csv")
    (tmp_path / "new.toml").write_text(EXPERIMENT.replace("log.csv", "new.csv"))
    (tmp_path / "log.csv").unlink()
    added = identify(tmp_path / "new.toml", add_to=tmp_path / "first")
    write()
    (tmp_path / "both.toml").write_text(
        EXPERIMENT.replace("[processing]", LOGS.replace("log.csv", "new.csv") + "[processing]")
    )
    both = identify(tmp_path / "both.toml")
    assert added.record.logs == both.record.logs == 2
    assert added.parameters.names == both.parameters.names
    assert np.allclose(added.parameters.values, both.parameters.values, rtol=1e-9, atol=1e-12)
    assert np.allclose(added.parameters.stds, both.parameters.stds, rtol=1e-9, atol=0.0)


def test_a_prior_holds_what_the_data_do_not_determine(write) -> None:
    noisy = log(seconds=1.0, noise=1.0)
    free = identify(write(noisy)).parameters
    held = identify(write(noisy, EXPERIMENT + "[estimation]\nprior = 0.05\n")).parameters
    truth = np.array([TRUTH[name] for name in free.names])
    assert (held.stds < free.stds).all()
    assert (held.stds <= 0.05 * np.abs(truth) * 1.001).all()
    assert np.abs(held.values / truth - 1).max() < 0.2


def test_results_take_no_logs_of_other_models_nor_the_same_twice(write, tmp_path: Path) -> None:
    experiment = write()
    first = identify(experiment)
    with pytest.raises(ResultError, match="count twice"):
        identify(experiment, add_to=first)
    other = tmp_path / "other.toml"
    for change, key in (
        ('terms = ["viscous"]', "terms"),
        ('terms = ["viscous", "coulomb"]\ngravity = [0, 0, 9.81]', "gravity"),
        ('terms = ["viscous", "coulomb"]\nknown = { fv1 = 0.5 }', "known"),
    ):
        other.write_text(EXPERIMENT.replace('terms = ["viscous", "coulomb"]', change))
        with pytest.raises(ResultError, match=f"another model than the result that it adds to: '{key}' differs"):
            identify(other, add_to=first)


def test_nothing_is_stated_beside_an_experiment_file_and_a_robot_needs_logs(write) -> None:
    path = write()
    with pytest.raises(InvalidRequestError, match="states its terms itself"):
        identify(path, terms=["viscous"])
    with pytest.raises(InvalidRequestError, match="states its estimation itself"):
        identify(path, estimation={"robust": "huber"})
    with pytest.raises(InvalidRequestError, match=r"an experiment file .* was expected"):
        identify("builtin:two_link")
    with pytest.raises(InvalidRequestError, match="there are no logs"):
        identify("builtin:two_link", [])
    with pytest.raises(InvalidRequestError, match="Coulomb, Stribeck have the parameter 'fs1'; keep one of them"):
        DynamicModel(load_robot("builtin:two_link"), ["coulomb", "stribeck"])


def test_logged_velocities_are_used(write) -> None:
    columns = log()
    for k in (1, 2):
        columns[f"v_{k}"] = np.degrees(np.gradient(columns[f"q_{k}"], 1 / RATE))
    text = EXPERIMENT.replace("time =", 'velocity = { file = "log.csv", columns = "v_*", unit = "deg/s" }\ntime =')
    found = identify(write(columns, text))
    plain = identify(write(columns))
    assert np.allclose(found.parameters.values, plain.parameters.values, rtol=1e-6, atol=1e-9)
    columns["v_1"] *= 2.0
    assert not np.allclose(identify(write(columns, text)).parameters.values, plain.parameters.values, rtol=0.05)


def test_json_has_what_the_documentation_promises(write) -> None:
    data = json.loads(json.dumps(identify(write(log(seconds=2.0, noise=1.0))).to_dict(), allow_nan=False))
    promised = {
        "parameters",
        "essential",
        "condition_number",
        "relative_error",
        "joints",
        "physical",
        "samples",
        "seconds",
        "findings",
    }
    assert promised <= set(data)
    assert {"name", "expression", "value", "std", "relative_std_percent"} <= set(data["parameters"][0])
    assert {"name", "rmse", "relative_error"} <= set(data["joints"][0])
    assert {"code", "severity", "subject", "text", "values"} <= set(data["findings"][0])


def test_a_run_that_fails_halfway_leaves_nothing(write, tmp_path: Path, monkeypatch) -> None:
    from dynid.estimation.factors.factors import Factors

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    found = identify(write())
    monkeypatch.setattr(Factors, "save", fail)
    with pytest.raises(KeyboardInterrupt):
        found.save(tmp_path / "result")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["experiment.toml", "log.csv"]


BALL = 'name = "b"\nconvention = "frames"\njoint = [{ name = "a", type = "spherical" }]'

ERRORS = {
    "missing column": ({k: v for k, v in log().items() if k != "q_2"}, EXPERIMENT, "2 columns of torque"),
    "nan": (spoiled(q_1=lambda q: np.nan * q), EXPERIMENT, "q_1"),
    "infinite": (spoiled(tau_2=lambda tau: np.inf + tau), EXPERIMENT, "tau_2"),
    "time backwards": (spoiled(t=with_value(100, 0.1)), EXPERIMENT, "time goes backwards"),
    "time stands still": (spoiled(t=lambda t: np.minimum(t, t[200])), EXPERIMENT, "repeats the time"),
    "other robot": (log(), EXPERIMENT.replace("two_link", "ur5"), "2 columns of positions, and 'ur5' has 6 joints"),
    "shorter than the filter": (log(seconds=0.05), EXPERIMENT + "lowpass = 5.0\n", "needs at least"),
    "jitter": (spoiled(t=lambda t: t + 0.001 * (np.arange(len(t)) % 3)), EXPERIMENT, "set processing.resample"),
    "no motion": (spoiled(q_1=lambda x: 0 * x, q_2=lambda x: 0 * x), EXPERIMENT, "rows"),
    "milliseconds": (spoiled(t=lambda t: 1000 * t), EXPERIMENT, "if time is in ms"),
    "amperes without constants": (log(), EXPERIMENT.replace('"tau_*" }', '"tau_*", unit = "A" }'), "torque_constants"),
    "signs of too many joints": (log(), EXPERIMENT + "[drive]\nsigns = [1, 1, 1]\n", "drive.signs has 3 numbers"),
    "ratios without motors": (log(), EXPERIMENT + "[drive]\nratios = [10, 10]\n", "no effect"),
    "thresholds of too few joints": (
        log(),
        EXPERIMENT.replace("velocity_threshold = 0.05", "velocity_threshold = [0.05]"),
        "velocity_threshold has 1 numbers",
    ),
    "thresholds of too many joints": (
        log(),
        EXPERIMENT.replace("velocity_threshold = 0.05", "velocity_threshold = [0.05, 0.05, 0.05]"),
        "velocity_threshold has 3 numbers",
    ),
    "rate above the log's": (log(), EXPERIMENT + "rate = 5000\n", "does not divide"),
    "no columns": (log(), EXPERIMENT.replace('"q_*"', "[]"), "columns"),
    "gravity of two numbers": (log(), "gravity = [0, 1]\n" + EXPERIMENT, "'gravity' needs 3 numbers"),
    "long delay": (log(), EXPERIMENT + "[drive]\ndelay = 100.0\n", "needs at least"),
    "spherical joints": (
        log(),
        EXPERIMENT.replace("builtin:two_link", "ball.toml"),
        "a quaternion x, y, z, w",
    ),
    "the same log twice": (log(), EXPERIMENT + LOGS, "twice"),
    "unknown key": (log(), EXPERIMENT + "lowpas = 5\n", "did you mean 'lowpass'"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_logs_that_cannot_be_used_end_with_status_2_and_one_sentence(case: str, write, tmp_path: Path) -> None:
    columns, experiment, message = ERRORS[case]
    (tmp_path / "ball.toml").write_text(BALL)
    status, out, err = run("identify", write(columns, experiment))
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1


FINDINGS = {
    "constant torque": (spoiled(tau_2=lambda x: 0 * x + 3.0), "joint 'joint_2'", "torque-constant", {"torque": 3.0}),
    "saturated torque": (
        spoiled(tau_1=lambda x: np.clip(x, -4.0, 4.0)),
        "joint 'joint_1'",
        "torque-saturated",
        {"torque": 4.0},
    ),
    "flipped sign": (spoiled(tau_2=lambda x: -x), "joint 'joint_2'", "torque-sign-flipped", {}),
    "swapped torques": (log() | {"tau_1": log()["tau_2"], "tau_2": log()["tau_1"]}, "joint", "torques-swapped", {}),
    "degrees": (spoiled(q_1=np.degrees, q_2=np.degrees), "positions", "positions-in-degrees", {}),
}


@pytest.mark.parametrize("case", FINDINGS)
def test_suspicious_logs_give_findings_that_name_the_joint(case: str, write) -> None:
    columns, subject, code, values = FINDINGS[case]
    found = identify(write(columns)).findings
    of_code = [finding for finding in found if finding.code == code and subject in finding.subject]
    assert of_code
    assert {key: abs(of_code[0].values[key]) for key in values} == pytest.approx(values)


def test_torques_in_coarse_steps_are_not_saturated() -> None:
    """Many samples share every value then, the largest, too."""
    columns = log()
    step = 0.1 * np.ptp(columns["tau_1"])
    columns["tau_1"] = step * np.round(columns["tau_1"] / step)
    found = identify(MODEL.robot, in_memory(columns), MODEL.terms, processing=PROCESSING)
    assert "torque-saturated" not in {finding.code for finding in found.findings}


def test_friction_that_drifts_on_all_joints_is_a_doubt() -> None:
    """As of a robot that warms up: the torque of friction falls by half over the log."""
    columns = log(seconds=60.0)
    for k in (1, 2):
        direction = np.sign(np.gradient(columns[f"q_{k}"], columns["t"]))
        columns[f"tau_{k}"] = columns[f"tau_{k}"] + direction * (0.4 - 0.8 * columns["t"] / 60.0)
    found = identify(MODEL.robot, in_memory(columns), MODEL.terms, processing=PROCESSING)
    assert found.verdict.answer is Answer.CARE
    assert "drift-on-most-joints" in found.verdict.causes
    assert found.validate(in_memory(log(seed=7))).verdict.answer is Answer.CARE


def test_positions_beyond_limits_are_a_finding(write) -> None:
    columns = {"t": log()["t"]}
    for k in range(1, 8):
        columns |= {f"q_{k}": log(k)["q_1"], f"tau_{k}": log(k)["tau_1"]}
    found = identify(write(columns, EXPERIMENT.replace("two_link", "panda"))).findings
    beyond = {finding.subject: finding.values for finding in found if finding.code == "positions-beyond-limits"}
    values = beyond["joint 'joint_4'"]  # it bends one way only
    assert values["largest"] > values["upper"]


def test_poor_excitation_names_what_is_not_distinguished(write) -> None:
    columns = log(noise=1e-6)
    columns["q_2"] = 0.3 + 1e-4 * columns["q_2"]
    found = identify(write(columns, EXPERIMENT.replace("velocity_threshold = 0.05\n", ""))).findings
    (finding,) = [finding for finding in found if finding.code == "excitation-poor"]
    assert any(name.endswith("2") for name in finding.values["parameters"])
    assert finding.values["condition_number"] > 1e4


def test_too_few_rows_and_poorly_determined_parameters_are_findings(write) -> None:
    found = {finding.code: finding.values for finding in identify(write(log(seconds=0.3, noise=1.0))).findings}
    assert found["rows-too-few"]["rows"] < 10 * found["rows-too-few"]["parameters"]
    assert all(share > 0.1 for share in found["parameters-poorly-determined"]["parameters"].values())


@needs_logs
@pytest.mark.parametrize(("name", "count", "error"), [("tx40", 61, 0.0515), ("panda", 64, 0.016)])
def test_the_examples_give_the_published_errors(name: str, count: int, error: float) -> None:
    found = identify(example(name))
    assert len(found.parameters) == count
    assert found.relative_error <= error


@needs_logs
def test_panda_trained_on_the_first_part_predicts_the_rest(tmp_path: Path) -> None:
    text = example("panda").read_text()
    stamps = np.loadtxt(Path(os.environ["DYNID_DATASETS"]) / "panda" / "time.txt")
    middle = stamps[0] + 0.7 * (stamps[-1] - stamps[0])
    for name, first, last in (("first", stamps[0], middle), ("rest", middle, stamps[-1])):
        cut = text.replace("[processing]", f"seconds = [{first}, {last}]\n\n[processing]")
        (tmp_path / f"{name}.toml").write_text(cut)
    assert identify(tmp_path / "first.toml").validate(tmp_path / "rest.toml").relative_error <= 0.020
