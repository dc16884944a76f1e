"""Models with nonlinear parameters, made linear: slopes over these as columns of their own.

Near values z and x of nonlinear and linear parameters, `C(z + dz) (x + dx) = C(z) (x + dx) + (dC/dz x) dz` to first
order. So a term that gives the columns dC/dz x, with dz as its parameters, makes them parameters like all others:
whatever estimates linear parameters with their covariance does so with these.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from dynid.arrays import Array
from dynid.model.base_parameters import BaseParameters
from dynid.model.dynamic_model import DynamicModel
from dynid.model.parameters import Parameter
from dynid.model.terms import Term
from dynid.robot import Robot


class NonlinearSlopes(Term):
    """Torque per change of each nonlinear parameter of a term.

    Args:
        term: The term.
        names: Those of its nonlinear parameters that count.
        values: Values x of its parameters by name.
    """

    def __init__(self, term: Term, names: Sequence[str], values: Mapping[str, float]) -> None:
        self.term = term
        self.names = tuple(names)
        self.values = dict(values)

    def parameters(self, robot: Robot) -> tuple[Parameter, ...]:
        """The changes, named as the nonlinear parameters are."""
        return tuple(
            Parameter(nonlinear.name, nonlinear.unit, nonlinear.owner, joint=nonlinear.owner)
            for nonlinear in self.term.nonlinear(robot)
            if nonlinear.name in self.names
        )

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """The slopes of the term's entries, times its parameters."""
        x = [self.values[parameter.name] for parameter in self.term.parameters(robot)]
        counted = {parameter.name: k for k, parameter in enumerate(self.parameters(robot))}
        names = [nonlinear.name for nonlinear in self.term.nonlinear(robot)]
        for row, parameter, nonlinear, slopes in self.term.nonlinear_slopes(robot, q, v, a):
            if names[nonlinear] in counted:
                yield row, counted[names[nonlinear]], x[parameter] * slopes

    def typical(self) -> Term:
        """Columns that no others can stand for."""
        return _Independent(self)

    def with_temperature(self, temperature: Array) -> NonlinearSlopes:
        """The same for samples of known temperatures."""
        return NonlinearSlopes(self.term.with_temperature(temperature), self.names, self.values)


class Candidates(Term):
    """A term with several sets of nonlinear parameters at once, each with parameters of its own.

    Args:
        term: The term.
        sets: Values of its nonlinear parameters by name, for each candidate.
    """

    def __init__(self, term: Term, sets: Sequence[Mapping[str, float]]) -> None:
        self.term = term
        self.sets = tuple(sets)

    @staticmethod
    def name(parameter: str, candidate: int) -> str:
        """The name of a candidate's parameter."""
        return f"{parameter} of {candidate}"

    def parameters(self, robot: Robot) -> tuple[Parameter, ...]:
        """The term's parameters, candidate by candidate."""
        return tuple(
            Parameter(self.name(parameter.name, k), parameter.unit, parameter.owner, None)
            for k in range(len(self.sets))
            for parameter in self.term.parameters(robot)
        )

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """The columns of every candidate."""
        count = len(self.term.parameters(robot))
        for k, values in enumerate(self.sets):
            for row, column, entries in self.term.at_nonlinear(values).entries(robot, q, v, a):
                yield row, k * count + column, entries

    def typical(self) -> Term:
        """Columns that no others can stand for."""
        return _Independent(self)

    def with_temperature(self, temperature: Array) -> Candidates:
        """The same for samples of known temperatures."""
        return Candidates(self.term.with_temperature(temperature), self.sets)


class _Independent(Term):
    """A term's places filled with noise: columns that are independent, whatever their values are on a log."""

    def __init__(self, term: Term) -> None:
        self.term = term

    def parameters(self, robot: Robot) -> tuple[Parameter, ...]:
        """Those of the term."""
        return self.term.parameters(robot)

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """Noise, the same each time."""
        names = [parameter.name for parameter in self.parameters(robot)]
        for row, column, _ in self.term.entries(robot, q, v, a):
            yield row, column, np.random.default_rng(zlib.crc32(f"{names[column]} {row}".encode())).normal(size=len(q))


def nonlinear_columns(model: DynamicModel) -> dict[str, tuple[str, ...]]:
    """For each nonlinear parameter the linear ones of its joint whose columns it changes."""
    rng = np.random.default_rng(0)
    states = [rng.uniform(-1.0, 1.0, (20, n)) for n in (model.robot.nq, model.robot.nv, model.robot.nv)]
    temperature = rng.uniform(0.0, 40.0, (20, model.robot.nv))
    found: dict[str, set[str]] = {parameter.name: set() for parameter in model.nonlinear}
    for term in model.terms:
        nonlinear = [parameter.name for parameter in term.nonlinear(model.robot)]
        names = [parameter.name for parameter in term.parameters(model.robot)]
        slopes = (
            term.typical().with_temperature(temperature).nonlinear_slopes(model.robot, *states) if nonlinear else ()
        )
        for _, parameter, k, values in slopes:
            if np.any(values):
                found[nonlinear[k]].add(names[parameter])
    return {name: tuple(sorted(names)) for name, names in found.items()}


def linearised(model: DynamicModel, names: Sequence[str], values: Mapping[str, float]) -> DynamicModel:
    """The model with the changes of nonlinear parameters as parameters beside its own.

    Args:
        model: The model, at the present values of its nonlinear parameters.
        names: The nonlinear parameters that may change.
        values: Present values of the terms' parameters, by name.
    """
    linear = DynamicModel(model.robot, (*model.terms, *_slopes(model, names, values)), model.observed)
    return linear.with_typical(_typical(model.typical, tuple(names)))


@cache
def _typical(model: DynamicModel, names: tuple[str, ...]) -> DynamicModel:
    """What base parameters of such models are found with, whatever their nonlinear parameters."""
    slopes = [term.typical() for term in _slopes(model, names, dict.fromkeys(model.names, 1.0))]
    return DynamicModel(model.robot, (*model.terms, *slopes), model.observed)


def _slopes(model: DynamicModel, names: Sequence[str], values: Mapping[str, float]) -> list[NonlinearSlopes]:
    """Slopes over those of the nonlinear parameters that a term has, for each term that has any."""
    own = [[s.name for s in term.nonlinear(model.robot) if s.name in names] for term in model.terms]
    return [NonlinearSlopes(term, some, values) for term, some in zip(model.terms, own, strict=True) if some]


def with_nonlinear_columns(base: BaseParameters, linear: DynamicModel) -> BaseParameters:
    """The base parameters of a model made linear: those of the model itself, then the changes of nonlinear ones."""
    own, more = len(base.model.names), len(linear.names) - len(base.model.names)
    K = np.zeros((len(base) + more, own + more))
    K[: len(base), :own] = base.regrouping
    K[len(base) :, own:] = np.eye(more)
    return replace(
        base,
        model=linear,
        columns=(*base.columns, *range(own, own + more)),
        regrouping=K,
        own_parts=np.concatenate([base.own_parts, np.ones(more)]),
    )
