"""States that a stream has seen are kept at even times, and recombined joint by joint."""

from __future__ import annotations

import numpy as np

from dynid.estimation.streams.seen_states import COMBINED, MOST_STATES, STEP, SeenStates
from dynid.robot import load_robot


def seen(block: int, seconds: float = 20.0, rate: float = 50.0) -> SeenStates:
    found = SeenStates(load_robot("builtin:two_link"))
    t = np.arange(int(seconds * rate)) / rate
    q, v = np.stack([t, -t], axis=1), np.stack([10.0 + t, 20.0 + t], axis=1)
    for k in range(0, len(t), block):
        found.add(t[k : k + block], q[k : k + block], v[k : k + block])
    return found


def test_joints_have_states_of_different_moments_whatever_blocks_they_came_in() -> None:
    q, v = seen(1).combined()
    assert q.shape == v.shape == (COMBINED, 2)
    assert np.allclose(q[:, 0] % STEP, 0.0)
    assert np.allclose(v, q * [1.0, -1.0] + [10.0, 20.0])  # of one joint both are of one moment
    assert np.mean(q[:, 0] == -q[:, 1]) < 0.1
    for block in (7, 1000):
        assert np.array_equal(seen(block).combined()[0], q)


def test_they_are_bounded_and_none_without_samples() -> None:
    many = seen(1000, seconds=10.0 * MOST_STATES * STEP, rate=4.0)
    assert MOST_STATES // 4 < len(many._kept) <= MOST_STATES
    assert many.combined()[0][:, 0].max() > 9.0 * MOST_STATES * STEP
    many.clear()
    assert len(many.combined()[0]) == 0


def test_quaternions_stay_whole() -> None:
    robot = load_robot("builtin:two_link", floating_base=True)
    found, rng = SeenStates(robot), np.random.default_rng(0)
    q = rng.normal(size=(40, robot.nq))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    found.add(np.arange(40.0), q, np.zeros((40, robot.nv)))
    robot.states(found.combined()[0])  # refuses quaternions of another length
