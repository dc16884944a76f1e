"""The dynamic model: a robot and terms, what is observed of it, and its parameters."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Indices
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.model.equations import combinations, equation_names, measured_rows, source_rows
from dynid.model.kernels.kernel import require_memory, stacked_rows
from dynid.model.kernels.row_layout import RowLayout
from dynid.model.observed import Observed
from dynid.model.parameters import Parameter, link_parameters, matching
from dynid.model.terms import Combined, JointTerm, NonlinearParameter, Term, parse_terms
from dynid.robot import CHANNELS, SIZE, WORLD, Joint, JointKind, Robot, as_robot


@dataclass(frozen=True, eq=False, init=False, repr=False)
class DynamicModel:
    """A robot with terms: `tau = W(q, v, a) p`.

    The columns are the links' inertial parameters, `inertia.SIZE` for each link, then the terms' in their order.

    Attributes:
        robot: The robot, also given by the path of its file or `builtin:NAME`.
        terms: Its friction and actuator terms: `Term` objects, or their names as `parse_terms` takes them.
        observed: What is measured: one of `Observed`, or its name. Friction and motors act between links, so the terms
            do not appear in the wrench on the base, and their columns are zero there.
    """

    robot: Robot
    terms: tuple[Term, ...]
    observed: Observed

    def __init__(
        self,
        robot: Robot | str | os.PathLike[str],
        terms: str | Sequence[Term | str] = (),
        observed: Observed | str = Observed.TORQUES,
    ) -> None:
        robot = as_robot(robot)
        observed = Observed.named(observed).checked(robot)
        vars(self).update(robot=robot, terms=parse_terms(terms, robot), observed=observed)
        for names in (self.names, [parameter.name for parameter in self.nonlinear]):
            twice = next((name for name, count in Counter(names).items() if count > 1), None)
            if twice is not None:
                raise InvalidRequestError(
                    f"two of the terms {', '.join(type(term).__name__ for term in self.terms)} have the parameter "
                    f"'{twice}'; keep one of them for that joint (Stribeck, for instance, includes Coulomb friction)"
                )

    def __repr__(self) -> str:
        terms = "".join(f", {type(term).__name__}" for term in self.terms)
        return f"DynamicModel({self.robot.name!r}{terms}: {len(self.names)} parameters)"

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """All standard parameters, one per column."""
        of_terms = (parameter for term in self.terms for parameter in term.parameters(self.robot))
        return (*link_parameters(self.robot), *of_terms)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all standard parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    @cached_property
    def reference(self) -> Array:
        """The robot file's parameters p, shape (parameters,); NaN where the file says nothing."""
        return np.array(
            [np.nan if parameter.reference is None else parameter.reference for parameter in self.parameters]
        )

    @cached_property
    def nonlinear(self) -> tuple[NonlinearParameter, ...]:
        """The nonlinear parameters of all terms."""
        return tuple(parameter for term in self.terms for parameter in term.nonlinear(self.robot))

    def at_nonlinear(self, values: Mapping[str, float]) -> DynamicModel:
        """The model with other values of nonlinear parameters, by name.

        Raises:
            UnknownNameError: If there is no such parameter.
        """
        names = [parameter.name for parameter in self.nonlinear]
        unknown = next((name for name in values if name not in names), None)
        if unknown is not None:
            raise UnknownNameError("nonlinear parameter", unknown, names)
        return self._with_terms([term.at_nonlinear(values) for term in self.terms])

    def searched_from(self, lowest: Mapping[str, float]) -> DynamicModel:
        """The model with higher lower bounds of nonlinear parameters, by name."""
        return self._with_terms([term.searched_from(lowest) for term in self.terms])

    def with_links(self, parameters: Array) -> DynamicModel:
        """The model with terms that know the links' inertial parameters, shape (10 * solid links,)."""
        return self._with_terms([term.with_links(parameters) for term in self.terms])

    def with_values(self, values: Mapping[str, float]) -> DynamicModel:
        """The model with terms that know the parameters of all terms, by name, where their columns depend on them."""
        robot, links = self.robot, SIZE * len(self.robot.solid_links)
        sized = [(term, np.array([values.get(p.name, 0.0) for p in term.parameters(robot)])) for term in self.terms]
        known = np.array([values.get(name, 0.0) for name in self.names[:links]])
        terms = [term.with_values(values, [one for one in sized if one[0] is not term]) for term in self.terms]
        found = self._with_terms(terms)
        return found.with_links(known) if known.any() else found

    @cached_property
    def typical(self) -> DynamicModel:
        """The model at nonlinear parameters with which random states determine all others, for base parameters."""
        terms = [term.typical() for term in self.terms]
        same = all(new is term for new, term in zip(terms, self.terms, strict=True))
        return self if same else DynamicModel(self.robot, terms, self.observed)

    def _with_terms(self, terms: Sequence[Term]) -> DynamicModel:
        """The model with other nonlinear parameters in its terms."""
        return replace(self, terms=tuple(terms)).with_typical(self.typical)

    def with_typical(self, typical: DynamicModel) -> DynamicModel:
        """This model, with another's `typical`, so that base parameters are found once for all nonlinear ones."""
        vars(self)["typical"] = typical
        return self

    @cached_property
    def row_indices(self) -> tuple[int, ...]:
        """Indices of the rows of the dynamics that are observed as they are, ascending."""
        return tuple(measured_rows(self.robot, self.observed))

    @property
    def rows(self) -> slice:
        """The rows of the dynamics that are observed, where these follow one another, as all rows and a wrench do.

        Raises:
            InvalidRequestError: If they do not, or are combined with others.
        """
        self._require_plain_rows()
        rows = self.row_indices
        if list(rows) != list(range(rows[0], rows[-1] + 1)):
            raise InvalidRequestError(f"the rows {', '.join(self.row_names)} do not follow one another")
        return slice(rows[0], rows[-1] + 1)

    def _require_plain_rows(self) -> None:
        if self.observed.combines_rows:
            raise InvalidRequestError(
                f"equations {self.observed.text} combine rows of the dynamics, which is only for base parameters and "
                "regressors; measure joint torques or the wrench"
            )

    def regressor(self, q: object, v: object = None, a: object = None) -> Array:
        """The observation matrix W.

        Args:
            q: Positions, shape (samples, nq).
            v: Velocities, shape (samples, nv); zero when None.
            a: Accelerations, shape (samples, nv); zero when None.

        Returns:
            Array of shape (rows, samples, parameters); `W.reshape(-1, W.shape[-1])` stacks it joint by joint. With
            gravity only, v and a must be None or zero. Where what is measured combines rows of the dynamics, the
            rows are these combinations.
        """
        q, v, a = self.robot.states(q, v, a)
        if self.observed.at_rest and (v.any() or a.any()):
            raise InvalidRequestError("a model of gravity only takes states at rest: leave v and a out")
        rows, sources = self._dense.evaluate(q, v, a), source_rows(self.robot, self.observed)
        W = stacked_rows([rows[row] for row in sources])
        if not self.observed.combines_rows:
            return W
        A = combinations(self.robot, self.observed, q)[:, :, sources]
        return np.ascontiguousarray((A @ W.transpose(1, 0, 2)).transpose(1, 0, 2))

    def layout(self, columns: Sequence[Sequence[int] | Indices], spare: int = 0) -> RowLayout:
        """A layout of the observed rows with some columns only.

        Args:
            columns: For each observed row the indices of its parameters.
            spare: How many columns to leave free at the end of every row.
        """
        self._require_plain_rows()
        of_all_rows: list[Sequence[int] | Indices] = [()] * self.robot.nv
        for row, wanted in zip(self.row_indices, columns, strict=True):
            of_all_rows[row] = wanted
        return RowLayout.of(self.robot, self.terms, of_all_rows, spare)

    @cached_property
    def acting(self) -> tuple[Indices, ...]:
        """For each observed row the indices of the parameters that can act on it, ascending.

        They are those of the links that the joint moves, and of terms that have an entry there; all of them where rows
        are combined.
        """
        robot = self.robot
        if self.observed.combines_rows:
            return (np.arange(len(self.names)),) * self.row_count
        blocks: list[list[int]] = [[] for _ in range(robot.nv)]
        of_terms: list[set[int]] = [set() for _ in range(robot.nv)]
        for block, i in enumerate(robot.solid_links):
            for row in {row for at in robot.chain(i) for row in range(robot.nv)[robot.joints[at].v]}:
                blocks[row].append(block)
        rest = np.zeros((1, robot.nv))
        first = SIZE * len(robot.solid_links)
        for term in self.terms:
            for row, column, _ in term.entries(robot, robot.neutral[None], rest, rest):
                of_terms[row].add(first + column)
            first += len(term.parameters(robot))
        return tuple(
            np.append(
                np.add.outer(SIZE * np.array(blocks[row], dtype=np.intp), np.arange(SIZE)).ravel(),
                np.array(sorted(of_terms[row]), dtype=np.intp),
            )
            for row in self.row_indices
        )

    @cached_property
    def entry_count(self) -> int:
        """About how many numbers of W, at one state, are not always zero."""
        if self.observed.combines_rows:
            return len(self.names) * self.row_count
        deep: list[int] = []  # rows that act on each link
        for joint in self.robot.joints:
            deep.append(joint.kind.nv + (deep[joint.parent] if joint.parent != WORLD else 0))
        of_links = SIZE * sum(min(deep[i], self.row_count) for i in self.robot.solid_links)
        return of_links + len(self.names)

    def require_memory(self, what: str, needed: int) -> None:
        """Refuse what does not fit into memory.

        Args:
            what: What would be done with the robot, before its name.
            needed: Memory that it takes [bytes].

        Raises:
            TooLargeError: If so much is not free.
        """
        size = f"{len(self.robot.joints)} moving joints, {len(self.names)} parameters"
        advice = "lock joints that need not be identified, or take one limb as a robot of its own"
        require_memory(f"{what} '{self.robot.name}' ({size})", needed, advice)

    def require_rows(self) -> None:
        """Refuse robots whose equations of single joints, each with its own regrouping and factor, do not fit.

        Raises:
            TooLargeError: If so much memory is not free.
        """
        moved = np.zeros(len(self.robot.joints))  # links that each joint moves
        moved[list(self.robot.solid_links)] = 1.0
        widths = np.full(self.robot.nv, (len(self.names) - SIZE * len(self.robot.solid_links)) / self.robot.nv)
        for i in reversed(range(len(moved))):
            joint = self.robot.joints[i]
            widths[joint.v] += SIZE * moved[i]
            if joint.parent != WORLD:
                moved[joint.parent] += moved[i]
        needed = 10 * int(np.square(widths[list(self.row_indices)]).sum())
        self.require_memory("the equations of the joints of", needed)

    @cached_property
    def _dense(self) -> RowLayout:
        """All columns of the rows that equations are made of."""
        wanted = source_rows(self.robot, self.observed)
        columns = [range(len(self.names)) if row in wanted else () for row in range(self.robot.nv)]
        return RowLayout.of(self.robot, self.terms, columns)

    @property
    def row_count(self) -> int:
        """Number of observed rows."""
        return len(self.row_names)

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """Names of the observed rows: the joint's, `JOINT[k]` of spherical ones, `base Fx` and so on of a free base."""
        names = [name for joint in self.robot.independent_joints for name in _row_names(joint, self.robot)]
        of_rows = tuple(names[row] for row in self.row_indices)
        return equation_names(self.observed, of_rows) if self.observed.combines_rows else of_rows

    def inverse_dynamics(self, q: object, v: object = None, a: object = None, parameters: Array | None = None) -> Array:
        """Torques [N m or N] that the motion needs.

        Args:
            q: Positions, shape (samples, nq).
            v: Velocities, shape (samples, nv); zero when None.
            a: Accelerations, shape (samples, nv); zero when None.
            parameters: p, shape (parameters,); the robot file's when None, with zero for what it does not say.

        Returns:
            Array of shape (samples, rows).
        """
        p = np.nan_to_num(self.reference) if parameters is None else np.asarray(parameters, dtype=float)
        if p.shape != (len(self.names),):
            raise ShapeError("parameters", f"({len(self.names)},)", p.shape)
        return (self.regressor(q, v, a) @ p).T

    def mass_matrices(self, q: object, parameters: Array | None = None) -> Array:
        """Mass matrices M(q) [kg m^2, kg m or kg], with motors' inertia, of postures.

        Args:
            q: Positions, shape (samples, nq).
            parameters: p, shape (parameters,); the robot file's when None.

        Returns:
            Array of shape (samples, rows, nv).
        """
        positions, _, _ = self.robot.states(q)
        at_rest = self.inverse_dynamics(positions, parameters=parameters)
        columns = []
        for unit in np.eye(self.robot.nv):
            accelerations = np.broadcast_to(unit, (len(positions), self.robot.nv))
            columns.append(self.inverse_dynamics(positions, None, accelerations, parameters) - at_rest)
        return np.stack(columns, axis=-1)


