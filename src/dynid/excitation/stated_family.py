"""From settings to the family of trajectories that they state, and from a family to plain data and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, get_type_hints

from dynid.errors import InvalidRequestError
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.trajectories.family import Family
from dynid.excitation.trajectories.fourier import Fourier
from dynid.excitation.trajectories.rest_to_rest import DoubleS, Trapezoid
from dynid.excitation.trajectories.splines import BSpline, Polynomial, Spline
from dynid.excitation.trajectories.waves import Chirp, Multisine

FAMILIES: dict[str, type[Family]] = {
    one.name: one for one in (Fourier, Spline, BSpline, Polynomial, Trapezoid, DoubleS, Multisine, Chirp)
}
"""Families by the names that users write."""

_WAYPOINTS = {"spline": 12, "b-spline": 14}
"""Number of waypoints where none is stated: as many free coefficients as five harmonics have."""

_WAY_TIME = 2.5
"""Time [s] of each way from rest to rest, about, where the number of waypoints is not stated: with shorter ways the UR5
hardly gets up to speed."""

_DEGREE = {"spline": 3, "b-spline": 4, "polynomial": 13}
"""Degree where none is stated."""

_SWEPT = 5.0
"""The band is from one oscillation a period to so many where none is stated."""


def stated_family(settings: ExcitationSettings, period: float) -> Family:
    """The family that settings state, with a period [s] for those that do not state a frequency.

    Raises:
        InvalidRequestError: If it cannot be.
    """
    return _MAKERS[settings.family](settings, period)


def _fourier(settings: ExcitationSettings, period: float) -> Family:
    return Fourier(settings.frequency or 2 * math.pi / period, settings.harmonics, settings.periods)


def _spline(settings: ExcitationSettings, period: float) -> Family:
    made = Spline if settings.family == "spline" else BSpline
    waypoints = settings.waypoints or _WAYPOINTS[settings.family]
    return made(period, waypoints, settings.degree or _DEGREE[settings.family], settings.periods)


def _polynomial(settings: ExcitationSettings, period: float) -> Family:
    return Polynomial(period, settings.degree or _DEGREE["polynomial"], settings.pieces or 1, settings.periods)


def _rest_to_rest(settings: ExcitationSettings, period: float) -> Family:
    made = Trapezoid if settings.family == "trapezoid" else DoubleS
    return made(period, settings.waypoints or max(4, 1 + round(period / _WAY_TIME)), settings.periods)


def _multisine(settings: ExcitationSettings, period: float) -> Family:
    period = 2 * math.pi / settings.frequency if settings.frequency else period
    if settings.lines is not None:
        return Multisine(period, settings.lines, settings.periods)
    lowest, highest = settings.band or (1.0 / period, 2.0 * settings.harmonics / period)
    return Multisine.between(period, lowest, highest, settings.harmonics, settings.periods)


def _chirp(settings: ExcitationSettings, period: float) -> Family:
    first, last = settings.band or (1.0 / period, _SWEPT / period)
    return Chirp(period, first, last, periods=settings.periods)


_MAKERS: dict[str, Callable[[ExcitationSettings, float], Family]] = {
    "fourier": _fourier,
    "spline": _spline,
    "b-spline": _spline,
    "polynomial": _polynomial,
    "trapezoid": _rest_to_rest,
    "double-s": _rest_to_rest,
    "multisine": _multisine,
    "chirp": _chirp,
}


def family_data(family: Family) -> dict[str, Any]:
    """A family as plain data for JSON."""
    return {"family": family.name, **{one.name: getattr(family, one.name) for one in fields(family)}}  # type: ignore[arg-type]


def family_of_data(data: Mapping[str, Any]) -> Family:
    """The family of plain data.

    Raises:
        InvalidRequestError: If there is no such family, or its numbers cannot be.
        KeyError, TypeError, ValueError: If something is missing, or of another kind.
    """
    if data["family"] not in FAMILIES:
        raise InvalidRequestError(f"there is no family '{data['family']}'; there are {', '.join(FAMILIES)}")
    made = FAMILIES[data["family"]]
    kinds = get_type_hints(made)
    names = [one.name for one in fields(made)]  # type: ignore[arg-type]
    return made(**{name: _value(data[name], kinds[name]) for name in names})


def _value(value: Any, kind: Any) -> Any:
    """A number of a file, or a list of whole numbers, as a family has it."""
    if kind in (int, float):
        return kind(value)
    return tuple(int(one) for one in value)
