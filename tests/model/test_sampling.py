"""Random states that the robot can be in."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dynid import DynamicModel, Observed, load_robot
from dynid.model.sampling import random_states
from dynid.robot.joints import Limits


@pytest.mark.parametrize(
    ("limits", "interval"),
    [
        (Limits(), (-1, 1)),
        (Limits(0.2, 0.5), (0.2, 0.5)),
        (Limits(-10, 20), (4, 6)),
        (Limits(lower=0.5), (0.5, 2.5)),
        (Limits(upper=-0.5), (-2.5, -0.5)),
        (Limits(0.2, 0.2), (-1, 1)),
    ],
)
def test_intervals_lie_within_the_limits(limits: Limits, interval: tuple[float, float]) -> None:
    assert limits.interval(2.0) == pytest.approx(interval)


def test_positions_lie_within_the_limits_and_fill_them() -> None:
    robot = load_robot("builtin:panda")
    q, v, a = random_states(DynamicModel(robot), 2000, np.random.default_rng(0))
    for joint in robot.joints:
        own = q[:, joint.q]
        assert joint.limits.lower <= own.min() <= joint.limits.lower + 0.05
        assert joint.limits.upper - 0.05 <= own.max() <= joint.limits.upper
    assert np.abs(v).max() > 1
    assert np.abs(a).max() > 1


def test_quaternions_are_rotations_and_a_standing_base_stands() -> None:
    robot = load_robot("builtin:two_link", floating_base=True)
    q, _, _ = random_states(DynamicModel(robot), 50, np.random.default_rng(0))
    assert np.linalg.norm(q[:, 3:7], axis=1) == pytest.approx(1.0)
    q, v, a = random_states(DynamicModel(robot, (), Observed.WRENCH_STATIONARY), 50, np.random.default_rng(0))
    assert (q[:, :7] == [0, 0, 0, 0, 0, 0, 1]).all()
    assert not v[:, :6].any()
    assert not a[:, :6].any()


def test_at_rest_nothing_moves() -> None:
    model = DynamicModel(load_robot("builtin:ur5"), (), Observed.GRAVITY)
    q, v, a = random_states(model, 50, np.random.default_rng(0))
    assert np.abs(q).max() <= math.pi
    assert not v.any()
    assert not a.any()
