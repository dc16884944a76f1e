"""Joint parameters from commands by linear regression: the law's torque less that of known links, joint by joint.

Each joint's rows hold its own terms alone, so that a fit takes milliseconds, and the delay of the commands can be
searched by trying it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dynid.arrays import Array, Flags, Indices
from dynid.logs import LawForm, Log, law_torque
from dynid.model import DynamicModel, Sign
from dynid.model.terms import GearFriction

PASS = 3.5
"""Cut-off frequency of rows, in multiples of the frequency below which nearly all of the motion's power is."""

MOTION_POWER = 0.9999
"""Share of the power of positions that is nearly all of it. Velocities would show more of noise than of motion."""


MOVES_LITTLE = 0.02
"""Range of a joint's positions, over that of the joint that moves most, below which it does not count as moving."""


@dataclass(frozen=True, eq=False)
class CommandRows:
    """A log as rows of a regression, low-passed alike on both sides.

    Attributes:
        log: The log.
        X: For each joint its terms' columns, shape (rows, terms of the joint).
        columns: For each joint which of the terms' parameters these are.
        links: Torques of the known links, and what motors lose with speed [N m or N], shape (rows, joints).
        b: Filter coefficients of rows.
        a: The same.
        every: Every how many samples a row is kept.
        parameters: Number of the terms' parameters, known ones among them.
        bounded: Which of them must not be negative: those of loaded gears, which stand in for each other, shape
            (parameters,).
    """

    log: Log
    X: tuple[Array, ...]
    columns: tuple[Indices, ...]
    links: Array
    b: Array
    a: Array
    every: int
    parameters: int
    bounded: Flags

    def torque(self, delay: float, form: LawForm = "continuous") -> Array:
        """The law's torque with commands that act later [N m or N], shape (rows, joints); without back-EMF."""
        log = self.log
        commands = replace(log.commands, back_emf=None)
        torque = law_torque(commands, log.time, log.position, log.velocity, delay, form)
        return filtered(torque, self.b, self.a, self.every)


