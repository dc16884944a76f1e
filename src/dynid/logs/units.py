"""Units of logged quantities: as stated, or by the names of columns; with SI units inside."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.findings import Finding
from dynid.logs.contacts import CONTACT
from dynid.logs.readers.source import RecordingError
from dynid.logs.settings import Quantity

TURN = {"rad": 1.0, "deg": math.pi / 180, "mrad": 1e-3}
LENGTH = {"m": 1.0, "mm": 1e-3, "cm": 1e-2}
CURRENT = {"A": 1.0, "mA": 1e-3}

UNITS: Mapping[str, Mapping[str, float]] = {
    "position": {**TURN, **LENGTH},
    "velocity": {f"{unit}/s": size for unit, size in (TURN | LENGTH).items()} | {"rpm": math.pi / 30},
    "torque": {"N m": 1.0, "Nm": 1.0, "N": 1.0, "A": 1.0, "N mm": 1e-3, "Nmm": 1e-3, "mN m": 1e-3, "mA": 1e-3},
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "temperature": {"degC": 1.0, "K": 1.0},
    "wrench": {"N": 1.0, "N m": 1.0, "Nm": 1.0, "N mm": 1e-3, "Nmm": 1e-3, "kN": 1e3, "mN m": 1e-3},
    "base_pose": {"m": 1.0, "mm": 1e-3, "cm": 1e-2},
    "kp": {"N m/rad": 1.0, "N/m": 1.0},
    "kd": {"N m s/rad": 1.0, "N s/m": 1.0},
}
"""Units of each quantity, as multiples of SI units; amperes stay amperes, and temperatures become degrees Celsius."""

LINEAR: Mapping[str, frozenset[str]] = {
    "position": frozenset(LENGTH),
    "velocity": frozenset(f"{unit}/s" for unit in LENGTH),
    "torque": frozenset(("N",)),
}
"""Units of joints that slide; all others but currents are those of joints that turn."""

_JOINTS = ("position", "velocity", "torque")


def kind_of(role: str) -> str:
    """What a role is a quantity of: commanded positions are positions.

    >>> kind_of("position_command"), kind_of("torque"), kind_of("contact 1")
    ('position', 'torque', 'wrench')
    """
    return "wrench" if role.startswith(CONTACT) else role.removesuffix("_command")


KELVIN = 273.15
"""What a thermometer in kelvin shows at 0 degrees Celsius."""

_PER_SECOND = r"(?:\s*/\s*s(?:ec)?|[ _]*p(?:er)?[ _]*s(?:ec)?|_s)?"
_WORDS: Mapping[str, Sequence[tuple[str, str]]] = {
    "position": [
        ("deg", r"degs?|degrees?(?![ _]of)|°"),
        ("mrad", r"mrad|milliradians?"),
        ("rad", r"rad(?:ian)?s?"),
        ("mm", r"mm|millimet(?:er|re)s?"),
        ("cm", r"cm"),
        ("m", r"met(?:er|re)s?"),
    ],
    "velocity": [
        ("rpm", r"rpm"),
        ("deg/s", rf"(?:degs?|degrees?|°){_PER_SECOND}|dps"),
        ("mrad/s", rf"mrad{_PER_SECOND}"),
        ("rad/s", rf"rad(?:ian)?s?{_PER_SECOND}"),
        ("mm/s", rf"mm{_PER_SECOND}"),
        ("cm/s", rf"cm{_PER_SECOND}"),
        ("m/s", r"m\s*/\s*s"),
    ],
    "torque": [
        ("N mm", r"n[ .*·_-]?mm"),
        ("mN m", r"mn[ .*·_-]?m|millinewton[ _-]?met(?:er|re)s?"),
        ("N m", r"n[ .*·_-]?m|newton[ _-]?met(?:er|re)s?"),
        ("mA", r"ma|milliamp(?:ere|s|eres)?"),
        ("A", r"amp(?:ere|s|eres)?"),
    ],
    "time": [
        ("ns", r"ns|nsecs?|nanosec(?:ond)?s?"),
        ("us", r"us|µs|μs|usecs?|microsec(?:ond)?s?"),
        ("ms", r"ms|msecs?|millisec(?:ond)?s?"),
        ("s", r"secs?|seconds?"),
    ],
}
"""How units are written in the names of columns, in small letters; longer ones first."""

_LETTERS: Mapping[str, Mapping[str, str]] = {
    "position": {"m": "m"},
    "torque": {"a": "A", "n": "N"},
    "time": {"s": "s"},
}
"""Units of one letter, which count only in brackets: `tau_m` is a measured torque, `torque [N]` a force."""


def unit_in(name: str, role: str, joints: Sequence[str] = ()) -> str | None:
    """The unit that the name of a column says, or None.

    Args:
        name: Name of the column, or of the file.
        role: "position", "velocity", "torque" (also for currents) or "time".
        joints: Names of joints, which say nothing about units.

    >>> unit_in("q_1_deg", "position"), unit_in("tau_2 [N.mm]", "torque"), unit_in("i_mA", "torque")
    ('deg', 'N mm', 'mA')
    >>> unit_in("t_ms", "time"), unit_in("qd_1 (deg/s)", "velocity"), unit_in("tau_m", "torque")
    ('ms', 'deg/s', None)
    """
    text = name.lower()
    for joint in sorted(joints, key=len, reverse=True):
        text = text.replace(joint.lower(), " ")
    for bracketed in re.findall(r"[\[({<]\s*([^\])}>]*?)\s*[\])}>]", text):
        for unit, pattern in _WORDS.get(role, ()):
            if re.fullmatch(pattern, bracketed):
                return unit
        if bracketed in _LETTERS.get(role, {}):
            return _LETTERS[role][bracketed]
    for unit, pattern in _WORDS.get(role, ()):
        if re.search(rf"(?<![a-zµμ])(?:{pattern})(?![a-zµμ])", text):
            return unit
    return None


def is_current(unit: str | None) -> bool:
    """Whether a unit of torques is one of currents."""
    return unit in CURRENT


@dataclass(frozen=True)
class LoggedColumns:
    """The columns of one quantity, as far as their units go.

    Attributes:
        role: What they hold.
        quantity: What was stated about them.
        names: Their names.
        says: The unit that each name says, or None.
        joints: The joints' names, where the robot is known.
        sliding: Of each column, whether it is a sliding joint's; None where that is not known, or motors were logged.
    """

    role: str
    quantity: Quantity
    names: tuple[str, ...]
    says: tuple[str | None, ...]
    joints: tuple[str, ...] = ()
    sliding: tuple[bool, ...] | None = None

    def units(self) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
        """The unit of each column, and what was noticed: units by name, contradictions, joints that are left out.

        Raises:
            UnknownNameError: If there is no such unit.
            RecordingError: If there are neither one nor as many units as columns.
            InvalidRequestError: If a unit does not fit its joint.
        """
        stated = self.quantity.unit
        for unit in (stated,) if isinstance(stated, str) else stated or ():
            if unit not in UNITS[self.role]:
                raise UnknownNameError(f"unit of {self.role}", unit, UNITS[self.role], f" ({self.quantity.file})")
        if stated is None:
            return self._by_name()
        units, notes = self._for_all(stated) if isinstance(stated, str) else (self._for_each(stated), ())
        return units, (*notes, *self._contradictions(units))

    def _for_each(self, stated: tuple[str, ...]) -> tuple[str, ...]:
        if len(stated) != len(self.names):
            problem = f"{len(stated)} units are given for {len(self.names)} columns of {self.role}"
            raise RecordingError(self.quantity.file, f"{problem}; give one for all or one for each")
        for k, unit in enumerate(stated):
            if not self._fits(unit, k):
                does, use = ("slides", self._default(k)) if self._slides(k) else ("turns", self._default(k))
                joint = self.joints[k] if k < len(self.joints) else self.names[k]
                raise InvalidRequestError(
                    f"the {self.role} of joint '{joint}' cannot be in '{unit}', because it {does}; use '{use}' or "
                    f"another unit that fits it ({self.quantity.file})"
                )
        return stated

    def _for_all(self, stated: str) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
        """One unit for all: joints that it does not fit are in SI units."""
        fits = [self._fits(stated, k) for k in range(len(self.names))]
        if not any(fits) and UNITS[self.role][stated] != 1.0:
            kind = "slides" if stated in LINEAR[self.role] else "turns"
            raise InvalidRequestError(
                f"the unit of {self.role} is '{stated}', but no joint {kind}; use another ({self.quantity.file})"
            )
        units = tuple(stated if fit else self._default(k) for k, fit in enumerate(fits))
        left = [k for k, fit in enumerate(fits) if not fit]
        if not left or UNITS[self.role][stated] == 1.0:
            return units, ()
        values = {"unit": stated, "joints": [self.joints[k] for k in left], "used": units[left[0]]}
        return units, (Finding.of("unit-not-for-all", self.role, **values, file=self.quantity.file),)

    def _by_name(self) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
        """Units that the names say, where they fit, and SI units elsewhere."""
        used = tuple(
            unit if unit is not None and self._fits(unit, k) else self._default(k) for k, unit in enumerate(self.says)
        )
        by_name = [k for k, unit in enumerate(used) if self.says[k] == unit]
        notes = ()
        if any(self._differ(used[k], self._default(k)) for k in by_name):
            values = {"units": list(dict.fromkeys(used[k] for k in by_name)), "column": self.names[by_name[0]]}
            notes = (Finding.of("unit-by-name", self.role, **values, file=self.quantity.file),)
        return used, (*notes, *self._contradictions(used))

    def _contradictions(self, units: tuple[str, ...]) -> tuple[Finding, ...]:
        wrong = [k for k, said in enumerate(self.says) if said is not None and self._differ(said, units[k])]
        if not wrong:
            return ()
        k, size = wrong[0], UNITS[self.role]
        values = {"column": self.names[k], "said": self.says[k], "used": units[k], "count": len(wrong)}
        factor = size[units[k]] / size[self.says[k] or units[k]]
        return (Finding.of("unit-contradicts-name", self.role, **values, factor=factor, file=self.quantity.file),)

    def _differ(self, one: str, other: str) -> bool:
        """Whether two units are different in size or kind; "N m", "Nm" and "N" are alike."""
        size = UNITS[self.role]
        return size[one] != size[other] or is_current(one) != is_current(other)

    def _slides(self, k: int) -> bool:
        return self.sliding is not None and self.sliding[k]

    def _fits(self, unit: str, k: int) -> bool:
        """Whether a column can be in a unit: a joint that slides not in degrees, one that turns not in mm."""
        if self.role not in _JOINTS or self.sliding is None or is_current(unit):
            return True
        return (unit in LINEAR[self.role]) == self._slides(k) or unit in ("N m", "Nm", "N", "rad", "rad/s")

    def _default(self, k: int) -> str:
        """The SI unit of a column."""
        si = {"position": ("rad", "m"), "velocity": ("rad/s", "m/s"), "torque": ("N m", "N")}
        return si[self.role][self._slides(k)] if self.role in si else next(iter(UNITS[self.role]))


def in_si(role: str, values: Array, units: Sequence[str]) -> Array:
    """Values in SI units of values in others, both of shape (samples, columns)."""
    if role == "temperature":
        return values - np.array([KELVIN if unit == "K" else 0.0 for unit in units])
    factors = np.array([UNITS[role][unit] for unit in units])
    if role == "base_pose":
        factors[3:] = 1.0  # of a quaternion
    return values if np.all(factors == 1.0) else values * factors
