"""Estimators by name on a simulated TX40 whose controller reacts to the noise of its encoders, and their comparison."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynid
from dynid import DynidError, Log, Result
from dynid.findings import has
from dynid.identification.estimator_comparison import ComparedEstimator, Comparison, recommended
from tests.commands import run
from tests.noisy_loops import CONTROL_RATE, NOISES, tx40_loop

FILTERED: dict[str, Any] = {"lowpass": 50.0, "trim": 20, "decimate": [2], "velocity_threshold": 0.1}
KNOWN_LAW = {"law": "sampled", "rate": CONTROL_RATE}
HIGH = NOISES[2]


@cache
def noisy_log() -> Log:
    return tx40_loop().log(HIGH, 0)


@cache
def identified(estimator: str, start: str = "file") -> Result:
    """The TX40 from a file that is up to 15 % off."""
    robot, terms = tx40_loop().guess(0)
    estimation = {"estimator": estimator, "bootstrap": False} | ({} if estimator == "torque" else {"start": start})
    stated: dict[str, Any] = {"processing": FILTERED, "physical": {"fit": False}, "control": KNOWN_LAW}
    return dynid.identify(robot, noisy_log(), terms, estimation=estimation, **stated)


def error(result: Result) -> float:
    found = np.array([row.value for row in result.record.parameters])
    true = result.base.to_base(tx40_loop().parameters)
    return float(np.linalg.norm(found - true) / np.linalg.norm(true))


@pytest.mark.parametrize("estimator", ["iv", "didim", "ml"])
def test_noise_in_the_feedback_biases_least_squares_and_not_these(estimator: str) -> None:
    assert error(identified("torque")) > 0.03
    result = identified(estimator)
    assert error(result) < 0.008
    loop = result.record.loop
    assert loop is not None
    assert loop.iterations <= 10
    assert result.record.estimator == estimator


def test_the_consistency_test_finds_the_bias() -> None:
    loop = identified("iv").record.loop
    assert loop is not None
    assert loop.consistency is not None
    assert loop.consistency.p_value < 1e-6
    assert (loop.law, loop.followed, loop.instruments) == ("stated", "commands", "loop")
    assert has(identified("iv").findings, "least-squares-biased")


def test_total_least_squares_warn() -> None:
    assert has(identified("tls").findings, "total-least-squares")


def test_results_are_saved_with_their_rows(tmp_path: Path) -> None:
    result = identified("iv")
    result.save(tmp_path / "result")
    again = dynid.load_result(tmp_path / "result")
    assert again.record.loop == result.record.loop
    assert again.parameters == result.parameters
    np.testing.assert_allclose(again.rows[0].joints["all joints"].R, result.rows[0].joints["all joints"].R)


def test_without_a_law_or_a_reference_the_loop_is_assumed_and_said() -> None:
    log, (robot, terms) = noisy_log(), tx40_loop().guess(0)
    unknown = replace(log, kp=None, kd=None)
    bare = replace(unknown, position_command=None, velocity_command=None, torque_command=None)
    stated: dict[str, Any] = {"processing": FILTERED, "physical": {"fit": False}}
    iv = {"estimator": "iv", "bootstrap": False}
    found = dynid.identify(robot, unknown, terms, estimation=iv, **stated)
    assert has(found.findings, "loop-assumed")
    assert error(found) < 0.02  # what the controller lets pass of the motion is not in the instruments
    along = dynid.identify(robot, unknown, terms, estimation={**iv, "instruments": "reference"}, **stated)
    assert error(along) < 0.02
    kp, kd = (tuple(np.asarray(gains)[0].tolist()) for gains in (log.kp, log.kd))
    law = {**KNOWN_LAW, "kp": kp, "kd": kd}
    known = dynid.identify(robot, unknown, terms, estimation=iv, control=law, **stated)
    assert known.record.loop is not None
    assert known.record.loop.law == "stated"
    assert error(known) < 0.008
    measured = dynid.identify(robot, bare, terms, estimation=iv, **stated)
    assert has(measured.findings, "loop-follows-measured")
    with pytest.raises(DynidError, match="position_command"):
        dynid.identify(robot, bare, terms, estimation={**iv, "instruments": "reference"}, **stated)
    with pytest.raises(DynidError, match="kp"):
        dynid.identify(robot, bare, terms, estimation={"estimator": "cloe"}, **stated)


def test_a_second_run_gives_instruments() -> None:
    robot, terms = tx40_loop().guess(0)
    logs = [noisy_log(), tx40_loop().log(HIGH, 1)]
    settings: dict[str, Any] = {"estimator": "iv", "instruments": "repeat", "bootstrap": False}
    stated: dict[str, Any] = {"processing": FILTERED, "physical": {"fit": False}}
    found = dynid.identify(robot, logs, terms, estimation=settings, **stated)
    assert error(found) < 0.01
    with pytest.raises(DynidError, match="second run"):
        dynid.identify(robot, logs[0], terms, estimation=settings, **stated)
    other = replace(logs[1], position=logs[1].position[::-1].copy())
    with pytest.raises(DynidError, match="one motion"):
        dynid.identify(robot, [logs[0], other], terms, estimation=settings, **stated)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"terms": "auto"}, "auto"),
        ({"estimation": {"estimator": "iv", "robust": "huber"}}, "least squares"),
        ({"estimation": {"estimator": "didim", "instruments": "loop"}}, "iv"),
        ({"processing": {**FILTERED, "period": 5.0}}, "period"),
        ({"drive": {"torque_constants": "unknown"}}, "torque constants"),
        ({"drive": {"offsets": [0.1] * 6}}, "offsets"),
        ({"workers": 2}, "one process"),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, Any], words: str) -> None:
    robot, terms = tx40_loop().guess(0)
    stated: dict[str, Any] = {"terms": terms, "estimation": {"estimator": "iv"}, "processing": FILTERED, **changes}
    with pytest.raises(DynidError, match=words):
        dynid.identify(robot, noisy_log(), stated.pop("terms"), **stated)


def test_the_simplest_is_recommended_where_it_is_as_good() -> None:
    plain = ComparedEstimator("wls", 0.02, 0.0101, seconds=1.0)
    iv = ComparedEstimator("iv", 0.02, 0.01, seconds=2.0, iterations=3, p_value=1e-5)
    assert recommended([plain, iv])[0] == "wls"
    best, reason = recommended([replace(plain, simulated_error=0.03), iv])
    assert best == "iv"
    assert "biased" in reason
    assert recommended([replace(plain, simulated_error=0.03), replace(iv, settled=False)])[0] == "wls"
    assert recommended([ComparedEstimator("ml", problem="no")])[0] is None
    shown = Comparison("arm", "another log", "simulated", (plain, iv), "wls", "as good")
    assert "1.01 %" in str(shown)
    assert "<td>iv</td>" in shown._repr_html_()


def test_the_command_compares_and_goes_on_where_one_cannot_be_used(tmp_path: Path) -> None:
    robot = dynid.load_robot("builtin:two_link")
    t = np.arange(0.0, 8.0, 0.005)
    q = np.stack([0.6 * np.sin(1.3 * t) + 0.3 * np.sin(3 * t), 0.7 * np.cos(1.9 * t)], axis=1)
    v = np.gradient(q, t, axis=0)
    tau = dynid.DynamicModel(robot).inverse_dynamics(q, v, np.gradient(v, t, axis=0))
    tau = tau + 0.05 * np.random.default_rng(0).normal(size=tau.shape)
    header = "t,q_1,q_2,tau_1,tau_2"
    np.savetxt(tmp_path / "a.csv", np.column_stack([t, q, tau]), delimiter=",", header=header, comments="")
    (tmp_path / "e.toml").write_text(
        'robot = "builtin:two_link"\n[[log]]\nposition = { file = "a.csv", columns = "q_*" }\n'
        'torque = { file = "a.csv", columns = "tau_*" }\ntime = { file = "a.csv", columns = "t" }\n'
    )
    status, output, _ = run("compare", tmp_path / "e.toml", "--estimators", "wls,iv,cloe,ml", "--json")
    found = json.loads(output)
    assert status == 0
    assert [one["name"] for one in found["estimators"]] == ["wls", "iv", "cloe", "ml"]
    assert found["recommendation"] == "wls"
    problems = {one["name"]: one["problem"] for one in found["estimators"]}
    assert not problems["wls"]
    assert "kp" in problems["cloe"]
    assert "does not repeat" in problems["ml"]
    page = tmp_path / "page.html"
    status, output, _ = run("compare", tmp_path / "e.toml", "--estimators", "wls,cloe", "--report", page)
    assert status == 0
    assert max(map(len, output.splitlines())) <= 80
    assert "Recommended: wls" in output
    assert "estimator-errors" in page.read_text()
    assert run("compare", tmp_path / "e.toml", "--estimators", "wls", "--report", page)[0] == 2  # it exists
    status, _, errors = run("compare", tmp_path / "e.toml", "--estimators", "best")
    assert status == 2
    assert "estimator" in errors
