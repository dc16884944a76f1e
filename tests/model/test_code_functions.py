"""Generated functions are those of the library, for every kind of joint, tree and term."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynid import DynamicModel, Robot, find_base_parameters, load_robot
from dynid.arrays import Array
from dynid.model import random_states
from dynid.model.code.functions import OFFERS, CodeModel, build_function
from dynid.model.code.tape_machine import evaluate, program_of, run
from dynid.model.code.term_torques import NoCodeError
from dynid.model.terms import TERMS as TERM_NAMES
from dynid.model.terms import Coulomb, GearFriction, JointTerm, Term
from tests.strategies import FLOATING, robots

RELATIVE = 1e-10
SPRING = "link_spring:balancer:world@0;0;0.5:link_4@0.2;0;0.1"
TERMS = (
    *("viscous", "coulomb", "asymmetric_coulomb", "offset", "armature", "spring", "stribeck", "sigmoid"),
    *("viscous_temperature", "load_coulomb", "coupling:2:3:0.5", "viscous:2-3", "spring:2-0.5*3@0.1"),
    *("motor_inertia:5=50*5-50*6", "motor_coulomb:5=50*5-50*6", SPRING, f"{SPRING}:0.3", Coulomb(width=0.1)),
)

GEARS = ("load_friction", "load_stribeck", "directional_friction")
"""Terms whose torques are the solution of an equation."""


def close(found: Array, wanted: Array) -> None:
    assert np.abs(found - wanted).max() <= RELATIVE * max(1.0, np.abs(wanted).max())


def outputs(code: CodeModel, states: tuple[Array, Array, Array]) -> dict[str, list[Array]]:
    given = dict(zip("qva", states, strict=True))
    built = [build_function(code, name) for name in OFFERS if name != "regressor_product"]
    return {function.name: evaluate(function, {key: given[key] for key, _ in function.inputs}) for function in built}


def of_file(robot: Robot) -> CodeModel:
    model = DynamicModel(robot)
    return CodeModel(model, np.nan_to_num(model.reference))


@given(robots(), st.integers(0, 2**32 - 1))
def test_functions_of_random_trees_are_those_of_the_library(robot: Robot, seed: int) -> None:
    code = of_file(robot)
    model, p = code.model, code.parameters
    q, v, a = random_states(model, 3, np.random.default_rng(seed))
    found = outputs(code, (q, v, a))
    gravity, M = model.inverse_dynamics(q, parameters=p), model.mass_matrices(q, p)
    coriolis = model.inverse_dynamics(q, v, parameters=p) - gravity
    C = found["coriolis_matrix"][0].reshape(M.shape)
    close(found["inverse_dynamics"][0], model.inverse_dynamics(q, v, a, p))
    close(found["gravity"][0], gravity)
    close(found["coriolis"][0], coriolis)
    close(found["mass_matrix"][0].reshape(M.shape), M)
    close(np.einsum("sij,sj->si", C, v), coriolis)
    close(found["momentum"][0], np.einsum("sij,sj->si", M, v))
    close(found["momentum"][1], np.einsum("sji,sj->si", C, v) - gravity)


@given(robots().filter(lambda robot: not robot.has_quaternions), st.integers(0, 2**32 - 1))
def test_the_coriolis_matrix_is_that_of_christoffel_symbols(robot: Robot, seed: int) -> None:
    code = of_file(robot)
    q, v, a = random_states(code.model, 2, np.random.default_rng(seed))
    C = outputs(code, (q, v, a))["coriolis_matrix"][0].reshape(-1, robot.nv, robot.nv)
    for j, unit in enumerate(np.eye(robot.nv)):  # torques are quadratic forms of velocities: polarised
        ahead, back = (code.model.inverse_dynamics(q, v + sign * unit, parameters=code.parameters) for sign in (1, -1))
        close(C[:, :, j], (ahead - back) / 4.0)


@given(FLOATING, st.integers(0, 2**32 - 1))
@settings(max_examples=5)
def test_the_rate_of_the_mass_matrix_is_the_coriolis_matrix_and_its_transpose(robot: Robot, seed: int) -> None:
    code, step = of_file(robot), 1e-6
    q, v, a = random_states(code.model, 1, np.random.default_rng(seed))
    C = outputs(code, (q, v, a))["coriolis_matrix"][0].reshape(robot.nv, robot.nv)
    ahead, back = (code.model.mass_matrices(moved(robot, q, v, sign * step), code.parameters)[0] for sign in (1, -1))
    rate = (ahead - back) / (2.0 * step)
    assert np.allclose(C + C.T, rate, atol=1e-6 * (1.0 + np.abs(C).max()))


def moved(robot: Robot, q: Array, v: Array, step: float) -> Array:
    """Positions a short time later at constant velocities, by Pinocchio."""
    import pinocchio as pin

    from dynid.robot.pinocchio import to_pinocchio, tree_coordinates

    model = to_pinocchio(robot)
    tree = pin.integrate(model, *tree_coordinates(robot, q[0], v[0] * step))
    later, place = q.copy(), 0
    for joint in robot.joints:
        if joint.leader is None:
            later[0, joint.q] = tree[place : place + joint.kind.nq]
        place += joint.kind.nq
    return later


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term if isinstance(term, str) else type(term).__name__)
def test_every_term_is_in_the_code(term: str | Term) -> None:
    robot = load_robot("builtin:panda")
    model = DynamicModel(robot, [term])
    rng = np.random.default_rng(0)
    links = 10 * len(robot.solid_links)
    p = np.concatenate([model.reference[:links], rng.uniform(0.5, 1.0, len(model.names) - links)])
    q, v, a = random_states(model, 6, rng)
    v[0] = 0.0
    found = outputs(CodeModel(model, p), (q, v, a))
    wanted = model.inverse_dynamics(q, v, a, p)
    close(found["inverse_dynamics"][0], wanted)
    close(found["friction"][0] + found["rigid_inverse_dynamics"][0], wanted)
    M = model.mass_matrices(q, p)
    close(found["mass_matrix"][0].reshape(M.shape), M)
    bare = DynamicModel(robot).inverse_dynamics(q, v, a, p[:links])
    assert np.abs(wanted - bare).max() > 1e-3


class Cubic(JointTerm):
    """A term of a user's own, of arithmetic."""

    symbols = ("fcub",)
    units = ("N m s^3/rad^3",)
    needs = frozenset("v")

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        return (v**3 / (1.0 + np.abs(v)),)


