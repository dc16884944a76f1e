"""Limits and postures that an experiment states for its motions, or else the robot's file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dynid.config import ExcitationTable
from dynid.errors import InvalidRequestError
from dynid.robot.joints import Limits
from dynid.robot.robot import Robot


def joint_limits(settings: ExcitationTable, robot: Robot) -> list[Limits]:
    """The limits of each coordinate: the settings', or else the robot file's."""
    limits = [_with_followers(joint.v.start, robot) for joint in robot.independent_joints]
    if settings.position is not None:
        pairs = _ranges(settings.position, len(limits))
        if len(pairs) != len(limits):
            raise InvalidRequestError(
                f"excitation.position has {len(pairs)} ranges, and '{robot.name}' has {len(limits)} joints"
            )
        limits = [replace(one, lower=low, upper=high) for one, (low, high) in zip(limits, pairs, strict=True)]
    for key in ("velocity", "acceleration", "jerk", "effort"):
        stated = getattr(settings, key)
        if stated is not None:
            values = per_joint(key, stated, robot)
            limits = [replace(one, **{key: value}) for one, value in zip(limits, values, strict=True)]
    return limits


def _ranges(stated: Sequence[tuple[float, float] | float], joints: int) -> list[tuple[float, float]]:
    """A range for each joint, of one each or of one for all."""
    ranges = [one for one in stated if isinstance(one, tuple)]
    ends = [one for one in stated if not isinstance(one, tuple)]
    return ranges or [(ends[0], ends[1])] * joints


def _with_followers(coordinate: int, robot: Robot) -> Limits:
    """The file's limits of a coordinate: its own joint's, narrowed by those of the joints that follow it."""
    found = Limits()
    for joint in robot.joints:
        if joint.v.start != coordinate:
            continue
        own, ratio = joint.limits, abs(joint.ratio)
        if joint.leader is None:
            found = own
        elif ratio > 0.0:
            ends = sorted((end - joint.offset) / joint.ratio for end in (own.lower, own.upper))
            room = own.lower < own.upper
            found = replace(
                found,
                lower=max(found.lower, ends[0]) if room else found.lower,
                upper=min(found.upper, ends[1]) if room else found.upper,
                velocity=min(found.velocity, own.velocity / ratio) if own.velocity > 0.0 else found.velocity,
            )
    return found


def per_joint(key: str, values: tuple[float, ...] | float, robot: Robot) -> list[float]:
    """One number for each joint, of one each or of one for all."""
    if not isinstance(values, tuple):
        return [float(values)] * robot.nv
    if len(values) != robot.nv:
        raise InvalidRequestError(
            f"excitation.{key} has {len(values)} numbers, and '{robot.name}' has {robot.nv} joints"
        )
    return list(values)


def posture_of(settings: ExcitationTable, robot: Robot) -> list[float | None]:
    """For each joint where the motion starts and ends [rad or m]; None where the design may choose."""
    posture: list[float | None] = [None] * robot.nv
    if isinstance(settings.start, dict):
        for name, value in settings.start.items():
            posture[robot.joint(name).v.start] = value
    elif len(settings.start) != robot.nv:
        raise InvalidRequestError(
            f"excitation.start has {len(settings.start)} numbers, and '{robot.name}' has {robot.nv} joints"
        )
    else:
        posture = list(settings.start)
    return posture


def require_posture(posture: Sequence[float | None], limits: Sequence[Limits], robot: Robot) -> None:
    """Refuse a start posture outside the limits."""
    for joint, position, limit in zip(robot.independent_joints, posture, limits, strict=True):
        if position is not None and not limit.lower < position < limit.upper:
            raise InvalidRequestError(
                f"the start posture puts joint '{joint.name}' at {position:g}, and its limits are {limit.lower:g} to "
                f"{limit.upper:g}; state a position between them in [excitation] start"
            )


def require_home(home: Sequence[float] | None, limits: Sequence[Limits], robot: Robot) -> None:
    """Refuse a home posture outside the limits."""
    if home is None:
        return
    if len(home) != robot.nv:
        raise InvalidRequestError(f"excitation.home has {len(home)} numbers, and '{robot.name}' has {robot.nv} joints")
    for joint, position, limit in zip(robot.independent_joints, home, limits, strict=True):
        if not limit.lower <= position <= limit.upper:
            raise InvalidRequestError(
                f"the home posture puts joint '{joint.name}' at {position:g}, and its limits are {limit.lower:g} to "
                f"{limit.upper:g}; state a position between them in [excitation] home"
            )
