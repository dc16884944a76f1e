"""Trapezoids and double-S profiles: limits, continuity, end conditions and durations over thousands of draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import ruckig
from hypothesis import given
from hypothesis import strategies as st

from dynid.errors import DynidError, InvalidRequestError
from dynid.excitation.limits.stated import joint_limits
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.trajectories.double_s import (
    DisplacementError,
    double_s,
    fastest_phases,
    phased,
    synchronised,
)
from dynid.excitation.trajectories.phased_motion import PhasedMotion
from dynid.excitation.waypoint_motion import motion_through
from dynid.robot import load_robot

DRAWS = 4000


def least_way(v0: np.ndarray, v1: np.ndarray, a: np.ndarray, j: np.ndarray) -> np.ndarray:
    """The displacement of a change of velocity without a peak (equation 2.6 of the Figaro thesis)."""
    step = np.abs(v1 - v0)
    return np.where(step * j <= a**2, np.sqrt(step / j), 0.5 * (a / j + step / a)) * (v0 + v1)


def draws(seed: int, *, at_rest: bool = False) -> tuple[np.ndarray, ...]:
    """Displacements, limits and end velocities for which a profile exists."""
    rng = np.random.default_rng(seed)
    V, A, J = 10.0 ** rng.uniform([[-1.0], [-1.0], [-0.5]], [[1.0], [1.5], [2.5]], (3, DRAWS))
    D = rng.choice([-1.0, 1.0], DRAWS) * 10.0 ** rng.uniform(-4.0, 1.5, DRAWS)
    v0, v1 = rng.uniform(-1.0, 1.0, (2, DRAWS)) * V * (rng.random((2, DRAWS)) < 0.7)
    v0[::10], v1[::15] = V[::10], -V[::15]  # phases that are missing
    if at_rest:
        v0, v1 = np.zeros((2, DRAWS))
    sign = np.sign(D)
    fits = (np.maximum(sign * v0, sign * v1) <= 0.0) | (np.abs(D) > sign * least_way(v0, v1, A, J))
    return tuple(part[fits] for part in (D, V, A, J, v0, v1))


def ruckig_duration(D: float, V: float, A: float, J: float, v0: float, v1: float) -> float:
    asked = ruckig.InputParameter(1)
    asked.current_position, asked.current_velocity, asked.current_acceleration = [0.0], [v0], [0.0]
    asked.target_position, asked.target_velocity, asked.target_acceleration = [D], [v1], [0.0]
    asked.max_velocity, asked.max_acceleration, asked.max_jerk = [V], [A], [J]
    found = ruckig.Trajectory(1)
    assert ruckig.Ruckig(1).calculate(asked, found) in (ruckig.Result.Working, ruckig.Result.Finished)
    return found.duration


def integrated(motion: PhasedMotion) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States at the ends of phases, step by step, from durations and jerks alone: shapes (axes, phases + 1)."""
    q, v = [motion.begin], [motion.velocity]
    a = [motion.accelerations[:, 0]]
    for k in range(motion.durations.shape[1]):
        t, j = motion.durations[:, k], motion.jerks[:, k]
        q.append(q[-1] + v[-1] * t + a[-1] * t**2 / 2 + j * t**3 / 6)
        v.append(v[-1] + a[-1] * t + j * t**2 / 2)
        a.append(a[-1] + j * t)
    return np.stack(q, 1), np.stack(v, 1), np.stack(a, 1)


@pytest.mark.parametrize("at_rest", [True, False])
def test_double_s_profiles_keep_limits_and_end_where_they_should(at_rest: bool) -> None:
    D, V, A, J, v0, v1 = draws(0, at_rest=at_rest)
    motion = phased(np.zeros(len(D)), fastest_phases(D, V, A, J, v0, v1), v0)
    q, v, a = integrated(motion)  # accelerations from jerks: continuous, and as each phase says
    scale = np.maximum(1.0, np.abs(D))
    assert np.abs((q[:, -1] - D) / scale).max() <= 1e-9
    assert np.abs(v[:, -1] - v1).max() <= 1e-9
    assert np.abs(a[:, -1]).max() <= 1e-9
    assert np.abs(a[:, :-1] - motion.accelerations).max() <= 1e-9
    assert (motion.durations >= 0.0).all()
    assert (np.abs(v) <= V[:, None] * (1 + 1e-12)).all()  # extremes of velocity are where acceleration is zero
    assert (np.abs(a) <= A[:, None] * (1 + 1e-12)).all()
    assert (np.abs(motion.jerks) <= J[:, None]).all()
    cases = {
        "velocity reached": motion.durations[:, 3] > 1e-9,
        "velocity not reached": motion.durations[:, 3] <= 1e-9,
        "acceleration reached": motion.durations[:, 1] > 1e-9,
        "acceleration not reached": motion.durations[:, 1] <= 1e-9,
        "no acceleration": motion.durations[:, 0] <= 1e-12,
    }
    counts = {name: int(which.sum()) for name, which in cases.items()}
    assert min(count for name, count in counts.items() if not (at_rest and name == "no acceleration")) >= 20, counts


