"""A disturbance, and feedback shaped by a robot of its own, in the closed loop; against an independent integration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from dynid import DynamicModel, DynidError, load_robot
from dynid.excitation.trajectories.moves import Moves
from dynid.excitation.trajectories.sampled import Trajectory
from dynid.robot import Robot
from dynid.robot.assembly import assemble
from dynid.simulation.closed_loop import LostError, SimulatedRobot, follow
from dynid.simulation.settings import Controller
from tests.references import assert_same_torques
from tests.simulated import gentle
from tests.strategies import URDF_KINDS, descriptions
from tests.truth_logs import random_arm

TWO = load_robot("builtin:two_link")
MODEL = DynamicModel(TWO, ["viscous"])


def robot_with(factor: float, viscous: float, model: DynamicModel = MODEL) -> SimulatedRobot:
    size = len(model.robot.parameters)
    return SimulatedRobot.of(model, np.concatenate([factor * model.reference[:size], np.full(model.robot.nv, viscous)]))


def dynamics(robot: SimulatedRobot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mass matrix and all other torques, by inverse dynamics."""
    n = len(q)
    states = np.tile(q, (n + 1, 1)), np.tile(v, (n + 1, 1)), np.vstack([np.zeros(n), np.eye(n)])
    torques = robot.model.inverse_dynamics(*states, robot.parameters)
    return (torques[1:] - torques[0]).T, torques[0]


def integrated(
    robot: SimulatedRobot, known: SimulatedRobot, shape: SimulatedRobot, trajectory: Moves, push: np.ndarray
) -> np.ndarray:
    """Positions at the ticks of a loop at 200 Hz that is written down here, with SciPy's integrator."""
    n, w, step = robot.robot.nv, 2 * np.pi * 5.0, 1 / 200.0
    state, found = np.concatenate([trajectory.states(np.zeros(1))[0][0], np.zeros(n)]), []
    for k in range(round(trajectory.duration / step)):
        q, v = state[:n], state[n:]
        found.append(q)
        wanted, speed, acceleration = (x[0] for x in trajectory.states(np.array([k * step])))
        M, rest = dynamics(known, q, v)
        friction = known.forces.viscous @ (speed - v)  # compensated at the velocity that is wanted
        u = M @ acceleration + rest + friction
        u = u + dynamics(shape, q, v)[0] @ (w**2 * (wanted - q) + 2 * w * (speed - v)) + push * (k + 0.5) * step

        def slope(_: float, x: np.ndarray, u: np.ndarray = u) -> np.ndarray:
            M, rest = dynamics(robot, x[:n], x[n:])
            return np.concatenate([x[n:], np.linalg.solve(M, u - rest)])

        state = solve_ivp(slope, (0.0, step), state, rtol=1e-10, atol=1e-12).y[:, -1]
    return np.array(found)


@pytest.mark.parametrize("robot", [TWO, random_arm(3, 3, sliding=0.5)], ids=["two_link", "random"])
def test_positions_are_those_of_an_independent_integration(robot: Robot) -> None:
    model = DynamicModel(robot, ["viscous"])
    true, known, shape = (robot_with(*values, model) for values in ((1.0, 0.3), (0.85, 0.1), (1.1, 0.0)))
    trajectory, push = gentle(robot, period=0.5), np.linspace(1.0, 2.0, robot.nv)
    controller = Controller(bandwidth=5.0, rate=200.0, saturates=False)
    run = follow(
        true,
        trajectory,
        controller,
        nominal=known,
        feedback=shape,
        finest_step=5e-4,
        disturbance=lambda t: np.outer(t, push),
    )
    positions = integrated(true, known, shape, trajectory, push)
    assert np.abs(run.tracking_error).max() > 1e-3
    assert np.abs(run.q - positions).max() < 1e-7 * np.abs(positions).max() + 1e-8


def test_a_constant_disturbance_is_held_by_the_feedback() -> None:
    robot, push = robot_with(1.0, 0.2), np.array([0.3, -0.1])
    q = np.array([0.4, -0.7])
    stands = Trajectory(np.linspace(0.0, 3.0, 11), np.tile(q, (11, 1)))
    run = follow(robot, stands, Controller(bandwidth=5.0), disturbance=lambda t: np.tile(push, (len(t), 1)))
    error = run.q[-1] - q
    M, gravity = dynamics(robot, q + error, np.zeros(2))
    assert np.allclose((2 * np.pi * 5.0) ** 2 * M @ error, push, rtol=1e-3)
    assert np.allclose(run.torque[-1] + push, gravity, atol=1e-6)  # torques are the motors', without the disturbance


def test_an_exact_model_leaves_the_error_of_the_hold_alone() -> None:
    robot = robot_with(1.0, 0.2)
    errors = [
        follow(robot, gentle(TWO), Controller(bandwidth=5.0, rate=rate), nominal=robot).tracking_error.max()
        for rate in (500.0, 1000.0, 4000.0)
    ]
    assert errors[1] < 2e-3 * np.abs(gentle(TWO).states(np.linspace(0, 2, 100))[0]).max()
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.1)


def test_feedback_of_the_robot_that_is_known_is_computed_torque() -> None:
    true, known = robot_with(1.0, 0.3), robot_with(0.8, 0.1)
    one, other = (follow(true, gentle(TWO), nominal=known, feedback=feedback) for feedback in (None, known))
    assert np.allclose(one.q, other.q, atol=1e-12)


def test_a_disturbance_has_a_torque_for_each_joint() -> None:
    with pytest.raises(DynidError, match=r"the disturbance must have the shape \(2000, 2\)"):
        follow(robot_with(1.0, 0.0), gentle(TWO), disturbance=lambda t: np.zeros((len(t), 3)))


@settings(max_examples=8)
@given(descriptions(kinds=URDF_KINDS), st.integers(0, 1000))
def test_motors_and_disturbance_give_the_torques_of_the_model_on_any_tree(description, seed: int) -> None:
    robot = assemble(description)
    true = SimulatedRobot.of(DynamicModel(robot))
    push = np.random.default_rng(seed).normal(size=robot.nv)
    try:
        run = follow(
            true,
            gentle(robot, seed),
            Controller(saturates=False),
            feedback=true,
            disturbance=lambda t: np.outer(t < 0.5, push),
        )
    except LostError:  # random links need not weigh anything
        assume(False)
        return
    torques = true.model.inverse_dynamics(run.q, run.v, run.a, true.parameters)
    assert_same_torques(run.torque + np.outer(run.time < 0.4999, push), torques)
