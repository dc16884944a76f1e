"""Static postures: chosen well, within limits, visited on short ways, and worth what they promise."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from typer.testing import CliRunner

import dynid
from dynid import DynidError, load_robot
from dynid.arrays import Array, Indices
from dynid.cli import app
from dynid.estimation.factors.accumulation import factorise
from dynid.excitation.criteria import parse_criterion
from dynid.excitation.exciting_motion import Excitation
from dynid.excitation.gravity_fit import fit_gravity
from dynid.excitation.limits.limit import Check, Limit
from dynid.excitation.motion import Motion
from dynid.excitation.posture_study import PostureStudy
from dynid.excitation.posture_tour import round_trip
from dynid.excitation.postures import random_postures
from dynid.excitation.recipe import excite
from dynid.excitation.trajectories.itinerary import Itinerary, Rest
from dynid.excitation.trajectories.moves import MovesSmoothly
from dynid.excitation.trajectory_files import read_trajectory
from dynid.excitation.ways import (
    are_clear,
    hub_of,
    paths_between,
    paths_through,
    standing_slacks,
    straight_way,
    with_whole_room,
)
from dynid.model import Chunk, DynamicModel, Observed, find_base_parameters
from dynid.robot.pinocchio import to_pinocchio

LIMITS: dict[str, Any] = {"velocity": 2.0, "acceleration": 6.0, "position": (-2.0, 2.0), "noise": 1.0, "starts": 1}
LIMITS |= {"collisions": False}

LIFT = """<robot name="lift"><link name="base"/>
<link name="carriage"><inertial><mass value="4"/><origin xyz="0.1 0 0"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1"
iyz="0" izz="0.1"/></inertial></link>
<link name="arm"><inertial><mass value="2"/><origin xyz="0.2 0 0.05"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1"
iyz="0" izz="0.1"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="base"/><child link="carriage"/><axis xyz="0 0 1"/>
<limit lower="0" upper="0.5" velocity="0.3" effort="200"/></joint>
<joint name="turn" type="revolute"><parent link="carriage"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-1.5" upper="1.5" velocity="1.5" effort="20"/></joint></robot>"""


def study(found: Excitation) -> PostureStudy:
    assert isinstance(found.study, PostureStudy)
    return found.study


@pytest.fixture(scope="module")
def lwr4() -> Excitation:
    return excite("builtin:lwr4", postures=20, starts=1, noise=1.0, collisions=False)


def independent_matrix(positions: Array) -> Array:
    """Information of torques at rest, by Pinocchio's regressor; of dynid only the selection of columns is used."""
    robot = load_robot("builtin:lwr4")
    model = to_pinocchio(robot)
    data = model.createData()
    none = np.zeros(robot.nv)
    columns = list(find_base_parameters(DynamicModel(robot, observed=Observed.GRAVITY)).columns)
    W = np.concatenate([pin.computeJointTorqueRegressor(model, data, q, none, none) for q in positions])[:, columns]
    return W.T @ W


def test_variances_are_below_those_of_random_postures(lwr4: Excitation) -> None:
    """The worst combination, in units of what random postures give, has less than half the variance.

    No twenty postures halve the variances of all parameters: the bound below says so. What random postures neglect is
    certain combinations, and there the chosen ones gain most.
    """
    bounds = study(lwr4).choice.problem.bounds
    rng = np.random.default_rng(7)
    draws = rng.uniform(-1.0, 1.0, (50, 20, 7)) * bounds.room[0] + bounds.middle[0]
    random = [np.linalg.inv(independent_matrix(one)) for one in draws]
    usual = np.sqrt(np.median([np.diag(C) for C in random], axis=0))
    chosen = np.linalg.inv(independent_matrix(study(lwr4).positions))
    ratios = np.diag(chosen) / usual**2
    worst = np.linalg.eigvalsh(chosen / np.outer(usual, usual))[-1]
    worst_of_random = np.median([np.linalg.eigvalsh(C / np.outer(usual, usual))[-1] for C in random])
    assert worst <= 0.5 * worst_of_random
    assert ratios.mean() < 0.8
    data = lwr4.to_dict()["postures"]
    assert data["variance_relative_to_random"] == pytest.approx(ratios.mean(), rel=0.1)
    assert data["worst_relative_to_random"] == pytest.approx(worst / worst_of_random, rel=0.2)
    stds = [row["std"] for row in data["parameters"]]
    assert np.allclose(stds, np.sqrt(np.diag(chosen) / 125.0), rtol=1e-6)  # a second of each, at 125 Hz


