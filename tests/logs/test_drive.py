"""Drive chains: from motors to joints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.errors import InvalidRequestError, ShapeError
from dynid.logs.drive import Transmission

TX40 = Transmission.of([32, 32, 45, -48, 45, 32], couplings=[(5, 4, 32)])


def test_the_transmission_of_the_tx40_is_that_of_figure_3_6() -> None:
    # hal-03371519: motor 6 turns with joints 5 and 6; joint torque 5 is 45 and 32 times the motors' 5 and 6.
    assert TX40.matrix[4:, 4:].tolist() == [[45, 0], [32, 32]]
    torque = TX40.joint_torques(np.array([[0, 0, 0, 0, 1.0, 10.0]]))
    assert torque.tolist() == [[0, 0, 0, 0, 45 + 320, 320]]


@given(st.integers(0, 1000))
def test_power_is_the_same_on_both_sides(seed: int) -> None:
    rng = np.random.default_rng(seed)
    motor_torque, motor_velocity = rng.normal(size=(2, 5, 6))
    joint_torque, joint_velocity = TX40.joint_torques(motor_torque), TX40.joint_velocities(motor_velocity)
    assert np.allclose((joint_torque * joint_velocity).sum(axis=1), (motor_torque * motor_velocity).sum(axis=1))


@given(st.integers(0, 1000))
def test_positions_come_back_through_the_transmission(seed: int) -> None:
    q = np.random.default_rng(seed).normal(size=(5, 6))
    offsets = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    drive = Transmission.of([32, 32, 45, -48, 45, 32], [(5, 4, 32)], offsets=offsets)
    assert np.allclose(drive.joint_positions((q + offsets) @ drive.matrix.T), q, atol=1e-12)


def test_sides_constants_and_signs_are_data() -> None:
    drive = Transmission.of([100, 50], torque_constants=[0.1, -0.2], positions_at_motor=False)
    assert drive.joint_positions(np.array([[1.0, 2.0]])).tolist() == [[1, 2]]
    assert drive.joint_torques(np.array([[1.0, 1.0]])).tolist() == [[10, -10]]
    at_joint = Transmission.of([100, 50], torque_constants=[0.1, -0.2], torques_at_motor=False)
    assert at_joint.joint_torques(np.array([[1.0, 1.0]])).tolist() == [[0.1, -0.2]]


def test_drives_that_cannot_be_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="cannot be inverted"):
        Transmission.of([1, 0])
    with pytest.raises(InvalidRequestError, match="cannot be inverted"):
        Transmission.of([1, 1], [(0, 1, 1), (1, 0, 1)])
    with pytest.raises(InvalidRequestError, match="two drives"):
        Transmission.of([1, 1], [(0, 2, 1)])
    with pytest.raises(InvalidRequestError, match="finite"):
        Transmission.of([1, 1], torque_constants=[np.nan, 1])
    with pytest.raises(ShapeError, match="offsets"):
        Transmission.of([1, 1], offsets=[0.0])
    with pytest.raises(ShapeError, match="logged signals"):
        TX40.joint_positions(np.zeros((3, 5)))
