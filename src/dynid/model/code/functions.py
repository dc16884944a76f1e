"""The functions of generated code: what each takes and gives, and its operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from dynid.arrays import Array
from dynid.model.base_parameters import BaseParameters
from dynid.model.code.expressions import Number, Tape
from dynid.model.code.matrices import coriolis_matrix, mass_matrix
from dynid.model.code.recursions import Numbers, inverse_dynamics, momentum
from dynid.model.code.term_torques import motor_inertia_matrix, term_torques
from dynid.model.code.tree import Body, bodies_of, inertia_of, lumped
from dynid.model.code.vectors import ZERO, PseudoInertia, Vector
from dynid.model.dynamic_model import DynamicModel
from dynid.robot import SIZE, Robot


@dataclass(frozen=True, eq=False)
class Function:
    """A function of generated code.

    Attributes:
        name: Its name.
        about: What it gives, in one sentence.
        inputs: Its inputs: name and number of elements.
        outputs: Its outputs: name and number of elements.
        tape: Its operations.
        results: For each output its elements.
    """

    name: str
    about: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    tape: Tape
    results: tuple[tuple[Number, ...], ...]

    @property
    def flat(self) -> list[Number]:
        """The elements of all outputs."""
        return [x for result in self.results for x in result]


@dataclass(frozen=True, eq=False)
class CodeModel:
    """A model with numbers for all of its parameters, as code is generated from it.

    Attributes:
        model: The robot and its terms.
        parameters: Standard parameters p, shape (parameters,).
        base: The base parameters whose product with the regressor is a function; None for no such function.
        has_links: Whether links are physically consistent, so that the mass matrix is positive definite.
    """

    model: DynamicModel
    parameters: Array
    base: BaseParameters | None = None
    has_links: bool = True

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.model.robot

    @property
    def link_count(self) -> int:
        """Number of parameters of links; those of terms follow."""
        return SIZE * len(self.robot.solid_links)

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """The robot as the recursions take it."""
        return bodies_of(self.robot)

    @cached_property
    def inertia(self) -> list[PseudoInertia]:
        """The links' inertia, lumped towards the base."""
        known: list[float] = self.parameters[: self.link_count].tolist()
        return lumped(self.bodies, inertia_of(self.bodies, self.robot, known))

    @cached_property
    def of_terms(self) -> list[float]:
        """The parameters of the terms."""
        return self.parameters[self.link_count :].tolist()

    @cached_property
    def motor_inertia(self) -> Array:
        """What terms add to the mass matrix, shape (nv, nv)."""
        return motor_inertia_matrix(self.robot, self.model.terms, self.parameters[self.link_count :])

    @cached_property
    def gravity(self) -> Vector:
        """Gravity in the world frame [m/s^2]."""
        return Vector.of(self.robot.gravity)

    def friction(self, q: Numbers, v: Numbers, a: Numbers) -> list[Number]:
        """Torques of all terms but motor inertia."""
        return term_torques(self.robot, self.bodies, self.model.terms, self.of_terms, q, v, a, motor_inertia=False)

    def rigid(self, q: Numbers, v: Numbers, a: Numbers, gravity: Vector) -> list[Number]:
        """Torques of links and motor inertia."""
        return _sum(inverse_dynamics(self.bodies, self.inertia, q, v, a, gravity), self.of_motors(a))

    def of_motors(self, x: Numbers) -> list[Number]:
        """The motor inertia matrix times a vector."""
        found: list[Number] = []
        for row in self.motor_inertia.tolist():
            total: Number = 0.0
            for value, each in zip(row, x, strict=True):
                total = total + value * each
            found.append(total)
        return found


Builder = Callable[[CodeModel, dict[str, Numbers]], Sequence[Sequence[Number]]]
"""Gives the elements of each output."""


def _gravity(code: CodeModel, x: dict[str, Numbers]) -> Sequence[Sequence[Number]]:
    still = [0.0] * code.robot.nv
    return (inverse_dynamics(code.bodies, code.inertia, x["q"], still, still, code.gravity),)


def _rigid(code: CodeModel, x: dict[str, Numbers]) -> Sequence[Sequence[Number]]:
    return (code.rigid(x["q"], x["v"], x["a"], code.gravity),)


def _inverse_dynamics(code: CodeModel, x: dict[str, Numbers]) -> Sequence[Sequence[Number]]:
    q, v, a = x["q"], x["v"], x["a"]
    return (_sum(code.rigid(q, v, a, code.gravity), code.friction(q, v, a)),)


def _friction(code: CodeModel, x: dict[str, Numbers]) -> Sequence[Sequence[Number]]:
    return (code.friction(x["q"], x["v"], x["a"]),)


