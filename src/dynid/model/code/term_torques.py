"""Friction and actuator terms in generated code: the terms' own formulas, with numbers that are not known yet.

A term's `entries` are arithmetic and NumPy's functions on columns of the states, and so work on columns of numbers of a
tape, too. Terms that need the whole robot have a form of their own here; any other is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.model.code.expressions import Expr, Number, call
from dynid.model.code.gear_torques import gear_features
from dynid.model.code.recursions import Numbers, gathered, inverse_dynamics, poses
from dynid.model.code.tree import Body, inertia_of, lumped
from dynid.model.code.vectors import NO_WRENCH, Matrix, Vector, Wrench
from dynid.model.terms import ContactOffset, LinkSpring, LoadCoulomb, Term, specification
from dynid.model.terms.gears import GearFriction
from dynid.model.terms.link_springs import SHORTEST_SPRING
from dynid.model.terms.nonlinear_friction import UNKNOWN_LINK
from dynid.robot import WORLD, Robot, place_of_body


class NoCodeError(InvalidRequestError):
    """A term has no form in generated code.

    Attributes:
        term: The term, as experiment files state it.
    """

    def __init__(self, term: Term, why: str) -> None:
        self.term = name_of(term)
        super().__init__(f"the term '{self.term}' has no form in generated code ({why}); identify without it")


def name_of(term: Term) -> str:
    """A term as experiment files state it, or the name of its class."""
    return specification(term, type(term).__name__)


@dataclass(frozen=True, eq=False)
class _States:
    """The robot, and the numbers that terms take."""

    robot: Robot
    bodies: Sequence[Body]
    q: Numbers
    v: Numbers
    a: Numbers


class _Columns:
    """Numbers of one sample, to be indexed as an array of shape (samples, columns)."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = list(numbers)

    def __getitem__(self, key: Any) -> Any:
        _, columns = key
        return _Row([self.numbers[k] for k in columns]) if isinstance(columns, list) else self.numbers[columns]


class _Row:
    """Some columns of these, to be multiplied with a vector."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers

    def __matmul__(self, factors: Array) -> Number:
        return sum((x * factor for x, factor in zip(self.numbers, factors.tolist(), strict=True)), start=0.0)


def term_torques(
    robot: Robot,
    bodies: Sequence[Body],
    terms: Sequence[Term],
    parameters: Numbers,
    q: Numbers,
    v: Numbers,
    a: Numbers,
    *,
    motor_inertia: bool = True,
) -> list[Number]:
    """Torques of terms, one for each velocity.

    Args:
        robot: The robot.
        bodies: Its bodies.
        terms: The terms.
        parameters: Their parameters, term by term.
        q: Positions.
        v: Velocities.
        a: Accelerations.
        motor_inertia: Whether what is proportional to accelerations is in it.

    Raises:
        NoCodeError: If a term has no form in generated code.
    """
    torques: list[Number] = [0.0] * robot.nv
    first = 0
    for term in terms:
        count = len(term.parameters(robot))
        own = parameters[first : first + count]
        first += count
        at_rest = not motor_inertia and not term.needs_links and "a" in term.needs
        states = _States(robot, bodies, q, v, [0.0] * robot.nv if at_rest else a)
        form = FORMS.get(type(term), _traced)
        for row, value in form(term, own, states):
            torques[row] = torques[row] + value
    return torques


def _traced(term: Term, parameters: Numbers, states: _States) -> list[tuple[int, Number]]:
    """The torques of a term by its own formulas."""
    if isinstance(term, GearFriction):
        return _gear_friction(term, parameters, states)
    columns: Any = [_Columns(x) for x in (states.q, states.v, states.a)]
    try:
        found = [(row, parameters[k] * _number(value)) for row, k, value in term.entries(states.robot, *columns)]
    except Exception as error:
        why = f"{error or type(error).__name__}; code needs formulas of arithmetic, exp, tanh, sign, sqrt and abs"
        raise NoCodeError(term, why) from error
    return found


def _number(value: Any) -> Number:
    return value if isinstance(value, Expr) else float(np.asarray(value).item())


def _torques_of_links(links: Array | None, states: _States, a: Numbers) -> list[Number]:
    """Torques of the links that a term knows, those of the file when None, at accelerations a."""
    robot = states.robot
    if links is None:
        stated = [robot.links[i] for i in robot.solid_links]
        links = np.concatenate([link.parameters if link.has_inertia else np.array(UNKNOWN_LINK) for link in stated])
    inertia = lumped(states.bodies, inertia_of(states.bodies, robot, links.tolist()))
    return inverse_dynamics(states.bodies, inertia, states.q, states.v, a, Vector.of(robot.gravity))


def _gear_friction(term: GearFriction, parameters: Numbers, states: _States) -> list[tuple[int, Number]]:
    """Friction of loaded gears, at the motor's torque that moves the links and other terms against it."""
    if term.gains[4]:
        raise NoCodeError(term, "squares of the load jump where the motor begins to be driven: no formula solves that")
    still = [0.0] * states.robot.nv
    bias, rest = (_torques_of_links(term.links, states, a) for a in (still, states.a))
    for other, values in term.others:
        beside = term_torques(states.robot, states.bodies, [other], values.tolist(), states.q, states.v, states.a)
        rest = [x + y for x, y in zip(rest, beside, strict=True)]
    found = []
    for at, joint in enumerate(term.joints_of(states.robot)):
        row = joint.v.start
        features = gear_features(term, joint, states.v[row], rest[row], bias[row])
        found += [(row, parameters[at * len(term.symbols) + k] * _number(x)) for k, x in enumerate(features)]
    return found


