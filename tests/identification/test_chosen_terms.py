"""`terms = "auto"` from the experiment file to the saved result."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dynid
from dynid import Log
from tests.commands import run
from tests.datasets import needs_logs
from tests.friction_logs import ROBOT, friction_log, identified

FILE = """
robot = "builtin:two_link"
terms = "auto"
[[log]]
position = { file = "log.csv", columns = ["q1", "q2"] }
velocity = { file = "log.csv", columns = ["v1", "v2"] }
torque = { file = "log.csv", columns = ["tau1", "tau2"] }
time = { file = "log.csv", columns = "t" }
[processing]
automatic = false
[estimation]
bootstrap = false
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    write(friction_log(["viscous", "coulomb", "offset"]), tmp_path / "log.csv")
    path = tmp_path / "arm.toml"
    path.write_text(FILE)
    return path


def write(log: Log, path: Path) -> None:
    assert log.velocity is not None
    columns = {"t": log.time}
    for name, values in (("q", log.position), ("v", log.velocity), ("tau", log.torque)):
        columns |= {f"{name}{k + 1}": values[:, k] for k in range(2)}
    pl.DataFrame(columns).write_csv(path)


def test_a_result_keeps_the_terms_that_were_chosen(experiment: Path, tmp_path: Path) -> None:
    result = dynid.identify(experiment)
    choice = result.record.term_choice
    assert choice is not None
    assert result.term_names == ["viscous", "coulomb", "offset"] == list(choice.terms)
    assert {"fv1", "fs2", "off1"} <= set(result.parameters.names)
    assert sum(trial.chosen for trial in choice.tried) == 1
    assert any(finding.code.startswith("terms-chosen") for finding in result.findings)
    result.save(tmp_path / "result")
    again = dynid.load_result(tmp_path / "result")
    assert again.record == result.record
    assert again.term_names == result.term_names
    q = np.array([[0.1, 0.2]])
    assert np.allclose(again.predict(q, q, q), result.predict(q, q, q))
    assert again.validate(experiment).relative_error == pytest.approx(result.relative_error, rel=1e-6)
    result.report(tmp_path / "report.html")
    assert "Choice of terms" in (tmp_path / "report.html").read_text()


def test_logs_are_added_with_the_terms_of_the_earlier_result(experiment: Path, tmp_path: Path) -> None:
    first = dynid.identify(experiment)
    write(friction_log(["viscous", "coulomb", "offset"], seed=1), tmp_path / "other.csv")
    other = tmp_path / "other.toml"
    other.write_text(FILE.replace("log.csv", "other.csv"))
    both = dynid.identify(other, add_to=first)
    assert both.parameters.names == first.parameters.names
    assert both.record.logs == 2
    both.save(tmp_path / "both")
    assert dynid.load_result(tmp_path / "both").term_names == first.term_names


def test_the_choice_is_printed_in_80_columns(experiment: Path) -> None:
    status, output, _ = run("identify", experiment, "--full")
    assert (status, "terms tried" in output) == (0, True)
    assert max(map(len, output.splitlines())) <= 80


def test_without_logs_the_usual_terms_are_taken(tmp_path: Path) -> None:
    inspection = dynid.inspect(ROBOT, "auto")
    assert [finding.code for finding in inspection.findings if finding.subject == "terms"] == ["terms-default"]
    assert {"fv1", "fs1", "off1"} <= set(inspection.model.names)
    path = tmp_path / "arm.toml"
    path.write_text('robot = "builtin:two_link"\nterms = "auto"\n[excitation]\nvelocity = 2.0\nperiod = 5.0\n')
    motion = dynid.excite(path, starts=1, time_limit=5, position=(-2.0, 2.0), acceleration=6.0, effort=500.0)
    assert "terms-default" in [finding.code for finding in motion.findings]
    assert len(dynid.simulate(path, motion, seed=1)) > 100


def test_a_joint_that_never_moves_does_not_stop_the_others() -> None:
    """Friction of a joint at rest is left out with a finding; without it, the rest is identifiable."""
    log = friction_log(["viscous", "coulomb"])
    q, v = log.position.copy(), np.asarray(log.velocity).copy()
    q[:, 1], v[:, 1] = 0.3, 0.0
    model = dynid.DynamicModel(ROBOT, ["viscous:1"])
    p = np.concatenate([ROBOT.parameters, [0.5]])
    resting = Log(log.time, q, model.inverse_dynamics(q, v, np.gradient(v, log.time, axis=0), p), v)
    known = {name: value for name, value in zip(model.names[:-1], p, strict=False) if name != "Iyy1"}
    result = identified(resting, ["viscous", "coulomb"], known=known)
    assert result.record.terms == ("viscous:1", "coulomb:1")
    assert result.values["fv1"] == pytest.approx(0.5, rel=1e-6)
    assert sum(finding.code == "term-left-out-at-rest" for finding in result.findings) == 2


def test_an_undetermined_stribeck_velocity_does_not_stop_the_run() -> None:
    """Joint 2 has one speed, forwards and backwards: Stribeck friction is Coulomb friction there."""
    log = friction_log(["viscous", "coulomb"])
    q, v = log.position.copy(), np.asarray(log.velocity).copy()
    v[:, 1] = np.where(log.time % 2.0 < 1.0, 1.0, -1.0)
    q[:, 1] = np.abs((log.time + 1.0) % 2.0 - 1.0)
    model = dynid.DynamicModel(ROBOT, ["viscous:1", "stribeck"]).at_nonlinear({"vs1": 0.1, "vs2": 0.1})
    a = np.gradient(v, log.time, axis=0)
    a[:, 1] = 0.0
    p = np.concatenate([ROBOT.parameters, [0.5, 1.0, 0.8, 1.0, 0.8]])
    rng = np.random.default_rng(0)
    torque = model.inverse_dynamics(q, v, a, p) + 0.01 * rng.normal(size=q.shape)
    result = identified(Log(log.time, q, torque, v), ["viscous:1", "stribeck"])
    assert result.record.terms == ("viscous:1", "stribeck:1", "coulomb:2")
    assert result.values["fs2"] == pytest.approx(1.0, rel=0.1)
    assert [f.subject for f in result.findings if f.code == "term-left-out-undetermined"] == ["joint 'joint_2'"]


@needs_logs
def test_the_terms_chosen_for_a_real_arm_predict_another_motion() -> None:
    """UR10e, trained on motion_30s: 4.3 % with viscous, coulomb and offset; 142 kg without motor inertia."""
    folder = Path(os.environ["DYNID_DATASETS"]) / "ur10e"
    rows = {"motion_30s": slice(634, 3510), "point_to_point": slice(699, 4200)}
    data = {name: np.loadtxt(folder / f"{name}.csv", delimiter=",")[own] for name, own in rows.items()}
    logs = [Log(time=x[:, 0], position=x[:, 1:7], torque=x[:, 13:19]) for x in data.values()]
    robot = dynid.load_robot(folder / "ur10e.urdf")
    drive = {"torque_constants": [14.87, 13.26, 11.13, 10.62, 11.03, 11.47]}
    result = dynid.identify(robot, logs[0], "auto", drive=drive, physical={"fit": False})
    kinds = {term.partition(":")[0] for term in result.term_names}
    assert {"viscous", "armature", "stribeck", "load_coulomb"} <= kinds
    assert result.validate(logs[1]).relative_error < 0.035
