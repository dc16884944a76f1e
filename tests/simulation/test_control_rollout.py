"""Rollouts under a control law are those of MuJoCo, of the model, and of arithmetic."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings

from dynid import DynamicModel, DynidError, Robot, load_robot
from dynid.simulation import ControlInput, SimulatedRobot, roll_out
from tests.rollouts import LAW, TWO_ARMS, commands
from tests.strategies import ARMS

PENDULUM = load_robot("builtin:pendulum")


@pytest.fixture(scope="module")
def two_arms(tmp_path_factory: pytest.TempPathFactory) -> SimulatedRobot:
    path = tmp_path_factory.mktemp("robot") / "two_arms.xml"
    path.write_text(TWO_ARMS)
    return SimulatedRobot.of(DynamicModel(load_robot(path), ["armature", "viscous"]))


def of_mujoco(q0: np.ndarray, held: np.ndarray, *, limited: bool) -> np.ndarray:
    """MuJoCo's own motion of the two arms, at samples that are 10 ms apart."""
    model = mujoco.MjModel.from_xml_string(TWO_ARMS)
    if not limited:
        model.actuator_forcelimited[:] = 0
    data = mujoco.MjData(model)
    data.qpos[:] = q0
    found = [q0]
    for command in held[:-1]:
        data.ctrl[:] = command
        mujoco.mj_step(model, data, round(0.01 / model.opt.timestep))
        found.append(data.qpos.copy())
    return np.array(found)


@pytest.mark.parametrize(("limited", "gain"), [(False, 14.0), (True, 8.0)])  # 16 in the limit; torques have corners
def test_rollouts_are_those_of_mujoco_to_second_order(two_arms: SimulatedRobot, limited: bool, gain: float) -> None:
    time, held = commands(5, 60)
    held = held * np.array([1.0, 1.0, 0.2, 1.0, 1.0])
    q0 = held[0] + 0.05
    truth = of_mujoco(q0, held, limited=limited)
    control = ControlInput(time, held, LAW["kp"], LAW["kd"], limit=LAW["limit"] if limited else None)
    errors = []
    for step in (2.5e-3, 6.25e-4):
        found = roll_out(two_arms, control, q0, step=step)
        assert found.ended is None
        errors.append(np.sqrt(np.mean((found.q - truth) ** 2)))
        most = np.abs(found.torque[:, 0])
        assert (most.max() == 4.0 and np.mean(most == 4.0) > 0.1) == limited
    assert errors[0] < 1e-4
    assert errors[1] < errors[0] / gain


@settings(max_examples=15)
@given(ARMS)
def test_every_step_balances_the_torques_of_the_model(robot: Robot) -> None:
    """What the law gives beyond links and smooth terms is dry friction: full where joints slip, else no more."""
    model, n = DynamicModel(robot, ["armature", "viscous", "offset", "coulomb"]), robot.nv
    symbols = np.array([name.rstrip("0123456789") for name in model.names])
    p = np.nan_to_num(model.reference)
    p[symbols == "off"], p[symbols == "fs"], links = 0.3, 0.8, 10 * len(robot.solid_links)
    time, held = commands(n, 12, uneven=True)
    control = ControlInput(time, held, np.full(n, 20.0), np.full(n, 1.0), limit=np.full(n, 8.0))
    found = roll_out(SimulatedRobot.of(model, p), control, held[0] + 0.1, delay=0.003, fastest=1e9, steps_kept=True)
    assert found.steps is not None
    assert found.ended is None
    h, a, v, mode = found.schedule.step[:, None], found.steps.a, found.steps.v, found.steps.mode
    v_middle = v + 0.5 * h * np.vstack([np.zeros(n), a[:-1]])
    v_mean, q_mean = v + 0.5 * h * a, found.steps.q_middle + 0.25 * h**2 * a
    smooth = DynamicModel(robot).inverse_dynamics(found.steps.q_middle, v_middle, a, p[:links])
    alone = np.where((np.arange(len(p)) < links) | (symbols == "fs"), 0.0, p)
    smooth += model.inverse_dynamics(q_mean, v_mean, a, alone)
    law = found.means.position - found.means.kp * q_mean - found.means.kd * v_mean
    friction, after = np.clip(law, -8.0, 8.0) - smooth, v + h * a
    close = 1e-8 * max(1.0, float(np.abs(smooth).max()))
    assert (np.abs(friction - 0.8 * mode)[mode != 0.0] < close).all()
    assert (mode * after > -1e-9)[mode != 0.0].all()
    assert (np.abs(friction)[mode == 0.0] < 0.8 + close).all()
    assert (np.abs(after)[mode == 0.0] < 1e-12).all()


def test_a_joint_sticks_where_friction_holds_it_and_slips_where_it_does_not() -> None:
    model = DynamicModel(PENDULUM, ["coulomb"])
    gravity = float(model.inverse_dynamics([[0.5]])[0, 0])
    free = ControlInput(np.linspace(0.0, 0.5, 51), np.zeros((51, 1)), np.zeros(1), np.zeros(1))
    for share, moves in ((1.001, False), (0.999, True)):
        p = model.reference.copy()
        p[-1] = share * gravity
        found = roll_out(SimulatedRobot.of(model, p), free, np.array([0.5]))
        assert (found.q[-1, 0] != 0.5) == moves
        assert (np.abs(found.v).max() > 1e-5) == moves


