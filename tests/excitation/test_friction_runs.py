"""Friction runs: constant speeds, both ways, within limits, and worth what they promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dynid
from dynid import BaseParameters, DynidError
from dynid.arrays import Array
from dynid.cli import app
from dynid.cli.excite import show_excitation
from dynid.excitation.design import Design
from dynid.excitation.exciting_motion import Excitation
from dynid.excitation.friction_runs import FrictionStudy, Run, design_friction_runs, study_friction_runs
from dynid.excitation.recipe import excite
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.stated_problem import problem_of
from dynid.model import DynamicModel

LIMITS: dict[str, Any] = {
    "velocity": 2.0,
    "acceleration": 6.0,
    "position": (-2.0, 2.0),
    "noise": 0.5,
    "starts": 1,
    "effort": 500.0,
}
LIMITS |= {"collisions": False}
MOTION: dict[str, Any] = {"harmonics": 3, "period": 4.0, "rate": 100.0}


def study(found: Excitation) -> FrictionStudy:
    assert isinstance(found.study, FrictionStudy)
    return found.study


@pytest.fixture(scope="module")
def found() -> Excitation:
    return excite("builtin:two_link", ["viscous", "coulomb"], friction_runs=True, speeds=4, **LIMITS, **MOTION)


def runs_of(**changes: Any) -> tuple[Design, tuple[Run, ...], Array]:
    """Friction runs of the two-link arm, without a comparison."""
    stated = {key: value for key, value in (LIMITS | MOTION | changes).items() if key != "starts"}
    settings = ExcitationSettings(friction_runs=True, **stated)
    problem, _ = problem_of(DynamicModel("builtin:two_link", ["viscous"]), settings)
    return design_friction_runs(problem, settings)


def speeds_are_constant(design: Design, runs: tuple[Run, ...], posture: Array) -> None:
    """A joint has its speed in every run, both ways, while the others stand still; limits are kept."""
    assert design.keeps_limits
    names = design.problem.bounds.names
    for run in runs:
        k = names.index(run.joint)
        assert len(run.begins) == (0 if run.dropped else 2)
        for begin, sign in zip(run.begins, (1.0, -1.0), strict=False):
            q, v, a = design.trajectory.states(np.linspace(begin + 1e-9, begin + run.seconds - 1e-9, 20))
            assert np.allclose(v[:, k], sign * run.speed)
            assert np.allclose(a, 0.0)
            assert not np.delete(v, k, axis=1).any()
            assert np.allclose(np.delete(q, k, axis=1), np.delete(posture, k))


def test_speeds_are_constant_both_ways_and_limits_are_kept(found: Excitation) -> None:
    speeds_are_constant(found.designs[0], study(found).runs, study(found).posture)
    assert not found.broken
    assert [run.speed for run in study(found).runs[:4]] == pytest.approx(np.geomspace(0.06, 2.0, 4))
    assert all(run.seconds > 1.5 for run in study(found).runs)
    ends = found.states(np.array([0.0, found.duration]))
    assert np.allclose(ends[0], study(found).posture)
    assert np.allclose(ends[1], 0.0)
    head, *rows = study(found).texts()["friction_runs.csv"].splitlines()
    assert head == "joint,direction,speed,t_begin,t_end"
    assert len(rows) == 16


def test_ramps_keep_jerk_limits() -> None:
    design, runs, posture = runs_of(speeds=(0.2, 1.0), jerk=40.0)
    speeds_are_constant(design, runs, posture)
    assert any(check.name.startswith("jerk") for check in design.checks)
    assert [run.speed for run in runs] == pytest.approx([0.4, 2.0, 0.4, 2.0])


def test_speeds_that_the_range_cannot_reach_are_left_out(found: Excitation) -> None:
    design, runs, posture = runs_of(speeds=3, position={"joint_1": (-2.0, 2.0), "joint_2": (-0.1, 0.1)})
    speeds_are_constant(design, runs, posture)
    assert [(run.joint, run.dropped) for run in runs if run.dropped] == [("joint_2", "range")]
    measured = found.designs[0].problem.information
    _, findings = study_friction_runs(runs, posture, found.designs[0], found.designs[0], measured)
    assert [finding.code for finding in findings] == ["speeds-left-out"]
    with pytest.raises(DynidError, match="room for a friction run"):
        runs_of(position=(-1e-3, 1e-3))


def test_ramps_are_gentler_where_torques_are_scarce() -> None:
    """Joint 1 needs about 11 N m to stand still, and full acceleration more than it has."""
    design, runs, posture = runs_of(speeds=2, acceleration=60.0, effort=20.0)
    speeds_are_constant(design, runs, posture)
    assert not any(run.dropped for run in runs)
    steepest = max(check.used for check in design.checks if check.name == "acceleration of joint_1")
    assert steepest < 1.0


def test_only_moving_joints_run_and_the_others_stand_where_stated() -> None:
    design, runs, posture = runs_of(speeds=2, moving=("joint_2",), start={"joint_1": 0.4})
    assert {run.joint for run in runs} == {"joint_2"}
    assert posture[0] == pytest.approx(0.4)
    speeds_are_constant(design, runs, posture)


def test_gains_are_those_of_least_squares(found: Excitation) -> None:
    """Spreads of 400 least-squares estimates from torques with noise are those that are promised."""
    base = found.designs[0].problem.information.base
    motion = excite("builtin:two_link", ["viscous", "coulomb"], **LIMITS, **MOTION)
    W = {key: _rows(base, one) for key, one in (("motion", motion), ("runs", found))}
    W["both"] = np.concatenate([W["motion"], W["runs"]])
    rng = np.random.default_rng(0)
    for key, rows in W.items():
        errors = np.linalg.lstsq(rows, 0.5 * rng.normal(size=(len(rows), 400)), rcond=None)[0]
        spread = dict(zip(base.names, errors.std(axis=1), strict=True))
        for gain in study(found).gains:
            assert getattr(gain, key) == pytest.approx(spread[gain.name], rel=0.15), (key, gain.name)
    for gain in study(found).gains:
        assert gain.both < min(gain.motion, gain.runs)
        assert gain.motion_as_long == pytest.approx(gain.motion * (4.0 / found.duration) ** 0.5, rel=1e-6)


def _rows(base: BaseParameters, motion: Excitation) -> Array:
    W = base.regressor(motion.q, motion.v, motion.a)
    return W.reshape(-1, W.shape[-1])


def test_a_simulated_robot_follows_the_runs_and_its_friction_is_found(found: Excitation) -> None:
    true = {"fv1": 1.0, "fv2": 0.5, "fs1": 0.8, "fs2": 0.4}
    log = dynid.simulate(found.robot, found, terms=["viscous", "coulomb"], parameters=true, noise=0.5, log_rate=100.0)
    rows = dynid.identify(found.robot, [log], terms=["viscous", "coulomb"]).parameters.to_frame().to_dicts()
    values = {row["name"]: row["value"] for row in rows}
    for gain in study(found).gains:
        assert abs(values[gain.name] - true[gain.name]) < 5.0 * gain.runs


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["excite", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_the_command_writes_runs_and_says_what_they_gain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "runs"
    options = ("--velocity", 2, "--acceleration", 6, "--position=-2:2", "--rate", 20, "--starts", 1)
    options = (*options, "--period", 3, "--harmonics", 2, "--terms", "viscous,coulomb")
    status, text, _ = run("builtin:two_link", "--friction-runs", *options, "--out", out, "--json")
    assert status == 0
    data = json.loads(text)
    assert {"friction_runs.csv", "trajectory.csv", "excitation.json"} <= {path.name for path in out.iterdir()}
    assert {row["name"] for row in data["friction_runs"]["parameters"]} == {"fv1", "fv2", "fs1", "fs2"}
    assert {"motion", "motion_as_long", "runs", "both"} <= set(data["friction_runs"]["parameters"][0])
    assert data["friction_runs"]["seconds"] == pytest.approx(data["duration"])
    show_excitation(data, None)
    shown = capsys.readouterr().out
    assert "both ways" in shown
    assert "motion 3 s" in shown
    assert "friction-assumed" not in {finding["code"] for finding in data["findings"]}
    status, _, err = run("builtin:two_link", "--friction-runs", "--segments", 2)
    assert status == 2
    assert "friction runs are one motion" in err
