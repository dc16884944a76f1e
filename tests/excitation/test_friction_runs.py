"""Friction runs: constant speeds, both ways, within limits, and worth what they promise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dynid
from dynid import BaseParameters, DynidError
from dynid.arrays import Array
from dynid.cli import app
from dynid.excitation.exciting_motion import Excitation
from dynid.excitation.friction_runs import FrictionStudy
from dynid.excitation.recipe import excite

LIMITS = {"velocity": 2.0, "acceleration": 6.0, "position": (-2.0, 2.0), "noise": 0.5, "starts": 1, "effort": 500.0}
LIMITS |= {"collisions": False}
MOTION = {"harmonics": 3, "period": 4.0, "rate": 100.0}


def study(found: Excitation) -> FrictionStudy:
    assert isinstance(found.study, FrictionStudy)
    return found.study


@pytest.fixture(scope="module")
def found() -> Excitation:
    return excite("builtin:two_link", ["viscous", "coulomb"], friction_runs=True, speeds=4, **LIMITS, **MOTION)


def speeds_are_constant(found: Excitation) -> None:
    """A joint has its speed in every run, both ways, while the others stand still where they should."""
    names = [joint.name for joint in found.robot.independent_joints]
    for run in study(found).runs:
        k = names.index(run.joint)
        assert len(run.begins) == (0 if run.dropped else 2)
        for begin, sign in zip(run.begins, (1.0, -1.0), strict=False):
            q, v, a = found.states(np.linspace(begin + 1e-9, begin + run.seconds - 1e-9, 20))
            assert np.allclose(v[:, k], sign * run.speed)
            assert np.allclose(a, 0.0)
            assert not np.delete(v, k, axis=1).any()
            assert np.allclose(np.delete(q, k, axis=1), np.delete(study(found).posture, k))


def test_speeds_are_constant_both_ways_and_limits_are_kept(found: Excitation) -> None:
    speeds_are_constant(found)
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
    smooth = excite("builtin:two_link", friction_runs=True, speeds=(0.2, 1.0), jerk=40.0, **LIMITS, **MOTION)
    speeds_are_constant(smooth)
    assert any(check.name.startswith("jerk") for check in smooth.designs[0].checks)
    assert not smooth.broken
    assert {finding.code for finding in smooth.findings} >= {"friction-assumed"}


def test_speeds_that_the_range_cannot_reach_are_left_out() -> None:
    short = LIMITS | {"position": {"joint_1": (-2.0, 2.0), "joint_2": (-0.1, 0.1)}}
    few = excite("builtin:two_link", ["viscous"], friction_runs=True, speeds=3, **short, **MOTION)
    speeds_are_constant(few)
    left_out = [(run.joint, run.dropped) for run in study(few).runs if run.dropped]
    assert left_out == [("joint_2", "range")]
    assert "speeds-left-out" in {finding.code for finding in few.findings}
    with pytest.raises(DynidError, match="room for a friction run"):
        excite("builtin:two_link", friction_runs=True, **(LIMITS | {"position": (-1e-3, 1e-3)}), **MOTION)


def test_ramps_are_gentler_where_torques_are_scarce() -> None:
    """Joint 1 needs about 11 N m to stand still, and full acceleration more than it has."""
    limits = LIMITS | {"acceleration": 60.0, "effort": 20.0}
    weak = excite("builtin:two_link", ["viscous"], friction_runs=True, speeds=2, **limits, **MOTION)
    speeds_are_constant(weak)
    assert not weak.broken
    steepest = max(check.used for check in weak.designs[0].checks if check.name == "acceleration of joint_1")
    assert steepest < 1.0


def test_only_moving_joints_run_and_the_others_stand_where_stated() -> None:
    start = {"joint_1": 0.4}
    one = excite("builtin:two_link", friction_runs=True, moving=("joint_2",), start=start, speeds=2, **LIMITS, **MOTION)
    assert {run.joint for run in study(one).runs} == {"joint_2"}
    assert study(one).posture[0] == pytest.approx(0.4)
    speeds_are_constant(one)


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


def test_the_command_writes_runs_and_says_what_they_gain(tmp_path: Path) -> None:
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
    _, shown, _ = run("builtin:two_link", "--friction-runs", *options)
    assert "both ways" in shown
    assert max(map(len, shown.splitlines())) <= 80
    status, _, err = run("builtin:two_link", "--friction-runs", "--segments", 2)
    assert status == 2
    assert "friction runs are one motion" in err