class Branching(Cubic):
    """A term whose formula is no arithmetic."""

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        return (np.where(v > 0.0, v, 0.0),)


class Twisted(Cubic):
    """A term that multiplies velocities with accelerations."""

    needs = frozenset("va")

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        return (v * a,)


def test_terms_of_ones_own_are_in_the_code() -> None:
    test_every_term_is_in_the_code(Cubic())


@pytest.mark.parametrize("term", [Branching(), Twisted()], ids=lambda term: type(term).__name__)
def test_a_term_without_a_form_in_code_is_named(term: Term) -> None:
    model = DynamicModel("builtin:two_link", [term])
    code = CodeModel(model, np.nan_to_num(model.reference) + 0.1)
    with pytest.raises(NoCodeError) as raised:
        build_function(code, "inverse_dynamics")
    assert raised.value.term == type(term).__name__


@pytest.mark.parametrize("width", [0.0, 0.1])
@pytest.mark.parametrize("term", GEARS)
def test_friction_of_loaded_gears_is_solved(term: str, width: float) -> None:
    """Gears that take up to nine tenths of the torque, driven and driven back, at rest, slow and fast."""
    robot = load_robot("builtin:ur5")
    rng = np.random.default_rng(0)
    kind: Any = TERM_NAMES[term]
    model = DynamicModel(robot, [kind(width=width), "viscous", "armature"])
    links = 10 * len(robot.solid_links)
    largest = [0.5 if name.startswith("k") else 1.0 for name in model.names[links:]]
    p = np.concatenate([model.reference[:links], rng.uniform(0.05, 0.9, len(largest)) * largest])
    model = model.with_values(dict(zip(model.names, p.tolist(), strict=True)))
    q, v, a = random_states(model, 200, rng)
    v[:20] = 0.0
    v *= rng.choice([0.01, 0.3, 1.0], size=v.shape)
    found = outputs(CodeModel(model, p), (q, v, a))
    wanted = model.inverse_dynamics(q, v, a, p)
    close(found["inverse_dynamics"][0], wanted)
    first, *others = model.terms
    assert isinstance(first, GearFriction)
    at_outcome = DynamicModel(robot, [first.with_motor_torque(found["inverse_dynamics"][0]), *others])
    close(found["inverse_dynamics"][0], at_outcome.inverse_dynamics(q, v, a, p))
    assert np.abs(found["friction"][0]).max() > 1.0


def test_friction_with_squares_of_the_load_is_named() -> None:
    model = DynamicModel("builtin:two_link", ["quadratic_friction"])
    with pytest.raises(NoCodeError) as raised:
        build_function(CodeModel(model, np.nan_to_num(model.reference)), "friction")
    assert raised.value.term == "quadratic_friction"


@pytest.mark.parametrize("name", sorted(set(TERM_NAMES) - {"quadratic_friction"}))
def test_every_other_term_that_users_can_name_is_in_the_code(name: str) -> None:
    model = DynamicModel("builtin:two_link", [name])
    code = CodeModel(model, np.nan_to_num(model.reference, nan=0.3))
    states = random_states(model, 3, np.random.default_rng(0))
    close(outputs(code, states)["inverse_dynamics"][0], model.inverse_dynamics(*states, code.parameters))


@pytest.mark.parametrize("robot", ["builtin:panda", "builtin:tx40"])
def test_base_parameters_and_links_give_the_same_torques(robot: str) -> None:
    model = DynamicModel(robot, ["viscous", "coulomb", "armature", "coupling:5:6"])
    rng = np.random.default_rng(0)
    base = find_base_parameters(model)
    p = rng.uniform(0.1, 1.0, len(model.names))
    states = random_states(model, 5, rng)
    b = base.to_base(p)
    of_links, of_base = (outputs(CodeModel(model, each), states) for each in (p, base.to_standard(b)))
    product = build_function(CodeModel(model, p, base), "regressor_product")
    given = {**dict(zip("qva", states, strict=True)), "b": np.tile(b, (5, 1))}
    close(evaluate(product, given)[0], of_links["inverse_dynamics"][0])
    for name in ("inverse_dynamics", "gravity", "coriolis", "momentum", "mass_matrix", "coriolis_matrix"):
        close(of_base[name][0], of_links[name][0])


def test_the_machine_of_numba_does_what_numpy_does() -> None:
    model = DynamicModel("builtin:panda", ["stribeck", "sigmoid", f"{SPRING}:0.3"])
    code = CodeModel(model, np.nan_to_num(model.reference, nan=0.3))
    q, v, a = random_states(model, 20, np.random.default_rng(0))
    function = build_function(code, "inverse_dynamics")
    found = run(program_of(function), np.hstack([q, v, a]))
    close(found, evaluate(function, {"q": q, "v": v, "a": a})[0])
