"""Terms by the names that users write."""

from collections.abc import Sequence

from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.model.terms.linear_terms import Armature, AsymmetricCoulomb, Coulomb, Coupling, Offset, Spring, Viscous
from dynid.model.terms.nonlinear_friction import LoadCoulomb, Sigmoid, Stribeck, ViscousTemperature
from dynid.model.terms.term import Term, TermOfJoints
from dynid.robot import Robot

TERMS: dict[str, type[TermOfJoints]] = {
    "viscous": Viscous,
    "coulomb": Coulomb,
    "asymmetric_coulomb": AsymmetricCoulomb,
    "offset": Offset,
    "armature": Armature,
    "spring": Spring,
    "stribeck": Stribeck,
    "sigmoid": Sigmoid,
    "load_coulomb": LoadCoulomb,
    "viscous_temperature": ViscousTemperature,
}
"""Terms of single joints by the names that users write."""

_OURS = frozenset({*TERMS, "coupling"})


def register_term(name: str, term: type[TermOfJoints]) -> None:
    """Give a term of your own a name, so that experiment files and lists of terms can use it.

    Raises:
        InvalidRequestError: If a term of dynid has the name.
    """
    if name in _OURS:
        raise InvalidRequestError(f"dynid has a term '{name}' already; choose another name")
    TERMS[name] = term


def parse_terms(specifications: str | Sequence[str | Term], robot: Robot) -> tuple[Term, ...]:
    """Make terms from what users write: terms themselves, or their names, also in one text with commas.

    A name is `NAME` for all joints, or `NAME:JOINT:JOINT...` for some, with joints by name or number.
    `coupling:FIRST:SECOND` couples two joints; `coupling` alone stands for the couplings that the robot's file states.

    >>> from dynid import load_robot
    >>> robot = load_robot("builtin:tx40")
    >>> [type(term).__name__ for term in parse_terms(["viscous", Offset([1, 2]), "coupling"], robot)]
    ['Viscous', 'Offset', 'Coupling']
    """
    terms: list[Term] = []
    for specification in specifications.split(",") if isinstance(specifications, str) else specifications:
        if isinstance(specification, Term):
            terms.append(specification)
            continue
        name, *joints = specification.strip().split(":")
        if name == "coupling":
            terms += _couplings(joints, robot)
        elif name in TERMS:
            terms.append(TERMS[name](joints or None))
        else:
            raise UnknownNameError("term", name, [*TERMS, "coupling"])
    return tuple(terms)


def _couplings(joints: list[str], robot: Robot) -> list[Coupling]:
    if len(joints) == 2:
        return [Coupling(joints[0], joints[1])]
    if joints:
        raise InvalidRequestError(f"a coupling is written coupling:FIRST:SECOND, not coupling:{':'.join(joints)}")
    if not robot.description.couplings:
        raise InvalidRequestError(
            f"the file of '{robot.name}' states no coupling; name the joints, as in coupling:joint_5:joint_6"
        )
    return [Coupling(first, second) for first, second in robot.description.couplings]


def specification(term: Term, otherwise: str = "") -> str:
    """The name of a term as users write it: what `parse_terms` makes the same term from.

    Raises:
        InvalidRequestError: If the term has no name (see `register_term`), and none is given to stand in.
    """
    if isinstance(term, Coupling):
        return f"coupling:{term.first}:{term.second}"
    name = next((name for name, kind in TERMS.items() if type(term) is kind), None)
    if name is None or not isinstance(term, TermOfJoints):
        if otherwise:
            return otherwise
        raise InvalidRequestError(
            f"the term {type(term).__name__} has no name that a file could state; give it one with "
            "dynid.model.terms.register_term"
        )
    return name if term.joints is None else ":".join([name, *(str(joint) for joint in term.joints)])
