"""Frames and their angles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.robot.frames import elementary_rotation, inverse, rotation_from_rpy, rpy_from_rotation
from tests.strategies import random_pose

angles = st.floats(-3.2, 3.2) | st.sampled_from([0.0, math.pi / 2, -math.pi / 2, math.pi, 1.57079633, 1.570796327])


@given(angles, angles, angles)
def test_rotations_come_back_from_their_angles_also_near_a_quarter_turn(roll: float, pitch: float, yaw: float) -> None:
    R = rotation_from_rpy(roll, pitch, yaw)
    assert np.abs(rotation_from_rpy(*rpy_from_rotation(R)) - R).max() <= 2e-15


@pytest.mark.parametrize("axis", "xyz")
def test_quarter_turns_are_exact(axis: str) -> None:
    for quarters in range(-5, 6):
        R = elementary_rotation(axis, quarters * math.pi / 2)
        assert set(np.abs(R).ravel().tolist()) <= {0.0, 1.0}


@given(st.integers(0, 1000))
def test_a_pose_times_its_inverse_is_nothing(seed: int) -> None:
    T = random_pose(np.random.default_rng(seed), False)
    assert np.allclose(T @ inverse(T), np.eye(4), atol=1e-14)
