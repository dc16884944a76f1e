"""Combinations of joints, and motors, by what users write."""

import re
from collections.abc import Sequence

from dynid.errors import InvalidRequestError
from dynid.model.terms.combined_terms import Combination, Combined, MotorTerm
from dynid.model.terms.term import JointTerm, Term
from dynid.robot import Motor, Robot

NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"


def is_combination(text: str, robot: Robot) -> bool:
    """Whether a text states a combination of joints, such as "5-6", and is no joint's name."""
    return any(sign in text for sign in "+-*@") and text not in {joint.name for joint in robot.description.joints}


def parse_combination(text: str, robot: Robot) -> Combination:
    """A combination of joints as users write it: "5-6", "joint_2-0.5*joint_3", "2-3@0.1" (at rest where it is 0.1).

    Raises:
        InvalidRequestError: If the text is no combination of joints of the robot.
    """
    stated, at, rest = text.partition("@")
    factors = _factors(stated, robot)
    try:
        where = float(rest) if at else 0.0
    except ValueError:
        where = None
    if factors is None or where is None:
        raise InvalidRequestError(
            f"'{text}' is no combination of joints of '{robot.name}'; write JOINT-JOINT, JOINT+JOINT or "
            "JOINT-RATIO*JOINT, with @REST for a spring that rests elsewhere than at zero, such as 2-0.5*3@0.1"
        )
    return Combination(factors, where)


def _factors(text: str, robot: Robot) -> tuple[tuple[str | int, float], ...] | None:
    """The joints with their factors; None where the text does not state them."""
    names = sorted({joint.name for joint in robot.joints}, key=len, reverse=True)
    joint = "|".join([*(re.escape(name) for name in names), r"\d+"])
    part = re.compile(rf"\s*([+-]?)\s*(?:({NUMBER})\s*\*\s*)?({joint})\s*(?=$|[+-])")
    found: list[tuple[str | int, float]] = []
    at = 0
    while at < len(text):
        match = part.match(text, at)
        if match is None or (found and not match[1]):
            return None
        found.append((match[3], (-1.0 if match[1] == "-" else 1.0) * float(match[2] or 1.0)))
        at = match.end()
    return tuple(found) or None


def combination_text(combination: Combination) -> str:
    """What `parse_combination` makes the same combination from."""
    rest = f"@{combination.rest!r}" if combination.rest else ""
    return _factors_text(combination.factors) + rest


def _factors_text(factors: Sequence[tuple[str | int, float]]) -> str:
    parts = []
    for key, factor in factors:
        sign = "-" if factor < 0.0 else "+" if parts else ""
        number = "" if abs(factor) == 1.0 else repr(abs(factor)).removesuffix(".0") + "*"
        parts.append(f"{sign}{number}{key}")
    return "".join(parts)


def motor_term(kind: type[JointTerm], stated: Sequence[str], robot: Robot) -> MotorTerm:
    """A term of the motors that are stated, "MOTOR=COMBINATION" each; of the robot's where none is.

    Raises:
        InvalidRequestError: If a text states no motor.
    """
    if not stated:
        term = MotorTerm(kind(), robot.motors)
        term.motors_of(robot)
        return term
    motors = []
    for text in stated:
        beside, equals, driven = text.partition("=")
        factors = _factors(driven, robot) if equals else None
        if factors is None:
            raise InvalidRequestError(
                f"'{text}' is no motor; write MOTOR=RATIO*JOINT+RATIO*JOINT, such as 5=50*joint_5-50*joint_6"
            )
        motors.append(Motor(robot.joint(beside.strip()).name, factors))
    return MotorTerm(kind(), motors)


def motor_text(name: str, term: MotorTerm) -> str:
    """What `motor_term` makes the same term from."""
    motors = [f"{motor.beside}={_factors_text(motor.ratios)}" for motor in term.motors or ()]
    return ":".join([name, *motors])


def without_repeats(terms: Sequence[Term], robot: Robot) -> list[Term]:
    """Terms without motors that drive a single joint whose own parameters another term has."""
    own = {parameter.name for term in terms if not isinstance(term, Combined) for parameter in term.parameters(robot)}
    kept: list[Term] = []
    for term in terms:
        if isinstance(term, MotorTerm):
            motors = [
                motor
                for motor in term.motors_of(robot)
                if not own & {parameter.name for parameter in MotorTerm(term.kind, [motor]).parameters(robot)}
            ]
            if motors:
                kept.append(MotorTerm(term.kind, motors))
        else:
            kept.append(term)
    return kept
