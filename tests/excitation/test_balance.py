"""Postures and motions in balance: the ground's wrench, legs that follow, limits, and what is chosen."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from typer.testing import CliRunner

import dynid
from dynid import DynidError
from dynid.arrays import Array
from dynid.cli import app
from dynid.excitation.balance.balance_settings import BalanceSettings
from dynid.excitation.balance.balanced_excitation import BalancedExcitation
from dynid.excitation.balance.closed_legs import ClosedLegs
from dynid.excitation.balance.moving_coordinates import MovingCoordinates
from dynid.excitation.balance.stance import Stance
from dynid.excitation.balance.standing_choice import exchanged
from dynid.excitation.balance.standing_moves import fastest_rates, largest_rate, on_the_way
from dynid.excitation.balance.standing_pool import NoBalanceError, moved_base
from dynid.excitation.balance.support_polygon import SupportPolygon
from dynid.excitation.balance.wrench_information import WrenchInformation, covariance_of, parameter_uncertainty
from dynid.excitation.exciting_motion import BrokenLimitError
from tests.standing_robots import FOUR_FEET, G1, GO1, SOLES_OF_G1, TALOS, TWO_SOLES, Standing, robot_path, source_of

STANCES = [(TALOS, TWO_SOLES), (TALOS, TWO_SOLES[:1]), (GO1, FOUR_FEET), (GO1, FOUR_FEET[:3])]
SMALL: dict[str, Any] = {"collisions": False, "candidates": 50, "postures": 3, "hold": 0.2, "time_limit": 0.5}


def states_on_a_way(source: Any, u: Array) -> Any:
    """States of a move between two random postures of a robot on its feet."""
    begin, end = source.drawn(2, np.random.default_rng(1))
    return on_the_way(source.limits.legs, np.tile(begin, (len(u), 1)), np.tile(end, (len(u), 1)), u)


@pytest.mark.parametrize(("name", "stands_on"), STANCES)
def test_feet_stand_still_and_states_are_each_others_derivatives(name: str, stands_on: tuple[str, ...]) -> None:
    source, step = source_of(name, stands_on), 1e-4
    states = states_on_a_way(source, np.array([0.3 - step, 0.3, 0.3 + step]))
    standing = Standing(source)
    for q in states.q:
        for foot, found in zip(source.limits.stance.feet, standing.foot_poses(q), strict=True):
            rows = slice(0, 3 if foot.is_flat else 0)
            assert np.abs(found[:3, 3] - foot.target[:3, 3]).max() < 1e-9
            assert np.abs(found[rows, :3] - foot.target[rows, :3]).max(initial=0.0) < 1e-9
    v = pin.difference(standing.model, states.q[0], states.q[2]) / (2 * step)
    a = (states.v[2] - states.v[0]) / (2 * step)
    assert np.abs(v - states.v[1]).max() < 1e-5 * np.abs(states.v).max()
    assert np.abs(a - states.a[1]).max() < 1e-5 * np.abs(states.a).max()


@pytest.mark.parametrize(("name", "stands_on"), STANCES)
def test_wrench_and_torques_are_those_of_pinocchio_with_the_feets_forces(name: str, stands_on: tuple[str, ...]) -> None:
    source = source_of(name, stands_on)
    states = states_on_a_way(source, np.linspace(0.1, 0.9, 5))
    model, legs = source.limits.wrench, source.limits.legs
    wrenches, torques = model.torques(states.q, states.v, states.a)
    standing = Standing(source)
    for k in range(5):
        q, v, a = states.q[k], states.v[k], states.a[k]
        assert np.abs(standing.wrench(q, v, a) - wrenches[k]).max() < 1e-8
        J = legs.jacobian(legs.frames(q[None]))[0]
        rows = pin.rnea(standing.model, standing.data, q, v, a) - J.T @ (model.shares @ wrenches[k])
        assert np.abs(rows[:6]).max() < 1e-8  # the feet's forces are the whole wrench
        damping = np.zeros(source.limits.robot.nv)
        for joint in source.limits.robot.joints[1:]:
            damping[joint.v] = joint.dynamics.damping or 0.0
        assert np.abs(rows[6:] + (damping * v)[6:] - torques[k]).max() < 1e-8


def test_rows_of_information_times_parameters_are_the_wrench_in_units_of_noise() -> None:
    source = source_of(GO1, FOUR_FEET)
    information = WrenchInformation(source.limits.stance, 1.0, 0.3, 0.15)
    states = states_on_a_way(source, np.linspace(0.1, 0.9, 3))
    wanted = source.limits.wrench.wrench(states.q, states.v, states.a)
    base = information.base
    x = np.linalg.solve(information._scale, base.to_base(source.limits.robot.parameters))
    middle = np.mean([foot.target[:3, 3] for foot in source.limits.stance.feet], axis=0)
    wanted[:, 3:] -= np.cross(middle, wanted[:, :3])
    rows = information.rows(states.q, states.v, states.a)
    assert np.abs(information.physical(rows) @ x - wanted).max() < 1e-7


def test_covariance_is_that_of_bayesian_least_squares_over_standard_parameters() -> None:
    source = source_of(GO1, FOUR_FEET)
    robot, information = source.limits.robot, WrenchInformation(source.limits.stance, 1.0, 0.3, 0.15)
    q = source.drawn(6, np.random.default_rng(2))
    rows = information.rows(q)
    ours = covariance_of(np.einsum("sri,srj->ij", rows, rows))
    W = np.stack([np.linalg.inv(np.eye(6)) @ part for part in information.rows(q)])  # whitened, over scaled columns
    K, std = information.base.regrouping, parameter_uncertainty(robot, 0.15)
    A = np.concatenate(list(W)) @ np.linalg.inv(information._scale) @ K  # whitened, over standard parameters
    C = np.linalg.inv(np.diag(std**-2.0) + A.T @ A)
    G = information.centre_rows(q[:1])[0]
    theirs = G @ np.linalg.inv(information._scale) @ K @ C @ (G @ np.linalg.inv(information._scale) @ K).T
    assert np.abs(G @ ours @ G.T - theirs).max() < 1e-6 * np.abs(theirs).max()


def test_exchange_finds_the_best_of_all_small_sets() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(12, 2, 5)) * rng.uniform(0.2, 3.0, (12, 1, 1))

    def value(chosen: Any) -> float:
        M = sum(rows[k].T @ rows[k] for k in chosen)
        return float(np.linalg.slogdet(np.eye(5) + M)[1])

    best = max(map(value, itertools.combinations(range(12), 4)))
    assert value(exchanged(rows, 4)) == pytest.approx(best, abs=1e-9)


def test_largest_rate_is_that_of_a_fine_grid() -> None:
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 200))
    c = -np.abs(c)
    x = np.linspace(0.0, 5.0, 20_001)
    over = np.outer(x**2, a) + np.outer(x, b) + c > 0.0
    first = np.where(over.any(axis=0), x[np.argmax(over, axis=0)], np.inf)
    found = largest_rate(a, b, c)
    inside = np.isfinite(first)
    assert np.abs(found[inside] - first[inside]).max() < 3e-4
    assert (found[~inside] > 4.99).all()
    assert largest_rate(np.ones(1), np.ones(1), np.ones(1))[0] == 0.0


def test_a_move_at_its_fastest_keeps_the_zero_moment_point_and_just_reaches_a_limit() -> None:
    source = source_of(GO1, FOUR_FEET)
    states = states_on_a_way(source, np.linspace(0.01, 0.99, 60))
    limits = source.limits
    rate = float(fastest_rates(limits, states).min())
    v, a = states.v * rate, states.a * rate**2
    wrench, torques = limits.wrench.torques(states.q, v, a)
    joints, bounds = limits.joints, [limits.limits[k] for k in limits.joints]
    used = [
        np.abs(torques / limits.efforts)[:, joints].max(),
        (np.abs(v[:, 6 + joints]) / [one.velocity for one in bounds]).max(),
        (np.abs(a[:, 6 + joints]) / [one.acceleration for one in bounds]).max(),
    ]
    assert limits.balance_slack(wrench).min() > -1e-9
    assert max(used) < 1.0 + 1e-9
    assert max(used) > 0.95 or limits.balance_slack(wrench).min() < 1e-3


def test_distance_to_a_polygon_is_that_of_many_points_on_its_edges() -> None:
    rng = np.random.default_rng(3)
    polygon = SupportPolygon.around(rng.normal(size=(12, 2)))
    ends = np.roll(polygon.corners, -1, axis=0)
    along = np.linspace(0.0, 1.0, 3000)[:, None, None]
    edge = (polygon.corners + along * (ends - polygon.corners)).reshape(-1, 2)
    inside = polygon.inside(0.2, 50, rng)
    nearest = np.linalg.norm(inside[:, None] - edge, axis=2).min(axis=1)
    assert np.abs(nearest - polygon.clearance(inside)).max() < 1e-4
    assert (polygon.clearance(inside) >= 0.2).all()
    centre, radius = polygon.inner_circle
    assert polygon.clearance(centre) == pytest.approx(radius)
    nearly_none = polygon.inside(0.9999 * radius, 20, rng)
    assert (polygon.clearance(nearly_none) >= 0.9998 * radius).all()


def kept(found: BalancedExcitation, name: str, stands_on: tuple[str, ...]) -> None:
    """A design keeps its feet and its balance on a grid of 1 kHz, as Pinocchio sees it, and its joints' limits."""
    standing, stance = Standing(source_of(name, stands_on)), found.limits.stance
    q, v, a = found.motion.whole_states(np.arange(0.0, found.duration, 1e-3))
    assert stance.polygon is not None
    points, away = np.tile(stance.polygon.inner_circle[0], (len(q), 1)), 0.0
    for k in range(0, len(q), 2):
        points[k] = standing.zero_moment_point(q[k], v[k], a[k])
        if k % 10 == 0:
            places = zip(standing.foot_poses(q[k]), stance.feet, strict=True)
            away = max(away, *(float(np.abs(T[:3, 3] - foot.target[:3, 3]).max()) for T, foot in places))
    assert stance.polygon.clearance(points).min() >= found.balance.margin
    assert away < 1e-6
    assert found.broken == ()
    for joint in found.robot.independent_joints[1:]:
        positions = q[:, joint.q]
        assert joint.limits.lower <= positions.min() <= positions.max() <= joint.limits.upper
        assert np.abs(v[:, joint.v]).max() <= joint.limits.velocity


