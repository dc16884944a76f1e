"""What is measured of a robot, and how it may be placed and move meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.robot import Robot

WRENCH = "wrench"
"""The wrench of the surroundings on the robot, all of it: the six rows of a floating base."""
TORQUES = "torques"
"""The torques of all joints."""
CENTRE_OF_PRESSURE = "centre_of_pressure"
"""Where the ground carries a robot at rest: two equations that hold for every multiple of the parameters."""
MOUNTING = "mounting"
"""Which way gravity points in a robot that rests on a free pivot: three equations of the same kind."""

BASE = "base"
"""Word for the body that the floating base holds, whatever its name."""

POINT = ":point"
"""What stands behind the name of a body of which only the origin stands still: it turns about that, as a ball does."""

_TEXTS = {
    WRENCH: "the contact wrench",
    TORQUES: "joint torques",
    CENTRE_OF_PRESSURE: "the centre of pressure",
    MOUNTING: "the direction of gravity",
}


@dataclass(frozen=True)
class Observed:
    """Which equations of the dynamics are measured, and in which states of the robot.

    Attributes:
        measured: `WRENCH`, `TORQUES`, `CENTRE_OF_PRESSURE`, `MOUNTING`, or names of joints whose torque is measured.
        at_rest: Whether nothing moves, so that only gravity acts.
        stands_on: Bodies of a floating robot that stand still; `BASE` for the base, and with `POINT` behind the name
            only the body's origin. With none, the base takes any pose and moves.
        posture: Positions of the whole robot, nq numbers, in which these bodies are where they stand; those of the
            neutral posture of its file when empty.
        pivot: Of `MOUNTING`, the body that turns freely about a point that stands still.
        point: That point [m] in the body's frame.
    """

    measured: tuple[str, ...] = (WRENCH, TORQUES)
    at_rest: bool = False
    stands_on: tuple[str, ...] = ()
    posture: tuple[float, ...] = ()
    pivot: str = BASE
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    TORQUES: ClassVar[Observed]
    """All joint torques (and, with a floating base, the wrench on the base)."""
    GRAVITY: ClassVar[Observed]
    """The same, at rest: only gravity acts."""
    WRENCH_STATIONARY: ClassVar[Observed]
    """The wrench that holds the base, which stands still."""
    WRENCH_MOVING: ClassVar[Observed]
    """The wrench on the base, which moves."""

    def __post_init__(self) -> None:
        for name in ("measured", "stands_on"):
            words = vars(self)[name]
            if isinstance(words, str):
                raise InvalidRequestError(f"{name} is a tuple of words, such as ('{words}',)")
            if not all(isinstance(word, str) for word in words):
                raise InvalidRequestError(f"{name} is a tuple of names, not {words!r:.60}")
            vars(self)[name] = tuple(words)
        for name in ("posture", "point"):
            try:
                vars(self)[name] = tuple(float(value) for value in vars(self)[name])
            except (TypeError, ValueError):
                raise InvalidRequestError(f"{name} is a tuple of numbers, not {vars(self)[name]!r:.60}") from None

    @staticmethod
    def named(name: str | Observed) -> Observed:
        """One of the four above by its name, such as "wrench_moving"; observations as they are."""
        if isinstance(name, Observed):
            return name
        by_name = {text: observed for observed, text in _usual().items()}
        if name not in by_name:
            raise UnknownNameError("observation", name, by_name)
        return by_name[name]

    @property
    def value(self) -> str:
        """A short name, such as "wrench_stationary" or "wrench+torques_standing"."""
        usual = _usual().get(self)
        if usual is not None:
            return usual
        stance = "" if not self.stands_on else "_stationary" if self.stands_on == (BASE,) else "_standing"
        return "+".join(self.measured) + stance + ("_at_rest" if self.at_rest else "")

    def __str__(self) -> str:
        return f"Observed.{self.value.upper()}"

    @property
    def text(self) -> str:
        """What is measured, and how the robot moves meanwhile, in words."""
        rest = " at rest" if self.at_rest else ""
        if MOUNTING in self.measured:
            return f"from the direction of gravity, on a free pivot at {self.pivot}"
        if self.is_wrench and not set(self.stands_on) - {BASE}:
            return f"from the wrench on a {'stationary' if self.stands_on else 'moving'} base{rest}"
        if self.measured == Observed.measured:
            what = "joint torques" + (" and the contact wrench" if self.stands_on else "")
        else:
            what = " and ".join(_TEXTS.get(word, f"the torque of joint '{word}'") for word in self.measured)
        if set(self.stands_on) - {BASE}:
            return f"from {what}{rest}, standing on {' and '.join(self.stands_on)}"
        if self.stands_on:
            return f"from {what}{rest}, on a stationary base"
        return f"from {what}{rest or ' in motion'}"

    @property
    def is_wrench(self) -> bool:
        """Whether only the wrench on the base is measured."""
        return self.measured == (WRENCH,)

    @property
    def is_homogeneous(self) -> bool:
        """Whether some equations hold for every multiple of the parameters, so that they have no scale."""
        return CENTRE_OF_PRESSURE in self.measured or MOUNTING in self.measured

    @property
    def eliminates_contacts(self) -> bool:
        """Whether joint torques are measured while unmeasured forces act on bodies beyond the base."""
        return not {WRENCH, MOUNTING} & set(self.measured) and bool(set(self.stands_on) - {BASE})

    @property
    def combines_rows(self) -> bool:
        """Whether the equations are combinations of rows of the dynamics that depend on the posture."""
        return self.is_homogeneous or self.eliminates_contacts

    @property
    def needs_floating_base(self) -> bool:
        """Whether only robots with a floating base can be observed so."""
        is_all = self.measured == Observed.measured
        return self.is_homogeneous or bool(self.stands_on) or (WRENCH in self.measured and not is_all)

    def checked(self, robot: Robot) -> Observed:
        """This, where a robot can be observed so.

        Raises:
            InvalidRequestError: If requests exclude each other, or need a floating base.
            UnknownNameError: If a joint does not exist.
            ShapeError: If the posture is not one of the robot.
        """
        if not self.measured:
            raise InvalidRequestError(f"nothing is measured; name some of {', '.join(_TEXTS)} or joints")
        word = next((word for word in self.measured if word in (CENTRE_OF_PRESSURE, MOUNTING)), None)
        if word is not None and not self.at_rest:
            raise InvalidRequestError(f"{_TEXTS[word]} is measured at rest; set at_rest")
        if MOUNTING in self.measured and (len(self.measured) > 1 or self.stands_on):
            raise InvalidRequestError(
                "on a free pivot nothing else is measured and no body stands on the ground; leave those out"
            )
        if self.needs_floating_base and not robot.has_floating_base:
            needs = [word for word in self.measured if word in _TEXTS and word != TORQUES]
            what = "what a robot stands on" if self.measured == Observed.measured else _TEXTS[[*needs, WRENCH][0]]
            raise InvalidRequestError(
                f"{what} is a matter of floating-base robots only, and the base of '{robot.name}' is fixed; "
                "load the robot with floating_base=True"
            )
        if self.posture and len(self.posture) != robot.nq:
            raise ShapeError("the posture of bodies that stand", f"({robot.nq},)", (len(self.posture),))
        for word in self.measured:
            if word not in _TEXTS:
                robot.joint(word)
        return self


def _usual() -> dict[Observed, str]:
    return {
        Observed.TORQUES: "torques",
        Observed.GRAVITY: "gravity",
        Observed.WRENCH_STATIONARY: "wrench_stationary",
        Observed.WRENCH_MOVING: "wrench_moving",
    }


Observed.TORQUES = Observed()
Observed.GRAVITY = Observed(at_rest=True)
Observed.WRENCH_STATIONARY = Observed((WRENCH,), stands_on=(BASE,))
Observed.WRENCH_MOVING = Observed((WRENCH,))