def test_no_postures_are_much_better(lwr4: Excitation) -> None:
    """The sum of variances is convex in the information, so its slope bounds what any postures can reach.

    With A = sum of variances of M, any other M* has A* >= 2 A - N max over postures of tr(W M^-2 W^T).
    """
    problem = study(lwr4).choice.problem
    pool = random_postures(problem, 3000, np.random.default_rng(3))
    M = study(lwr4).choice.matrix
    none = np.zeros_like(pool)
    W = problem.information.regressor(pool, none, none) * problem.weight**0.5
    inverse = np.linalg.inv(M)
    steepest = np.einsum("rsp,pk,rsk->s", W, inverse @ inverse, W).max()
    total = np.trace(inverse)
    assert 2.0 * total - 20 * steepest > 0.85 * total


@pytest.mark.parametrize("criterion", ["trace", "determinant", "condition"])
def test_slopes_of_postures_are_differences(criterion: str, lwr4: Excitation) -> None:
    problem = replace(study(lwr4).choice.problem, criterion=parse_criterion(criterion)).smoothed(4.0)
    x = problem.grid.free.reduce(study(lwr4).choice.positions)
    rng = np.random.default_rng(0)
    x = x + 0.02 * rng.normal(size=len(x))
    _, slope = problem.at(x).objective()
    for direction in rng.normal(size=(5, len(x))):
        ahead, behind = (problem.at(x + h * direction).objective()[0] for h in (1e-5, -1e-5))
        assert (ahead - behind) / 2e-5 == pytest.approx(slope @ direction, rel=1e-5, abs=1e-7)


def test_the_way_round_is_short() -> None:
    """At most 5 % longer than the shortest of all orders, and mostly that."""
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(20):
        places = rng.uniform(size=(7, 2))
        times = np.linalg.norm(places[:, None] - places[None], axis=2)
        others = np.array([(0, *rest, 0) for rest in permutations(range(1, 7))])
        shortest = times[others[:, :-1], others[:, 1:]].sum(axis=1).min()
        order = round_trip(times)
        assert sorted(order.tolist()) == list(range(7))
        assert order[0] == 0
        ratios.append(times[order, np.roll(order, -1)].sum() / shortest)
    assert max(ratios) < 1.05
    assert np.mean(np.array(ratios) < 1.0 + 1e-9) > 0.8


def test_the_motion_rests_at_every_posture_and_keeps_limits(lwr4: Excitation) -> None:
    motion, holds = lwr4.trajectory, study(lwr4).tour.holds
    assert isinstance(motion, Itinerary)
    assert not lwr4.broken
    for position, (span,) in zip(study(lwr4).positions, holds, strict=True):
        q, v, a = motion.states(np.linspace(span[0] + 1e-9, span[1] - 1e-9, 5))
        assert np.allclose(q, position)
        assert not v.any()
        assert not a.any()
        assert span[1] - span[0] == pytest.approx(1.0)
    data = lwr4.to_dict()
    assert data["duration"] == pytest.approx(
        data["postures"]["seconds_resting"] + data["postures"]["seconds_travelling"]
    )
    assert all(row["std"] is not None for row in data["parameters"])  # the motions excite all others
    ends = motion.states(np.array([0.0, motion.duration]))[0]
    assert np.allclose(ends[0], ends[1])
    slow = motion.at_speed(0.5)
    assert slow.duration == pytest.approx(2 * motion.duration - motion.resting)
    times = np.linspace(0.0, slow.duration, 400)
    step = 1e-6
    ahead, behind = slow.states(times + step)[0], slow.states(times - step)[0]
    assert np.allclose((ahead - behind)[1:-1] / (2 * step), slow.states(times)[1][1:-1], atol=1e-4)


