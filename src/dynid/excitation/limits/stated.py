"""Limits and postures that settings state for a trajectory, or else the robot's file."""

import math
from collections.abc import Sequence
from dataclasses import replace

from dynid.errors import InvalidRequestError
from dynid.excitation.limits.assumed import completed
from dynid.excitation.settings import ExcitationSettings
from dynid.robot import Joint, Limits, Robot


def joint_limits(settings: ExcitationSettings, robot: Robot) -> list[Limits]:
    """The limits of each coordinate: the settings', or else the robot file's, or else assumed ones."""
    return completed(stated_limits(settings, robot), robot, settings)


def stated_limits(settings: ExcitationSettings, robot: Robot) -> list[Limits]:
    """The limits of each coordinate: the settings', or else the robot file's; infinite where neither states one."""
    limits = [_with_followers(joint.v.start, robot) for joint in robot.independent_joints]
    if isinstance(settings.position, dict):
        for name, (low, high) in settings.position.items():
            k = _coordinate("position", name, robot)
            limits[k] = replace(limits[k], lower=low, upper=high)
    elif settings.position is not None:
        pairs = _ranges(settings.position, len(limits))
        _require_count("position", pairs, robot, "ranges")
        limits = [replace(one, lower=low, upper=high) for one, (low, high) in zip(limits, pairs, strict=True)]
    for key in ("velocity", "acceleration", "jerk", "effort"):
        stated = getattr(settings, key)
        if isinstance(stated, dict):
            for name, value in stated.items():
                k = _coordinate(key, name, robot)
                limits[k] = replace(limits[k], **{key: value})
        elif stated is not None:
            values = per_joint(key, stated, robot)
            limits = [replace(one, **{key: value}) for one, value in zip(limits, values, strict=True)]
    _require_room_for_followers(limits, robot)
    return limits


def _coordinate(key: str, name: str, robot: Robot) -> int:
    """The coordinate of a joint that is named."""
    joint = robot.joint(name)
    if joint.leader is not None:
        raise InvalidRequestError(
            f"excitation.{key} names joint '{name}', which follows '{_leader(joint, robot).name}'; name that one"
        )
    return joint.v.start


def _leader(joint: Joint, robot: Robot) -> Joint:
    return next(one for one in robot.independent_joints if one.v.start == joint.v.start)


def _require_room_for_followers(limits: Sequence[Limits], robot: Robot) -> None:
    """Refuse a joint to which the file's ranges of those that follow it leave nothing."""
    for joint in robot.joints:
        limit = limits[joint.v.start]
        if joint.leader is None or limit != _with_followers(joint.v.start, robot) or limit.lower < limit.upper:
            continue
        leader, own = _leader(joint, robot), joint.limits
        lower, upper = leader.limits.lower, leader.limits.upper
        ends = _ends_of_leader(joint)
        if lower < upper and own.lower < own.upper and min(upper, ends[1]) <= max(lower, ends[0]):
            raise InvalidRequestError(
                f"joint '{joint.name}' follows '{leader.name}' with a ratio of {joint.ratio:g}, and its range of "
                f"{own.lower:g} to {own.upper:g} leaves nothing of the leader's range of {lower:g} to {upper:g}; "
                "correct the robot's file, state [excitation] position, or lock the leader"
            )


def _ends_of_leader(joint: Joint) -> list[float]:
    """The ends of a follower's range, as positions of its leader, the smaller first."""
    if joint.ratio == 0.0:
        return [-math.inf, math.inf]
    return sorted((end - joint.offset) / joint.ratio + 0.0 for end in (joint.limits.lower, joint.limits.upper))  # no -0


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
            ends = _ends_of_leader(joint)
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
    _require_count(key, values, robot)
    return list(values)


def _require_count(key: str, values: Sequence[object], robot: Robot, what: str = "numbers") -> None:
    if len(values) != robot.nv:
        raise InvalidRequestError(
            f"excitation.{key} has {len(values)} {what}, and '{robot.name}' has {robot.nv} joints"
        )


def posture_of(settings: ExcitationSettings, robot: Robot) -> list[float | None]:
    """For each joint where the motion starts and ends [rad or m]; None where the design may choose."""
    posture: list[float | None] = [None] * robot.nv
    if isinstance(settings.start, dict):
        for name, value in settings.start.items():
            posture[robot.joint(name).v.start] = value
        return posture
    return list(per_joint("start", settings.start, robot))


def require_posture(posture: Sequence[float | None], limits: Sequence[Limits], robot: Robot, part: float) -> None:
    """Refuse a start posture outside the limits, or outside the part of them that a design may use."""
    for joint, position, limit in zip(robot.independent_joints, posture, limits, strict=True):
        middle, half = (limit.lower + limit.upper) / 2, part * (limit.upper - limit.lower) / 2
        if position is None:
            continue
        if limit.lower < position < limit.upper and abs(position - middle) >= half:
            raise InvalidRequestError(
                f"the start posture puts joint '{joint.name}' at {position:g}, and of its limits {limit.lower:g} to "
                f"{limit.upper:g} the design may use {middle - half:.4g} to {middle + half:.4g}; state a position "
                "between these in [excitation] start, a smaller margin or more samples"
            )
        if not limit.lower < position < limit.upper:
            raise InvalidRequestError(
                f"the start posture puts joint '{joint.name}' at {position:g}, and its limits are {limit.lower:g} to "
                f"{limit.upper:g}; state a position between them in [excitation] start"
            )


def require_home(home: Sequence[float] | None, limits: Sequence[Limits], robot: Robot) -> None:
    """Refuse a home posture outside the limits."""
    if home is None:
        return
    _require_count("home", home, robot)
    for joint, position, limit in zip(robot.independent_joints, home, limits, strict=True):
        if not limit.lower <= position <= limit.upper:
            raise InvalidRequestError(
                f"the home posture puts joint '{joint.name}' at {position:g}, and its limits are {limit.lower:g} to "
                f"{limit.upper:g}; state a position between them in [excitation] home"
            )