def test_double_s_profiles_are_as_fast_as_those_of_ruckig() -> None:
    arguments = draws(1)
    durations = phased(np.zeros(len(arguments[0])), fastest_phases(*arguments), arguments[4]).ends[:, -1]
    others = np.array([ruckig_duration(*map(float, one)) for one in np.transpose(arguments)])
    assert len(others) > 2000
    assert np.abs(durations - others).max() <= 1e-6  # whether the largest velocity is reached or not


@given(
    st.floats(-20.0, 20.0), st.floats(0.01, 20.0), st.floats(0.01, 50.0), st.floats(0.01, 500.0), st.floats(-1, 1),
    st.floats(-1, 1),
)  # fmt: skip
def test_any_double_s_profile_is_none_shorter_or_refused(
    end: float, velocity: float, acceleration: float, jerk: float, first: float, last: float
) -> None:
    limits = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
    v0, v1 = first * velocity, last * velocity
    try:
        motion = double_s(0.0, end, **limits, begin_velocity=v0, end_velocity=v1)
    except DisplacementError:
        return
    q, v, a = (part[0, 0] for part in motion.states(np.array([motion.duration])))
    assert abs(q - end) <= 1e-9 * max(1.0, motion.duration * velocity)
    assert abs(v - v1) <= 1e-9 * max(1.0, velocity)
    assert abs(a) <= 1e-9 * max(1.0, acceleration)
    assert motion.duration >= ruckig_duration(end, velocity, acceleration, jerk, v0, v1) * (1 - 1e-9) - 1e-9


def test_trapezoids_are_as_fast_as_accelerations_allow() -> None:
    D, V, A, _, _, _ = draws(2, at_rest=True)
    motion = phased(np.zeros(len(D)), fastest_phases(D, V, A, np.full(len(D), np.inf)))
    way = np.abs(D)
    exact = np.where(way >= V**2 / A, way / V + V / A, 2 * np.sqrt(way / A))
    assert np.allclose(motion.ends[:, -1], exact, rtol=1e-12)
    q, v = motion._starts
    assert np.abs(q[:, -1] - D).max() <= 1e-9
    assert np.abs(v[:, -1]).max() <= 1e-9
    assert (np.abs(v) <= V[:, None] * (1 + 1e-12)).all()
    assert set(np.unique(np.abs(motion.accelerations) / A[:, None]).tolist()) == {0.0, 1.0}


def test_displacements_that_are_too_small_are_refused_and_the_least_one_is_not() -> None:
    limits = {"velocity": 2.0, "acceleration": 4.0, "jerk": 10.0}
    ends = {"begin_velocity": 1.5, "end_velocity": 0.5}
    least = float(least_way(*(np.array([part]) for part in (1.5, 0.5, 4.0, 10.0)))[0])
    assert double_s(0.0, least * (1 + 1e-9), **limits, **ends).duration > 0.0
    with pytest.raises(DisplacementError, match=rf"too small .* takes {least:.6g} at least"):
        double_s(0.0, 0.5 * least, **limits, **ends)
    with pytest.raises(DisplacementError, match=f"takes -{least:.6g} at least"):
        double_s(0.0, -0.5 * least, **limits, begin_velocity=-1.5, end_velocity=-0.5)
    back = double_s(0.0, -0.5 * least, **limits, **ends)  # backwards there is time to turn round
    assert back.states(np.array([back.duration]))[0][0, 0] == pytest.approx(-0.5 * least)
    for bad in ({"velocity": 0.0}, {"jerk": -1.0}, {"begin_velocity": 3.0}, {"acceleration": np.inf, "jerk": np.inf}):
        with pytest.raises(InvalidRequestError):
            double_s(0.0, 1.0, **limits | bad)


def test_negative_displacements_are_the_mirror_of_positive_ones() -> None:
    D, V, A, J, v0, v1 = draws(3)
    there, back = (fastest_phases(s * D, V, A, J, s * v0, s * v1) for s in (1.0, -1.0))
    assert np.array_equal(there[0], back[0])
    assert np.array_equal(there[1], -back[1])
    assert np.array_equal(there[2], -back[2])