@pytest.mark.parametrize(("name", "stands_on"), [STANCES[0], STANCES[2]])
def test_a_design_keeps_balance_and_limits_and_is_better_than_random_postures(
    name: str, stands_on: tuple[str, ...]
) -> None:
    found = dynid.excite(robot_path(name), stands_on=stands_on, **SMALL)
    kept(found, name, stands_on)
    expected = found.expected
    assert expected.postures.information > expected.random.information
    assert expected.motion.information > expected.postures.information
    assert expected.motion.centre < expected.postures.centre < expected.before.centre
    ends = found.motion.whole_states(np.array([0.0, found.duration]))
    assert np.ptp(ends[0], axis=0).max() < 1e-9
    assert not ends[1].any()
    assert not ends[2].any()


def test_only_joints_that_are_named_move() -> None:
    arm = [f"arm_left_{k}_joint" for k in range(1, 5)]
    source = source_of(TALOS, TWO_SOLES)
    stance = source.limits.stance
    legs = MovingCoordinates.of(stance, BalanceSettings(stands_on=TWO_SOLES, identify=tuple(arm)), ())
    assert legs.base_moves
    assert set(legs.joints(stance)) == {stance.robot.joint(name).v.start - 6 for name in arm} | set(
        stance.dependent - 6
    )
    found = dynid.excite(robot_path(TALOS), stands_on=TWO_SOLES, identify=arm, balance=["torso_2_joint"], **SMALL)
    moved = {name for name, q in zip(found.joints, found.q.T, strict=True) if np.ptp(q) > 1e-9}
    assert set(arm) <= moved <= {*arm, "torso_2_joint"}
    assert np.ptp(found.base_pose, axis=0).max() < 1e-9


