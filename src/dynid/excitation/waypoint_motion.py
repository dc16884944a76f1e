"""Motions of a robot through waypoints, as fast as its limits allow."""

import math
import os
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, ShapeError
from dynid.excitation.limits.stated import joint_limits
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.trajectories.double_s import synchronised
from dynid.excitation.trajectories.phased_motion import PhasedMotion
from dynid.robot import Limits, Robot, as_robot
from dynid.settings import checked


def motion_through(
    robot: Robot | str | os.PathLike[str],
    waypoints: ArrayLike,
    profile: Literal["trapezoid", "double-s"] = "trapezoid",
    *,
    speed: float = 1.0,
    pause: float = 0.0,
    settings: ExcitationSettings | Mapping[str, Any] | None = None,
    **changes: Any,
) -> PhasedMotion:
    """Move through waypoints, from rest to rest at each, with all joints arriving together.

    The slowest joint of each way takes as little time as its limits allow, and the others are slowed down. Limits are
    those of `[excitation]`, or else the robot file's, or else assumed. The motion can be followed as any other:
    `dynid.simulate(robot, motion)`.

    Args:
        robot: The robot: a path, `builtin:NAME`, or a loaded one.
        waypoints: Positions [rad or m], shape (waypoints, joints), the start first.
        profile: "trapezoid", whose accelerations jump, or "double-s", which needs limits of jerk.
        speed: Part of the speed of the fastest motion, for careful ones; accelerations fall with its square.
        pause: How long to rest at each waypoint but the first [s].
        settings: Keys of `[excitation]` with limits.
        changes: Keys that replace the settings', such as `velocity`, `acceleration` or `jerk`.

    Raises:
        InvalidRequestError: If a waypoint is outside the limits, or a limit that the profile needs is missing.

    >>> motion = motion_through("builtin:two_link", [[0.0, 0.0], [1.0, -0.5]], velocity=1.0, acceleration=2.0)
    >>> round(motion.duration, 6)
    1.5
    """
    if profile not in ("trapezoid", "double-s"):
        raise InvalidRequestError(f"there is no profile '{profile}'; there are trapezoid and double-s")
    if not (0.0 < speed <= 1.0 and 0.0 <= pause < math.inf):
        raise InvalidRequestError(f"the speed is a part up to 1 and the pause a time [s], not {speed:g} and {pause:g}")
    loaded = as_robot(robot)
    limits = joint_limits(checked(ExcitationSettings, settings, **changes), loaded)
    points = np.asarray(waypoints, dtype=float)
    if points.ndim != 2 or points.shape[1] != loaded.nv:
        raise ShapeError("waypoints", f"(waypoints, {loaded.nv})", points.shape)
    _require_within(points, limits, loaded)
    velocity, acceleration, jerk = (_values(what, profile, limits, loaded) for what in _NEEDED)
    return synchronised(points, speed * velocity, speed**2 * acceleration, speed**3 * jerk, pause)


_NEEDED = {"velocity": ("trapezoid", "double-s"), "acceleration": ("trapezoid",), "jerk": ("double-s",)}
"""Limits, and the profiles that cannot be without them."""


def _values(what: str, profile: str, limits: list[Limits], robot: Robot) -> Array:
    """One limit of each joint, shape (joints,); a trapezoid has no limit of jerk."""
    values = np.array([getattr(limit, what) for limit in limits], dtype=float)
    if what == "jerk" and profile == "trapezoid":
        return np.full_like(values, math.inf)
    for joint, value in zip(robot.independent_joints, values, strict=True):
        if not value > 0.0 or (profile in _NEEDED[what] and math.isinf(value)):
            raise InvalidRequestError(
                f"a {profile} profile needs a limit of {what}, and that of joint '{joint.name}' is {value:g}; state "
                f"{what}, such as {what}={{'{joint.name}': 10.0}}"
            )
    return values


def _require_within(points: Array, limits: list[Limits], robot: Robot) -> None:
    """Refuse waypoints outside the limits; between two that are inside, joints stay inside, too."""
    lower, upper = (np.array([getattr(limit, end) for limit in limits]) for end in ("lower", "upper"))
    outside = np.argwhere(~((lower <= points) & (points <= upper)))
    if len(outside):
        row, column = outside[0]
        raise InvalidRequestError(
            f"waypoint {row + 1} puts joint '{robot.independent_joints[column].name}' at {points[row, column]:g}, and "
            f"its limits are {lower[column]:g} to {upper[column]:g}; state a position between them"
        )
