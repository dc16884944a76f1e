"""Terms that may be chosen, and the columns that each brings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.row_forms import TORQUES
from dynid.estimation.nonlinear.nonlinear_fit import slowest_speeds, speeds
from dynid.estimation.nonlinear.projection_point import nonlinear_grids
from dynid.logs import PreparedLog
from dynid.model import Candidates, DynamicModel, Role, Term, known_of, specification, split_known
from dynid.model.terms import (
    TERMS,
    Armature,
    AsymmetricCoulomb,
    Coulomb,
    Coupling,
    LoadCoulomb,
    MotorTerm,
    NonlinearTerm,
    TermOfJoints,
    Viscous,
)
from dynid.robot import Motor, Robot

LINEAR = ("viscous", "coulomb", "offset", "armature")
"""Linear terms that are tried in all combinations."""

MOST_SETS = 24
"""Sets of nonlinear parameters of a joint that are tried."""


@dataclass(frozen=True, eq=False)
class Option:
    """A term that may be chosen.

    Attributes:
        name: Its name.
        terms: The term; a coupling of several pairs of joints has several.
        replaces: Names of options that it takes the place of.
        grids: For each joint the sets of nonlinear parameters that are tried; none for linear terms.
    """

    name: str
    terms: tuple[Term, ...]
    replaces: tuple[str, ...] = ()
    grids: Mapping[str, Sequence[Mapping[str, float]]] | None = None

    def parameters(self, robot: Robot) -> dict[str, str]:
        """Names of its parameters with the owner of each."""
        return {parameter.name: parameter.owner for term in self.terms for parameter in term.parameters(robot)}

    def all_names(self, robot: Robot) -> list[str]:
        """Names of all its parameters, nonlinear ones, too."""
        nonlinear = [parameter.name for term in self.terms for parameter in term.nonlinear(robot)]
        return [*self.parameters(robot), *nonlinear]

    @property
    def specifications(self) -> tuple[str, ...]:
        """Its terms as users write them."""
        return tuple(specification(term) for term in self.terms)

    @property
    def is_nonlinear(self) -> bool:
        """Whether its columns depend on nonlinear parameters or on the links' inertia."""
        return self.grids is not None or self.terms[0].needs_links

    @property
    def is_plain(self) -> bool:
        """Whether it is linear, and its columns are no combination of those of other options."""
        return not self.is_nonlinear and not self.replaces

    def tried(self) -> tuple[Term, ...]:
        """What gives its columns, with all sets of nonlinear parameters at once."""
        if self.grids is None:
            return self.terms
        count = max(map(len, self.grids.values()), default=0)
        sets = [
            {name: value for grid in self.grids.values() for name, value in grid[min(k, len(grid) - 1)].items()}
            for k in range(count)
        ]
        return tuple(Candidates(term, sets) for term in self.terms)


def joints_with_data(robot: Robot, logs: Sequence[PreparedLog]) -> list[str | int] | None:
    """Numbers of the joints that move and whose torque was measured; None where all that can have terms do."""
    own = [joint for joint in robot.independent_joints if joint.kind.nv == 1]
    found: list[str | int] = []
    for joint in own:
        all_speeds = speeds([log for log in logs if joint.name not in log.processing.unmeasured], TORQUES)
        if all_speeds is not None and all_speeds.fastest[joint.v.start] > 0.0:
            found.append(joint.number)
    return None if len(found) == len(own) else found


def options_for(
    robot: Robot, logs: Sequence[PreparedLog], matrix: Array | None, known: Mapping[str, float]
) -> dict[str, Option]:
    """All terms that fit a robot and its logs, by name.

    Args:
        robot: The robot.
        logs: The logs.
        matrix: Transmission matrix, whose couplings of drives bring their columns; None where there is none.
        known: Parameters that are known beforehand, by name or pattern.
    """
    joints = joints_with_data(robot, logs)
    made = {name: kind(joints) for name, kind in TERMS.items()}
    taken: set[str] = set()
    found: dict[str, Option] = {}
    for name, term in made.items():
        names = {parameter.name for parameter in term.parameters(robot)}
        if name in LINEAR or (_is_linear(term) and not isinstance(term, AsymmetricCoulomb) and not names & taken):
            found[name] = Option(name, (term,))
            taken |= names
    pairs = tuple(_couplings(robot, matrix, joints))
    if pairs:
        found["coupling"] = Option("coupling", pairs)
    found["asymmetric_coulomb"] = Option("asymmetric_coulomb", (made["asymmetric_coulomb"],), ("coulomb", "offset"))
    has_temperature = all(log.motion.temperatures is not None for log in logs)
    tried: set[str] = set()
    for name, term in made.items():
        names = {parameter.name for parameter in term.parameters(robot)}
        if isinstance(term, LoadCoulomb):
            found[name] = Option(name, (term,))
        elif isinstance(term, NonlinearTerm) and (has_temperature or not term.needs_temperature) and not names & tried:
            same = [other for other, option in found.items() if names & set(option.parameters(robot))]
            found[name] = _nonlinear(name, term, robot, logs, known, same)
            tried |= names
    return found