def _row_names(joint: Joint, robot: Robot) -> list[str]:
    """Names of the rows of one joint."""
    if joint.kind is JointKind.FREE_FLYER:
        name = "base" if robot.has_floating_base and joint is robot.joints[0] else joint.name
        return [f"{name} {channel}" for channel in CHANNELS]
    return [joint.name] if joint.kind.nv == 1 else [f"{joint.name}[{k}]" for k in range(joint.kind.nv)]


def driven_along(model: DynamicModel, kind: type[JointTerm]) -> set[str]:
    """Names of the joints that a term of a kind acts on along combinations of joints, such as a motor's friction."""
    terms = [term for term in model.terms if isinstance(term, Combined) and isinstance(term.kind, kind)]
    return {joint.name for term in terms for along in term.along(model.robot) for joint in along.joints}


def dry_directions(model: DynamicModel) -> Array | None:
    """Combinations of joint velocities along which the terms have dry friction, shape (count, nv); None for none."""
    found = [
        along.direction
        for term in model.terms
        if isinstance(term, Combined) and any(role.is_dry for role in term.kind.roles)
        for along in term.along(model.robot)
        if not along.is_joint
    ]
    return np.array(found) if found else None


def known_model(
    robot: Robot,
    terms: str | Sequence[str | Term],
    known: Mapping[str, float],
    observed: Observed = Observed.TORQUES,
) -> DynamicModel:
    """The model of a robot with terms, at the nonlinear parameters that are known."""
    model = DynamicModel(robot, terms, observed)
    return model.at_nonlinear(split_known(model, known)[0])


