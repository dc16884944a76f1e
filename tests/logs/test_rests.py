"""Rests are found where a robot stands still, and nowhere else."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dynid import Log
from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.logs import find_rests


def tour(postures: Array, rate: float = 200.0, hold: float = 0.5) -> tuple[Array, Array]:
    """Time and positions of straight ways of 0.5 s between postures, with smooth starts and ends, and rests."""
    blend = 0.5 - 0.5 * np.cos(np.pi * np.linspace(0.0, 1.0, int(0.5 * rate)))[:, None]
    parts = []
    for start, end in pairwise(postures):
        parts += [np.repeat(start[None], int(hold * rate), axis=0), start + blend * (end - start)]
    q = np.concatenate([*parts, np.repeat(postures[-1:], int(hold * rate), axis=0)])
    return np.arange(len(q)) / rate, q


POSTURES = np.random.default_rng(0).uniform(-1.5, 1.5, (7, 3))


@pytest.mark.parametrize(("noise", "step"), [(0.0, 0.0), (1e-4, 0.0), (0.0, 1e-3)])
def test_every_posture_is_found_once(noise: float, step: float) -> None:
    t, q = tour(POSTURES)
    logged = q + noise * np.random.default_rng(1).normal(size=q.shape)
    logged = np.round(logged / step) * step if step else logged
    found = find_rests(Log(time=t, position=logged, torque=q))
    assert len(found) == len(POSTURES)
    np.testing.assert_allclose(found.position, POSTURES, atol=2e-3)
    np.testing.assert_allclose(found.torque, POSTURES, atol=2e-3)  # nothing of the motion is in the means


def test_a_posture_that_is_visited_again_counts_once_with_both_sides() -> None:
    t, q = tour(np.array([[1.0], [0.0], [-1.0], [0.0], [1.0]]))
    friction = np.sign(np.gradient(q[:, 0]))
    for k in range(1, len(friction)):
        friction[k] = friction[k] or friction[k - 1]  # static friction keeps the direction of the approach
    found = find_rests(Log(time=t, position=q, torque=5.0 * q + friction[:, None]))
    at_zero = np.flatnonzero(np.abs(found.position[:, 0]) < 1e-6)
    assert len(found) == 3
    assert len(at_zero) == 1
    assert found.both_sides[at_zero[0], 0]
    assert abs(found.torque[at_zero[0], 0]) < 1e-9
    assert not found.both_sides[np.argmin(found.position[:, 0]), 0]


def test_motion_without_rests_is_refused_and_rows_are_postures_where_said() -> None:
    t = np.arange(0.0, 5.0, 0.01)
    moving = Log(time=t, position=np.sin(3.0 * t), torque=t)
    with pytest.raises(InvalidRequestError, match="never stands still"):
        find_rests(moving)
    rows = Log(time=t, position=np.sin(3.0 * t), torque=t, static="rows")
    assert len(find_rests(rows)) == len(t)


@pytest.mark.parametrize("noise", [2e-5, 5e-4])
def test_a_parked_joint_whose_encoder_is_noisy_hides_no_rest(noise: float) -> None:
    t, q = tour(POSTURES)
    q[:, 1] = 0.4
    logged = q + noise * np.random.default_rng(2).normal(size=q.shape)
    found = find_rests(Log(time=t, position=logged, torque=q))
    assert len(found) == len(POSTURES)
    toggling = q.copy()
    toggling[::7, 1] += 1e-4  # the encoder's last digit
    assert len(find_rests(Log(time=t, position=toggling, torque=q))) == len(POSTURES)


def test_steps_between_postures_are_motions_and_not_digits() -> None:
    q = np.repeat(np.array([[0.0], [0.3], [0.6], [0.3]]), 200, axis=0)
    found = find_rests(Log(time=np.arange(800) / 200.0, position=q, torque=q))
    assert sorted(found.position[:, 0].round(6)) == [0.0, 0.3, 0.6]
