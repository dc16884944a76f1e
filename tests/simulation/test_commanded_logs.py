"""Simulated truth is what it claims to be."""

from __future__ import annotations

from typing import Literal

import mujoco
import numpy as np

from dynid import Log
from tests.commanded_logs import Controller, commanded_log
from tests.commanded_robots import Joints, TrueRobot

WHEEL = """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody><body name="wheel">
  <inertial pos="0 0 0" mass="1" diaginertia="0.02 0.02 0.02"/><joint name="axle" axis="0 0 1"/>
  </body></worldbody></mujoco>"""
"""One joint with an inertia of 0.02 kg m^2, without gravity."""


def _wheel() -> TrueRobot:
    one, none = np.ones(1), np.zeros(1)
    joints = Joints(armature=0.01 * one, viscous=none, coulomb=0.5 * one, offset=none, bias=none)
    return TrueRobot("wheel", WHEEL, joints, kp=one, kd=none, low=-one, high=one, speed=one)


def _torques_that(robot: TrueRobot, torque: float, seconds: float, v0: float = 0.0) -> tuple[float, float]:
    """Position and velocity after a constant torque, from a velocity."""
    model = robot.compiled(follows=False)
    data = mujoco.MjData(model)
    data.qvel[0], data.ctrl[0] = v0, torque
    mujoco.mj_step(model, data, round(seconds / model.opt.timestep))
    return float(data.qpos[0]), float(data.qvel[0])


def test_dry_friction_of_the_simulated_truth_is_coulomb_friction() -> None:
    wheel = _wheel()
    stopped, _ = _torques_that(wheel, 0.0, 1.0, v0=3.0)
    assert abs(stopped / (3.0**2 * 0.03 / (2 * 0.5)) - 1.0) < 0.002  # way to a stop: I v^2 / (2 fs)
    assert abs(_torques_that(wheel, 0.99 * 0.5, 1.0)[0]) < 1e-3  # sticks below the breakaway torque
    slid, _ = _torques_that(wheel, 1.1 * 0.5, 1.0)
    assert abs(slid / (0.5 * 0.1 * 0.5 / 0.03) - 1.0) < 0.01  # slips above it


def test_a_late_command_of_the_simulated_truth_acts_as_late_as_stated() -> None:
    still = _wheel().but(coulomb=0.0)

    def log_of(law: Literal["continuous", "held", "late"]) -> Log:
        controller = Controller(law, counts=0, warm=0.0)
        return commanded_log(still, controller, lambda t: np.where(t[:, None] > 0.09, 1.0, 0.0), 0.2)

    log = log_of("continuous")
    w = np.sqrt(1.0 / 0.03)
    expected = 1.0 - np.cos(w * np.maximum(log.time - 0.1073, 0.0))
    np.testing.assert_allclose(log.position[:, 0], expected, atol=1e-8)
    first = [float(log.time[np.argmax(log.position[:, 0] > 1e-9)]) for log in (log_of("held"), log_of("late"))]
    np.testing.assert_allclose(first, [0.115, 0.11])  # it acts from 110 ms (the tick after its arrival), 107.3 ms on
