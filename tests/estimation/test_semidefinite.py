"""Physical fits: as good as unconstrained ones when the truth is physical, and possible always."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.estimation.factors.reduced_logs import Fold
from dynid.estimation.least_squares import weighted_least_squares
from dynid.estimation.physical import constraints as conditions
from dynid.estimation.physical.physical_estimate import Physics, Source, physical_estimate, weighed
from dynid.estimation.physical.physical_links import definite_share
from dynid.estimation.physical.prior_weight import choose_weight
from dynid.estimation.physical.references import Origin, plain_body, references, require_same_links
from dynid.estimation.physical.semidefinite import ConflictError, LinkPrior, PriorKind, Problem, fit
from dynid.model.sampling import random_states
from dynid.model.terms import Armature, AsymmetricCoulomb, Coulomb, Coupling, Offset, Spring, Stribeck, Viscous
from dynid.robot import inertia
from dynid.robot.assembly import assemble
from dynid.robot.description import BodyDescription, Description, JointDescription
from dynid.robot.joints import JointDynamics, JointKind
from dynid.robot.robot import Robot
from tests.physical_problems import data, objective, stated_terms
from tests.references import is_possible_body
from tests.strategies import SINGLE, descriptions, random_inertia

cp: Any = importlib.import_module("cvxpy")  # its types are no help
kinds = (*SINGLE, JointKind.FIXED)


def with_other_bodies(description: Description, rng: np.random.Generator) -> Robot:
    """The same robot with bodies that are up to half as heavy again, elsewhere and of other shape."""
    bodies = tuple(
        body
        if body.inertia is None
        else replace(body, inertia=frozen(body.inertia * rng.uniform(0.5, 1.5) + 0.3 * random_inertia(rng)))
        for body in description.bodies
    )
    return assemble(replace(description, bodies=bodies))


@given(descriptions(kinds, max_joints=5), st.sampled_from(list(PriorKind)))
@settings(max_examples=40)
def test_exact_torques_of_random_robots_give_possible_links_that_predict_them(
    description: Description, kind: PriorKind
) -> None:
    rng = np.random.default_rng(0)
    robot = assemble(description)
    model = DynamicModel(robot, [Viscous(), Coulomb(), Armature()])
    base = find_base_parameters(model)
    assume(robot.parameters.any())
    truth = np.nan_to_num(model.reference)
    logs = [data(model, truth, 200, 0.0, rng)]
    physics = Physics(references(with_other_bodies(description, rng)), LinkPrior(kind))
    found = physical_estimate(logs, base, physics, weighted_least_squares(logs, base))
    q, v, a = random_states(model, 50, rng)
    wanted, predicted = (model.inverse_dynamics(q, v, a, p) for p in (truth, found.parameters))
    assert np.linalg.norm(predicted - wanted) <= 1e-6 * np.linalg.norm(wanted)
    for k, reference in enumerate(physics.references):
        own = found.parameters[10 * k : 10 * k + 10]
        assert is_possible_body(own) if reference.origin is not Origin.MASSLESS else not own.any()
    assert (found.parameters[10 * len(physics.references) :] >= -1e-9).all()


@given(descriptions(SINGLE, max_joints=4))
@settings(max_examples=8)
def test_noise_costs_at_most_one_percent_when_the_truth_is_possible(description: Description) -> None:
    rng = np.random.default_rng(1)
    model = DynamicModel(assemble(description), [Viscous(), Coulomb()])
    base = find_base_parameters(model)
    samples = -(-1000 * len(base) // model.robot.nv)
    logs = [data(model, np.nan_to_num(model.reference), samples, 0.05, rng)]
    estimate = weighted_least_squares(logs, base)
    physics = Physics(references(with_other_bodies(description, rng)), LinkPrior())
    found = physical_estimate(logs, base, physics, estimate)
    assert found.relative_error <= 1.01 * estimate.relative_error


UR5 = DynamicModel(load_robot("builtin:ur5"), [Viscous(), Coulomb(), Armature(), Offset()])
BARE = DynamicModel(load_robot("builtin:two_link"))
BASE = find_base_parameters(UR5)


def welded() -> DynamicModel:
    """An arm with a tool welded to it."""
    bodies = tuple(BodyDescription(name, frozen(random_inertia(np.random.default_rng(0)))) for name in ("arm", "tool"))
    joints = (
        JointDescription("hinge", JointKind.CONTINUOUS, None, "arm"),
        JointDescription("weld", JointKind.FIXED, "arm", "tool"),
    )
    return DynamicModel(assemble(Description("welded", "welded", bodies, joints)))


def truth(model: DynamicModel) -> Array:
    """The robot file's parameters, with plausible ones where it says nothing."""
    rng = np.random.default_rng(3)
    return np.where(np.isnan(model.reference), rng.uniform(0.1, 1.0, len(model.names)), model.reference)