def test_more_time_is_spent_on_informative_moves() -> None:
    short = dynid.excite("builtin:two_link", stands_on="base", bolted=True, **SMALL)
    longer = dynid.excite("builtin:two_link", stands_on="base", bolted=True, **SMALL, duration=short.duration + 15.0)
    assert short.duration < longer.duration < short.duration + 16.0
    assert longer.expected.motion.information > short.expected.motion.information


def test_feet_stand_where_they_are_put() -> None:
    place = {"left_sole_link": (0.05, 0.12, 0.2), "right_sole_link": (-0.03, -0.1, -0.1)}
    robot = source_of(TALOS, TWO_SOLES).limits.robot
    stance = Stance.of(robot, BalanceSettings(stands_on=TWO_SOLES, place=place))
    q, good = ClosedLegs(stance).closed(stance.posture[None])
    model = Standing(source_of(TALOS, TWO_SOLES))
    assert good.all()
    for foot, T in zip(stance.feet, model.foot_poses(q[0]), strict=True):
        assert np.allclose([*T[:2, 3], np.arctan2(T[1, 0], T[0, 0])], place[foot.body], atol=1e-9)


def test_straight_legs_are_bent_before_anything_is_drawn() -> None:
    source = source_of(G1, SOLES_OF_G1)  # its file has no standing posture, and zero is straight
    assert source.limits.legs.bend(source.limits.stance.posture[None])[0] < 1e-3
    assert source.limits.legs.bend(source.home[None])[0] > 0.02
    lower = source.home[None] - 0.1 * np.eye(len(source.home))[2]
    assert source.limits.legs.closed(lower)[1].all()
    knee = source.limits.robot.joint("left_knee_joint")
    assert source.limits.legs.closed(lower)[0][0, knee.q] > source.home[knee.q] > 0.1


