"""Trapezoids and double-S profiles: the fastest motions of one axis within limits of velocity, acceleration and jerk.

A double-S profile accelerates from its first velocity to a peak, keeps that, and decelerates to its last velocity. Each
change of velocity takes three phases: jerk, constant acceleration, jerk back. A trapezoid is one with infinite jerk.
The cases of the Figaro thesis (chapter 2.2.1) are one here: the peak velocity is the largest, up to the limit, with
which the displacement is not exceeded; phases that are missing have no duration.
"""

from __future__ import annotations

import math

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.excitation.trajectories.phased_motion import PhasedMotion

_HALVINGS = 160
"""How often the range of peak velocities is halved: to rounding, for small displacements, too."""


_SAME_PEAK = 1e-16
"""Ranges of peak velocities are halved no more when they are smaller than this, relative to the peak."""


class DisplacementError(InvalidRequestError):
    """A displacement is too small for the velocities at its ends."""


def double_s(
    begin: float,
    end: float,
    *,
    velocity: float,
    acceleration: float,
    jerk: float = math.inf,
    begin_velocity: float = 0.0,
    end_velocity: float = 0.0,
) -> PhasedMotion:
    """The fastest motion of one axis from one position and velocity to others, without acceleration at its ends.

    Args:
        begin: Position at the start [rad or m].
        end: Position at the end.
        velocity: Largest speed [rad/s or m/s].
        acceleration: Largest acceleration [rad/s^2 or m/s^2]; infinite where only jerk is limited.
        jerk: Largest jerk [rad/s^3 or m/s^3]; infinite for a trapezoid of velocity, whose acceleration jumps.
        begin_velocity: Velocity at the start [rad/s or m/s].
        end_velocity: Velocity at the end.

    Raises:
        DisplacementError: If the displacement is too small for the velocities at its ends.
        InvalidRequestError: If a limit is none, or a velocity at an end exceeds it.

    >>> round(double_s(0.0, 1.0, velocity=1.0, acceleration=2.0, jerk=4.0).duration, 12)
    2.0
    """
    numbers = (begin, end, velocity, acceleration, jerk, begin_velocity, end_velocity)
    q0, q1, limit, a, j, v0, v1 = (np.array([number], dtype=float) for number in numbers)
    return phased(q0, fastest_phases(q1 - q0, limit, a, j, v0, v1), v0)


def synchronised(
    waypoints: Array, velocity: Array, acceleration: Array, jerk: Array | float = math.inf, pause: float = 0.0
) -> PhasedMotion:
    """From waypoint to waypoint, at rest at each, all joints together: the slowest takes as little time as it can.

    The others are slowed down so that they arrive with it: the profile of each is its fastest, stretched in time.

    Args:
        waypoints: Positions [rad or m], shape (waypoints, joints).
        velocity: Largest speeds [rad/s or m/s], shape (joints,).
        acceleration: Largest accelerations [rad/s^2 or m/s^2], shape (joints,).
        jerk: Largest jerks [rad/s^3 or m/s^3], shape (joints,); infinite for trapezoids, whose acceleration jumps.
        pause: How long to rest at each waypoint but the first [s].

    Raises:
        InvalidRequestError: If a limit is none, or the motion leads nowhere.
    """
    points = np.asarray(waypoints, dtype=float)
    if points.ndim != 2 or len(points) < 2:
        raise InvalidRequestError(f"a motion needs two waypoints or more, not an array of shape {points.shape}")
    steps = np.diff(points, axis=0)
    V, A, J = (np.broadcast_to(np.asarray(part, float), steps.shape).ravel() for part in (velocity, acceleration, jerk))
    t, a, j = (part.reshape(*steps.shape, 7) for part in fastest_phases(steps.ravel(), V, A, J))
    own = t.sum(axis=2, keepdims=True)
    slowest = own.max(axis=1, keepdims=True)
    part = np.divide(own, slowest, out=np.zeros_like(own), where=slowest > 0.0)  # of its speed that a joint uses
    t = np.divide(t, part, out=np.zeros_like(t), where=part > 0.0)
    t[..., 3] += np.where(part > 0.0, 0.0, slowest)[..., 0]  # joints that stay wait
    rest = np.zeros((*steps.shape, 1))
    phases = [
        np.concatenate([values, tail], axis=2).transpose(1, 0, 2).reshape(points.shape[1], -1)
        for values, tail in ((t, rest + pause), (part**2 * a, rest), (part**3 * j, rest))
    ]
    motion = PhasedMotion(points[0], np.zeros(points.shape[1]), *phases)
    if not motion.duration > 0.0:
        raise InvalidRequestError("the waypoints are all the same, and lead nowhere; give others, or a pause")
    return motion


def phased(begin: Array, phases: tuple[Array, Array, Array], velocity: Array | None = None) -> PhasedMotion:
    """The motion of durations, accelerations and jerks of phases, from a start at rest when no velocity is given."""
    return PhasedMotion(begin, np.zeros_like(begin) if velocity is None else velocity, *phases)


