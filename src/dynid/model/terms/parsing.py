"""Terms by the names that users write."""

from collections.abc import Sequence

from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.findings import Finding
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

AUTO = "auto"
"""In the place of terms: they are chosen by what logs show. Where there are no logs, it stands for `DEFAULT`."""

DEFAULT = ("viscous", "coulomb", "offset", "armature")
"""Terms that nearly all geared joints have."""

_OURS = frozenset({*TERMS, "coupling", AUTO})


def is_auto(specifications: str | Sequence[str | Term]) -> bool:
    """Whether terms are to be chosen: "auto", alone."""
    stated = specifications.split(",") if isinstance(specifications, str) else list(specifications)
    found = [one for one in stated if isinstance(one, str) and one.strip() == AUTO]
    if found and len(stated) > 1:
        raise InvalidRequestError("terms are chosen ('auto') or stated, not both; leave 'auto' or the others out")
    return bool(found)


def default_terms(robot: Robot, *, warm: bool = False) -> tuple[Term, ...]:
    """What "auto" stands for where no log shows more: the usual terms, and couplings that the robot's file states.

    Args:
        robot: The robot.
        warm: Whether viscous friction knows temperatures, though it does not depend on them yet.
    """
    terms = parse_terms([*DEFAULT, *(["coupling"] if robot.description.couplings else [])], robot)
    friction = ViscousTemperature()
    same = friction.at_nonlinear({parameter.name: 0.0 for parameter in friction.nonlinear(robot)})
    return (same, *terms[1:]) if warm else terms


def register_term(name: str, term: type[TermOfJoints]) -> None:
    """Give a term of your own a name, so that experiment files and lists of terms can use it.

    Raises:
        InvalidRequestError: If a term of dynid has the name.
    """
    if name in _OURS:
        raise InvalidRequestError(f"dynid has a term '{name}' already; choose another name")
    TERMS[name] = term


def findings_on_default(specifications: str | Sequence[str | Term], robot: Robot) -> tuple[Finding, ...]:
    """A note where terms are to be chosen, and no log is there to choose them by."""
    if not is_auto(specifications):
        return ()
    return (Finding.of("terms-default", "terms", terms=[specification(term) for term in default_terms(robot)]),)


def parse_terms(specifications: str | Sequence[str | Term], robot: Robot) -> tuple[Term, ...]:
    """Make terms from what users write: terms themselves, or their names, also in one text with commas.

    A name is `NAME` for all joints, or `NAME:JOINT:JOINT...` for some, with joints by name or number.
    `coupling:FIRST:SECOND` couples two joints (`coupling:FIRST:SECOND:RATIO` where the second's motor turns RATIO times
    as much with the first); `coupling` alone stands for the couplings that the robot's file states; `auto` alone stands
    for the usual terms where no log can choose them.

    >>> from dynid import load_robot
    >>> robot = load_robot("builtin:tx40")
    >>> [type(term).__name__ for term in parse_terms(["viscous", Offset([1, 2]), "coupling"], robot)]
    ['Viscous', 'Offset', 'Coupling']
    """
    if is_auto(specifications):
        return default_terms(robot)
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
            raise UnknownNameError("term", name, [*TERMS, "coupling", AUTO])
    return tuple(terms)


def _couplings(joints: list[str], robot: Robot) -> list[Coupling]:
    if len(joints) in (2, 3):
        return [Coupling(joints[0], joints[1], _ratio(joints[2]) if len(joints) == 3 else 1.0)]
    if joints:
        raise InvalidRequestError(f"a coupling is written coupling:FIRST:SECOND, not coupling:{':'.join(joints)}")
    if not robot.description.couplings:
        raise InvalidRequestError(
            f"the file of '{robot.name}' states no coupling; name the joints, as in coupling:joint_5:joint_6"
        )
    return [Coupling(first, second) for first, second in robot.description.couplings]


def _ratio(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidRequestError(f"'{text}' is no ratio; write coupling:FIRST:SECOND:RATIO, such as 0.5") from None


def specification(term: Term, otherwise: str = "") -> str:
    """The name of a term as users write it: what `parse_terms` makes the same term from.

    Raises:
        InvalidRequestError: If the term has no name (see `register_term`), and none is given to stand in.
    """
    if isinstance(term, Coupling):
        return f"coupling:{term.first}:{term.second}" + ("" if term.ratio == 1.0 else f":{term.ratio!r}")
    name = next((name for name, kind in TERMS.items() if type(term) is kind), None)
    if name is None or not isinstance(term, TermOfJoints):
        if otherwise:
            return otherwise
        raise InvalidRequestError(
            f"the term {type(term).__name__} has no name that a file could state; give it one with "
            "dynid.model.terms.register_term"
        )
    return name if term.joints is None else ":".join([name, *(str(joint) for joint in term.joints)])