def split_known(model: DynamicModel, known: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Known values of nonlinear parameters by name, and those of linear parameters by name or pattern.

    Raises:
        UnknownNameError: If a name is that of no parameter.
        InvalidRequestError: If a parameter that is positive by its nature is not.
    """
    nonlinear = [parameter.name for parameter in model.nonlinear]
    of_nonlinear: dict[str, float] = {}
    rest: dict[str, float] = {}
    for pattern, value in known.items():
        if matches(pattern, model.names):
            rest[pattern] = value
        elif matches(pattern, nonlinear):
            of_nonlinear |= dict.fromkeys(matching([pattern], nonlinear), value)
            for parameter in model.nonlinear:
                stated = of_nonlinear.get(parameter.name)
                if stated is not None and parameter.lower > 0.0 >= stated:
                    raise InvalidRequestError(
                        f"known has {pattern} = {stated:g}, and {parameter.name} [{parameter.unit}] must be positive; "
                        f"typical values are {parameter.grid[0]:.3g} to {parameter.grid[-1]:.3g}"
                    )
        else:
            raise UnknownNameError("parameter", pattern, (*model.names, *nonlinear))
    return of_nonlinear, rest


def known_of(model: DynamicModel, known: Mapping[str, float]) -> dict[str, float]:
    """What is known of the parameters of a model, where names may be those of other models' parameters, too."""
    names = (*model.names, *(parameter.name for parameter in model.nonlinear))
    return {pattern: value for pattern, value in known.items() if matches(pattern, names)}


def matches(pattern: str, names: Sequence[str]) -> bool:
    """Whether a name, or a pattern, is that of a parameter."""
    try:
        return bool(matching([pattern], names))
    except UnknownNameError:
        return False