def fastest_phases(
    displacement: Array,
    velocity: Array,
    acceleration: Array,
    jerk: Array,
    begin_velocity: Array | float = 0.0,
    end_velocity: Array | float = 0.0,
) -> tuple[Array, Array, Array]:
    """Seven phases for each of many axes, which do not wait for each other; all arguments are of shape (axes,).

    Args:
        displacement: How far each goes [rad or m], negative backwards.
        velocity: Largest speeds.
        acceleration: Largest accelerations.
        jerk: Largest jerks; infinite for trapezoids.
        begin_velocity: Velocities at the start.
        end_velocity: Velocities at the end.

    Returns:
        Durations [s], accelerations at the start of each phase, and jerks, each of shape (axes, 7).
    """
    arguments = (displacement, velocity, acceleration, jerk, begin_velocity, end_velocity)
    D, V, A, J, v0, v1 = np.broadcast_arrays(*(np.asarray(part, dtype=float) for part in arguments))
    _require_limits(V, A, J, v0, v1)
    sign = np.where(D != 0.0, np.sign(D), np.where(v0 + v1 > 0.0, -1.0, 1.0))
    D, v0, v1 = sign * D, sign * v0, sign * v1
    lowest = np.maximum(np.maximum(v0, v1), 0.0)  # what the peak cannot be below

    def way(above: Array) -> Array:
        """Displacement of a peak so much above its lowest, without cruising; it grows with the peak."""
        peak = lowest + above
        rising, falling = (_change(peak - v, A, J)[0] * (peak + v) / 2 for v in (v0, v1))
        return rising + falling

    _require_way(sign * D, way(np.zeros_like(D)), D, sign * v0, sign * v1)
    low, high = np.zeros_like(D), np.where(way(np.zeros_like(D)) < D, V - lowest, 0.0)
    low = np.where(way(high) <= D, high, low)
    if not (v0.any() or v1.any()):
        low = high = np.minimum(_peak_from_rest(D, A, J), V)
    for _ in range(_HALVINGS):
        if (high - low <= _SAME_PEAK * (lowest + low)).all():
            break
        middle = (low + high) / 2
        fits = way(middle) <= D
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    peak = lowest + low
    cruise = np.divide(np.maximum(D - way(low), 0.0), peak, out=np.zeros_like(D), where=peak > 0.0)
    rise, fall = (_change(peak - v, A, J) for v in (v0, v1))
    durations = [rise[1], rise[0] - 2 * rise[1], rise[1], cruise, fall[1], fall[0] - 2 * fall[1], fall[1]]
    none = np.zeros_like(D)
    accelerations = [none, rise[2], rise[2], none, none, -fall[2], -fall[2]]
    steep = np.where(np.isfinite(J), J, 0.0)  # where it is not, jerk phases have no duration
    jerks = [steep, none, -steep, none, -steep, none, steep]
    signed = sign[:, None]
    return (
        np.maximum(np.stack(durations, axis=1), 0.0),
        signed * np.stack(accelerations, axis=1),
        signed * np.stack(jerks, axis=1),
    )


def _peak_from_rest(D: Array, A: Array, J: Array) -> Array:
    """The peak velocity of the fastest motions from rest to rest without a limit of velocity, shape (axes,)."""
    with np.errstate(invalid="ignore", divide="ignore"):  # one of A and J may be infinite, and D zero
        step = A**2 / J  # change of velocity from which on the acceleration is reached
        by_jerk = np.cbrt(D**2 * J / 4)
        by_acceleration = 2 * D * A / (step + np.sqrt(step**2 + 4 * D * A))
    return np.where(D == 0.0, 0.0, np.where(by_jerk <= step, by_jerk, by_acceleration))


def _change(step: Array, A: Array, J: Array) -> tuple[Array, Array, Array]:
    """Time of a change of velocity, time of each of its two jerks, and largest acceleration; each of shape (axes,)."""
    with np.errstate(invalid="ignore"):  # infinite accelerations are not reached, infinite jerks take no time
        is_reached = step >= A**2 / J
        root = np.sqrt(step / J)
        return (
            np.where(is_reached, step / A + A / J, 2 * root),
            np.where(is_reached, A / J, root),
            np.where(is_reached, A, np.where(np.isfinite(J), root * J, 0.0)),
        )


def _require_limits(V: Array, A: Array, J: Array, v0: Array, v1: Array) -> None:
    """Refuse limits that are none, and velocities at the ends beyond them."""
    for what, values in (("velocity", V), ("acceleration", A), ("jerk", J)):
        bad = np.flatnonzero(~(values > 0.0))
        if len(bad):
            raise InvalidRequestError(f"the limit of {what} must be a positive number, not {values[bad[0]]:g}")
    if not np.isfinite(V).all() or not (np.isfinite(A) | np.isfinite(J)).all():
        raise InvalidRequestError("the velocity must have a limit, and so must the acceleration or the jerk")
    for where, values in (("start", v0), ("end", v1)):
        bad = np.flatnonzero(~(np.abs(values) <= V))
        if len(bad):
            raise InvalidRequestError(
                f"the velocity at the {where} is {values[bad[0]]:g}, and the limit is {V[bad[0]]:g}; lower it"
            )


def _require_way(stated: Array, least: Array, D: Array, v0: Array, v1: Array) -> None:
    """Refuse displacements in which velocities cannot change as they should; but for rounding."""
    bad = np.flatnonzero(~(least * (1.0 - 1e-12) <= D))
    if len(bad):
        k = bad[0]
        raise DisplacementError(
            f"a displacement of {stated[k]:g} is too small to go from a velocity of {v0[k]:g} to one of {v1[k]:g} "
            f"within the limits: that takes {math.copysign(least[k], v0[k] + v1[k]):.6g} at least; lower the "
            "velocities at the ends, or move further"
        )
