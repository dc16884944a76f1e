"""Motions within the speed and torque curve of servos."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dynid
from dynid import DynamicModel, Robot, Servo, load_robot
from dynid.errors import InvalidRequestError
from dynid.excitation.limits.limit import Limit
from dynid.excitation.limits.log_rate import LogRateLimit
from dynid.excitation.limits.servo_drive import GearLoss, ServoDrive
from dynid.excitation.limits.servo_limits import CommandLimit, DutyLimit
from dynid.excitation.trajectories.fourier import Fourier
from dynid.excitation.trajectories.sampled import Trajectory
from dynid.model.kernels.row_layout import prepare
from dynid.robot import Limits
from dynid.simulation import ControlInput, nominal_robot, roll_out
from tests.motion_slopes import differences, grid_of, random_x
from tests.servo_truth import PENDULUM

SERVO = Servo(voltage=12.0, stall_torque=600.0, no_load_speed=5.0, kp=4.0, kd=0.02, max_duty=0.9)
KNOWN = {"fs*": 3.0, "fv*": 1.0, "kl*": 0.05, "kls*": 0.04}
ONE = Servo(voltage=12.0, stall_torque=6.0, no_load_speed=6.0, kp=5.0, max_duty=0.95)
WIDE = Limits(-2.5, 2.5, 4.0, 20.0, math.inf, math.inf)


def drive_of(robot: Robot, terms: tuple[str, ...] = ("viscous", "load_stribeck"), **known: float) -> ServoDrive:
    return ServoDrive.of(DynamicModel(robot, terms), SERVO, known or KNOWN, 30.0)


def pendulum(tmp_path: Any, mass: float = 1.0) -> Robot:
    path = tmp_path / "pendulum.urdf"
    path.write_text(PENDULUM.format(mass=mass, length=-0.15))
    return load_robot(path)


@pytest.mark.parametrize("terms", [("viscous", "coulomb"), ("viscous", "load_stribeck"), ("quadratic_friction",)])
@pytest.mark.parametrize("kind", [DutyLimit, CommandLimit])
def test_slopes_equal_finite_differences(kind: type[Limit], terms: tuple[str, ...]) -> None:
    prepare()
    robot = load_robot("builtin:spatial_3r")
    known = {"fs*": 3.0} | ({"kl*": 0.05, "kls*": 0.04} if "load_stribeck" in terms else {})
    known |= {"km*": 0.03, "kes*": 0.1, "qe*": 0.002, "qm*": 0.001} if "quadratic_friction" in terms else {}
    drive = drive_of(robot, terms, **known)
    limit = DutyLimit(drive) if kind is DutyLimit else CommandLimit.of(drive, [WIDE] * robot.nv)
    grid = grid_of(robot)
    rng = np.random.default_rng(4)
    x = random_x(grid, rng)
    directions = rng.normal(size=(3, len(x)))
    which = np.arange(len(limit.slacks(grid.motion(x))))
    slopes = limit.slopes(grid.motion(x), which) @ directions.T
    expected = differences(lambda y: limit.slacks(grid.motion(y)), x, directions)
    assert np.abs(slopes - expected).max() <= 1e-5 * (1.0 + np.abs(expected).max())
    q = grid.motion(x).states[0]
    still = limit.slacks(grid.motion(x)).reshape(2, 2, len(q), robot.nv)[1].min(axis=(0, 2))
    assert np.allclose(limit.of_postures(q), np.minimum(still, 1.0))


def test_the_curve_falls_to_nothing_at_the_no_load_speed_and_back_driven_servos_give_more(tmp_path: Any) -> None:
    """At half the no-load speed half of the stall torque is left; driven back at that speed, half more than it."""
    drive = ServoDrive.of(DynamicModel(pendulum(tmp_path)), ONE.model_copy(update={"max_duty": 1.0}), {}, 1e6)
    limit = DutyLimit(drive)
    q, a = np.zeros((1, 1)), np.zeros((1, 1))
    inertia = drive.torques.smooth(q, a, np.ones((1, 1)))[0, 0]
    for speed, torque, kept in ((3.0, 2.99, True), (3.0, 3.01, False), (3.0, -8.99, True), (3.0, -9.01, False)):
        slacks = limit._used(q, np.full((1, 1), speed), np.full((1, 1), torque / inertia))
        assert (slacks.min() > -1e-4) == kept, (speed, torque)


def test_the_loss_bounds_the_friction_that_the_term_adds(tmp_path: Any) -> None:
    robot = pendulum(tmp_path)
    values = {"fs1": 0.05, "fst1": 0.02, "km1": 0.1, "ke1": 0.15, "kms1": 0.05, "kes1": 0.1, "qm1": 0.05, "qe1": 0.04}
    model = DynamicModel(robot, ["quadratic_friction"])
    drive = ServoDrive.of(model, ONE, values, 30.0)
    p = np.array([values.get(name, known) for name, known in zip(model.names, model.reference, strict=True)])
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-2, 2, (500, 1)), rng.normal(0, 1, (500, 1)), rng.normal(0, 10, (500, 1))
    r, loss, _ = drive.needed(q, v, a)
    friction = np.abs(dynid.DynamicModel(robot, ["quadratic_friction"]).inverse_dynamics(q, v, a, p) - r)
    assert (friction <= loss * (1.0 + 1e-9)).all()
    assert friction.max() > 0.5 * loss.max()


def test_a_servo_follows_the_commands_and_needs_the_duty_cycle_that_the_limit_says(tmp_path: Any) -> None:
    """Commands take account of the error that the position loop needs: without it, it would hang 0.05 rad lower."""
    robot = pendulum(tmp_path)
    drive = ServoDrive.of(DynamicModel(robot), ONE, {}, 1000.0)
    t = np.arange(0.0, 4.0, 1e-3)
    q = 0.8 * (1.0 - np.cos(np.pi * t / 2.0))[:, None]
    v, a = 0.4 * np.pi * np.sin(np.pi * t / 2.0)[:, None], 0.2 * np.pi**2 * np.cos(np.pi * t / 2.0)[:, None]
    sent = drive.commands(q, v, a)
    law = ONE.law(1)
    model = DynamicModel(robot)
    control = ControlInput(t, sent, law["kp"], law["kd"], limit=law["effort_limit"], back_emf=law["back_emf"])
    rolled = roll_out(nominal_robot(model)[0], control, q[0], step=1e-3)
    later = t > 1.0  # it starts with another acceleration
    assert np.abs(rolled.q - q)[later].max() < 2e-3 < 0.03 < np.abs(sent - q).max()
    duty = np.abs(law["kp"] * (sent - rolled.q))[later].max() / (law["effort_limit"][0] / 0.95)
    (check,) = DutyLimit(drive).checks(Trajectory(t, q, v, a), t[later])  # type: ignore[arg-type]  # it has no jerk, which is not asked for
    assert check.name == "duty cycle of shoulder"
    assert duty == pytest.approx(max(map(abs, check.reached)), rel=0.03)


def test_designed_motions_keep_the_curve_and_that_of_a_strong_servo_is_none_for_a_weak_one(tmp_path: Any) -> None:
    robot = pendulum(tmp_path)
    options = {
        "time_limit": 30,
        "starts": 1,
        "period": 4.0,
        "velocity": 8.0,
        "acceleration": 100.0,
        "criterion": "determinant",
        "collisions": False,
    }
    weak = Servo(voltage=12.0, stall_torque=1.8, no_load_speed=6.0, kp=5.0)
    motions = []
    for servo in (ONE, weak):
        found = dynid.excite(robot, ["viscous", "coulomb"], servo=servo, **options)
        assert not found.broken
        assert found.settings.rate == 30.0
        names = {row["name"]: row for row in found.to_dict()["limits"]}
        assert names["duty cycle of shoulder"]["limit"] == servo.max_duty
        assert names["frequency for the log rate"]["limit"] == pytest.approx(3.0)
        assert {"command of shoulder"} <= set(names)
        assert "servo-friction-unknown" in {finding.code for finding in found.findings}
        motions.append(found.trajectory)
    assert names["duty cycle of shoulder"]["used"] > 0.9
    of_weak = DutyLimit(ServoDrive.of(DynamicModel(robot), weak, {}, 30.0))
    used = [of_weak.checks(motion, np.linspace(0.0, 4.0, 4001))[0].used for motion in motions]
    assert used[1] <= 1.0 < 1.1 < used[0]


def test_the_log_rate_limits_the_band() -> None:
    LogRateLimit.of(Fourier(2 * np.pi / 5.0, 5), 30.0)
    with pytest.raises(InvalidRequestError, match=r"up to 4 Hz, and a log at 30 Hz shows accelerations up to 3 Hz"):
        LogRateLimit.of(Fourier(2 * np.pi / 5.0, 20), 30.0)


def test_friction_that_no_motor_could_move_is_refused() -> None:
    robot = load_robot("builtin:two_link")
    with pytest.raises(InvalidRequestError, match="takes 95% of its motor's torque"):
        GearLoss.of(robot, np.zeros(2), {"kl2": 0.5, "kls2": 0.45})


def test_a_posture_that_the_servo_cannot_hold_leaves_no_motion(tmp_path: Any) -> None:
    weak = Servo(voltage=12.0, stall_torque=1.0, no_load_speed=6.0, kp=5.0)
    with pytest.raises(dynid.DynidError):
        dynid.excite(
            pendulum(tmp_path), servo=weak, time_limit=20, starts=1, start=(1.5,), velocity=3.0, acceleration=20.0,
            position=(1.2, 1.8), collisions=False,
        )  # fmt: skip