def test_from_both_sides_costs_time_and_is_within_limits() -> None:
    once, both = (
        excite("builtin:two_link", ["coulomb"], postures=5, hold=0.4, both_sides=sides, **LIMITS)
        for sides in (False, True)
    )
    assert {finding.code for finding in once.findings} >= {"static-friction"}
    assert "static-friction" not in {finding.code for finding in both.findings}
    assert not both.broken
    data = both.to_dict()["postures"]
    assert data["seconds_of_both_sides"] == pytest.approx(
        both.duration - data["seconds_travelling"] - 5 * 0.4, abs=1e-9
    )
    stds = [[row["std"] for row in one.to_dict()["postures"]["parameters"]] for one in (once, both)]
    assert np.allclose(stds[1], np.array(stds[0]) / 2**0.5, rtol=0.2)
    for position, holds in zip(study(both).positions, study(both).tour.holds, strict=True):
        for (begin, _), sign in zip(holds, (1.0, -1.0), strict=True):
            q, v, _ = both.states(np.array([begin - 0.02]))
            assert (sign * v > 0.0).all()
            assert (sign * (position - q) > 0.0).all()


@dataclass(frozen=True, eq=False)
class Wall(Limit):
    """A wall between the sides of joint 1 that only postures with a large second joint go around."""

    def slacks(self, motion: Motion) -> Array:
        q = motion.states[0]
        return np.maximum(np.abs(q[:, 0]) - 0.3, q[:, 1] - 1.0)

    def slopes(self, motion: Motion, which: Indices) -> Array:
        q = motion.states[0][which]
        by_first = np.abs(q[:, 0]) - 0.3 > q[:, 1] - 1.0
        over = np.stack([np.where(by_first, np.sign(q[:, 0]), 0.0), np.where(by_first, 0.0, 1.0)], axis=1)
        return motion.pull_back_rows(which, (over, np.zeros_like(over), np.zeros_like(over)))

    def checks(self, trajectory: MovesSmoothly, times: Array) -> list[Check]:
        q = trajectory.states(times)[0]
        slack = np.maximum(np.abs(q[:, 0]) - 0.3, q[:, 1] - 1.0)
        return [Check("wall", (0.0, 10.0), (float(slack.min()), float(slack.max())), "m", symmetric=False)]


