"""Designs: exciting, within limits, in time, the same each time; known information is used."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from dynid import DynamicModel, Robot, find_base_parameters, load_robot
from dynid.estimation.factors.accumulation import factorise
from dynid.excitation.criteria import Condition
from dynid.excitation.design import design, fine_checks
from dynid.excitation.information import Information
from dynid.excitation.limits.joint_bounds import JointBounds
from dynid.excitation.limits.torques import PriorTorques, TorqueLimit
from dynid.excitation.local_search import NoMotionError, random_start
from dynid.excitation.motion import Grid, free_coefficients
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.trajectories.family import ParametricTrajectory
from dynid.excitation.trajectories.fourier import Fourier
from dynid.experiment.experiment import Experiment
from dynid.experiment.reading import checked_table, read_experiment
from dynid.identification.requests import excite_experiment
from dynid.model.chunks import Chunk
from dynid.model.terms import Armature, Coulomb, Viscous
from dynid.robot.joints import Limits
from tests.design_problems import problem_of_experiment
from tests.genetic import design_genetic
from tests.independent_condition import condition_number as pinocchio_condition_number
from tests.strategies import ARMS
from tests.thesis_motions import printed

EXAMPLES = Path(__file__).parents[2] / "examples"
LONG = 300.0  # time limits of tests that count starts instead


def example(name: str, **changes) -> Experiment:
    experiment = read_experiment(EXAMPLES / f"{name}.toml", needs_logs=False)
    return experiment.model_copy(update={"excitation": experiment.excitation.model_copy(update=changes)})


def two_link(**settings) -> Experiment:
    stated = {
        "velocity": 2.0,
        "acceleration": 6.0,
        "position": (-2.0, 2.0),
        "effort": 500.0,
        "harmonics": 3,
        "period": 5.0,
    }
    return Experiment(robot="builtin:two_link", excitation=checked_table(ExcitationSettings, stated | settings))


# On this measure the thesis' printed motions have 95.8, 31.5 and 253: see test_the_printed_motions_of_the_thesis.
@pytest.mark.parametrize(
    ("name", "at_most", "starts"),
    [
        ("ur5_excite_shoulder", 9.0, 1),
        ("ur5_excite_wrist", 8.0, 1),
        ("ur5_excite_arm", 15.0, 1),
        ("ur5_excite_shoulder_seed_limits", 16.0, 2),
        ("ur5_excite_wrist_seed_limits", 12.0, 2),
    ],
)
def test_examples_reach_their_targets_within_their_limits(name: str, at_most: float, starts: int) -> None:
    found = excite_experiment(example(name), time_limit=LONG, starts=starts)
    robot, trajectory = found.robot, found.designs[0].trajectory
    times = np.arange(834) / 125.0  # one period
    q, v, a = trajectory.states(times)
    assert pinocchio_condition_number(robot, q, v, a) <= at_most
    assert found.condition_number == pytest.approx(pinocchio_condition_number(robot, q, v, a), rel=1e-6)
    assert np.abs(q).max() <= 2 * math.pi
    assert np.abs(v).max() <= math.pi
    assert np.abs(a).max() <= math.pi
    assert np.allclose([v[0], a[0]], 0.0, atol=1e-12)
    assert found.designs[0].keeps_limits
    if name.endswith("seed_limits"):  # equation 3.57
        assert isinstance(trajectory, ParametricTrajectory)
        family = trajectory.family
        assert isinstance(family, Fourier)
        sizes = family.amplitudes(trajectory.coefficients)
        rates = family.frequency * np.arange(1, 6)
        assert (sizes.sum(axis=0) + np.abs(trajectory.coefficients[0]) <= 2 * math.pi).all()
        assert (rates @ sizes <= math.pi).all()
        assert (rates**2 @ sizes <= math.pi).all()


@pytest.mark.parametrize(
    ("name", "joints", "expected"),
    [
        ("ur5_excite_shoulder", slice(0, 3), 95.8),
        ("ur5_excite_wrist", slice(3, 6), 31.5),
        ("ur5_excite_arm", slice(0, 6), 253.0),
    ],
)
def test_the_printed_motions_of_the_thesis(name: str, joints: slice, expected: float) -> None:
    problem, _ = problem_of_experiment(example(name))
    states = printed(joints).states(np.arange(834) / 125.0)
    found = pinocchio_condition_number(problem.information.base.model.robot, *states)
    assert found == pytest.approx(expected, rel=0.005)
    assert math.exp(problem.exact_value(printed(joints))) == pytest.approx(found, rel=1e-6)


def test_the_panda_has_64_columns_and_its_own_limits() -> None:
    problem, findings = problem_of_experiment(example("panda_excite"))
    assert len(problem.information.base) == 64
    assert problem.grid.free.family.duration == pytest.approx(21.0)
    rest = problem.trajectory(np.zeros(sum(problem.grid.free.sizes)))
    names = {check.name for check in problem.checks(rest, np.zeros(1))}
    assert {"jerk of joint_1", "torque of joint_7", "position of joint_4"} <= names
    assert not findings


@given(ARMS)
@settings(max_examples=5)
def test_random_robots_are_excited_within_their_limits(robot: Robot) -> None:
    base = find_base_parameters(DynamicModel(robot, [Viscous(), Coulomb(), Armature()]))
    width, family, samples = len(base), Fourier(1.5, 3), 60
    grid = Grid.of(free_coefficients(family, [None] * robot.nv), samples)
    information = Information(base, np.ones(width), np.ones(robot.nv), np.zeros((0, width)), smoothing=0.1)
    bounds = JointBounds.of(robot, [Limits(-2.0, 2.5, 3.0, 10.0)] * robot.nv).tightened(1.0 / family.reach(samples))
    torques = TorqueLimit.of(PriorTorques(robot), [500.0] * robot.nv).tightened(0.99)
    problem = ExcitationProblem(grid, information, Condition(), bounds, (torques,), 100.0)
    start = problem.exact_value(problem.trajectory(random_start(problem, np.random.default_rng(1))))
    found = design(problem, time_limit=LONG, starts=1)
    assert found.keeps_limits
    assert found.value < start


def test_the_same_seed_gives_the_same_motion() -> None:
    once, again = (excite_experiment(two_link(), time_limit=LONG, starts=2, seed=3).designs[0] for _ in range(2))
    t = np.linspace(0.0, once.trajectory.duration, 50)
    assert np.array_equal(once.trajectory.states(t)[0], again.trajectory.states(t)[0])
    other = excite_experiment(two_link(), time_limit=LONG, starts=2, seed=4).designs[0]
    assert not np.array_equal(once.trajectory.states(t)[0], other.trajectory.states(t)[0])


def test_more_starts_are_never_worse_and_progress_is_told() -> None:
    problem, _ = problem_of_experiment(two_link())
    told: list = []
    found = design(problem, time_limit=LONG, starts=6, progress=told.append)
    values = [progress.value for progress in told if progress.value is not None]
    assert sorted({progress.starts for progress in told} - {0}) == [1, 2, 3, 4, 5, 6]
    assert values == sorted(values, reverse=True)
    assert "condition number" in told[-1].in_words("condition")
    assert "trace" in told[-1].in_words("trace")
    assert found.value == pytest.approx(values[-1], abs=1e-6)


def test_all_limits_are_kept_on_a_fine_grid() -> None:
    frame = "forearm_link"
    tables = checked_table(
        ExcitationSettings,
        {
            "speed": [{"frame": frame, "limit": 0.8}],
            "box": [{"frame": frame, "lower": [-1, -1, 0.1], "upper": [1, 0.5, math.inf]}],
        },
    )
    experiment = example(
        "ur5_excite_shoulder",
        effort=(60.0, 90.0, 40.0),
        rms_effort=45.0,
        jerk=8.0,
        speed=tables.speed,
        box=tables.box,
    )
    found = excite_experiment(experiment, time_limit=LONG, starts=1).designs[0]
    assert found.keeps_limits
    names = {check.name.split(" of ")[0] for check in found.checks}
    assert names == {"position", "velocity", "acceleration", "jerk", "torque", "RMS torque", "speed", "x", "y", "z"}
    used = {check.name: check.used for check in found.checks}
    assert used[f"speed of {frame}"] > 0.9  # the limit that binds


def test_torque_limits_hold_at_slower_speeds_too() -> None:
    tight = 8.0  # gravity alone takes more in some postures
    experiment = two_link(effort=tight, rms_effort=5.0, velocity=6.0, acceleration=40.0, period=2.0)
    problem, _ = problem_of_experiment(experiment)
    torques = PriorTorques(problem.information.base.model.robot)
    q = np.random.default_rng(0).uniform(-2, 2, (500, 2))
    assert np.abs(torques.static(q)).max() > tight
    found = excite_experiment(experiment, time_limit=LONG, starts=1).designs[0]
    for speed in (0.01, 0.1, 0.3, 0.5, 0.8, 1.0):
        slow = found.trajectory.at_speed(speed)
        tau = torques.whole(*slow.states(np.linspace(0.0, slow.duration, 2001)))
        assert np.abs(tau).max() <= tight
        assert np.sqrt(np.mean(tau**2, axis=0)).max() <= 5.0


def test_a_motion_whose_postures_are_too_heavy_when_slow_is_told_so() -> None:
    problem, _ = problem_of_experiment(two_link(effort=8.0))
    torques = PriorTorques(problem.information.base.model.robot)
    free, _ = problem_of_experiment(two_link())
    rng = np.random.default_rng(0)
    starts = (random_start(free, rng) for _ in range(500))
    heavy = next(x for x in starts if np.abs(torques.static(free.motion(x).states[0])).max() > 9.0)
    broken = [check for check in fine_checks(problem, problem.trajectory(heavy)) if "at 10 % speed" in check.name]
    assert broken
    assert not any(check.is_kept for check in broken)


def test_a_margin_is_left() -> None:
    found = excite_experiment(two_link(margin=0.2), time_limit=LONG, starts=1).designs[0]
    assert max(check.used for check in found.checks) <= 0.8 + 1e-9


def test_the_motion_starts_where_it_is_told_to() -> None:
    found = excite_experiment(two_link(start=(0.5, -1.0)), time_limit=LONG, starts=1).designs[0]
    q, v, a = found.trajectory.states(np.array([0.0, found.trajectory.duration]))
    assert np.allclose(q, [0.5, -1.0])
    assert np.allclose([v, a], 0.0, atol=1e-9)


@pytest.mark.parametrize("criterion", ["condition", "determinant", "trace", "smallest", "condition + 0.5*trace"])
def test_every_criterion_is_made_smaller(criterion: str) -> None:
    problem, _ = problem_of_experiment(two_link(criterion=criterion))
    rng = np.random.default_rng(0)
    random = min(problem.exact_value(problem.trajectory(random_start(problem, rng))) for _ in range(20))
    assert design(problem, time_limit=LONG, starts=1).value < random - 0.1


def test_scaled_columns_are_those_of_equation_1_13() -> None:
    experiment = two_link(deviations={"m*": 10.0, "Iyy2": 0.1})
    problem, _ = problem_of_experiment(experiment)
    base = problem.information.base
    trajectory = problem.trajectory(random_start(problem, np.random.default_rng(0)))
    W = base.regressor(*trajectory.states(np.arange(626) / 125.0)).reshape(-1, len(base))
    Z = [10.0 if name.startswith("m") else 0.1 if name == "Iyy2" else 1.0 for name in base.names]
    assert math.exp(problem.exact_value(trajectory)) == pytest.approx(np.linalg.cond(W * Z), rel=1e-6)


def test_magnitudes_scale_columns_and_parameters_without_one_count_as_a_hundredth() -> None:
    problem, _ = problem_of_experiment(example("ur5_excite_arm", scale="magnitudes"))
    base, scales = problem.information.base, problem.information.scales
    values = np.abs(base.to_base(base.model.reference))
    assert (scales > 0).all()
    assert np.allclose(scales[values > 0.1], values[values > 0.1])


def test_what_is_known_changes_what_is_moved_next() -> None:
    experiment = two_link()
    robot = load_robot("builtin:two_link")
    model = DynamicModel(robot)
    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-1, 1, (400, 2)) * size for size in (1.5, 2.0, 5.0))
    factors = factorise(model, [Chunk(q, v, a, np.zeros((400, 2)))])
    found = excite_experiment(experiment, known=[factors], time_limit=LONG, starts=1)
    base = find_base_parameters(model)
    W = [base.regressor(q, v, a).reshape(-1, len(base))]
    W.append(base.regressor(*found.designs[0].trajectory.states(np.arange(626) / 125.0)).reshape(-1, len(base)))
    assert found.condition_number == pytest.approx(np.linalg.cond(np.concatenate(W)), rel=1e-6)


def test_segments_improve_on_each_other_and_end_when_they_no_longer_do() -> None:
    found = excite_experiment(two_link(criterion="determinant"), time_limit=LONG, starts=1, segments=3)
    values = [part.value for part in found.designs]
    assert len(values) == 3
    assert values == sorted(values, reverse=True)  # twice the data: less deviation
    stopped = excite_experiment(two_link(), time_limit=LONG, starts=1, segments=6)
    assert 2 <= len(stopped.designs) < 6


def test_block_triangular_motions_rest_joint_by_joint() -> None:
    found = excite_experiment(two_link(), time_limit=LONG, starts=1, block_triangular=True)
    speeds = [np.abs(part.trajectory.states(np.linspace(0, 5, 50))[1]).max(axis=0) > 1e-9 for part in found.designs]
    assert [one.tolist() for one in speeds] == [[True, True], [False, True]]
    assert all(part.keeps_limits for part in found.designs)


def test_block_triangular_motions_move_only_what_may_move() -> None:
    last = load_robot("builtin:two_link").joints[1].name
    found = excite_experiment(two_link(moving=(last,)), time_limit=LONG, starts=1, block_triangular=True)
    assert len(found.designs) == 1
    speeds = np.abs(found.designs[0].trajectory.states(np.linspace(0, 5, 50))[1]).max(axis=0)
    assert speeds[0] == pytest.approx(0.0)
    assert speeds[1] > 0.1


def test_expected_deviations_are_those_of_repeated_experiments() -> None:
    found = excite_experiment(two_link(noise=0.7), time_limit=LONG, starts=1)
    base = found.designs[0].problem.information.base
    states = found.designs[0].trajectory.states(np.arange(626) / 125.0)
    W = base.regressor(*states).reshape(-1, len(base))
    rng = np.random.default_rng(0)
    estimates = np.linalg.lstsq(W, 0.7 * rng.normal(size=(len(W), 4000)), rcond=None)[0]
    expected = [expectation.std for expectation in found.expectations]
    assert np.allclose(estimates.std(axis=1), expected, rtol=0.05)


def test_parameters_of_joints_that_rest_are_not_expected_to_be_known() -> None:
    last = load_robot("builtin:two_link").joints[1].name
    found = excite_experiment(two_link(moving=(last,), noise=0.7), time_limit=LONG, starts=1)
    base = found.designs[0].problem.information.base
    W = base.regressor(*found.designs[0].trajectory.states(np.arange(626) / 125.0)).reshape(-1, len(base))
    _, sizes, V = np.linalg.svd(W)
    unknown = (np.abs(V[sizes < 1e-9 * sizes[0]]) > 1e-6).any(axis=0)
    assert 0 < unknown.sum() < len(base)
    assert [not one.is_excited for one in found.expectations] == unknown.tolist()
    assert all(one.relative_percent is None for one in found.expectations if not one.is_excited)
    known = np.sqrt(np.diag(np.linalg.pinv(W.T @ W)))[~unknown] * 0.7
    assert np.allclose([one.std for one in found.expectations if one.is_excited], known, rtol=1e-6)


def test_noise_of_each_joint_weighs_its_rows() -> None:
    found = excite_experiment(two_link(noise=(0.2, 2.0)), time_limit=LONG, starts=1)
    base = found.designs[0].problem.information.base
    W = (
        base.regressor(*found.designs[0].trajectory.states(np.arange(626) / 125.0))
        / np.array([0.2, 2.0])[:, None, None]
    )
    covariance = np.linalg.inv(W.reshape(-1, len(base)).T @ W.reshape(-1, len(base)))
    assert np.allclose([one.std for one in found.expectations], np.sqrt(np.diag(covariance)), rtol=1e-6)


def test_the_genetic_algorithm_keeps_limits_and_improves() -> None:
    problem, _ = problem_of_experiment(two_link())
    told: list = []
    found = design_genetic(problem, time_limit=1.0, population=30, progress=told.append)
    assert found.keeps_limits
    assert told[-1].value <= told[0].value


def test_postures_that_break_every_limit_are_explained() -> None:
    box = {"box": [{"frame": "link_2", "lower": [5.0, 5.0, 5.0], "upper": [6.0, 6.0, 6.0]}]}
    name = load_robot("builtin:two_link").links[1].bodies[0].name
    box["box"][0]["frame"] = name
    problem, _ = problem_of_experiment(two_link(**box))
    with pytest.raises(NoMotionError, match=rf"in the nearest, the [xyz] of {name} reaches"):
        design(problem, time_limit=LONG, starts=1)


def test_robots_with_prismatic_joints_branches_and_mimics_are_excited() -> None:
    from tests.references import example_robot_file

    robot = load_robot(example_robot_file("panda.urdf"))  # two prismatic fingers, one of which follows
    assert any(joint.leader is not None for joint in robot.joints) or robot.nv == 9
    settings = {"velocity": 2.0, "acceleration": 6.0, "harmonics": 3, "period": 5.0, "criterion": "determinant"}
    experiment = Experiment(
        robot=str(example_robot_file("panda.urdf")), excitation=checked_table(ExcitationSettings, settings)
    )
    found = excite_experiment(experiment, time_limit=LONG, starts=1)
    assert found.designs[0].keeps_limits