def test_a_base_step_follows_its_own_axes() -> None:
    model = pin.buildSampleModelHumanoid()
    q = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))[:7]
    rng = np.random.default_rng(0)
    step, turn = rng.normal(size=(2, 1, 3)) * 1e-3
    wanted = pin.XYZQUATToSE3(q) * pin.SE3(pin.exp3(turn[0]), step[0])
    assert np.abs(pin.XYZQUATToSE3(moved_base(q[None], step, turn)[0]).homogeneous - wanted.homogeneous).max() < 1e-9


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({"stands_on": ["no_body"]}, "no_body"),
        ({"identify": ["no_joint"]}, "no_joint"),
        ({"identify": ["root_joint"]}, "root_joint"),
        ({"margin": 0.2}, "margin"),
        ({"place": {"left_sole_link": (0.0, 0.4, 0.0), "right_sole_link": (1.2, -0.4, 0.0)}}, "place"),
        ({"place": {"left_sole_link": (0.0, -0.08, 0.0)}}, "closer"),
        ({"place": {"head": (0.0, 0.0, 0.0)}}, "stands_on"),
        ({"posture": {"leg_left_4_joint": 9.0}}, "leg_left_4_joint"),
        ({"posture": {"leg_left_4_joint": 1.5}}, "level ground"),
        ({"stands_on": ["left_sole_link", "leg_left_4_link"]}, "one leg"),
        ({"stands_on": ["left_sole_link", "torso_2_link"]}, "joints of its own"),
        ({"stands_on": ["left_sole_link", "arm_left_7_link"]}, "level ground"),
        ({"stands_on": ["left_sole_link", "left_sole_link"]}, "twice"),
        ({"polygon": [(0.0, 0.0), (0.1, 0.0), (0.2, 0.0)]}, "line"),
        ({"identify": ["arm_left_1_joint"], "balance": ["arm_left_1_joint"]}, "both"),
        ({"segments": 3}, "segments"),
        ({"terms": ["viscous"]}, "terms"),
        ({"effort": 0.1}, "friction"),
        ({"postures": 4, "friction_runs": True}, "friction"),
        ({"time_limit": -1.0}, "time limit"),
    ],
)
def test_bad_requests_are_refused_in_one_sentence(changes: dict[str, Any], needed: str) -> None:
    with pytest.raises(DynidError) as error:
        dynid.excite(robot_path(TALOS), **{"stands_on": TWO_SOLES, **changes})
    assert needed in str(error.value)
    assert "\n" not in str(error.value)