def test_any_limit_of_the_problem_counts_for_postures_and_ways() -> None:
    found = excite("builtin:two_link", postures=4, **LIMITS)
    problem = with_whole_room(found.designs[0].problem, 0.0)
    problem = replace(problem, limits=(*problem.limits, Wall()))
    q = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5], [3.0, 0.0]])
    assert (standing_slacks(problem, q) > 0.0).tolist() == [False, True, True, False]
    begin, end = np.array([[-1.0, -1.0]]), np.array([[1.0, -1.0]])
    assert are_clear(problem, begin, end).tolist() == [False]
    kept, paths = paths_between(problem, np.concatenate([begin, end]), np.random.default_rng(0))
    assert kept.tolist() == [0, 1]
    path = paths[0][1]
    assert len(path) > 2
    assert np.array_equal(path[::-1], paths[1][0])
    assert are_clear(problem, path[:-1], path[1:]).all()
    for one, other in pairwise(path):
        way = straight_way(one, other, problem.bounds)
        assert all(check.is_kept for check in problem.checks(way, np.linspace(0.0, way.duration, 500)))
    blocked = replace(
        problem, bounds=replace(problem.bounds, half=np.minimum(problem.bounds.half, [[0.9], [9], [9], [9]]))
    )
    with pytest.raises(DynidError, match="no way within the limits"):
        paths_between(blocked, np.array([[-0.8, 0.0], [0.8, 0.0]]), np.random.default_rng(0))
    kept, paths = paths_between(blocked, np.array([[-0.8, 0.0], [0.8, 0.0], [0.7, 0.5]]), np.random.default_rng(0))
    assert kept.tolist() == [1, 2]
    assert np.allclose(paths[0][1], [[0.8, 0.0], [0.7, 0.5]])
    assert study(found).choice.only(np.array([0, 2])).positions.shape == (2, 2)
    hub, seen = hub_of(problem, np.array([[0.0, 1.5], [-1.0, 1.2], [1.0, 1.2], [1.0, -1.0]]))
    around = paths_through(problem, np.array([[-1.0, 1.2], [1.0, -1.0]]), np.array([0.9, 1.5]))
    assert len(seen) >= 3
    assert are_clear(problem, np.broadcast_to(hub, seen.shape), seen).all()
    assert np.allclose(around[0][1], np.array([[-1.0, 1.2], [0.9, 1.5], [1.0, -1.0]]))


def test_masses_of_sliding_joints_and_still_joints(tmp_path: Path) -> None:
    path = tmp_path / "lift.urdf"
    path.write_text(LIFT)
    found = excite(path, postures=4, starts=1, collisions=False)
    names = [row["name"] for row in found.to_dict()["postures"]["parameters"]]
    assert "m1" in names
    assert not found.broken
    held = excite(path, postures=4, starts=1, collisions=False, moving=("turn",), start={"slide": 0.2})
    assert np.allclose(study(held).positions[:, 0], 0.2)
    first = excite(path, postures=4, starts=1, collisions=False, start={"turn": 0.3})
    assert study(first).positions[0, 1] == pytest.approx(0.3)
    assert first.states(np.zeros(1))[0][0, 1] == pytest.approx(0.3)


def test_what_is_known_counts() -> None:
    """Standard deviations are those of least squares on the log's rows and those of the postures together."""
    robot = load_robot("builtin:two_link")
    rng = np.random.default_rng(0)
    q, v, a = (rng.normal(size=(200, 2)) for _ in range(3))
    model = DynamicModel(robot)
    log = factorise(model, [Chunk(q, v, a, model.inverse_dynamics(q, v, a))])
    found = excite(robot, postures=4, known=[log], **LIMITS)
    base = find_base_parameters(model)
    W = np.concatenate([base.regressor(q, v, a), 125.0**0.5 * base.regressor(study(found).positions)], axis=1)
    covariance = np.linalg.inv(np.einsum("rsp,rsk->pk", W, W))
    stds = dict(zip(base.names, np.sqrt(np.diag(covariance)), strict=True))
    rows = found.to_dict()["postures"]["parameters"]
    assert [row["std"] for row in rows] == pytest.approx([stds[row["name"]] for row in rows], rel=1e-6)


