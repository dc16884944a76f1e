"""Terms by the names that users write."""

from collections.abc import Iterator, Sequence

from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.findings import Finding
from dynid.model.terms.combined_names import (
    combination_text,
    is_combination,
    motor_term,
    motor_text,
    parse_combination,
    without_repeats,
)
from dynid.model.terms.combined_terms import MOTOR_TERMS, Combined, MotorTerm
from dynid.model.terms.contact_offsets import ContactOffset
from dynid.model.terms.gears import DirectionalFriction, LoadFriction, LoadStribeck, QuadraticFriction
from dynid.model.terms.linear_terms import Armature, AsymmetricCoulomb, Coulomb, Coupling, Offset, Spring, Viscous
from dynid.model.terms.link_springs import LinkSpring, link_spring_text, parse_link_spring
from dynid.model.terms.nonlinear_friction import LoadCoulomb, Sigmoid, Stribeck, ViscousTemperature
from dynid.model.terms.term import JointTerm, Term, TermOfJoints
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
    "load_friction": LoadFriction,
    "load_stribeck": LoadStribeck,
    "directional_friction": DirectionalFriction,
    "quadratic_friction": QuadraticFriction,
}
"""Terms of single joints by the names that users write."""

AUTO = "auto"
"""In the place of terms: they are chosen by what logs show. Where there are no logs, it stands for `DEFAULT`."""

DEFAULT = ("viscous", "coulomb", "offset", "armature")
"""Terms that nearly all geared joints have."""

LINK_SPRING = "link_spring"

CONTACT_OFFSET = "contact_offset"

_OURS = frozenset({*TERMS, *MOTOR_TERMS, "coupling", LINK_SPRING, CONTACT_OFFSET, AUTO})


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

    A name is `NAME` for all joints, or `NAME:JOINT:JOINT...` for some, with joints by name or number. A linear
    combination of joints may stand in the place of a joint, such as `viscous:5-6` or `spring:2-0.5*3` (`@REST` behind
    it for a spring that rests elsewhere than at zero).
    `motor_NAME` (`motor_inertia`, `motor_viscous`, `motor_coulomb`, `motor_offset`) stands for the motors behind the
    transmission that the drive or the robot's file states, and `motor_NAME:MOTOR=RATIO*JOINT+RATIO*JOINT:...` states
    them. `link_spring:NAME:BODY@x;y;z:BODY@x;y;z:REST` is a spring between points of two bodies.
    `contact_offset:BODY:BODY...` are constant offsets of the force-torque sensors at contacts of a floating robot.
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
        elif name in MOTOR_TERMS:
            terms.append(motor_term(MOTOR_TERMS[name], joints, robot))
        elif name == LINK_SPRING:
            terms.append(parse_link_spring(joints))
        elif name == CONTACT_OFFSET:
            terms.append(ContactOffset(joints))
        elif name in TERMS:
            terms += _of_joints(name, joints, robot)
        else:
            raise UnknownNameError("term", name, [*TERMS, *MOTOR_TERMS, "coupling", LINK_SPRING, CONTACT_OFFSET, AUTO])
    return tuple(without_repeats(terms, robot))


def _of_joints(name: str, joints: Sequence[str], robot: Robot) -> Iterator[Term]:
    """A term of single joints on these, and on combinations of them; on all joints where none is named."""
    kind, combined = TERMS[name], [text for text in joints if is_combination(text, robot)]
    single = [text for text in joints if text not in combined]
    if single or not combined:
        yield kind(single or None)
    if combined:
        if not issubclass(kind, JointTerm):
            raise InvalidRequestError(f"the term '{name}' is of single joints only, and '{combined[0]}' combines some")
        yield Combined(kind(), [parse_combination(text, robot) for text in combined])


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
    if isinstance(term, LinkSpring):
        return f"{LINK_SPRING}:{link_spring_text(term)}"
    if isinstance(term, ContactOffset):
        return ":".join([CONTACT_OFFSET, *term.bodies])
    of_motors = isinstance(term, MotorTerm)
    kinds = MOTOR_TERMS if of_motors else TERMS
    own = term.kind if isinstance(term, Combined) else term
    name = next((name for name, kind in kinds.items() if type(own) is kind), None)
    if name is not None and isinstance(term, Combined):
        return (
            motor_text(name, term)
            if isinstance(term, MotorTerm)
            else ":".join([name, *(combination_text(each) for each in term.combinations)])
        )
    if name is None or not isinstance(term, TermOfJoints):
        if otherwise:
            return otherwise
        raise InvalidRequestError(
            f"the term {type(term).__name__} has no name that a file could state; give it one with "
            "dynid.model.terms.register_term"
        )
    return name if term.joints is None else ":".join([name, *(str(joint) for joint in term.joints)])
