"""What users ask to be inspected, as what is observed; requests that exclude each other are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dynid.errors import InvalidRequestError
from dynid.model.observed import BASE, CENTRE_OF_PRESSURE, MOUNTING, WRENCH, Observed
from dynid.robot import Robot


def on_ground(
    words: Sequence[str], stands_on: tuple[str, ...], *, moving: bool, at_rest: bool, is_floating: bool
) -> Observed:
    """What is measured, where the robot is fixed, stands or moves."""
    if moving and not words:
        raise InvalidRequestError("moving goes with wrench: it says that the base moves while its wrench is measured")
    if moving and stands_on:
        raise InvalidRequestError(f"the base moves, and the robot stands on {', '.join(stands_on)}; leave one out")
    if moving and (at_rest or CENTRE_OF_PRESSURE in words):
        raise InvalidRequestError("a moving base and measurements at rest exclude each other; choose one")
    chosen = tuple(dict.fromkeys(words))
    at_rest = at_rest or CENTRE_OF_PRESSURE in chosen
    if not chosen:
        return Observed(at_rest=at_rest, stands_on=stands_on)
    is_floating = is_floating or bool({WRENCH, CENTRE_OF_PRESSURE} & set(chosen))
    return Observed(chosen, at_rest, stands_on or ((BASE,) if is_floating and not moving else ()))


def in_posture(observed: Observed, robot: Robot, posture: Mapping[str, float] | None) -> Observed:
    """What is measured while bodies stand where a posture has them."""
    if not posture:
        return observed
    if not observed.stands_on:
        raise InvalidRequestError("a posture says where bodies stand; name these with stands_on")
    q = robot.neutral
    for name, position in posture.items():
        joint = robot.joint(name)
        if joint.leader is not None or joint.kind.nq != 1:
            raise InvalidRequestError(
                f"joint '{joint.name}' has no position of its own to state in a posture; leave it"
            )
        q[joint.q] = position
    return replace(observed, posture=tuple(q.tolist()))


def on_pivot(words: Sequence[str], stands_on: tuple[str, ...], mounting: str | tuple[str, Sequence[float]]) -> Observed:
    """A robot at rest on a free pivot."""
    body, point = (mounting, (0.0, 0.0, 0.0)) if isinstance(mounting, str) else mounting
    x, y, z = (float(value) for value in point) if len(tuple(point)) == 3 else (np.nan,) * 3
    if not np.isfinite([x, y, z]).all():
        raise InvalidRequestError(f"the point of the pivot must be three finite numbers [m], not {tuple(point)}")
    return Observed((*words, MOUNTING), at_rest=True, stands_on=stands_on, pivot=body, point=(x, y, z))