def test_a_simulated_robot_follows_the_tour_and_static_friction_cancels_out() -> None:
    """With Coulomb friction: the mean of the torques of both sides is free of it, those of one side are not."""
    robot = load_robot("builtin:two_link")
    terms, friction = ["viscous", "coulomb"], {"fv1": 0.5, "fv2": 0.2, "fs1": 1.0, "fs2": 0.5}
    limits: dict[str, Any] = LIMITS | {"noise": 0.1, "rate": 100.0}
    found = excite(robot, terms, postures=5, hold=0.3, both_sides=True, **limits)
    log = dynid.simulate(robot, found, terms=terms, parameters=friction, noise=0.1, log_rate=100.0)
    fit = study(found).gravity(log)
    p = np.append(robot.parameters, list(friction.values()))
    true = fit.base.to_base(p)
    once = fit_gravity(fit.base, study(found).tour.holds[:, :1], log)
    assert (np.abs(fit.values - true) < 6.0 * fit.stds).all()
    assert fit.to_dict()["mx1"]["std"] == pytest.approx(fit.stds[0])
    assert np.linalg.norm(fit.values - true) < 0.3 * np.linalg.norm(once.values - true)
    with pytest.raises(DynidError, match="no samples of posture 1"):
        study(found).gravity(log, start=1e3)
    base = find_base_parameters(DynamicModel(robot, terms))
    expected = {row["name"]: row["std"] for row in found.to_dict()["parameters"]}
    values = {
        row["name"]: row["value"] for row in dynid.identify(robot, [log], terms=terms).parameters.to_frame().to_dicts()
    }
    errors = [(values[name] - one) / expected[name] for name, one in zip(base.names, base.to_base(p), strict=True)]
    assert np.sqrt(np.mean(np.square(errors))) < 3.0


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["excite", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_the_command_writes_postures_and_the_motion(tmp_path: Path) -> None:
    out = tmp_path / "postures"
    options = ("--velocity", 2, "--acceleration", 6, "--rate", 20, "--starts", 1)
    status, text, _ = run("builtin:two_link", "--postures", 4, "--hold", 0.5, *options, "--out", out, "--json")
    assert status == 0
    names = {"excitation.json", "limits.html", "postures.csv", "trajectory.csv"}
    assert {path.name for path in out.iterdir()} == names | {f"trajectory_{part}_percent.csv" for part in (10, 50)}
    data = json.loads(text)
    assert json.loads((out / "excitation.json").read_text()) == data
    head, *rows = (out / "postures.csv").read_text().splitlines()
    assert head == "posture,side,t_begin,t_end,q_joint_1,q_joint_2"
    assert np.allclose([float(cell) for cell in rows[1].split(",")[4:]], data["postures"]["positions"][1])
    motion = read_trajectory(out, load_robot("builtin:two_link"))
    middle = np.mean(data["postures"]["holds"][1][0])
    assert np.allclose(motion.states(np.array([middle]))[0][0], data["postures"]["positions"][1], atol=1e-6)
    _, shown, _ = run("builtin:two_link", "--postures", 4, *options)
    assert "4 static postures" in shown
    assert "random postures" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--postures", 4, "--segments", 2), "segments"),
        (("--postures", 4, "--block-triangular"), "block-triangular"),
        (("--postures", 4, "--friction-runs"), "ask for one"),
        (("--postures", 4, "--harmonics", 3), "--harmonics"),
        (("--postures", 4, "--format", "json"), "csv, ros"),
        (("--hold", 2), "--postures"),
        (("--postures", 4, "--position", "-0.001:0.001", "--start", "1,1"), "start"),
    ],
)
def test_odd_requests_are_refused_in_a_sentence(options: tuple[object, ...], words: str) -> None:
    status, _, err = run("builtin:two_link", "--starts", 1, "--time-limit", 5, *options)
    assert status == 2
    assert words in err


def test_gravity_must_act_on_a_joint(tmp_path: Path) -> None:
    text = LIFT.replace('axis xyz="0 0 1"', 'axis xyz="1 0 0"').replace('axis xyz="0 1 0"', 'axis xyz="0 0 1"')
    path = tmp_path / "flat.urdf"
    path.write_text(text)
    with pytest.raises(DynidError, match="gravity acts on no joint"):
        excite(path, postures=4, starts=1, collisions=False)


def test_rests_stay_where_they_are() -> None:
    rest = Rest(np.array([1.0, 2.0]), 3.0)
    assert np.allclose(rest.states(np.array([0.0, 3.0]))[0], [1.0, 2.0])
    assert not rest.jerk(np.zeros(2)).any()