def test_postures_that_no_one_can_hold_are_refused() -> None:
    with pytest.raises(NoBalanceError):
        dynid.excite(robot_path(GO1), stands_on=FOUR_FEET, effort=0.5, **SMALL)


def test_an_arm_on_a_force_plate_is_designed_from_the_command_line(tmp_path: Path) -> None:
    out = tmp_path / "plate"
    options = ["--stands-on", "base", "--bolted", "--postures", "4", "--velocity", "1.5", "--no-collisions"]
    result = CliRunner().invoke(app, ["excite", "builtin:two_link", *options, "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output
    data = json.loads(result.output)
    assert data["balance"]["polygon"] is None
    assert all(check["kept"] for check in data["limits"])
    assert {Path(name).name for name in data["files"]} == {"trajectory.csv", "postures.csv", "excitation.json"}
    table = np.genfromtxt(out / "trajectory.csv", delimiter=",", names=True)
    assert np.ptp(table["base_x"]) == 0.0
    shown = CliRunner().invoke(app, ["excite", "builtin:two_link", *options])
    assert shown.exit_code == 0, shown.output
    refused = CliRunner().invoke(app, ["excite", "builtin:two_link", "--margin", "0.1"])
    assert refused.exit_code == 2


def test_an_experiment_file_says_what_the_robot_stands_on(tmp_path: Path) -> None:
    path = tmp_path / "plate.toml"
    path.write_text(
        'robot = "builtin:two_link"\n[excitation]\ncollisions = false\nvelocity = 1.5\n'
        '[excitation.balance]\nstands_on = ["base"]\nbolted = true\npostures = 3\ncandidates = 60\n'
    )
    found = dynid.excite(path)
    assert isinstance(found, BalancedExcitation)
    assert len(found.postures) == 3
    assert np.abs(found.v).max() <= 1.5


MJCF = """<mujoco><worldbody><body name="trunk" pos="0.3 -0.2 0.7" euler="0 0 40"><freejoint/>
<geom type="box" size="0.1 0.1 0.05" mass="5"/>
<body name="lever" pos="0 0 0.1"><joint name="turn" axis="0 1 0" range="-60 60"/>
<geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.03" mass="1"/></body></body></worldbody></mujoco>"""


def test_a_file_with_a_free_joint_of_its_own_stands_on_the_ground(tmp_path: Path) -> None:
    path = tmp_path / "trunk.xml"
    path.write_text(MJCF)
    found = dynid.excite(path, stands_on="trunk", **SMALL)
    height = 0.05  # the box stands on the ground
    assert np.allclose(found.base_pose, [0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0], atol=1e-9)
    assert found.limits.stance.polygon is not None
    assert found.limits.stance.polygon.inner_radius == pytest.approx(0.1, abs=1e-6)
    assert found.broken == ()


def test_a_motion_that_violates_a_limit_is_not_written(tmp_path: Path) -> None:
    found = dynid.excite("builtin:two_link", stands_on="base", bolted=True, **SMALL)
    worse = dataclasses.replace(found.checks[1], limit=(0.0, 1e-9))
    broken = dataclasses.replace(found, checks=(worse, *found.checks[1:]))
    with pytest.raises(BrokenLimitError):
        broken.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    data = broken.save(tmp_path / "out", allow_broken_limits=True)
    assert (tmp_path / "out" / "trajectory.csv").read_text().startswith("# THIS TRAJECTORY VIOLATES LIMITS")
    assert data["findings"][0]["code"] == "limits-violated"
