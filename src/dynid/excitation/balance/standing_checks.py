"""What a motion in balance reaches, against all limits, at many samples."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dynid.arrays import Array
from dynid.excitation.balance.ground_wrench import zero_moment_points
from dynid.excitation.balance.standing_limits import StandingLimits
from dynid.excitation.balance.standing_motion import StandingMotion
from dynid.excitation.balance.tree_motion import frames_of
from dynid.excitation.limits.limit import Check
from dynid.excitation.limits.torques import torque_unit

RATE = 1000.0
"""Rate [Hz] at which motions are checked."""

_CLEARANCE_EVERY = 4
"""Every so many of these samples distances between bodies are computed: between two they are smaller than at both by
less than 0.1 mm, at accelerations of 50 m/s^2."""

_LOOKED_AT = 0.005
"""Distances larger than the clearance by this [m] are not looked for."""

_FOOT_MOVES = 1e-6
"""Feet may move by this [m] in computations."""


def standing_checks(limits: StandingLimits, motion: StandingMotion) -> list[Check]:
    """What a motion reaches, against all limits."""
    times = np.arange(int(motion.duration * RATE) + 1) / RATE
    q, v, a = motion.whole_states(times)
    return [
        *_ground_checks(limits, times, q, v, a),
        *_joint_checks(limits, q, v, a),
        *_clearance_checks(limits, times, q),
    ]


def _ground_checks(limits: StandingLimits, times: Array, q: Array, v: Array, a: Array) -> Iterator[Check]:
    """The zero-moment point, the normal force, friction, and the feet."""
    wrench = limits.wrench.wrench(q, v, a)
    polygon = limits.stance.polygon
    if polygon is not None:
        inside = polygon.clearance(zero_moment_points(wrench))
        least = int(np.argmin(inside))
        name = "distance of the zero-moment point from the edges of the support polygon"
        reached, room = (float(inside[least]), math.inf), polygon.inner_radius
        yield Check(name, (limits.margin, math.inf), reached, "m", False, float(times[least]), room)
        least = int(np.argmin(wrench[:, 2]))
        reached = (float(wrench[least, 2]), math.inf)
        weight = float(wrench[0, 2])
        yield Check("normal force of the ground", (0.0, math.inf), reached, "N", False, float(times[least]), weight)
        used = np.linalg.norm(wrench[:, :2], axis=1) / wrench[:, 2]
        of, reached = (-math.inf, limits.friction), (-math.inf, float(used.max()))
        yield Check("force along the ground over normal force", of, reached, "1", False, room=limits.friction)
    frames = limits.legs.frames(q)
    for foot in limits.stance.feet:
        R, p = frames[foot.link]
        away = float(np.abs(R @ foot.placement[:3, 3] + p - foot.target[:3, 3]).max())
        of, reached = (-math.inf, _FOOT_MOVES), (-math.inf, away)
        yield Check(f"way of {foot.body}", of, reached, "m", symmetric=False, room=_FOOT_MOVES)


def _joint_checks(limits: StandingLimits, q: Array, v: Array, a: Array) -> Iterator[Check]:
    """Positions, velocities, accelerations and torques of the joints that move."""
    _, torques = limits.wrench.torques(q, v, a)
    friction = limits.wrench.friction[6:]
    joints = [joint for joint in limits.robot.independent_joints[1:] if joint.v.start - 6 in limits.joints]
    for joint in joints:
        k = joint.v.start - 6
        of, unit = limits.limits[k], "rad" if joint.kind.is_angular else "m"
        values = q[:, 7 + k]
        reached = (float(values.min()), float(values.max()))
        yield Check(f"position of {joint.name}", (of.lower, of.upper), reached, unit, symmetric=False)
        yield Check.of_size(f"velocity of {joint.name}", of.velocity, v[:, 6 + k], f"{unit}/s")
        if math.isfinite(of.acceleration):
            yield Check.of_size(f"acceleration of {joint.name}", of.acceleration, a[:, 6 + k], f"{unit}/s^2")
        if math.isfinite(of.effort):
            whole = torques[:, k] + friction[k] * np.sign(v[:, 6 + k])
            yield Check.of_size(f"torque of {joint.name}", of.effort, whole, torque_unit(joint.kind))


def _clearance_checks(limits: StandingLimits, times: Array, q: Array) -> Iterator[Check]:
    """The smallest distance between bodies, and from the floor."""
    times, q = times[::_CLEARANCE_EVERY], q[::_CLEARANCE_EVERY]
    room = limits.clearance + _LOOKED_AT
    if limits.collisions is not None and limits.collisions.pairs:
        nearest, at = limits.collisions.nearest(q[:, 7:], below=room)
        near = [k for k in range(len(nearest)) if nearest[k] < room] or [int(np.argmin(nearest))]
        for k in near:
            name = f"clearance of {limits.collisions.pairs[k].name}"
            reached = (float(nearest[k]), math.inf)
            yield Check(name, (limits.clearance, math.inf), reached, "m", False, float(times[at[k]]), limits.clearance)
    if limits.above_floor:
        heights = limits.heights(frames_of(limits.robot, range(len(limits.robot.joints)), q))
        sample, solid = np.unravel_index(int(np.argmin(heights)), heights.shape)
        name = f"clearance of {limits.above_floor[solid].body}-floor"
        reached = (float(heights[sample, solid]), math.inf)
        yield Check(name, (limits.clearance, math.inf), reached, "m", False, float(times[sample]), limits.clearance)