def test_the_optimum_with_each_prior_is_cvxpys() -> None:
    model = DynamicModel(load_robot("builtin:two_link"), [Viscous(), Armature()])
    base = find_base_parameters(model)
    # Negative friction and far too much noise, so that constraints matter.
    p = truth(model).copy()
    p[model.names.index("fv1")] = -0.2
    factor = weighed([data(model, p, 40, 0.5, np.random.default_rng(5))], base)
    expected = references(model.robot)
    for kind in PriorKind:
        problem = Problem(factor, base, expected, LinkPrior(kind, 0.7), tuple(conditions.of_terms(model)))
        assert objective(problem, fit(problem)) == pytest.approx(
            reference_optimum(problem, model.names), abs=3e-4, rel=1e-6
        )


def reference_optimum(problem: Problem, names: tuple[str, ...]) -> float:
    """The same program, written in CVXPY from its statement."""
    p = cp.Variable(len(names))
    cost = cp.sum_squares(problem.factor.R @ problem.base.regrouping @ p - problem.factor.z)
    holds = [p[k] >= 0 for k, name in enumerate(names) if name.startswith(("fv", "Ia"))]
    basis = inertia.pseudo_inertia_basis()
    for k, reference in enumerate(problem.references):
        J0 = inertia.to_pseudo_inertia(reference.parameters)
        L = np.linalg.inv(np.linalg.cholesky(J0))
        X = sum(p[10 * k + i] * (L @ basis[i] @ L.T) for i in range(10))
        holds.append(X >> 0)
        if problem.prior.kind is PriorKind.LOG_DET:
            cost += problem.prior.weight * (cp.trace(X) - cp.log_det(X) - 4.0)
        if problem.prior.kind is PriorKind.PULLBACK:
            cost += problem.prior.weight * 0.5 * cp.sum_squares(X - np.eye(4))
        if problem.prior.kind is PriorKind.EUCLIDEAN:
            r = np.sqrt(np.trace(J0[:3, :3]) / J0[3, 3])
            scale = J0[3, 3] * np.array([1.0] + [r] * 3 + [r**2] * 6)
            cost += problem.prior.weight * cp.sum_squares((p[10 * k : 10 * k + 10] - reference.parameters) / scale)
    if problem.prior.kind is not PriorKind.NONE:
        for k, e, weight in stated_terms(problem):
            cost += weight * cp.square(p[k] - e)
    return float(cp.Problem(cp.Minimize(cost), holds).solve(solver=cp.CLARABEL))


def test_what_the_data_tell_has_a_deviation_and_the_rest_comes_from_the_prior() -> None:
    logs = [data(UR5, truth(UR5), 2000, 0.01, np.random.default_rng(0))]
    estimate = weighted_least_squares(logs, BASE)
    found = physical_estimate(logs, BASE, Physics(references(UR5.robot), LinkPrior()), estimate)
    told = {name for name in UR5.names if found.source(name) is Source.DATA}
    alone = {next(iter(group)) for group in BASE.groups if len(group) == 1}
    assert told <= alone
    assert {"fv1", "fs3", "off6", "my6"} <= told
    assert not told & {"m1", "m3", "Ia1", "Izz1"}
    for name in told:
        k, b = UR5.names.index(name), estimate.names.index(name)
        assert found.stds[k] == pytest.approx(estimate.stds[b])
        assert abs(found.parameters[k] - truth(UR5)[k]) < 5.0 * found.stds[k] + 1e-9


def test_a_value_that_physics_moves_away_from_the_data_is_not_called_theirs() -> None:
    p = truth(UR5).copy()
    p[UR5.names.index("fv3")] = -5.0
    logs = [data(UR5, p, 2000, 0.01, np.random.default_rng(0))]
    found = physical_estimate(
        logs, BASE, Physics(references(UR5.robot), LinkPrior()), weighted_least_squares(logs, BASE)
    )
    k = UR5.names.index("fv3")
    assert found.source("fv3") is Source.PHYSICS
    assert found.parameters[k] == pytest.approx(0.0, abs=1e-6)
    assert found.data_values[k] == pytest.approx(-5.0, abs=0.5)


