"""A load from a force-torque sensor at the wrist: what is beyond the sensor, with its bias.

The sensor measures `w = Y(q, v, a) p + bias + drift t`: the wrench that moves and holds what is beyond it, along the
axes of its frame and about its origin. Y has six rows and ten columns and needs the motion of the sensor only, so the
dynamics of the robot do not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.factors import Factor
from dynid.estimation.payloads.load_problem import LOAD, THRESHOLDS, LoadFit, fit_of, lasting_of, robot_part
from dynid.estimation.quantiles import chi_square_quantile
from dynid.robot import CHANNELS, INERTIA_BASIS, SIZE, WORLD, Robot


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """How a body moves, along its own axes.

    Attributes:
        turn: Angular velocity [rad/s], shape (samples, 3).
        turn_rate: Angular acceleration [rad/s^2], shape (samples, 3).
        acceleration: Of its origin, less gravity [m/s^2], shape (samples, 3).
    """

    turn: Array
    turn_rate: Array
    acceleration: Array


def body_motion(robot: Robot, link: int, placement: Array, q: Array, v: Array, a: Array) -> BodyMotion:
    """How a body on a link moves, less gravity; by the forward recursion of Newton and Euler.

    Args:
        robot: The robot.
        link: Index of the link.
        placement: Pose of the body in the link's joint frame, shape (4, 4).
        q: Positions, shape (samples, nq).
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
    """
    q, v, a = robot.states(q, v, a)
    count = len(q)
    R = np.broadcast_to(np.eye(3), (count, 3, 3))
    w = w_dot = np.zeros((count, 3))
    x_ddot = np.broadcast_to(-robot.gravity, (count, 3))
    for at in reversed(list(robot.chain(link))):
        joint = robot.joints[at]
        assert joint.parent == WORLD or joint.parent in set(robot.chain(link))
        rotation, translation = joint.move(q)
        arm, R = _times(R, translation), R @ rotation
        slide, turn = _times(R, v[:, joint.v] @ joint.subspace[:3].T), _times(R, v[:, joint.v] @ joint.subspace[3:].T)
        slide_dot = _times(R, a[:, joint.v] @ joint.subspace[:3].T)
        turn_dot = _times(R, a[:, joint.v] @ joint.subspace[3:].T)
        x_ddot = x_ddot + np.cross(w_dot, arm) + np.cross(w, np.cross(w, arm) + slide)
        w_dot = w_dot + turn_dot + np.cross(w, turn)
        w = w + turn
        x_ddot = x_ddot + slide_dot + np.cross(w, slide)
    arm = _times(R, np.broadcast_to(placement[:3, 3], (count, 3)))
    x_ddot = x_ddot + np.cross(w_dot, arm) + np.cross(w, np.cross(w, arm))
    back = np.swapaxes(R @ placement[:3, :3], 1, 2)
    return BodyMotion(*(_times(back, x) for x in (w, w_dot, x_ddot)))


def _times(R: Array, x: Array) -> Array:
    return np.einsum("sij,sj->si", R, x)


def wrench_columns(motion: BodyMotion) -> Array:
    """Wrenches of bodies with unit parameters about the origin of the moving body, shape (samples, 6, 10)."""
    w, w_dot, a = motion.turn, motion.turn_rate, motion.acceleration
    Y = np.zeros((len(w), 6, SIZE))
    Y[:, :3, 0] = a
    for k, unit in enumerate(np.eye(3)):
        Y[:, :3, 1 + k] = np.cross(w_dot, unit) + np.cross(w, np.cross(w, unit))
        Y[:, 3:, 1 + k] = np.cross(unit, a)
    for k, matrix in enumerate(INERTIA_BASIS):
        Y[:, 3:, 4 + k] = w_dot @ matrix + np.cross(w, w @ matrix)
    return Y


@dataclass(frozen=True, eq=False)
class WrenchLog:
    """What a sensor measured in a log, with what its load would make.

    Attributes:
        Y: Wrenches of unit parameters about the frame of the load's body, shape (samples, 6, 10).
        measured: What was measured [N, N m], shape (samples, 6).
        time: Seconds from the middle of the log, shape (samples,).
        loaded: Whether the load is there; else only what the sensor always carries.
        starts: Where stretches of consecutive samples begin.
        band: Part of the band of its rows that holds their errors.
        known: Parameters of a known load that is there, about the same frame, shape (10,); none when None.
    """

    Y: Array
    measured: Array
    time: Array
    loaded: bool
    starts: tuple[int, ...] = (0,)
    band: float = 1.0
    known: Array | None = None

    @property
    def wrench(self) -> Array:
        """What was measured, without the known load [N, N m], shape (samples, 6)."""
        return self.measured if self.known is None else self.measured - self.Y @ self.known


@dataclass(frozen=True, eq=False)
class WristFit:
    """A load beyond a sensor.

    Attributes:
        fit: The load.
        drifts: Channels of each log whose bias drifts.
        values: Bias [N, N m] and drift [N/s, N m/s] by name, with standard deviations.
    """

    fit: LoadFit
    drifts: tuple[tuple[str, ...], ...]
    values: Mapping[str, tuple[float, float]]


def wrist_fit(logs: Sequence[WrenchLog]) -> WristFit:
    """The load beyond a sensor, whose bias is another in every log, and drifts in channels where the data show it."""
    difference = any(not log.loaded for log in logs)
    everything = [CHANNELS] * len(logs)
    with_all = _Wrist(logs, everything, difference)
    lasting = with_all.lasting(with_all.fit([{}] * len(logs)))
    fit = with_all.fit(lasting)
    values = robot_part(with_all.factors, lasting, fit.stds)
    chance = THRESHOLDS.change_chance / (len(CHANNELS) * len(logs))
    limit = float(np.sqrt(chi_square_quantile(1, chance)))
    drifts = [
        tuple(c for c in CHANNELS if abs(values[f"drift {c} {k}"][0]) > limit * values[f"drift {c} {k}"][1])
        for k in range(len(logs))
    ]
    problem = _Wrist(logs, drifts, difference)
    lasting = problem.lasting(problem.fit(lasting))
    fit = problem.fit(lasting)
    return WristFit(fit, tuple(drifts), robot_part(problem.factors, lasting, fit.stds))


class _Wrist:
    """The rows of all logs and channels, for some channels that drift."""

    def __init__(self, logs: Sequence[WrenchLog], drifts: Sequence[Sequence[str]], difference: bool) -> None:
        self.logs = logs
        bias = [f"bias {channel} {k}" for k in range(len(logs)) for channel in CHANNELS]
        drift = [f"drift {channel} {k}" for k in range(len(logs)) for channel in drifts[k]]
        tool = [f"tool {name}" for name in LOAD] if difference else []
        self.names = (*bias, *drift, *tool, *(f"load {name}" for name in LOAD))
        self.matrices = [[self._rows(k, c) for c in range(len(CHANNELS))] for k in range(len(logs))]
        self.factors = [
            {
                channel: Factor.of(self.names, self.matrices[k][c], log.wrench[:, c])
                for c, channel in enumerate(CHANNELS)
            }
            for k, log in enumerate(logs)
        ]

    def _rows(self, k: int, c: int) -> Array:
        log, place = self.logs[k], {name: j for j, name in enumerate(self.names)}
        W = np.zeros((len(log.wrench), len(self.names)))
        W[:, place[f"bias {CHANNELS[c]} {k}"]] = 1.0
        if (name := f"drift {CHANNELS[c]} {k}") in place:
            W[:, place[name]] = log.time
        if "tool m" in place:
            W[:, place["tool m"] : place["tool m"] + SIZE] = log.Y[:, c]
        if log.loaded:
            W[:, -SIZE:] = log.Y[:, c]
        return W

    def fit(self, lasting: Sequence[Mapping[str, float]]) -> LoadFit:
        return fit_of(self.factors, lasting, self.names)

    def lasting(self, fit: LoadFit) -> list[dict[str, float]]:
        """How many times larger than those of white errors the variances of estimates are."""
        x = np.array([*(fit.robot[name] for name in self.names[:-SIZE]), *fit.parameters])
        found = []
        for k, log in enumerate(self.logs):
            errors = [log.wrench[:, c] - self.matrices[k][c] @ x for c in range(len(CHANNELS))]
            each = [max(lasting_of(e, log.starts), 1.0 / log.band) for e in errors]
            found.append(dict(zip(CHANNELS, each, strict=True)))
        return found
