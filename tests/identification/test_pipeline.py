"""From files to parameters, and proofs on other files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.cli import app
from dynid.experiment.reading import read_experiment
from dynid.identification.pipeline import identify
from dynid.identification.result import ResultError, load_result
from dynid.model.terms import Coulomb, Viscous

RATE = 200.0
MODEL = DynamicModel(load_robot("builtin:two_link"), [Viscous(), Coulomb()])
BASE = find_base_parameters(MODEL)
TRUTH = dict(zip(BASE.names, BASE.to_base(MODEL.reference), strict=True))
ROOT = Path(__file__).parents[2]

EXPERIMENT = """
robot = "builtin:two_link"
terms = ["viscous", "coulomb"]

[[log]]
position = { file = "log.csv", columns = "q_*" }
torque = { file = "log.csv", columns = "tau_*" }
time = { file = "log.csv", columns = "t" }

[processing]
trim = 5
velocity_threshold = 0.05
"""


LOGS = EXPERIMENT[EXPERIMENT.index("[[log]]") : EXPERIMENT.index("[processing]")]


def log(seed: int = 0, seconds: float = 20.0, noise: float = 0.01) -> dict[str, np.ndarray]:
    """A log of the two-link arm along a sum of sines, with exact states and noise on torques."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / RATE)
    w = 2 * np.pi * np.array([0.31, 0.57, 0.83])
    sizes, phases = rng.uniform(0.2, 0.8, (2, 3)), rng.uniform(0, 6, (2, 3))
    angle = np.multiply.outer(t, w)[:, None] + phases
    q, v, a = (sizes * np.sin(angle)).sum(2), (sizes * w * np.cos(angle)).sum(2), -(sizes * w**2 * np.sin(angle)).sum(2)
    torque = MODEL.inverse_dynamics(q, v, a) + noise * rng.normal(size=q.shape)
    return {"t": t} | {f"q_{k + 1}": q[:, k] for k in range(2)} | {f"tau_{k + 1}": torque[:, k] for k in range(2)}


@pytest.fixture
def write(tmp_path: Path):
    def written(columns: dict[str, Any] | None = None, experiment: str = EXPERIMENT, name: str = "log.csv") -> Path:
        frame = pl.DataFrame(log() if columns is None else columns)
        frame.write_parquet(tmp_path / name) if name.endswith(".parquet") else frame.write_csv(tmp_path / name)
        path = tmp_path / "experiment.toml"
        path.write_text(experiment.replace("log.csv", name))
        (tmp_path / "ball.toml").write_text(
            'name = "b"\nconvention = "frames"\njoint = [{ name = "a", type = "spherical" }]'
        )
        return path

    return written


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_parameters_come_back_from_files(write, name: str) -> None:
    found = identify(read_experiment(write(name=name)))
    lower, upper = found.estimate.interval(0.9999)
    for k, parameter in enumerate(found.estimate.names):
        slack = 0.01 * abs(TRUTH[parameter]) + 1e-4  # derivatives by differences
        assert lower[k] - slack <= TRUTH[parameter] <= upper[k] + slack, parameter


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
    found = identify(read_experiment(write(columns, text)))
    plain = identify(read_experiment(write()))
    assert np.allclose(found.estimate.values, plain.estimate.values, rtol=1e-9)


def test_a_result_is_saved_whole_loads_equal_and_predicts_unseen_logs(write, tmp_path: Path) -> None:
    experiment = write()
    folder = tmp_path / "result"
    status, out, _ = run("identify", experiment, "--out", folder)
    assert status == 0
    assert "10 base parameters" in out
    assert f"dynid validate {folder}" in out.replace("\n", "")
    loaded = load_result(folder)
    found = identify(read_experiment(experiment))
    assert loaded.values == pytest.approx(
        dict(zip(found.estimate.names, found.estimate.values, strict=True)), rel=1e-12
    )
    assert [log.rows for log in loaded.logs] == [log.rows for log in found.logs]
    pl.DataFrame(log(seed=7)).write_csv(tmp_path / "other.csv")
    status, out, _ = run("validate", folder, tmp_path / "other.csv", "--json")
    assert status == 0
    data = json.loads(out)
    assert data["relative_error"] < 0.02
    assert all(joint["r2"] > 0.99 for joint in data["joints"])
    status, out, _ = run("validate", folder, experiment)
    assert status == 0
    assert "Relative error on" in out