def _load_coulomb(term: LoadCoulomb, parameters: Numbers, states: _States) -> list[tuple[int, Number]]:
    """Friction in proportion to the torques of the links that the term knows."""
    robot, loads = states.robot, _torques_of_links(term.links, states, states.a)
    found = []
    for k, joint in enumerate(term.joints_of(robot)):
        v = states.v[joint.v.start]
        direction = call("tanh", v * (1.0 / term.width)) if term.width else call("sign", v)
        found.append((joint.v.start, parameters[k] * call("fabs", loads[joint.v.start]) * direction))
    return found


def _link_spring(term: LinkSpring, parameters: Numbers, states: _States) -> list[tuple[int, Number]]:
    """Forces k (L - rest) / L along the line between the ends, as wrenches that joints exert on both links."""
    at = poses(states.bodies, states.q)
    ends = []
    for link, point in term.ends(states.robot):
        own = Vector.of(point) if link == WORLD else states.bodies[link].point(point)
        in_world, i = own, link
        while i != WORLD:
            in_world, i = at[i].place + at[i].up(in_world), states.bodies[i].parent
        ends.append((link, own, in_world))
    gap = ends[0][2] - ends[1][2]
    share: Number = 1.0
    if term.rest:
        # Below the shortest length the library divides by that, which only matters where nothing pulls.
        share = 1.0 - term.rest / call("sqrt", gap @ gap + SHORTEST_SPRING**2)
    force = gap * (parameters[0] * share)
    wrenches = [NO_WRENCH] * len(states.bodies)
    for (link, own, _), sign in zip(ends, (1.0, -1.0), strict=True):
        if link != WORLD:
            along = _in_link(states.bodies, at, link, force * sign)
            wrenches[link] = wrenches[link] + Wrench(along, own.cross(along))
    return list(enumerate(gathered(states.bodies, at, wrenches)))


def _in_link(bodies: Sequence[Body], at: Sequence[Any], link: int, x: Vector) -> Vector:
    """A vector of the world along the axes of a link."""
    if link == WORLD:
        return x
    return at[link].down(_in_link(bodies, at, bodies[link].parent, x))


def _contact_offset(term: ContactOffset, parameters: Numbers, states: _States) -> list[tuple[int, Number]]:
    """Wrenches of constant size along the axes of bodies."""
    at, wrenches = poses(states.bodies, states.q), [NO_WRENCH] * len(states.bodies)
    for k, name in enumerate(term.bodies):
        link, placement = place_of_body(states.robot, name)
        body = states.bodies[link]
        R = Matrix.rotation(body.turned.T @ placement[:3, :3])
        Fx, Fy, Fz, Tx, Ty, Tz = parameters[6 * k : 6 * k + 6]
        force, moment = R(Vector(Fx, Fy, Fz)), R(Vector(Tx, Ty, Tz))
        wrenches[link] = wrenches[link] + Wrench(force, moment + body.point(placement[:3, 3]).cross(force))
    return list(enumerate(gathered(states.bodies, at, wrenches)))


FORMS: dict[type[Term], Callable[..., list[tuple[int, Number]]]] = {
    LoadCoulomb: _load_coulomb,
    LinkSpring: _link_spring,
    ContactOffset: _contact_offset,
}
"""Terms that need the whole robot, each with the torques that it gives."""


def motor_inertia_matrix(robot: Robot, terms: Sequence[Term], parameters: Array) -> Array:
    """What terms add to the mass matrix, shape (nv, nv).

    Raises:
        NoCodeError: If a term depends on accelerations in another way than in proportion, or its matrix is not
            symmetric, so that it is no inertia.
    """
    A, first = np.zeros((robot.nv, robot.nv)), 0
    rng = np.random.default_rng(0)
    q, v, a = np.tile(robot.neutral, (8, 1)), *rng.normal(size=(2, 8, robot.nv))
    for term in terms:
        count = len(term.parameters(robot))
        own = parameters[first : first + count]
        first += count
        if "a" not in term.needs or term.needs_links:
            continue
        still = np.zeros((robot.nv, robot.nv))
        at = np.tile(robot.neutral, (robot.nv, 1))
        A_own = (term.columns(robot, at, still, np.eye(robot.nv)) - term.columns(robot, at, still, still)) @ own
        change = (term.columns(robot, q, v, a) - term.columns(robot, q, v, np.zeros_like(a))) @ own
        size = 1e-9 * (1.0 + np.abs(A_own).max(initial=0.0))
        if np.abs(change - A_own @ a.T).max(initial=0.0) > 10.0 * size or np.abs(A_own - A_own.T).max() > size:
            raise NoCodeError(term, "it depends on accelerations in another way than an inertia does")
        A += A_own
    return A
