"""Limits and noise that are assumed where neither the robot's file nor the settings state them, and what is said then.

Files in MJCF hold no velocity limits, and URDF no acceleration limits. A design needs both, so plain values stand in,
and a finding says which, for which joints, and how to state the robot's own.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.excitation.limits.torques import PriorTorques, torque_unit
from dynid.excitation.settings import ExcitationSettings
from dynid.findings import Finding
from dynid.robot import Joint, JointKind, Limits, Robot


@dataclass(frozen=True)
class AssumedThresholds:
    """What a design assumes where nothing is stated."""

    position: float = math.pi
    """Positions [rad] of a revolute joint without a range are kept between minus this and this: cables rarely allow
    more. By judgement; not calibrated."""

    slide_position: float = 0.25
    """The same of a prismatic joint [m]. By judgement; not calibrated."""

    velocity: float = 1.5
    """Largest speed [rad/s] of a revolute joint: below that of all arms whose limits we know (1.9 rad/s of the LWR 4 is
    the slowest). By judgement."""

    slide_velocity: float = 0.25
    """Largest speed [m/s] of a prismatic joint: what collaborative operation allows near people (ISO 10218). By
    judgement."""

    acceleration: float = 5.0
    """Largest acceleration [rad/s^2] of a revolute joint: full speed after a third of a second. The UR5's is 3.1, the
    Panda's 7.5 to 20. By judgement."""

    slide_acceleration: float = 1.0
    """The same of a prismatic joint [m/s^2]. By judgement; not calibrated."""

    noise: float = 0.01
    """Standard deviation of measured torques relative to the largest torque that a joint needs within its limits. By
    judgement: torque sensors of arms state about 1 % of their range."""

    smallest_range: float = 0.01
    """Torque ranges are at least this part of the robot's largest, so that a joint that carries nothing does not count
    for more than all others. By judgement; not calibrated."""

    fallback_noise: float = 1.0
    """Standard deviation [N m or N] where the file states neither inertias nor effort limits: only ratios of expected
    standard deviations mean something then. By judgement."""


ASSUMED = AssumedThresholds()


def completed(limits: Sequence[Limits], robot: Robot, settings: ExcitationSettings) -> list[Limits]:
    """The limits of each coordinate with assumed ones where none is stated.

    Zero velocities and efforts in a file are placeholders of exporters, and count as not stated; so does a range from
    zero to zero where both are zero, too. Where the settings state an effort, that limits accelerations.
    """
    found = []
    for joint, limit in zip(robot.independent_joints, limits, strict=True):
        slides = joint.kind is JointKind.PRISMATIC
        reach = ASSUMED.slide_position if slides else ASSUMED.position
        own = joint.limits
        placeholder = limit.lower == limit.upper == own.lower == own.upper == own.velocity == own.effort == 0.0
        if placeholder or (math.isinf(limit.lower) and math.isinf(limit.upper)):
            limit = replace(limit, lower=-reach, upper=reach)
        if not 0.0 < limit.velocity < math.inf:
            limit = replace(limit, velocity=ASSUMED.slide_velocity if slides else ASSUMED.velocity)
        if not limit.effort > 0.0:
            limit = replace(limit, effort=math.inf)
        if not 0.0 < limit.acceleration < math.inf and not _states_effort(settings, joint):
            limit = replace(limit, acceleration=ASSUMED.slide_acceleration if slides else ASSUMED.acceleration)
        found.append(limit)
    return found


def _states_effort(settings: ExcitationSettings, joint: Joint) -> bool:
    stated = settings.effort
    return stated is not None and (not isinstance(stated, dict) or bool({joint.name, str(joint.number)} & set(stated)))


