"""Families of trajectories: exact derivatives, rest at both ends, nothing beyond what is promised."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.errors import DynidError
from dynid.excitation.motion import free_coefficients
from dynid.excitation.trajectories.family import ParametricTrajectory
from dynid.excitation.trajectories.fourier import Fourier
from dynid.excitation.trajectories.point_to_point import PointToPoint
from dynid.excitation.trajectory_files import TrajectoryFileError, read_coefficients
from dynid.excitation.trajectory_formats import Written, csv_text, json_text, ros_text, urscript_text

families = st.builds(Fourier, st.floats(0.1, 5.0), st.integers(1, 8), st.integers(1, 3))


def random_trajectory(
    family: Fourier, joints: int = 2, seed: int = 0, posture: float | None = None
) -> ParametricTrajectory:
    free = free_coefficients(family, [posture] * joints)
    return free.trajectory(np.random.default_rng(seed).normal(size=sum(free.sizes)))


@given(families, st.integers(0, 100))
def test_each_derivative_is_the_slope_of_the_one_before(family: Fourier, seed: int) -> None:
    times = np.random.default_rng(seed).uniform(0, family.duration, 5)
    step = 1e-5 / family.frequency
    for k in range(3):
        slope = (family.basis(times + step, k) - family.basis(times - step, k)) / (2 * step)
        exact = family.basis(times, k + 1)
        assert np.abs(slope - exact).max() <= 1e-7 * (1.0 + np.abs(exact).max())


@given(families.filter(lambda family: family.harmonics > 2), st.integers(0, 100), st.floats(-2, 2))
def test_motions_start_and_end_at_rest_at_the_posture(family: Fourier, seed: int, posture: float) -> None:
    trajectory = random_trajectory(family, seed=seed, posture=posture)
    q, v, a = trajectory.states(np.array([0.0, trajectory.duration]))
    scale = 1.0 + np.abs(trajectory.coefficients).max() * family.frequency**2 * family.harmonics**2
    assert np.abs(q - posture).max() <= 1e-9 * scale
    assert max(np.abs(v).max(), np.abs(a).max()) <= 1e-9 * scale
    assert np.abs(trajectory.states(np.linspace(0, trajectory.duration, 50))[0] - posture).max() > 1e-6


def test_free_coefficients_are_all_that_keep_the_conditions() -> None:
    family = Fourier(1.0, 5)
    free = free_coefficients(family, [None, 0.5, None, 0.5], [True, True, False, False])
    assert free.sizes == (9, 8, 1, 0)
    x = np.random.default_rng(0).normal(size=18)
    assert np.allclose(free.reduce(free.expand(x)), x)
    assert np.allclose(np.diff(free.trajectory(x).states(np.linspace(0, 6, 20))[0][:, 2:], axis=0), 0.0)


@given(families, st.integers(0, 100), st.integers(3, 60))
def test_values_between_samples_stay_within_their_reach(family: Fourier, seed: int, factor: int) -> None:
    trajectory = random_trajectory(family, 1, seed)
    samples = factor * family.harmonics
    coarse = np.arange(samples) * family.cycle / samples
    fine = np.linspace(0, family.cycle, 4001)
    middle = np.random.default_rng(seed).normal()
    for k, (few, many) in enumerate(zip(trajectory.states(coarse), trajectory.states(fine), strict=True)):
        about = middle if k == 0 else 0.0
        assert np.abs(many - about).max() <= np.abs(few - about).max() * family.reach(samples) * (1 + 1e-9)


@pytest.mark.parametrize("speed", [0.1, 0.5, 2.0])
def test_another_speed_is_the_same_path(speed: float) -> None:
    trajectory = random_trajectory(Fourier(1.3, 3))
    slow = trajectory.at_speed(speed)
    times = np.linspace(0, trajectory.duration, 30)
    q, v, a = trajectory.states(times)
    other = slow.states(times / speed)
    assert slow.duration == pytest.approx(trajectory.duration / speed)
    assert np.allclose(other[0], q)
    assert np.allclose(other[1], speed * v)
    assert np.allclose(other[2], speed**2 * a)
    assert np.allclose(slow.jerk(times / speed), speed**3 * trajectory.jerk(times))


def test_coefficients_written_and_read_are_the_same_motion(tmp_path: Path) -> None:
    trajectory = random_trajectory(Fourier(1.3, 3, 2)).at_speed(0.5)
    path = tmp_path / "trajectory.json"
    path.write_text(json_text(Written(trajectory, ("one", "two"), 10.0)))
    loaded, names = read_coefficients(path)
    assert names == ("one", "two")
    assert loaded.family == trajectory.family
    assert np.array_equal(loaded.coefficients, trajectory.coefficients)
    assert loaded.speed == 0.5


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": "other"}', None, '{"schema": "dynid-trajectory-1"}'])
def test_files_that_hold_no_trajectory_are_refused(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "trajectory.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(TrajectoryFileError, match=r"trajectory\.json"):
        read_coefficients(path)


def test_the_table_has_a_row_a_sample_and_names_that_need_quotes() -> None:
    trajectory = random_trajectory(Fourier(2 * np.pi, 3))
    head, *rows = csv_text(Written(trajectory, ('a,"b"', "two"), 10.0)).splitlines()
    assert head.startswith('t,"q_a,""b""",q_two,')
    assert len(rows) == 11
    q, v, a = trajectory.states(np.array([0.3]))
    assert np.allclose([float(x) for x in rows[3].split(",")], [0.3, *q[0], *v[0], *a[0]])


