"""Commands of a control law as a rollout takes them: held between their time stamps, delayed, averaged over steps.

The law is `u = clip(kp (command - measured q) + kd (velocity command - v) + torque command)`. Over a step the held
commands have an exact mean, which is piecewise linear in the delay: so rollouts depend on a delay continuously, and
have slopes over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from dynid.arrays import Array, Indices
from dynid.errors import InvalidRequestError, ShapeError
from dynid.logs import Commands


@dataclass(frozen=True, eq=False)
class ControlInput:
    """What a robot was commanded, under a known control law.

    Attributes:
        time: Time stamps [s], ascending, shape (samples,). A row of commands holds from its stamp to the next one.
        position: Commanded positions [rad or m], shape (samples, nv).
        velocity: Commanded velocities [rad/s or m/s], the same shape; zero when None.
        torque: Feed-forward torques [N m or N], the same shape; zero when None.
        kp: Torque per error of position [N m/rad or N/m], shape (nv,), or (samples, nv) where it varies.
        kd: Torque per error of velocity [N m s/rad or N s/m], shape (nv,) or (samples, nv).
        limit: Largest torque of each joint [N m or N], shape (nv,); none when None.
        back_emf: Torque that motors under a voltage lose with speed, beyond any limit [N m s/rad], shape (nv,); none
            when None.
        rate: How often the law is evaluated [Hz], its torque held between; continuously when None. The intervals
            between stamps are divided into the nearest whole number of ticks.
    """

    time: Array
    position: Array
    kp: Array
    kd: Array
    velocity: Array | None = None
    torque: Array | None = None
    limit: Array | None = None
    rate: float | None = None
    back_emf: Array | None = None

    @staticmethod
    def of(time: Array, commands: Commands, rate: float | None = None) -> ControlInput:
        """The commands of a log, at its time stamps [s], under a law that is evaluated at a rate [Hz]."""
        return ControlInput(
            time=time,
            position=commands.position,
            kp=commands.kp,
            kd=commands.kd,
            velocity=commands.velocity,
            torque=commands.torque,
            limit=commands.limit,
            rate=rate,
            back_emf=commands.back_emf,
        )

    def __post_init__(self) -> None:
        shape = np.shape(self.position)
        if len(shape) != 2 or np.shape(self.time) != shape[:1]:
            raise ShapeError("position", f"({len(np.atleast_1d(self.time))}, joints)", shape)
        whole, joints = (shape,), (shape[1:],)
        allowed = {
            "velocity": whole,
            "torque": whole,
            "kp": (*joints, *whole),
            "kd": (*joints, *whole),
            "limit": joints,
            "back_emf": joints,
        }
        for name, shapes in allowed.items():
            values = getattr(self, name)
            if values is not None and np.shape(values) not in shapes:
                raise ShapeError(name, " or ".join(map(str, shapes)), np.shape(values))
        for name in ("time", "position", "velocity", "torque", "kp", "kd"):
            values = getattr(self, name)
            if values is not None and not np.isfinite(values).all():
                raise InvalidRequestError(f"{name} of the commands has values that are not finite; cut them out first")
        self._check_values()

    def _check_values(self) -> None:
        if self.back_emf is not None and not (np.asarray(self.back_emf) >= 0.0).all():
            raise InvalidRequestError(
                f"back-EMF takes torque away as speed grows, and {np.min(self.back_emf):g} adds it"
            )
        if self.limit is not None and not (np.asarray(self.limit) > 0.0).all():
            raise InvalidRequestError(f"effort limits must be positive, not {np.min(self.limit):g}; leave limit out")
        late = np.flatnonzero(~(np.diff(self.time) > 0.0))
        if len(self.time) < 2 or len(late):
            where = f"sample {late[0] + 2} is not later than the one before" if len(late) else "there is one"
            raise InvalidRequestError(f"a rollout needs two time stamps or more, ascending; {where}: sort the log")
        if self.rate is not None and not 0.0 < self.rate < np.inf:
            raise InvalidRequestError(f"the rate of a control law must be positive, not {self.rate:g} Hz")

    @cached_property
    def gains(self) -> tuple[Array, Array]:
        """Kp and kd at every sample, both of shape (samples, nv)."""
        shape = np.shape(self.position)
        return (
            np.ascontiguousarray(np.broadcast_to(np.asarray(self.kp, dtype=float), shape)),
            np.ascontiguousarray(np.broadcast_to(np.asarray(self.kd, dtype=float), shape)),
        )

    @cached_property
    def held(self) -> tuple[Array, Array, Array, Array, Array]:
        """kp, kp times position, kd, kd times velocity, and torque; each of shape (samples, nv)."""
        kp, kd = self.gains
        none = np.zeros_like(kp)
        return (
            kp,
            kp * self.position,
            kd,
            none if self.velocity is None else kd * self.velocity,
            none if self.torque is None else np.asarray(self.torque, dtype=float),
        )


class Schedule(NamedTuple):
    """Steps and ticks of a rollout, where a tick is a step unless the law is evaluated at a rate of its own.

    Attributes:
        step: Length of each step [s], shape (steps,).
        tick: The tick of each step, shape (steps,).
        edges: When ticks begin, and when the last one ends [s] after the first stamp, shape (ticks + 1,).
        ends: How many steps there are up to each sample, shape (samples,).
    """

    step: Array
    tick: Indices
    edges: Array
    ends: Indices


def schedule(control: ControlInput, step: float) -> Schedule:
    """Divide each interval between stamps into the fewest equal steps that are not longer than `step` [s]."""
    if not 0.0 < step < np.inf:
        raise InvalidRequestError(f"the step of a rollout must be positive, not {step:g} s")
    time = np.asarray(control.time, dtype=float) - control.time[0]
    intervals = np.diff(time)
    most = int(np.ceil(intervals / step).sum()) if np.isfinite(intervals / step).all() else np.inf
    if most > MOST_STEPS:
        raise InvalidRequestError(
            f"a rollout of {time[-1]:.4g} s in steps of {step:g} s takes {most:.3g} of them, and {MOST_STEPS:.0e} is "
            "the most; raise the step, or cut the log"
        )
    if control.rate is None:
        ticks, within = _fewest(intervals, step), np.ones(len(intervals), dtype=np.int64)
    else:
        ticks = np.maximum(np.rint(intervals * control.rate), 1.0).astype(np.int64)
        within = _fewest(intervals / ticks, step)
    counts = ticks * within
    tick = np.repeat(np.arange(ticks.sum()), np.repeat(within, ticks))
    before = np.cumsum(ticks) - ticks
    edges = np.repeat(time[:-1], ticks)
    edges += (np.arange(ticks.sum()) - np.repeat(before, ticks)) * np.repeat(intervals / ticks, ticks)
    return Schedule(
        np.repeat(intervals / counts, counts),
        tick,
        np.append(edges, time[-1]),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
    )


MOST_STEPS = 100_000_000
"""Most steps of a rollout: their means take some gigabytes for each joint."""


def _fewest(lengths: Array, step: float) -> Indices:
    return np.maximum(np.ceil(lengths / step - 1e-6), 1.0).astype(np.int64)


class Means(NamedTuple):
    """Means of a control law's parts over ticks, and their slopes over the delay; each of shape (ticks, nv).

    Attributes:
        kp: Gain on positions.
        position: Gain times commanded position [N m].
        kd: Gain on velocities.
        velocity: Gain times commanded velocity [N m].
        torque: Feed-forward torque [N m].
    """

    kp: Array
    position: Array
    kd: Array
    velocity: Array
    torque: Array


def delayed_means(control: ControlInput, edges: Array, delay: float) -> Means:
    """Means over ticks of the held parts of a law, delayed [s]; before the first command arrives it holds, too."""
    time = np.asarray(control.time, dtype=float) - control.time[0]
    times = edges - delay
    row = _row(time, times)
    past, length = (times - time[row])[:, None], np.diff(edges)[:, None]
    intervals = np.diff(time)[:, None]
    found = []
    for values in control.held:
        total = np.zeros_like(values)
        np.cumsum(values[:-1] * intervals, axis=0, out=total[1:])
        found.append(np.diff(total[row] + past * values[row], axis=0) / length)
    return Means(*found)


def delay_slopes(control: ControlInput, edges: Array, delay: float) -> Means:
    """Slopes of `delayed_means` over the delay [per s]; where it has a kink, the mean of both sides' slopes."""
    time = np.asarray(control.time, dtype=float) - control.time[0]
    before, after = (_row(time, edges - delay, side) for side in ("left", "right"))
    length = np.diff(edges)[:, None]
    return Means(*(-0.5 * np.diff(values[before] + values[after], axis=0) / length for values in control.held))


def _row(time: Array, times: Array, side: Literal["left", "right"] = "right") -> Indices:
    """The row that holds just before (left), or just after (right), each time."""
    return np.clip(np.searchsorted(time, times, side=side) - 1, 0, len(time) - 1)
