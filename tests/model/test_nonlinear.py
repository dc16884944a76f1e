"""Terms with shapes: columns, slopes, and that simulation means the same by them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.model.dynamic_model import split_known
from dynid.model.linearisation import linearised
from dynid.model.terms import (
    Coulomb,
    LoadCoulomb,
    NonlinearTerm,
    Offset,
    Sigmoid,
    Stribeck,
    Term,
    Viscous,
    ViscousTemperature,
    parse_terms,
)
from dynid.robot.robot import Robot
from dynid.simulation.acceleration import smooth_friction
from dynid.simulation.joint_forces import JointForces
from tests.strategies import robots

ROBOT = load_robot("builtin:spatial_3r")
SHAPES = {"vs2": 0.07, "ksig1": 8.0, "vsig1": 0.1, "vsig3": -0.2, "kT2": 0.03}
rng = np.random.default_rng(3)
q, v, a = rng.normal(size=(3, 50, ROBOT.nv))
TERMS = [Stribeck(), Sigmoid(), ViscousTemperature().with_temperature(rng.uniform(10, 60, (50, ROBOT.nv)))]


class Cubic(NonlinearTerm):
    """A user's own: friction that grows with a power of speed."""

    symbols = ("fp",)
    units = ("N m",)
    needs = frozenset("v")
    nonlinear_symbols = ("power",)
    nonlinear_units = ("1",)
    grids = ((0.5, 1.0, 2.0, 3.0),)
    bounds = ((0.1, 5.0),)
    typical_values = (2.5,)

    def features(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, nonlinear: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.sign(v) * np.abs(v) ** nonlinear[0],)