def assumptions(stated: Sequence[Limits], assumed: Sequence[Limits], robot: Robot) -> Iterator[Finding]:
    """What was assumed, one finding for each quantity and unit."""
    rows = list(zip(robot.independent_joints, stated, assumed, strict=True))
    for what, key, per in (
        ("position", "upper", ""),
        ("velocity", "velocity", "/s"),
        ("acceleration", "acceleration", "/s^2"),
    ):
        for unit in ("rad", "m"):
            here = [row for row in rows if (row[0].kind is JointKind.PRISMATIC) == (unit == "m")]
            names = [joint.name for joint, one, other in here if getattr(one, key) != getattr(other, key)]
            if not names:
                continue
            values = [getattr(other, key) for _, one, other in here if getattr(one, key) != getattr(other, key)]
            low = -values[0] if what == "position" else 0.0
            every = len(names) == len(rows) > 1
            number = f"{low:.3g}:{values[0]:.3g}" if low else f"{values[0]:g}"
            yield Finding.of(
                "limit-assumed",
                what,
                joints="any joint" if every else names,
                value=f"{low:.3g} to {values[0]:.3g} {unit}" if low else f"{values[0]:g} {unit}{per}",
                option=f"--{what} {'' if every else f'{names[0]}='}{number}",
                key=what,
            )


def noise_of(settings: ExcitationSettings, robot: Robot, limits: Sequence[Limits]) -> list[float]:
    """Standard deviation of each coordinate's measured torques [N m or N]: stated, or a part of its torque range.

    Args:
        settings: The noise that is stated: one for all joints, one for each, or some by name.
        robot: The robot.
        limits: The limits of each coordinate, all of them finite but for efforts.
    """
    stated = settings.noise
    if isinstance(stated, tuple) and len(stated) != robot.nv:
        raise InvalidRequestError(
            f"excitation.noise has {len(stated)} numbers, and {robot.nv} joints of '{robot.name}' move; give one each, "
            "one for all, or NAME=VALUE"
        )
    if isinstance(stated, tuple | float | int):
        return [float(value) for value in (stated if isinstance(stated, tuple) else [stated] * robot.nv)]
    noise = (ASSUMED.noise * torque_ranges(robot, limits)).tolist()
    for name, value in (stated or {}).items() if isinstance(stated, dict) else ():
        noise[robot.joint(name).v.start] = value
    return noise


def torque_ranges(robot: Robot, limits: Sequence[Limits]) -> Array:
    """The largest torque of each coordinate within its limits [N m or N], as the file predicts it, shape (nv,).

    Predicted torques are no larger than effort limits. Where the file states no inertias, effort limits stand in; where
    it states neither, the range is that of `fallback_noise`.
    """
    efforts = np.array([limit.effort for limit in limits])
    if not any(link.has_inertia for link in robot.links):
        known = np.isfinite(efforts)
        other = efforts[known].max() if known.any() else ASSUMED.fallback_noise / ASSUMED.noise
        return np.where(known, efforts, other)
    rng, nv = np.random.default_rng(0), robot.nv
    lower, upper = (np.array([_finite(end) for end in ends]) for ends in zip(*map(_ends, limits), strict=True))
    q = rng.uniform(lower, upper, (400, nv))
    v, a = (np.array([_finite(getattr(limit, key)) for limit in limits]) for key in ("velocity", "acceleration"))
    signs = rng.choice((-1.0, 1.0), (2, 400, nv))
    needed = np.abs(PriorTorques(robot).whole(q, signs[0] * v, signs[1] * a)).max(axis=0)
    ranges = np.minimum(needed, efforts)
    return np.maximum(ranges, ASSUMED.smallest_range * max(float(ranges.max()), 1e-9))


def _ends(limit: Limits) -> tuple[float, float]:
    return limit.interval(2.0 * ASSUMED.position)


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def noise_assumption(settings: ExcitationSettings, robot: Robot, noise: Sequence[float]) -> Iterator[Finding]:
    """That noise was assumed, where it was."""
    if settings.noise is not None and not isinstance(settings.noise, dict):
        return
    stated = {robot.joint(name).name for name in settings.noise or ()}
    shown = [
        f"{joint.name} {value:.2g} {torque_unit(joint.kind)}"
        for joint, value in zip(robot.independent_joints, noise, strict=True)
        if joint.name not in stated
    ]
    if shown:
        yield Finding.of("noise-assumed", "torques", share=ASSUMED.noise, noise=shown)
