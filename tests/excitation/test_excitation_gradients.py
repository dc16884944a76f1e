"""Criteria and limits: every analytic gradient equals a finite difference, on random robots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dynid import DynamicModel, Robot, find_base_parameters, load_robot
from dynid.excitation.criteria import CRITERIA, Condition, LargestStd, parse_criterion
from dynid.excitation.information import Information
from dynid.excitation.interior_point import barrier, barrier_curvatures, barrier_slopes
from dynid.excitation.limits.frame_limits import BoxLimit, FramePoint, SpeedLimit
from dynid.excitation.limits.joint_bounds import AmplitudeLimit, JointBounds
from dynid.excitation.limits.limit import Limit
from dynid.excitation.limits.torques import PriorTorques, RmsTorqueLimit, TorqueLimit
from dynid.excitation.local_search import scaled_into_limits
from dynid.excitation.motion import Grid, Motion, free_coefficients
from dynid.excitation.problem import ExcitationProblem
from dynid.model.kernels.row_layout import prepare
from dynid.model.terms import Armature, Coulomb, Viscous
from dynid.robot.joints import Limits
from tests.motion_slopes import FAMILY, differences, grid_of, random_x
from tests.references import example_robot_file
from tests.strategies import ARMS

WIDE = Limits(-5.0, 6.0, 4.0, 9.0, 50.0, 100.0)
CASES = dict(CRITERIA) | {
    "smooth condition": Condition(3.0),
    "smooth smallest": LargestStd(5.0),
    "sum": parse_criterion("condition + 0.5*trace + 2*determinant"),
}


KINKED = ("condition", "smallest", "sum")


@given(ARMS, st.integers(0, 1000), st.sampled_from(sorted(CASES)))
@settings(max_examples=40)
def test_gradients_of_criteria_equal_finite_differences(robot: Robot, seed: int, name: str) -> None:
    prepare()
    rng = np.random.default_rng(seed)
    base = find_base_parameters(DynamicModel(robot, [Viscous(), Coulomb(), Armature()]))
    width = len(base)
    information = Information(
        base, rng.uniform(0.5, 2, width), rng.uniform(0.5, 2, robot.nv), rng.normal(size=(width, width)), smoothing=0.3
    )
    grid = grid_of(robot)
    bounds = JointBounds.of(robot, [WIDE] * robot.nv)
    problem = ExcitationProblem(grid, information, CASES[name], bounds, (), 100.0)
    x = random_x(grid, rng)
    directions = rng.normal(size=(3, len(x)))
    gradient = problem.at(x).objective()[1]
    expected = differences(lambda y: problem.at(y).objective()[0], x, directions)
    eigenvalues = np.linalg.eigvalsh(information.matrix(*grid.motion(x).states, problem.weight))
    gaps = np.diff(eigenvalues) / eigenvalues[-1]
    if name in KINKED and gaps.size:  # extreme eigenvalues that cross have no gradient
        assume(min(gaps[0] * eigenvalues[-1] / eigenvalues[0], gaps[-1]) > 1e-3)
    assert np.abs(directions @ gradient - expected).max() <= 2e-5 * (1.0 + np.abs(expected).max())


def all_limits(robot: Robot) -> dict[str, Limit]:
    torques = PriorTorques(robot)
    body = next(reversed([body.name for link in robot.links for body in link.bodies]))
    frame = FramePoint.of(robot, body)
    bounds = JointBounds.of(robot, [WIDE] * robot.nv)
    return {
        "amplitudes": AmplitudeLimit(bounds),
        "torque": TorqueLimit.of(torques, [200.0] * robot.nv),
        "rms": RmsTorqueLimit(torques, np.full(robot.nv, 80.0)).tightened(0.9),
        "speed": SpeedLimit(frame, 1.5),
        "box": BoxLimit(frame, np.array([-0.2, -np.inf, 0.0]), np.array([0.3, 0.4, np.inf])).tightened(0.99),
    }


@given(ARMS, st.integers(0, 1000))
@settings(max_examples=25)
def test_slopes_of_limits_equal_finite_differences(robot: Robot, seed: int) -> None:
    prepare()
    rng = np.random.default_rng(seed)
    grid = grid_of(robot)
    x = random_x(grid, rng)
    directions = rng.normal(size=(2, len(x)))
    for name, limit in all_limits(robot).items():
        which = np.arange(len(limit.slacks(grid.motion(x))))
        slopes = limit.slopes(grid.motion(x), which) @ directions.T
        expected = differences(lambda y, limit=limit: limit.slacks(grid.motion(y)), x, directions)
        assert np.abs(slopes - expected).max() <= 1e-5 * (1.0 + np.abs(expected).max()), name


def test_curvature_of_amplitudes_equals_finite_differences() -> None:
    robot = load_robot("builtin:two_link")
    grid = grid_of(robot)
    rng = np.random.default_rng(0)
    limit = AmplitudeLimit(JointBounds.of(robot, [WIDE] * 2))
    x = random_x(grid, rng)
    which, weights = np.arange(8), rng.uniform(1, 2, 8)
    H = limit.curvature(grid.motion(x), which, weights)
    expected = differences(lambda y: -weights @ limit.slopes(grid.motion(y), which), x, np.eye(len(x)))
    assert np.abs(H - expected).max() <= 1e-6 * np.abs(expected).max()


def test_the_barrier_has_the_slopes_that_its_slacks_have() -> None:
    robot = load_robot("builtin:ur5")
    prepare()
    grid = grid_of(robot, 20)
    base = find_base_parameters(DynamicModel(robot))
    limits = (all_limits(robot)["torque"], all_limits(robot)["amplitudes"])
    information = Information(base, np.ones(36), np.ones(6), np.zeros((0, 36)))
    bounds = JointBounds.of(robot, [WIDE] * 6)
    problem = ExcitationProblem(grid, information, Condition(2.0), bounds, limits, 100.0)
    rng = np.random.default_rng(1)
    x = scaled_into_limits(problem, np.zeros(sum(grid.free.sizes)), random_x(grid, rng))
    near = problem.at(x).slacks()
    assert 0 < len(near.rows) < len(near.values)
    directions = rng.normal(size=(3, len(x)))
    expected = differences(lambda y: problem.at(y).barrier(), x, directions)
    assert np.allclose(directions @ near.barrier_slope(), expected, rtol=1e-5, atol=1e-5)
    longer = x + 1e-3 * directions[0]
    change = problem.at(longer).slacks().barrier_slope() - near.barrier_slope()
    predicted = near.barrier_curvature() @ (longer - x) + near.bending(problem.at(longer).slacks())
    assert np.abs(change - predicted).max() <= 0.05 * np.abs(change).max()


def test_the_barrier_is_smooth_where_it_begins() -> None:
    s = np.linspace(0.01, 0.8, 200)
    step = 1e-6
    slope = np.array([barrier(np.array([x + step])) - barrier(np.array([x - step])) for x in s]) / (2 * step)
    assert np.allclose(slope, barrier_slopes(s), atol=1e-5)
    bend = (barrier_slopes(s + step) - barrier_slopes(s - step)) / (2 * step)
    assert np.allclose(bend, barrier_curvatures(s), rtol=1e-4, atol=1e-4)
    assert barrier(np.array([0.3, 0.0])) == barrier(np.array([-1.0])) == np.inf


@pytest.mark.parametrize("name", ["ur5_robot.urdf", "panda.urdf", "tiago_no_hand.urdf"])
def test_points_move_as_pinocchio_says(name: str) -> None:
    import pinocchio as pin

    from dynid.robot.pinocchio import to_pinocchio, tree_coordinates

    robot = load_robot(example_robot_file(name))
    if any(joint.kind.nv != 1 for joint in robot.joints):
        pytest.skip("more than one degree of freedom")
    model = to_pinocchio(robot)
    data = model.createData()
    rng = np.random.default_rng(0)
    q, v = rng.uniform(-1, 1, (2, robot.nv)), rng.uniform(-1, 1, (2, robot.nv))
    link = len(robot.links) - 1
    frame = FramePoint.of(robot, robot.links[link].bodies[-1].name)
    p, velocity, _, _ = frame.motion(q, v)
    for k in range(2):
        positions, velocities = tree_coordinates(robot, q[k], v[k])
        pin.forwardKinematics(model, data, positions, velocities)
        placement = data.oMi[frame.link + 1]
        assert np.allclose(p[k], placement.act(np.array(frame.point)))
        motion = placement.act(data.v[frame.link + 1])
        assert np.allclose(velocity[k], motion.linear + np.cross(motion.angular, p[k]))


def test_torques_are_those_of_pinocchio_with_the_files_friction() -> None:
    from tests.references import pinocchio_torques

    robot = load_robot("builtin:panda")
    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-1, 1, (5, 7)) for _ in range(3))
    from dynid.robot.pinocchio import to_pinocchio

    rigid = pinocchio_torques(robot, to_pinocchio(robot), q, v, a)
    dynamics = [joint.dynamics for joint in robot.joints]
    viscous = np.array([one.damping or 0.0 for one in dynamics]) * v
    coulomb = np.array([one.friction or 0.0 for one in dynamics]) * np.sign(v)
    assert np.allclose(PriorTorques(robot).whole(q, v, a), rigid + viscous + coulomb, rtol=1e-8, atol=1e-8)


def test_a_motion_pulls_slopes_back_to_its_coefficients() -> None:
    grid = Grid.of(free_coefficients(FAMILY, [0.3, None], [True, False]), 9)
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(9, 2)) for _ in range(3)]
    x = random_x(grid, rng)

    def value(y: np.ndarray) -> float:
        return sum(float(np.sum(p * s)) for p, s in zip(parts, Motion(grid, y).states, strict=True))

    expected = differences(value, x, np.eye(len(x)))
    assert np.allclose(grid.motion(x).pull_back(parts), expected, atol=1e-6)
