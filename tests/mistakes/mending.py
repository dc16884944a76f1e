"""Causes made true in what identification is given, as their findings advise."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tests.mistakes.mistaken import Given
from tests.mistakes.wrong_models import placed

TERMS = {
    "friction-missing-by-residual": ("viscous", "coulomb"),
    "friction-missing": ("viscous", "coulomb"),
    "torque-offset-missing": ("offset",),
    "spring-missing": ("spring", "offset"),
    "armature-missing": ("armature",),
    "load-friction-missing": ("load_coulomb",),
    "stribeck-missing": ("stribeck",),
}
"""Terms that findings ask for."""


def mended(given: Given, code: str, subject: str, values: Mapping[str, Any]) -> Iterator[Given]:
    """What is given, with a cause mended; twice where its finding leaves the sign open; nothing where it cannot be."""
    k = next((i for i, joint in enumerate(given.robot.joints) if f"'{joint.name}'" in subject), None)
    if code in TERMS:
        more = [term for term in TERMS[code] if term not in given.terms]
        yield replace(given, terms=(*given.terms, *more))
    elif code == "torque-delayed":
        delay = float(given.drive.get("delay", 0.0)) + float(values["seconds"])  # type: ignore[arg-type]
        yield replace(given, drive={**given.drive, "delay": delay})
    elif code == "time-scaled" and "factor" in values:
        yield given.with_log(time=given.log.time / values["factor"])
    elif k is not None:
        yield from _of_joint(given, code, k, values)


def _of_joint(given: Given, code: str, k: int, values: Mapping[str, Any]) -> Iterator[Given]:
    robot, q, torque = given.robot, given.log.position.copy(), given.log.torque.copy()
    factor = float(values.get("factor", 1.0))
    if code in ("joint-misplaced", "joint-tilted"):
        axis = "xyz".find(values.get("detail") or "?")
        if axis < 0:
            return
        size = float(values.get("millimetres", 0.0)) / 1000 or np.radians(float(values.get("degrees", 0.0)))
        for amount in (size, -size):
            move = amount * np.eye(3)[axis]
            yield replace(given, robot=placed(robot, k, **{"move" if "mis" in code else "turn": move}))
    elif code == "position-zero-wrong":
        for amount in np.radians(float(values["degrees"])) * np.array([1.0, -1.0]):
            shifted = q.copy()
            shifted[:, k] += amount
            yield given.with_log(position=shifted)
    elif code in ("gear-ratio-wrong", "positions-scaled", "torques-scaled"):
        q[:, k] *= {"gear-ratio-wrong": factor, "positions-scaled": 1.0 / factor}.get(code, 1.0)
        torque[:, k] /= factor if code != "positions-scaled" else 1.0
        yield given.with_log(position=q, torque=torque)
    elif code in ("torque-sign-flipped", "position-sign-flipped"):
        (torque if code[0] == "t" else q)[:, k] *= -1.0
        yield given.with_log(position=q, torque=torque)
    elif code == "torques-swapped":
        j = [joint.name for joint in robot.joints].index(values["detail"])
        torque[:, [k, j]] = torque[:, [j, k]]
        yield given.with_log(torque=torque)