def test_dry_friction_stops_a_body_where_it_should(tmp_path: Path) -> None:
    path = tmp_path / "slide.xml"
    body = (
        '<body><joint name="x" type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/></body>'
    )
    path.write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    model = DynamicModel(load_robot(path), ["coulomb"])
    p = np.nan_to_num(model.reference)
    p[-1] = 3.0
    free = ControlInput(np.linspace(0.0, 1.0, 11), np.zeros((11, 1)), np.zeros(1), np.zeros(1))
    found = roll_out(SimulatedRobot.of(model, p), free, np.zeros(1), np.array([1.23]))
    assert found.q[-1, 0] == pytest.approx(1.23**2 / (2.0 * 1.5), abs=1e-5)  # v^2 / 2a
    assert found.v[-1, 0] == 0.0


def test_a_delay_is_that_of_commands_that_come_later(two_arms: SimulatedRobot) -> None:
    time, held = commands(5, 40, uneven=True)
    gains = {"kp": LAW["kp"], "kd": LAW["kd"]}
    delay = 0.0073
    found = roll_out(two_arms, ControlInput(time, held, **gains), held[0], delay=delay, step=2.5e-4)
    fine = np.arange(time[0], time[-1], 1e-4)
    late = held[np.clip(np.searchsorted(time, fine - delay, side="right") - 1, 0, None)]
    truth = roll_out(two_arms, ControlInput(fine, late, **gains), held[0], step=1e-4)
    same = [np.interp(time[:-1], fine, column) for column in truth.q.T]
    assert np.abs(found.q[:-1] - np.transpose(same)).max() < 2e-4
    assert np.abs(roll_out(two_arms, ControlInput(time, held, **gains), held[0]).q - found.q).max() > 2e-2


def test_a_bias_is_seen_by_the_law_and_by_the_log(two_arms: SimulatedRobot) -> None:
    time, held = commands(5, 30)
    b = np.array([0.02, -0.03, 0.01, 0.0, 0.05])
    biased = roll_out(two_arms, ControlInput(time, held, **LAW), held[0], bias=b)
    plain = roll_out(two_arms, ControlInput(time, held - b, **LAW), held[0] - b)
    assert np.allclose(biased.q, plain.q + b, rtol=0.0, atol=1e-12)


def test_a_sampled_law_is_evaluated_at_its_ticks_and_held(two_arms: SimulatedRobot) -> None:
    time, held = commands(5, 30)
    push = np.full((30, 5), 0.1)
    control = ControlInput(time, held, velocity=push, torque=push, rate=100.0, **LAW)
    found = roll_out(two_arms, control, held[0])
    law = LAW["kp"] * (held - found.q) + LAW["kd"] * (0.1 - found.v) + 0.1
    assert np.allclose(found.torque[1:], np.clip(law, -LAW["limit"], LAW["limit"])[:-1], atol=1e-9)
    continuous = roll_out(two_arms, ControlInput(time, held, velocity=push, torque=push, **LAW), held[0])
    often = roll_out(two_arms, ControlInput(time, held, velocity=push, torque=push, rate=1e4, **LAW), held[0])
    assert np.abs(often.q - continuous.q).max() < 0.1 * np.abs(found.q - continuous.q).max()


def test_a_rollout_that_flies_off_ends_and_says_where(two_arms: SimulatedRobot) -> None:
    time, held = commands(5, 100)
    gains = LAW["kp"] * np.array([1.0, 1.0, 1.0, 1.0, -200.0])
    found = roll_out(two_arms, ControlInput(time, held, gains, LAW["kd"]), held[0] + 0.1)
    assert found.ended is not None
    assert found.ended.joint in (3, 4)
    stopped = time > found.ended.time
    assert 0 < stopped.sum() < 99
    assert np.isnan(found.q[stopped]).all()
    assert np.isfinite(found.q[time < found.ended.time - 0.01]).all()


def test_bad_commands_are_refused() -> None:
    time, held = commands(1, 5)
    gain = np.ones(1)
    wrong: tuple[dict[str, Any], ...] = (
        {"time": time[::-1]}, {"time": time[:1], "position": held[:1]}, {"limit": np.zeros(1)}, {"rate": 0.0},
        {"kp": np.ones(2)}, {"position": held * np.nan}, {"velocity": held[1:]}, {"time": time[1:]},
    )  # fmt: skip
    for bad in wrong:
        with pytest.raises(DynidError):
            ControlInput(**{"time": time, "position": held, "kp": gain, "kd": gain} | bad)
    control = ControlInput(time, held, gain, gain)
    robot = SimulatedRobot.of(DynamicModel(PENDULUM))
    for q0, step in ((np.zeros(2), 0.01), (np.full(1, np.nan), 0.01), (np.zeros(1), 0.0), (np.zeros(1), 1e-13)):
        with pytest.raises(DynidError):
            roll_out(robot, control, q0, step=step)


NUMBERS = """
import numpy as np
from dynid import DynamicModel, load_robot
from dynid.simulation import ControlInput, RolloutParameters, SimulatedRobot, roll_out, sensitivities
model = DynamicModel(load_robot("builtin:two_link"), ["armature", "viscous", "coulomb"])
p = np.nan_to_num(model.reference); p[20:] = 0.3
held = 0.3 * np.sin(np.arange(8.0))[:, None] * np.ones(2)
control = ControlInput(np.arange(8) * 0.01, held, np.full(2, 30.0), np.ones(2), limit=np.full(2, 5.0))
found = roll_out(SimulatedRobot.of(model, p), control, held[0], delay=0.003, steps_kept=True)
numbers = np.vstack([found.q[-1], sensitivities(found, RolloutParameters((18, 20, 22), True)).position[-1].T])
"""


def test_without_compilation_the_numbers_are_the_same() -> None:
    compiled: dict[str, np.ndarray] = {}
    exec(NUMBERS, compiled)
    command = [sys.executable, "-c", NUMBERS + "print(numbers.tolist())"]
    environment = os.environ | {"DYNID_NO_COMPILE": "1"}
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert np.allclose(eval(output), compiled["numbers"], rtol=1e-10, atol=1e-14)