def test_a_log_is_added_to_a_result_without_reading_the_old_ones(write, tmp_path: Path) -> None:
    experiment = write()
    assert run("identify", experiment, "--out", tmp_path / "first")[0] == 0
    pl.DataFrame(log(seed=3)).write_csv(tmp_path / "new.csv")
    (tmp_path / "new.toml").write_text(EXPERIMENT.replace("log.csv", "new.csv"))
    (tmp_path / "log.csv").unlink()
    status, out, _ = run("identify", tmp_path / "new.toml", "--add-to", tmp_path / "first", "--json")
    assert status == 0
    write()
    logs = EXPERIMENT[EXPERIMENT.index("[[log]]") : EXPERIMENT.index("[processing]")]
    (tmp_path / "both.toml").write_text(
        EXPERIMENT.replace("[processing]", logs.replace("log.csv", "new.csv") + "[processing]")
    )
    both = json.loads(run("identify", tmp_path / "both.toml", "--json")[1])
    added = json.loads(out)
    assert added["logs"] == both["logs"] == 2
    for one, two in zip(added["parameters"], both["parameters"], strict=True):
        assert one["value"] == pytest.approx(two["value"], rel=1e-9, abs=1e-12)
        assert one["std"] == pytest.approx(two["std"], rel=1e-9)


def test_a_prior_holds_what_the_data_do_not_tell(write) -> None:
    noisy = log(seconds=1.0, noise=1.0)
    free = identify(read_experiment(write(noisy)))
    held = identify(read_experiment(write(noisy, EXPERIMENT + "[estimation]\nprior = 0.05\n")))
    truth = np.array([TRUTH[name] for name in free.estimate.names])
    assert (held.estimate.stds < free.estimate.stds).all()
    assert (held.estimate.stds <= 0.05 * np.abs(truth) * 1.001).all()
    assert np.abs(held.estimate.values / truth - 1).max() < 0.2


def test_results_take_no_logs_of_other_models_nor_the_same_twice(write, tmp_path: Path) -> None:
    experiment = write()
    folder = tmp_path / "first"
    assert run("identify", experiment, "--out", folder)[0] == 0
    assert "count twice" in run("identify", experiment, "--add-to", folder)[2]
    other = tmp_path / "other.toml"
    for change in ('terms = ["viscous"]', 'terms = ["viscous", "coulomb"]\ngravity = [0, 0, 9.81]'):
        other.write_text(EXPERIMENT.replace('terms = ["viscous", "coulomb"]', change))
        for command in (("identify", other, "--add-to", folder), ("validate", folder, other)):
            status, _, err = run(*command)
            assert status == 2
            assert "another model" in err


@pytest.mark.parametrize(
    "damage", ["[]", '{"schema": "dynid-result-1"}', '{"schema": "dynid-result-1", "logs": 1, "parameters": []}', "{"]
)
def test_damaged_results_are_refused(write, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "result"
    assert run("identify", write(), "--out", folder)[0] == 0
    (folder / "result.json").write_text(damage)
    with pytest.raises(ResultError):
        load_result(folder)


def test_logged_velocities_are_used(write) -> None:
    columns = log()
    for k in (1, 2):
        columns[f"v_{k}"] = np.degrees(np.gradient(columns[f"q_{k}"], 1 / RATE))
    text = EXPERIMENT.replace("time =", 'velocity = { file = "log.csv", columns = "v_*", unit = "deg/s" }\ntime =')
    found = identify(read_experiment(write(columns, text)))
    plain = identify(read_experiment(write(columns)))
    assert np.allclose(found.estimate.values, plain.estimate.values, rtol=1e-6, atol=1e-9)
    columns["v_1"] *= 2.0
    assert not np.allclose(
        identify(read_experiment(write(columns, text))).estimate.values, plain.estimate.values, rtol=0.05
    )


def test_json_has_what_the_documentation_promises(write) -> None:
    status, out, _ = run("identify", write(), "--json")
    assert status == 0
    data = json.loads(out)
    promised = {
        "parameters",
        "essential",
        "condition_number",
        "relative_error",
        "joints",
        "samples",
        "seconds",
        "findings",
    }
    assert promised <= set(data)
    assert {"name", "expression", "value", "std", "relative_std_percent"} <= set(data["parameters"][0])
    assert {"name", "rmse", "relative_error"} <= set(data["joints"][0])


def test_folders_with_something_else_are_left_alone(write, tmp_path: Path) -> None:
    experiment = write()
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    status, _, err = run("identify", experiment, "--out", folder, "--force")
    assert status == 2
    assert "something else" in err
    assert [entry.name for entry in folder.iterdir()] == ["thesis.tex"]
    done = tmp_path / "done"
    assert run("identify", experiment, "--out", done)[0] == 0
    assert "add --force" in run("identify", experiment, "--out", done)[2]
    assert run("identify", experiment, "--out", done, "--force")[0] == 0
    assert not [entry for entry in tmp_path.iterdir() if entry.name.startswith(".")]
    with pytest.raises(ResultError, match="holds no result"):
        load_result(folder)


def test_a_run_that_fails_halfway_leaves_nothing(write, tmp_path: Path, monkeypatch) -> None:
    from dynid.estimation.factors.factors import Factors

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Factors, "save", fail)
    result = CliRunner().invoke(app, ["identify", str(write()), "--out", str(tmp_path / "result")])
    assert result.exit_code != 0
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["ball.toml", "experiment.toml", "log.csv"]


