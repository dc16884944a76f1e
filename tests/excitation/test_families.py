"""Families of trajectories: linear in coefficients, from rest to rest, nothing beyond what is promised."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebvander
from scipy.optimize import linprog

from dynid.errors import DynidError
from dynid.excitation.design import fine_times
from dynid.excitation.local_search import random_start
from dynid.excitation.motion import free_coefficients
from dynid.excitation.recipe import excite
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.stated_family import FAMILIES, stated_family
from dynid.excitation.stated_problem import problem_of
from dynid.excitation.trajectories.family import Family
from dynid.excitation.trajectories.fourier import Fourier
from dynid.excitation.trajectories.rest_to_rest import DoubleS, Trapezoid
from dynid.excitation.trajectories.splines import BSpline, Polynomial, Spline
from dynid.excitation.trajectories.waves import Chirp, Multisine
from dynid.excitation.trajectory_files import TrajectoryFileError, read_coefficients
from dynid.excitation.trajectory_formats import Written, json_text, require_formats
from dynid.model import DynamicModel
from dynid.robot import load_robot
from dynid.settings import checked

EACH = (
    Fourier(0.9, 4, 2),
    Spline(5.0, 9),
    Spline(7.0, 8, 5, 2),
    BSpline(6.0, 12),
    BSpline(6.0, 11, 3, 2),
    BSpline(4.0, 13, 7),
    Polynomial(5.0, 12),
    Polynomial(5.0, 7, 3, 2),
    Multisine(5.0, (1, 3, 4, 9), 2),
    Chirp(8.0, 0.2, 1.5),
    Chirp(8.0, 1.5, 0.2, periods=2),
    Trapezoid(6.0, 6, 2),
    DoubleS(6.0, 5),
)
each = pytest.mark.parametrize("family", EACH, ids=lambda family: f"{family.name}-{family.size}-{family.periods}")

LIMITS: dict[str, Any] = {
    "velocity": 2.0,
    "acceleration": 6.0,
    "position": (-2.0, 2.0),
    "effort": 500.0,
    "period": 5.0,
    "noise": 1.0,
    "collisions": False,
}


@each
def test_each_derivative_is_the_slope_of_the_one_before(family: Family) -> None:
    times, step = np.random.default_rng(0).uniform(0, family.duration, 300), 1e-5
    for k in range(family.derivatives):
        slope = (family.basis(times + step, k) - family.basis(times - step, k)) / (2 * step)
        exact = family.basis(times, k + 1)
        wrong = np.abs(slope - exact).max(axis=1) > 1e-7 * (1.0 + np.abs(exact).max())
        assert wrong.sum() <= 2  # where a phase ends just there


@each
@pytest.mark.parametrize("posture", [None, 0.7])
def test_motions_start_and_end_at_rest_where_they_started(family: Family, posture: float | None) -> None:
    free = free_coefficients(family, [posture] * 2)
    trajectory = free.trajectory(np.random.default_rng(1).normal(size=sum(free.sizes)))
    ends = np.arange(family.periods + 1.0) * family.cycle
    q, v, a = trajectory.states(ends)
    assert np.allclose(np.diff(q, axis=0), 0.0, atol=1e-9)
    assert posture is None or np.allclose(q, posture, atol=1e-9)
    assert np.abs(v).max() <= 1e-9
    assert family.derivatives < 3 or np.abs(a).max() <= 1e-9
    assert np.ptp(trajectory.states(np.linspace(0, family.cycle, 99))[0], axis=0).min() > 1e-3
    assert np.allclose(family.basis(ends + 0.3) @ family.rest(), 1.0)


@each
def test_values_between_samples_stay_within_their_reach(family: Family) -> None:
    free = free_coefficients(family, [None])
    C = np.stack([free.expand(x)[:, 0] for x in np.random.default_rng(2).normal(size=(200, sum(free.sizes)))], axis=1)
    samples = family.samples(60)
    coarse, fine = family.times(samples), np.linspace(0.0, family.cycle, 4001)
    for k in range(family.derivatives + 1):
        few, many = (np.abs(family.basis(times, k) @ C).max(axis=0) for times in (coarse, fine))
        reach = family.reach(samples, k)
        assert reach >= 1.0
        assert (many <= reach * few * (1 + 1e-9)).all()


@pytest.mark.parametrize("degree", [2, 3, 4, 5, 7])
def test_no_polynomial_exceeds_its_samples_by_more_than_the_reach_of_pieces(degree: int) -> None:
    """The largest value between m + 1 even points of all polynomials between -1 and 1 there, by linear programs."""
    for steps in (3 * degree, 5 * degree + 1):
        V = chebvander(np.linspace(-1, 1, steps + 1), degree)
        places = -1.0 + 2.0 / steps * (np.arange(2 + steps // degree) + 0.5)
        most = max(
            -linprog(-row, np.concatenate([V, -V]), np.ones(2 * len(V)), bounds=(None, None)).fun
            for row in chebvander(places, degree)
        )
        pieces = Polynomial(1.0, degree + 3)  # its derivative of order 3 has the degree
        assert 1.0 < most <= pieces.reach(steps, 3) or degree == 2


@each
def test_coefficients_written_and_read_are_the_same_motion(family: Family, tmp_path: Path) -> None:
    free = free_coefficients(family, [None, 0.1])
    trajectory = free.trajectory(np.random.default_rng(3).normal(size=sum(free.sizes))).at_speed(0.5)
    path = tmp_path / "trajectory.json"
    path.write_text(json_text(Written(trajectory, ("one", "two"), 10.0)))
    loaded, names = read_coefficients(path)
    assert names == ("one", "two")
    assert loaded.family == family
    assert np.array_equal(loaded.coefficients, trajectory.coefficients)
    data = json.loads(path.read_text())
    for damage in (
        {"family": "sines"},
        {"family": ["spline"]},
        {"coefficients": data["coefficients"][0][:-1]},
        {"coefficients": "x"},
        {"periods": -1},
        {"periods": 10**12},
        {"speed": 0.0},
        {"speed": math.inf},
        {"speed": 1e300},
        dict.fromkeys(data["coefficients"] and list(data)[2:4], None),
        dict.fromkeys(list(data)[2:4], 10**9),
    ):
        path.write_text(json.dumps(data | damage))
        with pytest.raises(TrajectoryFileError, match=r"trajectory\.json"):
            read_coefficients(path)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"family": "spline", "harmonics": 3}, "'harmonics' belongs to the family fourier or multisine"),
        ({"waypoints": 8}, "'waypoints' belongs to the family spline or b-spline"),
        ({"family": "trapezoid", "degree": 3}, "'degree' belongs to"),
        ({"family": "chirp", "lines": (1, 2)}, "'lines' belongs to the family multisine"),
        ({"family": "spline", "bound": "amplitudes"}, "'bound' belongs to the family fourier"),
        ({"family": "sines"}, "'family' is 'sines'"),
        ({"family": "multisine", "lines": (1, 2, 3), "band": (0.1, 1.0)}, "state one"),
        ({"family": "multisine", "lines": (3, 2)}, "increasing"),
        ({"family": "multisine", "band": (0.5, 0.6)}, "widen"),
        ({"family": "spline", "degree": 4}, "degree 3 or 5"),
        ({"family": "spline", "waypoints": 3}, "state 6 or more"),
        ({"family": "b-spline", "waypoints": 6, "degree": 3}, "state 7 or more"),
        ({"family": "b-spline", "waypoints": 3}, "5 to 1000"),
        ({"family": "polynomial", "degree": 5}, "state 7 or more"),
        ({"family": "polynomial", "degree": 99}, "5 to 30"),
        ({"family": "trapezoid", "waypoints": 2}, "state 3 or more"),
        ({"family": "trapezoid", "jerk": 50.0}, "joint 'joint_1' has a limit of jerk"),
        ({"family": "chirp", "band": (0.1, 1e9)}, "between frequencies from 0.002 to 2000 Hz"),
        ({"family": "chirp", "band": (0.1, 1500.0)}, "needs 225,000 samples"),
        ({"family": "chirp", "samples": 10}, "state 40 or more"),
    ],
)
def test_what_does_not_belong_to_a_family_is_refused_in_a_sentence(bad: dict, words: str) -> None:
    with pytest.raises(DynidError, match=words):
        excite("builtin:two_link", time_limit=60, starts=1, **LIMITS | bad)


def test_every_family_can_be_stated_and_has_room() -> None:
    for name, kind in FAMILIES.items():
        family = stated_family(checked(ExcitationSettings, family=name), 10.0)
        assert isinstance(family, kind)
        assert min(free_coefficients(family, [None]).sizes) >= 3
        assert family.duration == pytest.approx(10.0)


@pytest.mark.parametrize("name", FAMILIES)
def test_gradients_equal_finite_differences_in_every_family(name: str) -> None:
    settings = checked(ExcitationSettings, LIMITS | {"family": name, "samples": 60})
    problem, _ = problem_of(DynamicModel(load_robot("builtin:two_link")), settings)
    problem = problem.smoothed(2.0)
    x = random_start(problem, np.random.default_rng(0))
    slope, step = problem.at(x).objective()[1], 1e-3
    for direction in np.random.default_rng(1).normal(size=(3, len(x))):
        near, far = (
            [problem.at(x + s * size * direction).objective()[0] for s in (1.0, -1.0)] for size in (step, 2 * step)
        )
        difference = (8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * step)
        assert difference == pytest.approx(slope @ direction, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "fourier"])
def test_designs_of_every_family_keep_limits_at_a_kilohertz(name: str) -> None:
    options: dict[str, Any] = {"criterion": "determinant"} | ({"jerk": 60.0} if name != "trapezoid" else {})
    found = excite("builtin:two_link", ["viscous"], time_limit=60, starts=1, family=name, **LIMITS | options)
    design = found.designs[0]
    times = fine_times(design.problem, design.trajectory)
    assert len(times) >= 5000
    q, v, a = design.trajectory.states(times)
    assert np.abs(q).max() <= 2.0
    assert np.abs(v).max() <= 2.0
    assert np.abs(a).max() <= 6.0 * (1 + 1e-9)
    assert np.abs(design.trajectory.jerk(times)).max() <= 60.0 * (1 + 1e-9)
    assert design.keeps_limits
    assert found.condition_number < (200 if name == "chirp" else 50)
    assert max(check.used for check in design.checks) > 0.9
    with pytest.raises(DynidError, match="another family"):
        require_formats(["urscript"], load_robot("builtin:ur5"), name)


@pytest.mark.parametrize("name", ["spline", "double-s"])
def test_segments_never_raise_the_condition_number(name: str) -> None:
    options: dict[str, Any] = LIMITS | {"family": name, "waypoints": 6, "samples": 60}
    found = excite("builtin:two_link", time_limit=60, starts=1, segments=3, settings=options)
    values = [part.value for part in found.designs]
    assert values == sorted(values, reverse=True)
    assert math.exp(values[-1]) == pytest.approx(found.condition_number, rel=1e-6)


def test_block_triangular_motions_of_splines_rest_joint_by_joint() -> None:
    options: dict[str, Any] = {"family": "spline", "waypoints": 7, "criterion": "determinant"}
    found = excite("builtin:two_link", time_limit=60, starts=1, block_triangular=True, **LIMITS | options)
    speeds = [np.abs(part.trajectory.states(np.linspace(0, 5, 50))[1]).max(axis=0) > 1e-9 for part in found.designs]
    assert [one.tolist() for one in speeds] == [[True, True], [False, True]]
    assert all(part.keeps_limits for part in found.designs)