def filtered(x: Array, b: Array, a: Array, every: int) -> Array:
    """Columns without what is above a cut-off frequency, without delay, and fewer rows; ends are left out."""
    from scipy.signal import filtfilt

    edge = min(len(x) // 4, 3 * every)
    return filtfilt(b, a, x, axis=0)[edge : len(x) - edge : every]


def bandwidth(log: Log) -> float:
    """Frequency [Hz] below which nearly all of the power of a log's positions is, the median of joints that move."""
    from scipy.signal import welch

    period = float(np.median(np.diff(log.time)))
    size = min(len(log), max(64, int(4.0 / period)))
    f, power = welch(log.position, 1.0 / period, nperseg=size, axis=0)
    share = np.cumsum(power, axis=0) / np.maximum(power.sum(axis=0), 1e-300)
    moves = np.ptp(log.position, axis=0) > MOVES_LITTLE * np.ptp(log.position, axis=0).max(initial=0.0)
    return float(np.median([f[np.argmax(column >= MOTION_POWER)] for column in share.T[moves]])) if moves.any() else 0.0


def command_rows(log: Log, model: DynamicModel, links: Array, known: Mapping[int, float] | None = None) -> CommandRows:
    """Rows of a log.

    Args:
        log: The log, with commands.
        model: The robot with its terms.
        links: Inertial parameters of its links, shape (10 * solid links,).
        known: Values of terms' parameters that are known, by their indices; none when None.
    """
    from scipy.signal import butter

    period = float(np.median(np.diff(log.time)))
    nyquist = 0.5 / period
    cutoff = min(max(PASS * bandwidth(log), 0.01 * nyquist), 0.4 * nyquist)
    b, a = (np.asarray(part, dtype=float) for part in butter(2, cutoff / nyquist)[:2])  # type: ignore[index]
    every = max(1, int(nyquist / (1.5 * cutoff)))
    q = log.position
    v, acceleration = _derivatives(q, log.time)
    smooth, _ = _derivatives(_smoothed(q, b, a), log.time)
    robot = model.robot
    torque = DynamicModel(robot).inverse_dynamics(q, v, acceleration, links)
    if log.back_emf is not None:
        torque = torque + log.back_emf * smooth
    entries: list[dict[int, Array]] = [{} for _ in range(robot.nv)]
    first, motor = 0, law_torque(log.commands, log.time, q, smooth)
    for stated in model.terms:
        term = stated.with_links(links).with_motor_torque(motor) if stated.needs_links else stated
        for row, column, values in term.entries(robot, q, smooth, acceleration):
            if known is not None and first + column in known:
                torque[:, row] += known[first + column] * values
            else:
                entries[row][first + column] = np.broadcast_to(values, len(q))
        first += len(term.parameters(robot))
    none = np.zeros((len(q), 0))
    signs = np.array([one.sign is Sign.NONNEGATIVE for term in model.terms for one in term.parameters(robot)])
    is_loaded = any(isinstance(term, GearFriction) for term in model.terms)
    X = tuple(filtered(np.stack([*of_row.values()], axis=1) if of_row else none, b, a, every) for of_row in entries)
    columns = tuple(np.array([*of_row], dtype=np.intp) for of_row in entries)
    bounded = signs if is_loaded else np.zeros(len(signs), dtype=bool)
    return CommandRows(log, X, columns, filtered(torque, b, a, every), b, a, every, first, bounded)


def _derivatives(q: Array, time: Array) -> tuple[Array, Array]:
    """Velocities and accelerations of positions by differences that have no delay, at uneven stamps, too."""
    h = np.diff(time)[:, None]
    slope = np.diff(q, axis=0) / h
    v, a = np.empty_like(q), np.empty_like(q)
    v[1:-1] = (slope[1:] * h[:-1] + slope[:-1] * h[1:]) / (h[1:] + h[:-1])
    a[1:-1] = 2.0 * np.diff(slope, axis=0) / (h[1:] + h[:-1])
    v[0], v[-1], a[0], a[-1] = slope[0], slope[-1], a[1], a[-2]
    return v, a


def _smoothed(q: Array, b: Array, a: Array) -> Array:
    from scipy.signal import filtfilt

    return filtfilt(b, a, q, axis=0)


@dataclass(frozen=True, eq=False)
class CommandFit:
    """A fit of all joints at one delay.

    Attributes:
        delay: The delay of the commands [s].
        values: Values of the terms' parameters, in their order, shape (terms,).
        stds: Their standard deviations, with residuals that are correlated in time.
        scales: True gains over stated ones, shape (joints,): estimated, or ones.
        relative_error: Norm of the residuals over the norm of the torques, of each joint, shape (joints,).
    """

    delay: float
    values: Array
    stds: Array
    scales: Array
    relative_error: Array


def fit_at(
    rows: Sequence[CommandRows], delay: float, form: LawForm = "continuous", *, scale: bool = False
) -> CommandFit:
    """Fit all joints at a delay.

    Args:
        rows: The logs.
        delay: The delay of the commands [s].
        form: How the law acts.
        scale: Whether gains are known but for a scale of each joint: then it is estimated.
    """
    torques = [one.torque(delay, form) for one in rows]
    size = rows[0].parameters
    values, stds = np.zeros(size), np.zeros(size)
    scales, errors = np.ones(len(rows[0].columns)), np.zeros(len(rows[0].columns))
    weight = np.repeat([one.log.weight for one in rows], [len(torque) for torque in torques])
    starts = np.cumsum([0, *(len(torque) for torque in torques)])
    for j, columns in enumerate(rows[0].columns):
        y = np.concatenate([torque[:, j] for torque in torques]) * weight
        known = np.concatenate([one.links[:, j] for one in rows]) * weight
        X = np.concatenate([one.X[j] for one in rows]) * weight[:, None]
        X, right = (np.column_stack([X, known]), y) if scale else (X, y - known)
        theta = _solved(X, right, np.concatenate([rows[0].bounded[columns], np.zeros(int(scale), dtype=bool)]))
        residual = right - X @ theta
        spread = _spread(X, residual, starts)
        errors[j] = np.linalg.norm(residual) / max(float(np.linalg.norm(y)), 1e-300)
        if scale and theta[-1] > 0.0:  # torque = (links + terms) / scale
            scales[j] = 1.0 / theta[-1]
            theta, spread = theta[:-1] * scales[j], spread[:-1] * scales[j]
        values[columns], stds[columns] = theta[: len(columns)], spread[: len(columns)]
    return CommandFit(delay, values, stds, scales, errors)


def _solved(X: Array, y: Array, bounded: Flags) -> Array:
    """Least squares with columns of which some must not be negative, shape (columns,)."""
    theta, *_ = np.linalg.lstsq(X, y, rcond=None)
    if not (theta[bounded] < 0.0).any():
        return np.asarray(theta, dtype=np.float64)
    from scipy.optimize import lsq_linear

    sizes = np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    found = lsq_linear(X / sizes, y, (np.where(bounded, 0.0, -np.inf), np.inf))
    return np.asarray(found.x, dtype=np.float64) / sizes


SPREAD_BLOCKS = 20
"""Blocks of time of each log, within which residuals may be correlated."""


def _spread(X: Array, residual: Array, starts: Array) -> Array:
    """Standard deviations of a fit whose residuals are correlated within blocks of time, shape (columns,)."""
    A = np.linalg.pinv(X.T @ X)
    edges = np.concatenate([np.linspace(a, b, SPREAD_BLOCKS + 1).astype(int)[:-1] for a, b in pairwise(starts)])
    sums = np.add.reduceat(X * residual[:, None], edges, axis=0)
    return np.sqrt(np.maximum(np.diag(A @ (sums.T @ sums) @ A), 0.0) * len(edges) / max(len(edges) - X.shape[1], 1))