def spoiled(**changes: Any) -> dict[str, Any]:
    columns: dict[str, Any] = log()
    for name, change in changes.items():
        columns[name] = change(columns[name].copy())
    return columns


def with_value(index: int, value: float):
    def change(x: np.ndarray) -> np.ndarray:
        x[index] = value
        return x

    return change


ERRORS = {
    "missing column": ({k: v for k, v in log().items() if k != "q_2"}, EXPERIMENT, "2 columns of torque"),
    "nan": (spoiled(q_1=with_value(100, np.nan)), EXPERIMENT, "q_1"),
    "infinite": (spoiled(tau_2=with_value(100, np.inf)), EXPERIMENT, "tau_2"),
    "time backwards": (spoiled(t=with_value(100, 0.1)), EXPERIMENT, "time goes backwards"),
    "repeated time": (spoiled(t=with_value(100, 99 / RATE)), EXPERIMENT, "repeats the time"),
    "other robot": (log(), EXPERIMENT.replace("two_link", "ur5"), "2 columns of positions, and 'ur5' has 6 joints"),
    "shorter than the filter": (log(seconds=0.05), EXPERIMENT + "lowpass = 5.0\n", "needs at least"),
    "jitter": (spoiled(t=lambda t: t + 0.001 * (np.arange(len(t)) % 3)), EXPERIMENT, "set processing.resample"),
    "no motion": (spoiled(q_1=lambda x: 0 * x, q_2=lambda x: 0 * x), EXPERIMENT, "rows"),
    "milliseconds": (spoiled(t=lambda t: 1000 * t), EXPERIMENT, "time is in ms"),
    "amperes without constants": (log(), EXPERIMENT.replace('"tau_*" }', '"tau_*", unit = "A" }'), "torque_constants"),
    "signs of too many joints": (log(), EXPERIMENT + "[drive]\nsigns = [1, 1, 1]\n", "drive.signs has 3 numbers"),
    "ratios without motors": (log(), EXPERIMENT + "[drive]\nratios = [10, 10]\n", "no effect"),
    "thresholds of too few joints": (
        log(),
        EXPERIMENT.replace("velocity_threshold = 0.05", "velocity_threshold = [0.05]"),
        "velocity_threshold has 1 numbers",
    ),
    "rate above the log's": (log(), EXPERIMENT + "rate = 5000\n", "does not divide"),
    "no columns": (log(), EXPERIMENT.replace('"q_*"', "[]"), "columns"),
    "gravity of two numbers": (log(), "gravity = [0, 1]\n" + EXPERIMENT, "'gravity' needs 3 numbers"),
    "long delay": (log(), EXPERIMENT + "[drive]\ndelay = 100.0\n", "needs at least"),
    "spherical joints": (log(), EXPERIMENT.replace("builtin:two_link", "ball.toml"), "cannot be read yet"),
    "the same log twice": (log(), EXPERIMENT + LOGS, "twice"),
    "unknown key": (log(), EXPERIMENT + "lowpas = 5\n", "did you mean 'lowpass'"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_logs_that_cannot_be_used_end_with_status_2_and_one_sentence(case: str, write) -> None:
    columns, experiment, message = ERRORS[case]
    status, out, err = run("identify", write(columns, experiment))
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1


FINDINGS = {
    "constant torque": (spoiled(tau_2=lambda x: 0 * x + 3.0), "joint 'joint_2'", "is 3 in all"),
    "saturated torque": (spoiled(tau_1=lambda x: np.clip(x, -4.0, 4.0)), "joint 'joint_1'", "saturated?"),
    "flipped sign": (spoiled(tau_2=lambda x: -x), "joint 'joint_2'", "sign of its torque flipped?"),
    "swapped torques": (log() | {"tau_1": log()["tau_2"], "tau_2": log()["tau_1"]}, "fit", "check columns"),
    "degrees": (spoiled(q_1=np.degrees, q_2=np.degrees), "positions", "as positions in degrees do"),
}


@pytest.mark.parametrize("case", FINDINGS)
def test_suspicious_logs_give_findings_that_name_the_joint(case: str, write) -> None:
    columns, subject, words = FINDINGS[case]
    status, out, _ = run("identify", write(columns), "--json")
    assert status == 0
    assert any(subject in f["subject"] and words in f["text"] for f in json.loads(out)["findings"])


def test_positions_beyond_limits_are_a_finding(write) -> None:
    columns = {"t": log()["t"]}
    for k in range(1, 8):
        columns |= {f"q_{k}": log(k)["q_1"], f"tau_{k}": log(k)["tau_1"]}
    text = EXPERIMENT.replace("two_link", "panda")
    status, out, _ = run("identify", write(columns, text), "--json")
    assert status == 0
    found = [f for f in json.loads(out)["findings"] if "beyond its limits" in f["text"]]
    assert "joint 'joint_4'" in [f["subject"] for f in found]  # it bends one way only


def test_poor_excitation_names_what_cannot_be_told_apart(write) -> None:
    columns = log(noise=1e-6)
    columns["q_2"] = 0.3 + 1e-4 * columns["q_2"]
    text = EXPERIMENT.replace("velocity_threshold = 0.05\n", "")
    status, out, err = run("identify", write(columns, text), "--json")
    assert status == 0, err
    texts = [f["text"] for f in json.loads(out)["findings"] if f["subject"] == "excitation"]
    assert texts
    assert "2" in texts[0].split("hardly tells")[1]


def test_too_few_rows_and_badly_known_parameters_are_findings(write) -> None:
    status, out, _ = run("identify", write(log(seconds=0.3, noise=1.0)), "--json")
    assert status == 0
    texts = [f["text"] for f in json.loads(out)["findings"]]
    assert any("fewer than 10 each" in text for text in texts)
    assert any("relative deviation over 10 %" in text for text in texts)


needs_logs = pytest.mark.skipif(
    "DYNID_DATASETS" not in os.environ, reason="DYNID_DATASETS does not name the folder of logs"
)


@needs_logs
@pytest.mark.parametrize(("name", "count", "error"), [("tx40", 61, 0.0515), ("panda", 64, 0.016)])
def test_the_examples_give_the_published_errors(name: str, count: int, error: float) -> None:
    found = identify(read_experiment(ROOT / "examples" / f"{name}.toml"))
    assert len(found.estimate.names) == count
    assert found.estimate.relative_error <= error


@needs_logs
def test_panda_trained_on_the_first_part_predicts_the_rest(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "panda.toml").read_text()
    stamps = np.loadtxt(Path(os.environ["DYNID_DATASETS"]) / "panda" / "time.txt")
    middle = stamps[0] + 0.7 * (stamps[-1] - stamps[0])
    for name, first, last in (("first", stamps[0], middle), ("rest", middle, stamps[-1])):
        cut = text.replace("[processing]", f"seconds = [{first}, {last}]\n\n[processing]")
        (tmp_path / f"{name}.toml").write_text(cut)
    assert run("identify", tmp_path / "first.toml", "--out", tmp_path / "result")[0] == 0
    status, out, _ = run("validate", tmp_path / "result", tmp_path / "rest.toml", "--json")
    assert status == 0
    assert json.loads(out)["relative_error"] <= 0.020
