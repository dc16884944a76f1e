"""What is measured of a robot, against Pinocchio and MuJoCo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dynid import DynamicModel, Observed, Robot, find_base_parameters, inspect, load_robot
from dynid.arrays import Array
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.model.equations import combinations
from dynid.model.sampling import random_states
from dynid.robot.pinocchio import to_pinocchio, tree_coordinates
from tests.force_plate import TABLE_3_3, plate_wrenches
from tests.references import assert_same_torques, pinocchio_torques
from tests.strategies import FLOATING, URDF_KINDS, is_floating_tree, random_inertia, robots

TREES = robots(URDF_KINDS).filter(is_floating_tree)
seeds = st.integers(0, 1000)
MOVING_OR_NOT = st.sampled_from([Observed.WRENCH_MOVING, Observed.WRENCH_STATIONARY])


@given(FLOATING, MOVING_OR_NOT, seeds)
def test_the_wrench_is_the_base_rows_of_pinocchios_free_flyer(robot: Robot, observed: Observed, seed: int) -> None:
    model = DynamicModel(robot, (), observed)
    states = random_states(model, 4, np.random.default_rng(seed))
    expected = pinocchio_torques(robot, to_pinocchio(robot), *states)[:, :6]
    assert_same_torques(model.inverse_dynamics(*states), expected)


@given(TREES, MOVING_OR_NOT, seeds)
def test_the_wrench_is_that_of_a_sensor_in_mujoco(robot: Robot, observed: Observed, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = DynamicModel(robot, (), observed)
    p = np.concatenate([random_inertia(rng) for _ in robot.joints])
    states = random_states(model, 4, rng)
    assert_same_torques(model.inverse_dynamics(*states, p), plate_wrenches(robot, *states, p), relative=1e-8)


@pytest.mark.parametrize("terms", [(), ("viscous", "coulomb")])
def test_table_3_3_comes_out_of_wrenches_that_mujoco_simulates(terms: tuple[str, ...]) -> None:
    """Table 3.3 of the thesis of the two-link arm: 13 base parameters, with and without friction."""
    robot = load_robot("builtin:two_link", floating_base=True)
    model = DynamicModel(robot, terms, Observed.WRENCH_STATIONARY)
    base = find_base_parameters(model, order=[expression.split()[0] for expression in TABLE_3_3])
    states = random_states(model, 100, np.random.default_rng(1))
    wrenches = plate_wrenches(robot, *states, robot.parameters)
    W = base.regressor(*states)
    found = np.linalg.lstsq(W.reshape(-1, len(base)), wrenches.T.ravel(), rcond=None)[0]
    by_name = dict(zip(base.names, found, strict=True))
    assert len(base) == 13
    for expression, value in TABLE_3_3.items():
        assert by_name[expression.split()[0]] == pytest.approx(value, abs=6e-7)


@given(FLOATING, seeds)
def test_torques_of_some_joints_are_their_rows(robot: Robot, seed: int) -> None:
    names = [joint.name for joint in robot.independent_joints[1:]]
    assume(names)
    chosen = names[seed % len(names)]
    model = DynamicModel(robot, (), Observed(("wrench", chosen)))
    states = random_states(model, 3, np.random.default_rng(seed))
    rows = [*range(6), *range(robot.nv)[robot.joint(chosen).v]]
    assert list(model.row_indices) == rows
    expected = pinocchio_torques(robot, to_pinocchio(robot), *states)[:, rows]
    assert_same_torques(model.inverse_dynamics(*states), expected)
    columns = model.layout([columns.tolist() for columns in model.acting]).evaluate(*states)
    assert all(np.isfinite(columns[row]).all() for row in rows)


def pinocchio_frames(robot: Robot, q: Array, links: list[int]) -> Array:
    """Jacobians of links in their own frames by Pinocchio, for robots without mimic joints."""
    model = to_pinocchio(robot)
    data = model.createData()
    return np.concatenate([pin.computeJointJacobian(model, data, q, link + 1) for link in links])


INDEPENDENT = FLOATING.filter(lambda robot: len(robot.independent_joints) == len(robot.joints))


@given(INDEPENDENT, seeds)
def test_torques_without_the_force_on_a_foot_do_not_depend_on_it(robot: Robot, seed: int) -> None:
    """Any force on the foot, put into Pinocchio's joint torques, leaves no trace in the equations."""
    rng = np.random.default_rng(seed)
    link = int(rng.integers(1, len(robot.joints)))
    model = DynamicModel(robot, (), Observed(("torques",), stands_on=(robot.links[link].name,)))
    q, v, a = random_states(model, 3, rng)
    rows = pinocchio_torques(robot, to_pinocchio(robot), q, v, a)
    expected = []
    for k in range(3):
        J = pinocchio_frames(robot, q[k], [link])
        force = np.linalg.solve(J[:, :6].T, rows[k, :6])  # the base floats: the foot carries all
        expected.append((rows[k] - J.T @ force)[6:])
    assert_same_torques(model.inverse_dynamics(q, v, a), np.array(expected), relative=1e-7)


