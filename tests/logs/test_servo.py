"""Servos as control laws: arithmetic of their circuit, and constants that no servo has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dynid
from dynid import DynidError, Servo
from dynid.logs import Control, LogSource
from dynid.logs.control_law import with_control
from dynid.settings import checked

CIRCUIT: dict[str, Any] = {"voltage": 12.0, "torque_constant": 1.2, "resistance": 2.4, "kp": 5.0}


def test_the_law_is_that_of_the_circuit() -> None:
    law = Servo(**CIRCUIT, kd=0.02, max_duty=(0.9, 1.0)).law(2)
    q, v, command = np.array([0.1, -2.0]), np.array([0.5, 3.0]), np.array([0.2, 1.0])
    duty = np.clip(5.0 * (command - q) - 0.02 * v, [-0.9, -1.0], [0.9, 1.0])
    wanted = 1.2 * (12.0 * duty - 1.2 * v) / 2.4
    clipped = np.clip(law["kp"] * (command - q) - law["kd"] * v, -law["effort_limit"], law["effort_limit"])
    np.testing.assert_allclose(clipped - law["back_emf"] * v, wanted)


def test_the_data_sheet_says_the_same_as_the_circuit() -> None:
    sheet: dict[str, Any] = dict(Servo(voltage=12.0, stall_torque=6.0, no_load_speed=10.0, kp=5.0).law(1))
    circuit: dict[str, Any] = dict(Servo(**CIRCUIT).law(1))
    for key, values in circuit.items():
        np.testing.assert_allclose(sheet[key], values)


def test_gains_in_registers_become_duty_cycles() -> None:
    """An XC330 at P = 1100 has 0.00575504 duty per radian and unit (the BAM project)."""
    servo = Servo(**{**CIRCUIT, "kp": 1100.0}, firmware="dynamixel_x")
    assert float(servo.duty_gain) == pytest.approx(1100 * 0.00575504, rel=1e-4)
    assert float(Servo(**{**CIRCUIT, "kp": 16.0}, firmware="feetech_sts").duty_gain) == pytest.approx(2.656)


def test_logs_have_the_torque_of_the_circuit() -> None:
    time = np.linspace(0.0, 0.3, 4)
    log = dynid.Log(time=time, position=0.2 * time, position_command=np.full(4, 3.0), **Servo(**CIRCUIT).law(1))
    np.testing.assert_allclose(log.torque[:, 0], 6.0 - 0.6 * 0.2)
    scaled = log.with_law(0.0, "continuous", np.array([0.5]))
    assert scaled.effort_limit is not None
    assert scaled.effort_limit.tolist() == [3.0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"voltage": None}, "'voltage' .* is missing"),
        ({"kp": None}, "gain 'kp'"),
        ({"resistance": None}, "both of one pair"),
        ({"stall_torque": 3.0}, "both of one pair"),
        ({"max_duty": 1.5}, "1.5 is more than all of it"),
        ({"max_duty": [1.0, 885.0]}, "885 is more than all of it"),
        ({"kp": 800.0}, "firmware = 'dynamixel_x'"),
        ({"torque_constant": 0.006}, "gear included"),
        ({"resistance": -2.0}, "resistance"),
        ({"kp": 32.0, "firmware": "feetech_sts", "kd": 32.0}, "no known unit"),
        ({"watts": 3.0}, "watts"),
        ({"voltage": math.nan}, "voltage"),
    ],
)
def test_constants_that_no_servo_has_are_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DynidError, match=words):
        checked(Control, {"servo": {**CIRCUIT, **changes}}, "control")


def test_gains_of_servos_and_of_torques_are_not_mixed() -> None:
    with pytest.raises(DynidError, match="duty cycle: leave kp and kd out"):
        checked(Control, {"servo": CIRCUIT, "kp": 16.0, "kd": 0.1}, "control")
    with pytest.raises(DynidError, match="has 2 numbers, and the robot has 3 joints"):
        Servo(**{**CIRCUIT, "kp": [5.0, 5.0]}).law(3)


def test_the_law_of_servos_may_be_stated_again_for_a_log_that_has_it() -> None:
    # Results store the logs that one table with a pattern stands for, each with its law.
    robot = dynid.load_robot("builtin:two_link")
    where = {"file": "run.csv", "columns": ["a", "b"]}
    log = LogSource.model_validate(
        {"time": {"file": "run.csv", "columns": "t"}, "position": where, "position_command": where}
    )
    control = checked(Control, {"servo": CIRCUIT}, "control")
    (once,) = with_control([log], control, robot)
    assert with_control([once], control, robot) == (once,)
    with pytest.raises(DynidError, match="gains of its own"):
        with_control([once.model_copy(update={"kp": (1.0, 1.0)})], control, robot)