@pytest.mark.parametrize("name", ["pendulum", "two_link", "spatial_3r", "ur5", "panda", "lwr4"])
@pytest.mark.parametrize("scale", [-1.0, 0.0, 1e-3, 1e3])
def test_torques_that_no_robot_has_still_give_possible_links(name: str, scale: float) -> None:
    model = DynamicModel(load_robot(f"builtin:{name}"), [Viscous(), Coulomb()])
    base = find_base_parameters(model)
    logs = [data(model, scale * truth(model), 300, 0.01, np.random.default_rng(0))]
    found = physical_estimate(
        logs, base, Physics(references(model.robot), LinkPrior()), weighted_least_squares(logs, base)
    )
    assert all(is_possible_body(found.parameters[10 * k : 10 * k + 10]) for k in range(len(found.references)))


def test_mass_matrices_of_physical_links_are_positive_definite() -> None:
    logs = [data(UR5, truth(UR5), 60, 0.3, np.random.default_rng(0))]
    estimate = weighted_least_squares(logs, BASE)
    found = physical_estimate(logs, BASE, Physics(references(UR5.robot), LinkPrior()), estimate)
    assert definite_share(BASE, found.parameters, 2000) == 1.0
    assert definite_share(BASE, BASE.to_standard(estimate.values), 2000) < 1.0


def test_user_constraints_hold() -> None:
    model, base = UR5, BASE
    links = [model.robot.links[i].name for i in model.robot.solid_links]
    logs = [data(model, truth(model), 500, 0.02, np.random.default_rng(0))]
    stated = (
        *conditions.total_mass(model, (20.0, 20.0)),
        *conditions.mass(model, links[1], (9.0, 9.5)),
        *conditions.centre_of_mass(model, links[2], (-0.1, -0.1, -0.1), (0.1, 0.1, 0.1)),
    )
    physics = Physics(references(model.robot), LinkPrior(PriorKind.NONE), stated)
    p = physical_estimate(logs, base, physics, weighted_least_squares(logs, base)).parameters
    assert p[:60:10].sum() == pytest.approx(20.0, abs=1e-5)
    assert 9.0 - 1e-5 <= p[10] <= 9.5 + 1e-5
    assert (np.abs(p[21:24]) <= 0.1 * p[20] + 1e-5).all()


def test_known_values_are_kept() -> None:
    base = find_base_parameters(UR5, known={"m2": 8.0, "Ixx3": 0.3})
    logs = [data(UR5, truth(UR5), 500, 0.02, np.random.default_rng(0))]
    found = physical_estimate(
        logs, base, Physics(references(UR5.robot), LinkPrior()), weighted_least_squares(logs, base)
    )
    assert found.values["m2"] == pytest.approx(8.0, abs=1e-6)
    assert found.values["Ixx3"] == pytest.approx(0.3, abs=1e-6)


def test_constraints_that_exclude_each_other_are_named_and_no_others() -> None:
    links = [UR5.robot.links[i].name for i in UR5.robot.solid_links]
    logs = [data(UR5, truth(UR5), 100, 0.02, np.random.default_rng(0))]
    stated = (
        *conditions.total_mass(UR5, (1.0, 4.0)),
        *conditions.mass(UR5, links[0], (0.0, 9.0)),
        *conditions.mass(UR5, links[1], (5.0, 6.0)),
        *conditions.centre_of_mass(UR5, links[2], (-1.0, -1.0, -1.0), (1.0, 1.0, 1.0)),
    )
    physics = Physics(references(UR5.robot), LinkPrior(), stated)
    with pytest.raises(ConflictError, match="exclude each other") as error:
        physical_estimate(logs, BASE, physics, weighted_least_squares(logs, BASE))
    assert error.value.labels == ("physical.total_mass = [1, 4]", f"physical.masses.{links[1]} = [5, 6]")


def test_known_values_that_no_body_has_are_named() -> None:
    base = find_base_parameters(UR5, known={"m2": -1.0})
    logs = [data(UR5, truth(UR5), 100, 0.02, np.random.default_rng(0))]
    with pytest.raises(ConflictError, match=r"known\.m2 = -1 cannot hold for any possible body"):
        physical_estimate(logs, base, Physics(references(UR5.robot), LinkPrior()), weighted_least_squares(logs, base))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda m: conditions.mass(m, "link_9", (0, 1)), "no moving link 'link_9'"),
        (lambda m: conditions.total_mass(m, (3.0, 2.0)), "range is empty"),
        (lambda _: conditions.mass(welded(), "tool", (0, 1)), "welded to link 'arm'"),
        (lambda m: conditions.centre_of_mass(m, m.robot.links[0].name, (1, 0, 0), (0, 1, 1)), "lower corner"),
        (lambda _: conditions.centre_of_mass_in_geometry(BARE, BARE.robot.links[0].name), "nothing of the size"),
    ],
)
def test_constraints_that_make_no_sense_are_errors(make, words: str) -> None:
    with pytest.raises((InvalidRequestError, UnknownNameError), match=words):
        make(UR5)


