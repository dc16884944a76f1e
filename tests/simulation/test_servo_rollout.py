"""Rollouts of servos: motors under a voltage, against scipy's integration of the circuit with tight tolerances."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dynid import DynamicModel, load_robot
from dynid.logs import Servo
from dynid.simulation import ControlInput, Rollout, SimulatedRobot, roll_out, sensitivities
from tests.rollouts import commands, difference, everything

PENDULUM = load_robot("builtin:pendulum")
V, KT, R, KP, KD, DUTY = 24.0, 9.0, 4.0, 3.0, 0.05, 0.8
"""A large servo, whose voltage saturates: it holds 43 N m, and the pendulum weighs 25 N m."""


def of_circuit(time: np.ndarray, held: np.ndarray, q0: float) -> np.ndarray:
    """Positions of the pendulum, by integrating voltage, current and motion between samples."""
    inertia, weight, viscous = 0.4208 + 5 * 0.5**2 + 0.3, 9.81 * 5 * 0.5, 0.7

    def slope(_: float, x: np.ndarray, command: float) -> list[float]:
        duty = np.clip(KP * (command - x[0]) - KD * x[1], -DUTY, DUTY)
        current = (V * duty - KT * x[1]) / R
        return [x[1], (KT * current - viscous * x[1] - weight * np.sin(x[0])) / inertia]

    x, found = np.array([q0, 0.0]), [q0]
    for first, last, command in zip(time[:-1], time[1:], held[:-1, 0], strict=True):
        x = solve_ivp(slope, (first, last), x, args=(command,), rtol=1e-9, atol=1e-11, max_step=1e-3).y[:, -1]
        found.append(x[0])
    return np.array(found)


def rolled(time: np.ndarray, held: np.ndarray, step: float, *, steps_kept: bool = False) -> Rollout:
    model = DynamicModel(PENDULUM, ["armature", "viscous"])
    robot = SimulatedRobot.of(model, np.append(PENDULUM.parameters, [0.3, 0.7]))
    law = Servo(voltage=V, torque_constant=KT, resistance=R, kp=KP, kd=KD, max_duty=DUTY).law(1)
    control = ControlInput(time, held, law["kp"], law["kd"], limit=law["effort_limit"], back_emf=law["back_emf"])
    return roll_out(robot, control, np.array([0.3]), step=step, steps_kept=steps_kept)


def test_rollouts_of_servos_are_those_of_their_circuit() -> None:
    time = np.arange(100) * 0.02
    held = 0.4 * np.sign(np.sin(5.0 * time))[:, None]
    wanted = of_circuit(time, held, 0.3)
    coarse, fine = (rolled(time, held, step, steps_kept=True) for step in (2e-3, 2.5e-4))
    assert fine.steps is not None
    assert 0.1 < np.mean(fine.steps.saturated != 0.0) < 0.9
    assert np.abs(fine.q[:, 0] - wanted).max() < 2e-5
    assert np.abs(coarse.q[:, 0] - wanted).max() < 64 * 2e-5
    # The torque is what the circuit leaves: with the mean speed of the last step
    assert fine.torque.max() < 43.2 + KT**2 / R * np.abs(fine.v).max()


@pytest.mark.parametrize("rate", [None, 250.0])
def test_slopes_of_servos_are_central_differences(rate: float | None) -> None:
    model = DynamicModel("builtin:two_link", ["armature", "viscous", "coulomb"])
    rng = np.random.default_rng(0)
    p = np.concatenate([np.nan_to_num(model.reference)[:20], [0.3, 0.2, 0.5, 0.4, 0.6, 0.3]])
    time, held = commands(2, 25, uneven=True)
    control = ControlInput(
        time, held, np.full(2, 30.0), np.ones(2), limit=np.full(2, 5.0), rate=rate, back_emf=np.array([1.5, 0.8])
    )
    start = {"q0": 0.9 * held[0], "v0": 0.3 * rng.normal(size=2), "delay": 0.0073, "bias": np.array([0.01, -0.02])}
    rollout = roll_out(SimulatedRobot.of(model, p), control, **start, steps_kept=True)
    assert rollout.steps is not None
    assert 0.05 < np.mean(rollout.steps.saturated != 0.0) < 0.9
    parameters = everything(model)
    found = sensitivities(rollout, parameters, with_turns=False)
    both, compared = np.stack([found.position, found.velocity]), 0
    for column, (kind, at) in enumerate(parameters.columns):
        if kind == "model" and at < 20:
            continue
        wanted = difference(rollout, parameters, column)
        if wanted is not None:
            compared += 1
            size = np.abs(wanted).max(axis=(1, 2), keepdims=True)
            assert (np.abs(both[..., column] - wanted) <= 1e-5 * size + 1e-7).all(), parameters.names(model)[column]
    assert compared >= 12