@pytest.mark.parametrize("jerk", [np.inf, 20.0])
def test_joints_arrive_together_as_fast_as_the_slowest(jerk: float) -> None:
    rng = np.random.default_rng(4)
    points = rng.uniform(-1.5, 1.5, (6, 5))
    points[3, 2] = points[2, 2]  # a joint that stays
    velocity, acceleration = rng.uniform(0.3, 2.0, 5), rng.uniform(1.0, 8.0, 5)
    motion = synchronised(points, velocity, acceleration, jerk, pause=0.25)
    steps = np.diff(points, axis=0)
    fastest = [phased(np.zeros(5), fastest_phases(step, velocity, acceleration, np.full(5, jerk))) for step in steps]
    arrivals = np.cumsum([one.duration + 0.25 for one in fastest])
    assert motion.duration == pytest.approx(arrivals[-1])
    q, v, a = motion.states(arrivals - 0.1)
    assert np.allclose(q, points[1:], atol=1e-9)
    assert np.allclose([v, a], 0.0, atol=1e-9)
    times = np.linspace(0.0, motion.duration, 20001)
    q, v, a = motion.states(times)
    assert np.allclose(np.gradient(q, times, axis=0), v, atol=0.01)
    assert (np.abs(v) <= velocity * (1 + 1e-9)).all()
    assert (np.abs(a) <= acceleration * (1 + 1e-9)).all()
    assert (np.abs(motion.jerk(times)) <= jerk * (1 + 1e-9)).all()
    if np.isfinite(jerk):
        assert np.abs(np.diff(a, axis=0)).max() <= 1.01 * jerk * times[1]  # accelerations are continuous


@pytest.mark.parametrize("jerk", [np.inf, 30.0])
def test_synchronised_motions_take_as_long_as_those_of_ruckig(jerk: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        begin, end = rng.uniform(-2, 2, (2, 4))
        velocity, acceleration = rng.uniform(0.3, 2.0, 4), rng.uniform(1.0, 8.0, 4)
        asked = ruckig.InputParameter(4)
        asked.current_position, asked.target_position = begin.tolist(), end.tolist()
        asked.max_velocity, asked.max_acceleration, asked.max_jerk = (
            velocity.tolist(),
            acceleration.tolist(),
            [jerk] * 4,
        )
        found = ruckig.Trajectory(4)
        ruckig.Ruckig(4).calculate(asked, found)
        assert synchronised(np.stack([begin, end]), velocity, acceleration, jerk).duration == pytest.approx(
            found.duration, abs=1e-6
        )


def test_robots_move_through_waypoints_within_their_limits() -> None:
    robot = load_robot("builtin:ur5")
    points = np.zeros((3, 6))
    points[1] = [1.0, -0.5, 0.3, 0.0, 2.0, -1.0]
    motion = motion_through(robot, points, "double-s", jerk=40.0, speed=0.5)
    assert motion.duration == pytest.approx(2 * motion_through(robot, points, "double-s", jerk=40.0).duration)
    limits = joint_limits(ExcitationSettings(), robot)
    q, v, a = motion.states(np.linspace(0.0, motion.duration, 2001))
    assert np.allclose(q[[0, 1000, 2000]], points, atol=1e-9)
    assert (np.abs(v) <= 0.5001 * np.array([limit.velocity for limit in limits])).all()
    assert (np.abs(a) <= 0.2501 * np.array([limit.acceleration for limit in limits])).all()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"waypoints": [[0.0, 0.0], [0.5, -9.0]]}, "waypoint 2 puts joint 'joint_2' at -9"),
        ({"waypoints": [[0.0, 0.0], [0.5, np.nan]]}, "waypoint 2 puts joint 'joint_2' at nan"),
        ({"waypoints": [[0.0, 0.0]]}, "two waypoints"),
        ({"waypoints": [[1.0, 0.0], [1.0, 0.0]]}, "lead nowhere"),
        ({"waypoints": [0.0, 1.0]}, "waypoints"),
        ({"profile": "double-s"}, "limit of jerk, and that of joint 'joint_1'"),
        ({"profile": "triangle"}, "no profile 'triangle'"),
        ({"speed": 0.0}, "speed"),
        ({"velocty": 1.0}, "did you mean 'velocity'"),
    ],
)
def test_waypoints_that_cannot_be_are_refused(changed: dict, words: str) -> None:
    asked: dict[str, Any] = {"waypoints": [[0.0, 0.0], [0.5, 1.0]]} | changed
    with pytest.raises(DynidError, match=words):
        motion_through("builtin:two_link", **asked)