def test_the_ros_message_is_yaml_with_the_fields_of_joint_trajectories() -> None:
    yaml = pytest.importorskip("yaml")
    trajectory = random_trajectory(Fourier(2 * np.pi / 3, 3))
    message = yaml.safe_load(ros_text(Written(trajectory, ("one: x", "two"), 10.0)))
    assert message["joint_names"] == ["one: x", "two"]
    point = message["points"][13]
    assert point["time_from_start"] == {"sec": 1, "nanosec": 300000000}
    for key, values in zip(
        ("positions", "velocities", "accelerations"), trajectory.states(np.array([1.3])), strict=True
    ):
        assert np.allclose(point[key], values[0])


def urscript_positions(program: str, t: float) -> list[float]:
    """What the program sends at a time, by running its inner loop in Python, whose syntax is nearly the same."""
    lines = program.splitlines()
    inner = lines[lines.index("    joint = 0") : next(k for k, line in enumerate(lines) if "servoj" in line)]
    constants = [
        line for line in lines if line.startswith(("  frequency", "  constant", "  cosines", "  sines", "  q ="))
    ]
    python = "\n".join(line[2:] for line in constants) + "\n" + "\n".join(line[4:] for line in inner)
    python = "\n".join("pass" if line.strip() == "end" else line for line in python.splitlines())
    scope: dict = {"t": t, "cos": np.cos, "sin": np.sin}
    exec("\n".join(line for line in python.splitlines() if line.strip() not in ("end", "pass")), scope)
    return scope["q"]


def test_the_urscript_program_follows_the_motion() -> None:
    trajectory = random_trajectory(Fourier(0.9, 3), 6)
    program = urscript_text(Written(trajectory, tuple("abcdef"), 10.0, robot='arm "6"\nmovej([0])'))
    assert program.count("while ") + program.count("def ") == program.count("end\n")
    assert np.allclose(urscript_positions(program, 1.7), trajectory.states(np.array([1.7]))[0][0], atol=1e-8)
    assert "\n  speed = 0.1\n" in program  # a careful first run; users raise it
    assert "  t = t + 0.008 * speed\n" in program.replace("    t", "  t")
    assert [line[:2] for line in program.splitlines()[:3]] == ["# ", "# ", "de"]
    with pytest.raises(DynidError, match="six joints"):
        urscript_text(Written(random_trajectory(Fourier(0.9, 3), 2), ("a", "b"), 10.0))


def test_approach_motions_are_slow_and_end_at_rest() -> None:
    begin, end = np.array([0.0, 1.0, -2.0]), np.array([1.5, 1.0, 0.3])
    velocity, acceleration = np.array([2.0, 3.0, 1.0]), np.array([5.0, np.inf, 8.0])
    motion = PointToPoint.slow(begin, end, velocity, acceleration, part=0.1)
    q, v, a = motion.states(np.linspace(0, motion.duration, 2001))
    assert np.allclose(q[[0, -1]], [begin, end])
    assert np.allclose(v[[0, -1]], 0.0)
    assert np.allclose(np.gradient(q, motion.duration / 2000, axis=0)[5:-5], v[5:-5], atol=1e-5)
    assert (np.abs(v).max(axis=0) <= 0.1 * velocity * 1.0001).all()
    assert (np.abs(a).max(axis=0) <= 0.1 * acceleration * 1.0001).all()
    assert max((np.abs(v).max(axis=0) / velocity).max(), (np.abs(a).max(axis=0) / acceleration).max()) > 0.0999


@pytest.mark.parametrize("bad", [{"frequency": 0.0}, {"harmonics": 0}, {"periods": 0}])
def test_series_that_are_none_are_refused(bad: dict) -> None:
    with pytest.raises(DynidError):
        Fourier(**({"frequency": 1.0, "harmonics": 2, "periods": 1} | bad))
    assert json.loads(json_text(Written(random_trajectory(Fourier(1.0, 3)), ("a", "b"), 10.0)))["family"] == "fourier"
