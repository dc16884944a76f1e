"""Results in units of current: where torque constants are not known, nothing is in kg or N m."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dynid.findings import Finding
from dynid.logs import Drive

_UNITS = (
    ("N m s or N s", "A s"),
    ("N m or N", "A"),
    ("kg m^2", "A s^2"),
    ("kg m", "A s^2/m"),
    ("kg", "A s^2/m^2"),
    ("N m", "A"),
    ("N", "A"),
    ("W", "A rad/s"),
    ("J", "A rad"),
)
"""Units of torques [N m] and what they become for currents [A], longer ones first."""


def is_in_amperes(drive: Drive) -> bool:
    """Whether currents stand for torques, because torque constants are not known."""
    return drive.torque_constants == "unknown"


def in_current(unit: str) -> str:
    """A unit where a current stands for the torque.

    >>> in_current("kg m^2"), in_current("N m s/rad"), in_current("rad/s")
    ('A s^2', 'A s/rad', 'rad/s')
    """
    for known, current in _UNITS:
        if unit == known or unit.startswith((f"{known} ", f"{known}/")):
            return current + unit.removeprefix(known)
    return unit


def with_units_of(drive: Drive, data: dict[str, Any]) -> dict[str, Any]:
    """Plain data of a result, whose units are those of currents where torque constants are not known."""
    return data if not is_in_amperes(drive) else _converted(data)


def _converted(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {key: in_current(each) if key == "unit" else _converted(each) for key, each in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [_converted(each) for each in data]
    return data


ON_FILE = ("payload-undeclared", "payload-undeclared-or-elsewhere", "torques-scaled-all")
"""Findings on how the data and the masses of the robot file differ."""


def comparable(drive: Drive, findings: Sequence[Finding]) -> list[Finding]:
    """Findings without those that compare currents with the masses of the robot file."""
    return [finding for finding in findings if not (is_in_amperes(drive) and finding.code in ON_FILE)]


def findings_in_units_of(drive: Drive, findings: Sequence[Finding]) -> list[Finding]:
    """Findings on a result; where torque constants are not known, that comes first, and no torque is said in N m."""
    if not is_in_amperes(drive):
        return list(findings)
    first = Finding.of("units-of-current", "drive.torque_constants")
    said = (replace(finding, values=_said(finding.values)) for finding in comparable(drive, findings))
    return [first, *said]


def _said(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _said(each) for key, each in value.items()}
    if isinstance(value, str):
        return value.replace(" N m", " A").removesuffix(" N")
    return [_said(each) for each in value] if isinstance(value, list | tuple) else value
