"""All mass inside an ellipsoid or a box: point masses inside are, and what they cannot make is not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import dynid
from dynid import Box, Ellipsoid
from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.physical.containment import Bound
from dynid.robot import inertia, rotation_from_rpy

R = rotation_from_rpy(0.3, -0.5, 1.1)
ELLIPSOID = Ellipsoid([0.1, -0.2, 0.3], [0.1, 0.2, 0.4], R)
BOX = Box([-0.1, 0.1, -0.4], [0.3, 0.2, 0.1], R)


def of_points(points: Array, masses: Array) -> Array:
    """The 10-vector of point masses, (n, 3) and (n,) to (10,)."""
    x = np.column_stack([points, np.ones(len(points))])
    return inertia.from_pseudo_inertia(np.einsum("k,ki,kj->ij", masses, x, x))


def points_in(bound: Bound, count: int, rng: np.random.Generator) -> Array:
    units = rng.uniform(-1.0, 1.0, (count, 3))
    if isinstance(bound, Ellipsoid):
        units /= np.maximum(1.0, np.linalg.norm(units, axis=1, keepdims=True))
    return units @ bound.placement[:3, :3].T + bound.placement[:3, 3]


@pytest.mark.parametrize("bound", [ELLIPSOID, BOX])
@pytest.mark.parametrize("count", [1, 2, 3, 8, 30])
def test_point_masses_inside_are_inside(bound: Bound, count: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(3):
        assert bound.holds(of_points(points_in(bound, count, rng), rng.uniform(0.1, 2.0, count)))


def in_cube(J: Array) -> Array:
    """The 10-vector of a pseudo-inertia in coordinates in which `BOX` is the cube between -1 and 1."""
    return inertia.from_pseudo_inertia(BOX.placement @ J @ BOX.placement.T)


def test_the_condition_on_a_box_is_that_of_point_masses_on_a_fine_grid() -> None:
    axis = np.linspace(-1.0, 1.0, 15)
    grid = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    x = np.column_stack([grid, np.ones(len(grid))])
    pairs = [(i, j) for i in range(4) for j in range(i + 1)]
    moments = np.array([x[:, i] * x[:, j] for i, j in pairs])
    middle = np.array([np.diag([1 / 3, 1 / 3, 1 / 3, 1.0])[i, j] for i, j in pairs])
    rng = np.random.default_rng(0)
    for _ in range(6):
        S = rng.normal(size=(4, 4))
        direction = np.array([(S + S.T)[i, j] for i, j in pairs])
        direction[-1] = 0.0  # the same mass
        rows = np.column_stack([moments, -direction])
        cost = np.concatenate([np.zeros(len(grid)), [-1.0]])
        farthest = -linprog(cost, A_eq=rows, b_eq=middle, bounds=(0.0, None)).fun  # by SciPy's linear programs

        def at(t: float, direction: Array = direction) -> Array:
            J = np.zeros((4, 4))
            for value, (i, j) in zip(middle + t * direction, pairs, strict=True):
                J[i, j] = J[j, i] = value
            return in_cube(J)

        assert BOX.holds(at(0.999 * farthest))
        assert not BOX.holds(at(1.02 * farthest))


def test_moments_that_pass_for_each_axis_alone_need_not_be_inside_a_box() -> None:
    # Three signs have E[xy] + E[yz] + E[zx] >= -1, and here it is -1.2, with (x + 1)(1 - x) = 0 on average.
    J = np.eye(4)
    J[:3, :3] += -0.4 * (1.0 - np.eye(3))
    assert np.linalg.eigvalsh(J).min() > 0.1
    assert not BOX.holds(in_cube(J))
    J[:3, :3] = np.eye(3) - 0.3 * (1.0 - np.eye(3))
    assert BOX.holds(in_cube(J))


def test_solids_of_even_density_have_the_moments_of_many_points() -> None:
    for bound in (ELLIPSOID, BOX):
        draws = np.random.default_rng(0).uniform(-1.0, 1.0, (200_000, 3))
        if isinstance(bound, Ellipsoid):
            draws = draws[np.linalg.norm(draws, axis=1) <= 1.0]
        points = draws @ bound.placement[:3, :3].T + bound.placement[:3, 3]
        body = bound.uniform(500.0)
        expected = of_points(points, np.full(len(points), body[0] / len(points)))
        assert np.abs(body - expected).max() < 0.01 * np.abs(body).max()
        assert bound.holds(body)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Ellipsoid([0, 0], [1, 1, 1]),
        lambda: Ellipsoid([0, 0, 0], [1, -1, 1]),
        lambda: Ellipsoid([0, 0, np.nan], [1, 1, 1]),
        lambda: Ellipsoid([0, 0, 0], [1, 1, 1], 2.0 * np.eye(3)),
        lambda: Box([0, 0, 0], [1, 0, 1]),
        lambda: Box("abc", [1, 1, 1]),
    ],
)
def test_bounds_that_make_no_sense_are_errors(make) -> None:
    with pytest.raises(InvalidRequestError):
        make()


def test_links_of_a_robot_stay_inside_their_bounds() -> None:
    robot = dynid.load_robot("builtin:two_link")
    rng, t = np.random.default_rng(0), np.arange(0.0, 6.0, 0.01)
    q = np.stack([np.sin(1.7 * t) + 0.3 * np.sin(4 * t), np.cos(2.3 * t)], axis=1)
    v = np.gradient(q, t, axis=0)
    model = dynid.DynamicModel(robot)
    tau = model.inverse_dynamics(q, v, np.gradient(v, t, axis=0))
    log = dynid.Log(time=t, position=q, torque=tau + 0.05 * rng.normal(size=tau.shape))
    names = [robot.links[i].name for i in robot.solid_links]
    free = dynid.identify(robot, log, physical={"weight": 1.0})
    ellipsoid, box = Ellipsoid([0.2, 0, 0], [0.3, 0.1, 0.1]), Box([0.0, -0.1, -0.1], [0.35, 0.1, 0.1])
    bounds = {
        "ellipsoids": {names[0]: {"centre": (0.2, 0.0, 0.0), "semi_axes": (0.3, 0.1, 0.1)}},
        "boxes": {names[1]: ((0.0, -0.1, -0.1), (0.35, 0.1, 0.1))},
    }
    held = dynid.identify(robot, log, physical={"weight": 1.0, **bounds})
    before, after = (result.standard_parameters(physical=True) for result in (free, held))
    assert not (ellipsoid.holds(before[:10]) and box.holds(before[10:20]))
    assert ellipsoid.holds(after[:10])
    assert box.holds(after[10:20])
    with pytest.raises(dynid.DynidError):
        dynid.identify(robot, log, physical={"boxes": bounds["boxes"], "penalty": {}})
    with pytest.raises(dynid.DynidError):
        dynid.identify(robot, log, physical={"boxes": {"no_link": ((0, 0, 0), (1, 1, 1))}})