def test_coupled_motors_have_a_matrix_that_is_not_negative() -> None:
    robot = load_robot("builtin:tx40")
    terms = [Armature(), Viscous(), Coulomb(), AsymmetricCoulomb([1]), Spring([2]), Coupling("joint_5", "joint_6")]
    model = DynamicModel(robot, terms)
    p = np.random.default_rng(0).normal(size=len(model.names))
    values = dict(zip(model.names, p, strict=True))
    found = conditions.of_terms(model)
    squares = [c for c in found if len(c.offset) == 3]
    singles = {model.names[int(np.flatnonzero(c.rows[0])[0])] for c in found if len(c.offset) == 1}
    assert len(squares) == 2
    for names in (("Ia5", "Iam6", "Ia6"), ("fv5", "fvm6", "fv6")):
        wanted = [values[names[0]], np.sqrt(2.0) * values[names[1]], values[names[2]]]
        assert any(np.allclose(square.rows @ p, wanted) for square in squares)
    assert {"Ia1", "fv2", "fs5", "fs6", "fsm6", "fsp1", "fsn1"} <= singles
    assert not singles & {"k2", "Iam6", "fvm6", "Ia5", "fv6"}


def test_friction_that_would_be_negative_at_rest_keeps_its_value_at_speed() -> None:
    # fs + fst is at its bound, and the solver's rounding may leave it below: fs must not fall with it.
    model = DynamicModel(load_robot("builtin:ur5"), [Viscous(), Stribeck(), Offset()])
    base = find_base_parameters(model)
    p = np.nan_to_num(model.reference)
    for k, name in enumerate(model.names):
        if name.startswith("fs"):
            p[k] = -2.2 if name.startswith("fst") else 2.0
    logs = [data(model, p, 2000, 0.01, np.random.default_rng(k)) for k in range(3)]
    for log in logs:
        estimate = weighted_least_squares([log], base)
        value = physical_estimate([log], base, Physics(references(model.robot), LinkPrior()), estimate).values
        assert all(value[f"fs{k}"] == pytest.approx(2.0, rel=0.1) for k in range(1, 7))
        assert all(0.0 <= value[f"fs{k}"] + value[f"fst{k}"] <= 0.1 for k in range(1, 7))


def test_friction_that_a_file_only_pretends_to_know_does_not_hold_the_datas() -> None:
    # TIAGo's file states 1 N m s/rad for all joints, and one has 30.
    robot = load_robot("builtin:ur5")
    placeholders = tuple(
        replace(j, dynamics=JointDynamics(damping=0.01, friction=0.01)) for j in robot.description.joints
    )
    model = DynamicModel(assemble(replace(robot.description, joints=placeholders)), [Viscous(), Coulomb()])
    base = find_base_parameters(model)
    p = np.nan_to_num(model.reference)
    p[60:] = 3.0
    logs = [data(model, p, 200, 0.1, np.random.default_rng(0))]
    physics = Physics(references(model.robot), LinkPrior(weight=1000.0))
    estimate = weighted_least_squares(logs, base)
    found = physical_estimate(logs, base, physics, estimate)
    data_values = [dict(zip(estimate.names, estimate.values, strict=True))[name] for name in model.names[60:]]
    stds = [dict(zip(estimate.names, estimate.stds, strict=True))[name] for name in model.names[60:]]
    assert np.all(np.abs(found.parameters[60:] - data_values) <= 3.0 * np.array(stds))


def test_a_coupling_without_motor_inertia_leaves_that_matrix_out() -> None:
    model = DynamicModel(load_robot("builtin:tx40"), [Coupling("joint_5", "joint_6")])
    assert [len(constraint.offset) for constraint in conditions.of_terms(model)] == [1]