@pytest.mark.parametrize("term", [*TERMS, Cubic()], ids=lambda term: type(term).__name__)
def test_slopes_over_shapes_equal_finite_differences(term: Term) -> None:
    term, step = term.at_nonlinear(SHAPES), 1e-6
    columns = {s.name: np.zeros((ROBOT.nv, 50, len(term.parameters(ROBOT)))) for s in term.nonlinear(ROBOT)}
    names = list(columns)
    for row, parameter, shape, values in term.nonlinear_slopes(ROBOT, q, v, a):
        columns[names[shape]][row, :, parameter] += values
    for shape in term.nonlinear(ROBOT):
        high, low = (
            term.at_nonlinear({shape.name: shape.value + way * step}).columns(ROBOT, q, v, a) for way in (1, -1)
        )
        np.testing.assert_allclose(columns[shape.name], (high - low) / (2 * step), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("term", [*TERMS, LoadCoulomb(width=0.1)], ids=lambda term: type(term).__name__)
def test_slopes_over_states_equal_finite_differences(term: Term) -> None:
    term, step = term.smoothed(0.1).at_nonlinear(SHAPES), 1e-6
    found = np.zeros((ROBOT.nv, 50, len(term.parameters(ROBOT)), ROBOT.nv))
    for row, parameter, over, coordinate, values in term.slopes(ROBOT, q, v, a):
        if over == "v":
            found[row, :, parameter, coordinate] += values
    for k, unit in enumerate(np.eye(ROBOT.nv)):
        high, low = (term.columns(ROBOT, q, v + way * step * unit, a) for way in (1, -1))
        np.testing.assert_allclose(found[..., k], (high - low) / (2 * step), rtol=1e-4, atol=1e-5)


def test_the_sigmoid_is_that_of_seed_003() -> None:
    f2, f3 = 8.0, 0.1
    expected = 1 / (1 + np.exp(-f2 * (v[:, 0] + f3))) - 1 / (1 + np.exp(-f2 * f3))
    np.testing.assert_allclose(
        Sigmoid(["1"]).at_nonlinear(SHAPES).columns(ROBOT, q, v, a)[0, :, 0], expected, atol=1e-14
    )


def test_the_simulation_means_the_same_by_stribeck_and_sigmoid() -> None:
    model = DynamicModel(ROBOT, [Stribeck().at_nonlinear(SHAPES), Sigmoid().at_nonlinear(SHAPES)])
    p = np.concatenate([ROBOT.parameters, [1.0, 0.5, 2.0, 1.5, 0.3, 0.2], [4.0, 5.0, 6.0]])
    forces = JointForces.of(model, p)
    speeds = np.array([0.01, 0.05, 0.3])
    states = np.zeros((3, 3)), np.outer(speeds, np.ones(3)), np.zeros((3, 3))
    links = len(ROBOT.parameters)
    torque = (model.inverse_dynamics(*states, p) - model.inverse_dynamics(*states, np.r_[p[:links], np.zeros(9)])).T
    level = forces.kinetic[:, 0] + (forces.breakaway - forces.kinetic)[:, 0] * np.exp(
        -((speeds[:, None] / forces.stribeck) ** 2)
    )
    function = getattr(smooth_friction, "py_func", smooth_friction)  # compiled, only compiled code can call it
    smooth = np.array([[function(forces, i, speed)[0] for i in range(3)] for speed in speeds])
    np.testing.assert_allclose(torque, (level + smooth).T, rtol=1e-12)


def test_base_parameters_do_not_depend_on_shapes() -> None:
    model = DynamicModel(ROBOT, [Viscous(), Stribeck(), Sigmoid(), Offset(), LoadCoulomb()])
    names = [find_base_parameters(model.at_nonlinear({"vs1": vs, "ksig2": 1 / vs})).names for vs in (1e-4, 0.1, 3.0)]
    assert all(x == y for x, y in pairwise(names))
    assert {"fs1", "fst1", "fsig1", "off1", "fl1"} <= set(names[0])


@given(robot=robots())
def test_prismatic_joints_have_metres_and_mimic_joints_no_shapes(robot: Robot) -> None:
    owners = {joint.name: joint for joint in robot.independent_joints}
    for shape in (*Stribeck().nonlinear(robot), *Sigmoid().nonlinear(robot)):
        assert ("rad" in shape.unit) == owners[shape.owner].kind.is_angular


def test_known_values_are_those_of_shapes_or_of_parameters() -> None:
    model = DynamicModel(ROBOT, parse_terms(["viscous", "stribeck:1"], ROBOT))
    assert split_known(model, {"vs1": 0.02, "fv*": 1.0}) == ({"vs1": 0.02}, {"fv*": 1.0})
    with pytest.raises(UnknownNameError, match="vs2"):
        split_known(model, {"vs2": 0.02})
    with pytest.raises(UnknownNameError, match="nonlinear parameter"):
        model.at_nonlinear({"vs9": 1.0})


def test_two_terms_with_one_parameter_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="fs1"):
        DynamicModel(ROBOT, [Coulomb(), Stribeck()])


def test_a_linear_model_is_the_tangent_of_a_shaped_one() -> None:
    model = DynamicModel(ROBOT, [Viscous(), Sigmoid().at_nonlinear(SHAPES)])
    p = np.concatenate([ROBOT.parameters, rng.uniform(1, 2, 6)])
    values = dict(zip(model.names, p, strict=True))
    names = [shape.name for shape in model.nonlinear]
    change = 1e-5 * rng.normal(size=len(names))
    linear = linearised(model, names, values)
    moved = model.at_nonlinear({s.name: s.value + d for s, d in zip(model.nonlinear, change, strict=True)})
    expected = moved.inverse_dynamics(q, v, a, p)
    np.testing.assert_allclose(linear.inverse_dynamics(q, v, a, np.concatenate([p, change])), expected, atol=1e-7)


@pytest.mark.parametrize(
    ("fs", "fst", "possible"), [(2.0, 3.0, True), (2.0, -1.0, True), (2.0, -3.0, False), (-1.0, 3.0, False)]
)
def test_stribeck_friction_may_rise_or_fall_with_speed_but_always_brakes(fs: float, fst: float, possible: bool) -> None:
    from dynid.estimation.physical.constraints import of_terms

    model = DynamicModel(load_robot("builtin:two_link"), [Stribeck()])
    values = {"fs1": fs, "fst1": fst, "fs2": 1.0, "fst2": 0.0}
    p = np.array([values.get(name, 0.0) for name in model.names])
    assert all((one.rows @ p + one.offset >= 0.0).all() for one in of_terms(model)) is possible