def _coriolis(code: CodeModel, x: dict[str, Numbers]) -> Sequence[Sequence[Number]]:
    still = [0.0] * code.robot.nv
    return (inverse_dynamics(code.bodies, code.inertia, x["q"], x["v"], still, ZERO),)


def _coriolis_matrix(code: CodeModel, x: dict[str, Numbers]) -> Sequence[Sequence[Number]]:
    C = coriolis_matrix(code.bodies, code.inertia, x["q"], x["v"], code.robot.nv)
    return ([value for row in C for value in row],)


def _mass_matrix(code: CodeModel, x: dict[str, Numbers]) -> Sequence[Sequence[Number]]:
    M = mass_matrix(code.bodies, code.inertia, x["q"], code.robot.nv)
    return ([value + motor for row, beside in zip(M, code.motor_inertia.tolist(), strict=True)
             for value, motor in zip(row, beside, strict=True)],)  # fmt: skip


def _momentum(code: CodeModel, x: dict[str, Numbers]) -> Sequence[Sequence[Number]]:
    p, rate = momentum(code.bodies, code.inertia, x["q"], x["v"])
    (gravity,) = _gravity(code, x)
    return (_sum(p, code.of_motors(x["v"])), [beside - each for beside, each in zip(rate, gravity, strict=True)])


def _regressor_product(code: CodeModel, x: dict[str, Numbers]) -> Sequence[Sequence[Number]]:
    base = code.base
    assert base is not None
    p: list[Number] = [0.0] * len(code.parameters)
    for name, value in base.known.items():
        p[base.model.names.index(name)] = value
    for k, column in enumerate(base.columns):
        p[column] = x["b"][k]
    q, v, a = x["q"], x["v"], x["a"]
    inertia = inertia_of(code.bodies, code.robot, p[: code.link_count])
    rigid = inverse_dynamics(code.bodies, inertia, q, v, a, code.gravity)
    terms = term_torques(code.robot, code.bodies, base.model.terms, p[code.link_count :], q, v, a)
    return (_sum(rigid, terms),)


def _sum(x: Numbers, y: Numbers) -> list[Number]:
    return [a + b for a, b in zip(x, y, strict=True)]


@dataclass(frozen=True)
class Offer:
    """A function that can be generated."""

    about: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    build: Builder


OFFERS: dict[str, Offer] = {
    "gravity": Offer("Torques that hold the links against gravity.", ("q",), ("tau",), _gravity),
    "coriolis": Offer("Coriolis and centrifugal torques C(q, v) v.", ("q", "v"), ("tau",), _coriolis),
    "friction": Offer(
        "Torques of friction, offsets, springs and whatever else the model has beside links and motor inertia; "
        "accelerations matter for friction that depends on the load only.",
        ("q", "v", "a"),
        ("tau",),
        _friction,
    ),
    "rigid_inverse_dynamics": Offer(
        "Torques of links and motor inertia: M(q) a + C(q, v) v + g(q).", ("q", "v", "a"), ("tau",), _rigid
    ),
    "inverse_dynamics": Offer(
        "Torques that a motion needs, of links, motor inertia, friction and all other terms.",
        ("q", "v", "a"),
        ("tau",),
        _inverse_dynamics,
    ),
    "momentum": Offer(
        "Generalised momentum p = M(q) v, and the part C(q, v)' v - g(q) of its rate.",
        ("q", "v"),
        ("p", "rate"),
        _momentum,
    ),
    "mass_matrix": Offer("Mass matrix M(q) with motor inertia, row by row.", ("q",), ("M",), _mass_matrix),
    "coriolis_matrix": Offer(
        "Coriolis matrix C(q, v), row by row; the rate of M is C + C'.", ("q", "v"), ("C",), _coriolis_matrix
    ),
    "regressor_product": Offer(
        "Torques W(q, v, a) b of base parameters that are given at run time.",
        ("q", "v", "a", "b"),
        ("tau",),
        _regressor_product,
    ),
}
"""The functions by name, in the order of the generated file."""


def build_function(code: CodeModel, name: str) -> Function:
    """Build one function."""
    offer, tape, robot = OFFERS[name], Tape(), code.robot
    sizes = {"q": robot.nq, "v": robot.nv, "a": robot.nv, "b": 0 if code.base is None else len(code.base)}
    inputs = tuple((key, sizes[key]) for key in offer.inputs)
    numbers: dict[str, Numbers] = {key: [tape.given(f"{key}[{k}]") for k in range(size)] for key, size in inputs}
    results = tuple(tuple(result) for result in offer.build(code, numbers))
    outputs = tuple((key, len(result)) for key, result in zip(offer.outputs, results, strict=True))
    return Function(name, offer.about, inputs, outputs, tape, results)