INSTEAD = {Role.COULOMB: "coulomb", Role.SIGMOID: "coulomb", Role.VISCOUS: "viscous"}
"""Linear terms that stand for a nonlinear one on joints that do not determine it."""


def linear_part(term: TermOfJoints, joints: Sequence[str | int]) -> list[Term]:
    """What stands for a nonlinear term on some joints; nothing for friction that depends on load."""
    names = dict.fromkeys(INSTEAD[role] for role in term.roles if role in INSTEAD)
    return [TERMS[name](list(joints)) for name in names] if joints else []


def of_some_joints(option: Option, robot: Robot, owners: Sequence[str]) -> Option | None:
    """A nonlinear option on some joints only, by name, with its linear part on the others; None where that is all."""
    (term,) = option.terms
    if not isinstance(term, TermOfJoints):
        return None
    joints = term.joints_of(robot)
    own = [joint.number for joint in joints if joint.name in owners]
    if not own or len(own) == len(joints):
        return None
    others = [joint.number for joint in joints if joint.name not in owners]
    grids = None if option.grids is None else {name: grid for name, grid in option.grids.items() if name in owners}
    terms = (term.on(own), *linear_part(term, others))
    return replace(option, name=f"{option.name} of some joints", terms=terms, grids=grids)


def _is_linear(term: TermOfJoints) -> bool:
    return not (isinstance(term, NonlinearTerm) or term.needs_links or term.needs_temperature)


def _nonlinear(
    name: str,
    term: NonlinearTerm,
    robot: Robot,
    logs: Sequence[PreparedLog],
    known: Mapping[str, float],
    same: Sequence[str],
) -> Option:
    """A nonlinear term with its grids, which begin at the slowest speed in the logs; those of known values have one.

    It takes the place of options with parameters of the same names, and of linear friction of the same kind.
    """
    model = DynamicModel(robot, [term])
    held = split_known(model, known_of(model, known))[0]
    model = model.searched_from(slowest_speeds(model, logs, TORQUES)).at_nonlinear(held)
    free = [parameter.name for parameter in model.nonlinear if parameter.name not in held]
    grids = {owner: _thinned(grid) for owner, grid in nonlinear_grids(model, model.terms[0], free).items()}
    is_dry = any(role.is_dry for role in term.roles)
    replaced = (*(("coulomb",) if is_dry else ()), *(("viscous",) if Role.VISCOUS in term.roles else ()))
    return Option(name, model.terms, tuple(dict.fromkeys((*replaced, *same))), grids)


def _thinned(grid: Sequence[Mapping[str, float]]) -> Sequence[Mapping[str, float]]:
    """A grid with no more than so many sets, those in even steps."""
    step = -(-len(grid) // MOST_SETS)
    return grid[:: step | 1]


def _couplings(robot: Robot, matrix: Array | None, joints: Sequence[str | int] | None) -> Iterator[Term]:
    """Couplings that the drive states; those of the robot's file where it states none.

    Where one motor turns with two joints, and the other with one, they are couplings of joints; the motors of a
    differential, which both turn with two, have terms of their own.
    """
    own = {joint.v.start: joint for joint in robot.independent_joints if joint.kind.nv == 1}
    measured = None if joints is None else set(joints)
    if matrix is not None and np.any(matrix - np.diag(np.diag(matrix))):
        pairs = [
            (own[j].number, own[m].number, float(matrix[m, j] / matrix[m, m]))
            for m in own
            for j in own
            if m != j and matrix[m, j] != 0.0 and matrix[j, m] == 0.0 and matrix[m, m] != 0.0
        ]
    else:
        pairs = [(robot.joint(a).number, robot.joint(b).number, 1.0) for a, b in robot.description.couplings]
    for first, second, ratio in pairs:
        if measured is None or {first, second} <= measured:
            yield Coupling(first, second, ratio)
    if matrix is not None:
        yield from _motors({row: joint.name for row, joint in own.items()}, matrix, robot, measured)


def _motors(
    names: Mapping[int, str], matrix: Array, robot: Robot, measured: set[str | int] | None
) -> Iterator[MotorTerm]:
    """Inertia, viscous and Coulomb friction of motors that turn with each other's joints; joints by their rows."""
    motors = []
    for m in names:
        driven = {names[j]: float(matrix[m, j]) for j in names if matrix[m, j] != 0.0}
        mutual = any(j != m and matrix[m, j] != 0.0 and matrix[j, m] != 0.0 for j in names)
        if mutual and (measured is None or {robot.joint(name).number for name in driven} <= measured):
            motors.append(Motor(names[m], tuple(driven.items())))
    if motors:
        yield from (MotorTerm(kind(), motors) for kind in (Armature, Viscous, Coulomb))
