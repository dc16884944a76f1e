"""Causes made true in what identification is given, as their findings advise."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from dynid import Robot
from dynid.arrays import Array, frozen
from dynid.robot import JointKind
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

FLIPPED = {"torque-sign-flipped": "torque", "position-sign-flipped": "position", "joint-flipped": "torque position"}
SWAPPED = {"torques-swapped": "torque", "positions-swapped": "position", "joints-swapped": "torque position"}
SCALED = {"torques-scaled": (0, -1), "positions-scaled": (-1, 0), "gear-ratio-wrong": (1, -1)}
"""Powers of the factor that positions and torques are multiplied with."""

Values = Mapping[str, Any]


def mended(given: Given, code: str, subject: str, values: Values) -> Iterator[Given]:
    """What is given, with a cause mended; twice where its finding leaves the sign open; nothing where it cannot be."""
    k = next((i for i, joint in enumerate(given.robot.joints) if f"'{joint.name}'" in subject), None)
    if code in TERMS:
        replaced = {"stribeck": "coulomb"}
        more = [term for term in TERMS[code] if term not in given.terms]
        gone = [replaced[term] for term in more if term in replaced]
        yield replace(given, terms=(*(term for term in given.terms if term not in gone), *more))
    elif code == "torque-delayed" and k is None:
        delay = float(given.drive.get("delay", 0.0)) + float(values["seconds"])  # type: ignore[arg-type]
        yield replace(given, drive={**given.drive, "delay": delay})
    elif code == "time-scaled" and "factor" in values:
        yield given.with_log(time=given.log.time / values["factor"])
    elif code == "gravity-direction-wrong" and "gravity" in values:
        yield replace(given, robot=replace(given.robot, gravity=frozen(values["gravity"])))
    elif code == "base-tilted" and "turn" in values:
        gravity = given.robot.gravity.copy()
        turned = Rotation.from_rotvec(np.asarray(values["turn"]) @ _across(gravity)).apply(gravity)
        yield replace(given, robot=replace(given.robot, gravity=frozen(turned)))
    elif code in SCALED and k is None:
        angular = [i for i, joint in enumerate(given.robot.joints) if joint.kind is not JointKind.PRISMATIC]
        yield from _scaled(given, code, angular, values)
    elif k is not None:
        yield from _of_joint(given, code, k, values)


def _of_joint(given: Given, code: str, k: int, values: Values) -> Iterator[Given]:
    if code in ("joint-misplaced", "joint-tilted"):
        yield from _placed(given, code, k, values)
    elif code in ("position-zero-wrong", "slide-zero-wrong"):
        size = float(np.radians(float(values.get("degrees", 0.0))))
        for amount in values.get("turn") or (size, -size):
            q = given.log.position.copy()
            q[:, k] += amount
            yield given.with_log(position=q)
    elif code in SCALED:
        yield from _scaled(given, code, [k], values)
    elif code in FLIPPED:
        yield _changed(given, FLIPPED[code], lambda x: np.where(np.arange(x.shape[1]) == k, -x, x))
    elif code in SWAPPED:
        j = [joint.name for joint in given.robot.joints].index(values["detail"])
        order = [{k: j, j: k}.get(i, i) for i in range(given.robot.nv)]
        yield _changed(given, SWAPPED[code], lambda x: x[:, order])
    elif code == "torque-delayed":
        t, torque = given.log.time, given.log.torque.copy()
        torque[:, k] = np.interp(t + float(values["seconds"]), t, torque[:, k])
        yield given.with_log(torque=torque)


def _changed(given: Given, signals: str, change: Any) -> Given:
    return given.with_log(**{key: change(getattr(given.log, key)) for key in signals.split()})


def _scaled(given: Given, code: str, joints: list[int], values: Values) -> Iterator[Given]:
    factor, (of_position, of_torque) = float(values.get("factor", 1.0)), SCALED[code]
    if factor:
        q, torque = given.log.position.copy(), given.log.torque.copy()
        q[:, joints] *= factor**of_position
        torque[:, joints] *= factor**of_torque
        yield given.with_log(position=q, torque=torque)


def _placed(given: Given, code: str, k: int, values: Values) -> Iterator[Given]:
    """A joint moved or turned as stated: as a vector, or along one axis in a direction that is not stated."""
    joint, key = given.robot.joints[k], "move" if code == "joint-misplaced" else "turn"
    if values.get(key):
        vector = np.asarray(values[key], dtype=float) * (0.001 if key == "move" else 1.0)
        vector = vector if len(vector) == 3 else vector @ _across(joint.placement[:3, :3] @ joint.axis)
        yield replace(given, robot=_with_joint(given, k, key, vector))
    elif (axis := "xyz".find(values.get("detail") or "?")) >= 0:
        size = float(values.get("millimetres", 0.0)) / 1000 or np.radians(float(values.get("degrees", 0.0)))
        for amount in (size, -size):
            yield replace(given, robot=_with_joint(given, k, key, amount * np.eye(3)[axis]))


def _with_joint(given: Given, k: int, key: str, vector: Array) -> Robot:
    return placed(given.robot, k, move=vector) if key == "move" else placed(given.robot, k, turn=vector)


def _across(direction: Array) -> Array:
    """Two unit vectors across a direction, which turns are stated about: the first nearest to an axis, shape (2, 3)."""
    along = direction / np.linalg.norm(direction)
    first = np.eye(3)[int(np.argmin(np.abs(along)))]
    first = first - (first @ along) * along
    first /= np.linalg.norm(first)
    return np.stack([first, np.asarray(np.cross(along, first), dtype=float)])