def test_cross_validation_prefers_a_prior_that_is_right_and_shuns_one_that_is_wrong() -> None:
    rng = np.random.default_rng(2)
    model = DynamicModel(UR5.robot)
    base = find_base_parameters(model)
    folds = [Fold(0, data(model, model.reference, 20, 0.3, rng)) for _ in range(4)]
    right = references(model.robot)
    wrong = tuple(replace(r, parameters=8.0 * r.parameters) for r in right)
    chosen = [choose_weight(folds, base, Physics(r, LinkPrior()), "auto").weight for r in (right, wrong)]
    assert chosen[0] > chosen[1]


def test_references_are_the_files_bodies_or_plain_ones() -> None:
    assert {r.origin for r in references(UR5.robot)} == {Origin.FILE}
    assert all(np.array_equal(r.parameters, UR5.robot.links[r.link].parameters) for r in references(UR5.robot))
    bare = load_robot("builtin:tx40")
    assert {r.origin for r in references(bare)} == {Origin.PLAIN}
    assert all(is_possible_body(r.parameters) for r in references(bare))
    assert all(is_possible_body(plain_body(UR5.robot, i)) for i in range(6))


def test_a_link_without_a_stated_mass_is_unknown_but_a_frame_is_massless() -> None:
    description = UR5.robot.description
    bodies = list(description.bodies)
    third = next(k for k, body in enumerate(bodies) if body.name == UR5.robot.links[3].name)
    rods = plain_body(UR5.robot, 3)
    for unweighed, origin in ((True, Origin.PLAIN), (False, Origin.MASSLESS)):
        bodies[third] = replace(bodies[third], inertia=None, geometry=(), unweighed=unweighed)
        found = references(assemble(replace(description, bodies=tuple(bodies))))
        assert [r.origin for r in found].count(origin) == 1
        assert [r.origin for r in found].count(Origin.FILE) == 5
        if unweighed:  # of the density of the others, which plain bodies only guess
            (guess,) = [r for r in found if r.origin is origin]
            others = [r.parameters[0] / plain_body(UR5.robot, r.link)[0] for r in found if r.origin is Origin.FILE]
            assert guess.parameters[0] / rods[0] == pytest.approx(np.exp(np.mean(np.log(others))), rel=1e-6)
            assert guess.most_weight < np.inf


TABLE = """
name = "arm"
convention = "standard"
[[joint]]
name = "a"
d = 0.3
alpha = 1.5707963267948966
mass = 4.0
com = [0, -0.1, 0]
inertia = { xx = 0.05, yy = 0.02, zz = 0.05 }
[[joint]]
name = "b"
a = 0.4
[[joint]]
name = "c"
a = 0.3
mass = 1.0
com = [-0.1, 0, 0]
inertia = { xx = 0.01, yy = 0.02, zz = 0.02 }
"""


def test_a_row_of_a_table_without_mass_is_estimated(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    path.write_text(TABLE)
    robot = load_robot(path)
    assert [r.origin for r in references(robot)] == [Origin.FILE, Origin.PLAIN, Origin.FILE]
    model = DynamicModel(robot, [Viscous()])
    base = find_base_parameters(model)
    p = np.nan_to_num(model.reference)
    p[10:20] = inertia.from_mass_com_inertia(2.5, np.array([-0.2, 0.0, 0.0]), np.diag([0.01, 0.05, 0.05]))
    logs = [data(model, p, 2000, 0.02, np.random.default_rng(0))]
    estimate = weighted_least_squares(logs, base)
    found = physical_estimate(logs, base, Physics(references(robot), LinkPrior(weight=100.0)), estimate)
    assert found.relative_error <= 1.01 * estimate.relative_error
    assert 1.5 <= found.values["m2"] <= 4.0


@given(descriptions(kinds))
def test_every_link_with_mass_has_a_strictly_possible_reference(description: Description) -> None:
    robot = assemble(description)
    for reference in references(robot):
        assert reference.origin is Origin.MASSLESS or is_possible_body(reference.parameters)


def test_another_robots_file_is_refused_as_a_prior() -> None:
    with pytest.raises((UnknownNameError, InvalidRequestError), match="prior's robot"):
        require_same_links(UR5, load_robot("builtin:two_link"))
    with pytest.raises(InvalidRequestError, match="stands or points elsewhere"):
        require_same_links(UR5, with_longer_arm(UR5.robot))


def with_longer_arm(robot: Robot) -> Robot:
    joints = list(robot.joints)
    placement = joints[3].placement.copy()
    placement[0, 3] += 0.1
    joints[3] = replace(joints[3], placement=frozen(placement))
    return replace(robot, joints=tuple(joints))
