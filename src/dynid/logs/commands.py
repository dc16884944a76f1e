"""Commands of a known controller: a torque sensor where torques are not measured.

A motor under the law `torque = kp (position command - position) + kd (velocity command - velocity) + torque command`
applies a torque that is known from what was commanded and measured. Commands act with a delay, and are held between
updates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.arrays import Array


@dataclass(frozen=True, eq=False)
class Commands:
    """What a robot was commanded, at the time stamps of its log.

    Attributes:
        position: Commanded positions [rad or m], shape (samples, joints).
        velocity: Commanded velocities [rad/s or m/s], shape (samples, joints); zero when None.
        torque: Torques that are added [N m or N], shape (samples, joints); none when None.
        kp: Torque per error of position [N m/rad or N/m], shape (samples, joints).
        kd: Torque per error of velocity [N m s/rad or N s/m], shape (samples, joints).
        limit: Largest torque [N m or N], shape (joints,); None where there is none.
        back_emf: Torque that motors under a voltage lose with speed, beyond any limit [N m s/rad], shape (joints,);
            None where drives control torques.
    """

    position: Array
    velocity: Array | None
    torque: Array | None
    kp: Array
    kd: Array
    limit: Array | None = None
    back_emf: Array | None = None

    @property
    def is_servo(self) -> bool:
        """Whether motors are under a voltage: gains and limits are then in proportion to the stall torque."""
        return self.back_emf is not None

    @property
    def wanted(self) -> Array:
        """The part of the torque that does not depend on the motion [N m or N], shape (samples, joints)."""
        total = self.kp * self.position
        if self.velocity is not None:
            total += self.kd * self.velocity
        return total if self.torque is None else total + self.torque

    def clipped(self, torque: Array) -> Array:
        """A torque within the limit."""
        return torque if self.limit is None else np.clip(torque, -self.limit, self.limit)


LawForm = Literal["continuous", "sampled"]
"""How a control law acts: at all times; or at ticks, its torque held between them. Commands arrive late in both."""


def law_torque(
    commands: Commands,
    time: Array,
    q: Array,
    v: Array | None,
    delay: float | None = None,
    form: LawForm = "continuous",
) -> Array:
    """The torque of the control law along a measured motion [N m or N], shape (samples, joints).

    Args:
        commands: What was commanded.
        time: Time stamps [s], shape (samples,).
        q: Measured positions [rad or m], shape (samples, joints).
        v: Measured velocities [rad/s or m/s], shape (samples, joints); differences of positions when None.
        delay: How much later commands act than they are logged [s]. Torques are then means over the time
            around each stamp, with commands that are held between stamps. When None, the law at each stamp as it is.
        form: How the law acts.
    """
    speed = np.zeros_like(q) if v is None else v
    if v is None and len(time) > 1:
        speed = np.asarray(np.gradient(q, time, axis=0))
    parts = commands.wanted, commands.kp, commands.kd
    if delay is not None and form == "continuous":
        parts = tuple(x if np.all(x == x[0]) else delayed(x, time, delay) for x in parts)
    elif delay is not None and form == "sampled":
        seen = np.clip(np.searchsorted(time, time - delay + 1e-9, side="right") - 1, 0, None)
        parts = tuple(x[seen] for x in parts)
    wanted, kp, kd = parts
    torque = commands.clipped(wanted - kp * q - kd * speed)
    torque = torque if delay is None or form == "continuous" else delayed(torque, time, 0.0)
    return torque if commands.back_emf is None else torque - commands.back_emf * speed


def delayed(held: Array, time: Array, delay: float) -> Array:
    """A signal that is held from each time stamp to the next, delayed: means over the time around each stamp.

    Args:
        held: The signal, shape (samples, columns).
        time: Its time stamps [s], shape (samples,).
        delay: The delay [s]; below zero, the signal comes earlier.

    Returns:
        An array of the shape of `held`. With a delay of half a period, a signal at even stamps is unchanged but for
        being averaged over two samples.

    >>> delayed(np.array([[0.0], [0.0], [1.0], [1.0], [1.0]]), np.arange(5.0), 0.75).T.tolist()
    [[0.0, 0.0, 0.0, 0.75, 1.0]]
    """
    if len(time) < 2:
        return held
    edges = np.concatenate([[time[0]], 0.5 * (time[1:] + time[:-1]), [time[-1]]])
    total = np.concatenate([np.zeros((1, held.shape[1])), np.cumsum(held[:-1] * np.diff(time)[:, None], axis=0)])
    at = edges - delay
    inside = np.clip(at, time[0], time[-1])
    k = np.clip(np.searchsorted(time, inside, side="right") - 1, 0, len(time) - 1)
    integral = total[k] + held[k] * (inside - time[k])[:, None]
    integral += held[0] * np.minimum(at - time[0], 0.0)[:, None] + held[-1] * np.maximum(at - time[-1], 0.0)[:, None]
    return np.diff(integral, axis=0) / np.diff(edges)[:, None]