@given(INDEPENDENT, seeds)
def test_forces_between_two_feet_are_eliminated(robot: Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    assume(len(robot.joints) > 2)
    links = [int(k) for k in rng.choice(len(robot.joints), 2, replace=False)]
    observed = Observed(("torques",), stands_on=tuple(robot.links[k].name for k in links))
    q, _, _ = random_states(DynamicModel(robot), 2, rng)
    A = combinations(robot, observed, q)
    for k in range(2):
        J = pinocchio_frames(robot, q[k], links)
        assert np.abs(A[k] @ J.T).max() <= 1e-9 * np.abs(J).max() * max(1.0, np.abs(A[k]).max())
        rank = robot.nv - np.linalg.matrix_rank(J)
        assert np.linalg.matrix_rank(A[k], tol=1e-7) == rank


@given(FLOATING, seeds)
def test_the_centre_of_pressure_is_under_pinocchios_centre_of_mass(robot: Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    body = robot.links[int(rng.integers(len(robot.links)))].name
    alone = DynamicModel(robot, (), Observed(("centre_of_pressure",), at_rest=True, stands_on=(body,)))
    beside = DynamicModel(robot, (), Observed(("centre_of_pressure", "torques"), at_rest=True, stands_on=(body,)))
    q, _, _ = random_states(alone, 3, rng)
    assume(robot.parameters.any())
    mass, strength = sum(link.parameters[0] for link in robot.links), float(np.linalg.norm(robot.gravity))
    com = centres(robot, q)
    ground = places(robot, np.atleast_2d(robot.neutral), body)[0]
    up = -robot.gravity / strength
    off = com - ground
    horizontal = off - (off @ up)[:, None] * up
    moments = alone.inverse_dynamics(q)
    expected = mass * strength * np.linalg.norm(horizontal, axis=1)
    assert np.hypot(*moments.T) == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert beside.row_names[-3:] == ("centre_of_pressure[0]", "centre_of_pressure[1]", "total_mass")
    found = beside.inverse_dynamics(q)[:, -3:]
    assert found[:, :2] == pytest.approx(moments, abs=1e-9 * (1 + np.abs(moments).max()))
    assert found[:, 2] == pytest.approx(mass * strength)
    if np.allclose(up, [0, 0, 1]):
        assert moments / (mass * strength) + ground[:2] == pytest.approx(com[:, :2], abs=1e-8)


@given(FLOATING, seeds)
def test_on_a_pivot_the_weight_turns_the_robot_as_pinocchios_centre_of_mass_says(robot: Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    body = robot.links[int(rng.integers(len(robot.links)))].name
    point = tuple(rng.uniform(-0.5, 0.5, 3).tolist())
    model = DynamicModel(robot, (), Observed(("mounting",), at_rest=True, pivot=body, point=point))
    q, _, _ = random_states(model, 3, rng)
    pivot = places(robot, q, body, np.array(point))
    weight = sum(link.parameters[0] for link in robot.links) * robot.gravity
    assume(weight.any())
    moments = -np.cross(centres(robot, q) - pivot, weight)
    R0 = robot.joints[0].placement[:3, :3]
    turned = [R0 @ pin.XYZQUATToSE3(one[:7]).rotation for one in q]  # the base in the world
    expected = np.array([R.T @ moment for R, moment in zip(turned, moments, strict=True)])
    found = model.inverse_dynamics(q)
    assert found == pytest.approx(expected, abs=1e-9 * (1 + np.abs(expected).max()))


def centres(robot: Robot, q: Array) -> Array:
    """Centres of mass by Pinocchio, shape (samples, 3)."""
    model = to_pinocchio(robot)
    data = model.createData()
    rest = np.zeros(robot.nv)
    return np.array([pin.centerOfMass(model, data, tree_coordinates(robot, one, rest)[0]).copy() for one in q])


def places(robot: Robot, q: Array, body: str, point: Array | None = None) -> Array:
    """Points of a body in the world by Pinocchio, shape (samples, 3)."""
    model = to_pinocchio(robot)
    data = model.createData()
    link, placement = next(
        (i, each.placement) for i, link in enumerate(robot.links) for each in link.bodies if each.name == body
    )
    at = placement[:3, 3] + (0.0 if point is None else placement[:3, :3] @ point)
    found = []
    for one in q:
        pin.forwardKinematics(model, data, tree_coordinates(robot, one, np.zeros(robot.nv))[0])
        found.append(data.oMi[link + 1].act(at))
    return np.array(found)


ALL = [
    Observed(("torques",)),
    Observed(("wrench",), at_rest=True),
    Observed(("wrench", "torques"), stands_on=("base",)),
    Observed(("torques",), stands_on=("foot",)),
    Observed(("centre_of_pressure",), at_rest=True, stands_on=("foot",)),
    Observed(("centre_of_pressure", "torques"), at_rest=True, stands_on=("foot",)),
    Observed(("mounting",), at_rest=True, pivot="foot"),
]


@given(FLOATING, st.sampled_from(ALL), seeds)
def test_base_parameters_predict_what_is_measured_at_other_states(robot: Robot, observed: Observed, seed: int) -> None:
    foot = robot.links[-1].name
    stands_on = tuple(foot if body == "foot" else body for body in observed.stands_on)
    pivot = foot if observed.pivot == "foot" else observed.pivot
    model = DynamicModel(robot, ("viscous",), replace(observed, stands_on=stands_on, pivot=pivot))
    base = find_base_parameters(model)
    rng = np.random.default_rng(seed)
    states = random_states(model, 3, rng)
    p = rng.normal(size=len(model.names))
    expected = model.inverse_dynamics(*states, parameters=p)
    found = (base.regressor(*states) @ base.to_base(p)).T
    assert np.abs(found - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max())
    rank = np.linalg.matrix_rank(model.regressor(*random_states(model, 200, rng)).reshape(-1, len(model.names)))
    assert len(base) == rank


def test_names_and_words() -> None:
    usual = ["torques", "gravity", "wrench_stationary", "wrench_moving"]
    assert [Observed.named(name).value for name in usual] == usual
    assert DynamicModel("builtin:two_link", (), "gravity").observed == Observed.GRAVITY
    foot = Observed(("wrench", "torques"), stands_on=("sole",), at_rest=True)
    assert foot.value == "wrench+torques_standing_at_rest"
    with pytest.raises(UnknownNameError):
        Observed.named("wrench_movign")
    with pytest.raises(InvalidRequestError):
        Observed("wrench_moving")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "observed",
    [
        Observed.WRENCH_MOVING,
        Observed(("centre_of_pressure",), at_rest=True, stands_on=("base",)),
        Observed(("mounting",), at_rest=True),
        Observed(stands_on=("base",)),
    ],
)
def test_fixed_robots_have_no_wrench_or_centre_of_pressure(observed: Observed) -> None:
    with pytest.raises(InvalidRequestError, match="floating_base=True"):
        DynamicModel("builtin:two_link", (), observed)


@pytest.mark.parametrize(
    ("observed", "error"),
    [
        (Observed(("centre_of_pressure",)), InvalidRequestError),
        (Observed(("mounting", "torques"), at_rest=True), InvalidRequestError),
        (Observed(("wrench", "elbow")), UnknownNameError),
        (Observed(()), InvalidRequestError),
    ],
)
def test_what_cannot_be_measured_is_refused(observed: Observed, error: type[Exception]) -> None:
    with pytest.raises(error):
        DynamicModel(load_robot("builtin:two_link", floating_base=True), (), observed)


def test_bodies_that_are_not_there_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="to stand on"):
        inspect("builtin:two_link", wrench=True, stands_on=["sole"])
    with pytest.raises(UnknownNameError, match="to mount"):
        inspect("builtin:two_link", mounting="hook")


def test_combined_rows_have_no_layout() -> None:
    robot = load_robot("builtin:two_link", floating_base=True)
    model = DynamicModel(robot, (), Observed(("centre_of_pressure",), at_rest=True, stands_on=("base",)))
    for wanted in (lambda: model.layout([[0], [0]]), lambda: model.rows):
        with pytest.raises(InvalidRequestError, match="combine rows"):
            wanted()
    with pytest.raises(InvalidRequestError, match="do not follow"):
        _ = DynamicModel(robot, (), Observed(("wrench", "joint_2"))).rows
