"""Causal filters are SciPy's Butterworth low-pass with its derivatives, exact for straight lines between any times."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal
from scipy.spatial.transform import Rotation

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.streams.causal_filter import ORDER, CausalFilter, StateFilter
from dynid.estimation.streams.filtered_samples import FilteredSamples
from dynid.estimation.streams.filtered_states import states_of
from dynid.robot import load_robot

CUTOFF = 8.0


def by_scipy(t: Array, x: Array, derivative: int) -> Array:
    """The low-pass of straight lines between even samples, from rest at the first value, by `scipy.signal.lsim`."""
    omega = 2.0 * np.pi * CUTOFF
    a = np.poly(signal.buttap(ORDER)[1] * omega).real
    found = signal.lsim(([omega**ORDER] + [0.0] * derivative, a), x - x[0], t)[1]
    return found + (x[0] if derivative == 0 else 0.0)


def test_a_low_pass_and_its_derivatives_are_those_of_scipy() -> None:
    t = np.arange(400) / 200.0
    x = np.cumsum(np.random.default_rng(0).normal(size=(400, 2)), axis=0)
    own = StateFilter(CUTOFF, 2)
    own.begin(x[0])
    found = own.advance(np.diff(t, prepend=t[0]), x)
    for derivative in range(3):
        for channel in range(2):
            wanted = by_scipy(t, x[:, channel], derivative)
            assert np.allclose(found[derivative, :, channel], wanted, atol=1e-9 * np.abs(wanted).max())


def test_samples_on_the_lines_between_others_change_nothing() -> None:
    rng = np.random.default_rng(1)
    t = np.sort(np.concatenate([np.arange(100) / 50.0, rng.uniform(0.0, 1.98, 150)]))
    x = np.interp(t, np.arange(100) / 50.0, rng.normal(size=100))
    outputs = []
    for kept in (np.isin(t, np.arange(100) / 50.0), np.ones(len(t), dtype=bool)):
        own = StateFilter(CUTOFF, 2)
        own.begin(x[:1])
        outputs.append(own.advance(np.diff(t[kept], prepend=t[0]), x[kept, None])[:, -1, 0])
    assert np.allclose(*outputs, rtol=1e-9)


def test_states_of_a_free_base_are_derivatives_of_its_pose() -> None:
    robot = load_robot("builtin:ur5", floating_base=True)
    h, t = 1e-4, 0.3

    def pose(t: float) -> Array:
        turn = Rotation.from_rotvec([np.sin(t), 0.5 * t**2, np.cos(2 * t)]).as_quat() * (1.0 + 0.1 * np.sin(3 * t))
        return np.concatenate([[np.sin(2 * t), t**2, -t], turn, np.sin(t + np.arange(6))])

    def state(t: float) -> tuple[Array, Array, Array]:
        x = [pose(t + k * h) for k in (-1, 0, 1)]
        return states_of(robot, x[1][None], (x[2] - x[0])[None] / (2 * h), (x[0] - 2 * x[1] + x[2])[None] / h**2)

    q, v, a = state(t)
    before, after = state(t - h), state(t + h)
    turn = Rotation.from_quat(before[0][0, 3:7]).inv() * Rotation.from_quat(after[0][0, 3:7])
    assert np.allclose(v[0, 3:6], turn.as_rotvec() / (2 * h), atol=1e-5)
    shift = (after[0] - before[0])[0, :3] / (2 * h)
    assert np.allclose(v[0, :3], Rotation.from_quat(q[0, 3:7]).inv().apply(shift), atol=1e-5)
    assert np.allclose(a, (after[1] - before[1]) / (2 * h), atol=1e-4)


def test_after_a_gap_filters_begin_anew_and_say_so() -> None:
    robot = load_robot("builtin:two_link")
    t = np.concatenate([np.arange(300), np.arange(500, 800)]) / 200.0
    q = np.sin(t)[:, None] * [1.0, 0.5]
    own = FilteredSamples(robot, CausalFilter(cutoff=CUTOFF))
    pieces = list(own.pieces(t, q, np.zeros_like(q)))
    assert own.restarts == 1
    assert [piece.is_new for piece in pieces] == [True, True]
    assert pieces[0].at.stop == 300
    assert pieces[1].at.start > 300
    assert all(np.allclose(piece.chunk.v[:, 0], np.cos(t[piece.at]), atol=0.06) for piece in pieces)


def test_samples_too_far_apart_for_the_filter_are_refused() -> None:
    robot = load_robot("builtin:two_link")
    t = np.arange(60) / 10.0
    with pytest.raises(InvalidRequestError, match="lower cut-off"):
        list(FilteredSamples(robot, CausalFilter()).pieces(t, np.zeros((60, 2)), np.zeros((60, 2))))


@pytest.mark.parametrize("wrong", [{"cutoff": 0.0}, {"cutoff": float("nan")}, {"rows": -1.0}])
def test_frequencies_of_filters_are_positive(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidRequestError):
        CausalFilter(**wrong)
