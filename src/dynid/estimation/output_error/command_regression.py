"""Joint parameters from commands by linear regression: the law's torque less that of known links, joint by joint.

Each joint's rows hold its own terms alone, so that a fit takes milliseconds, and the delay of the commands can be
searched by trying it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dynid.arrays import Array
from dynid.logs import LawForm, Log, law_torque
from dynid.model import DynamicModel

PASS = 4.0
"""Cut-off frequency of rows, in multiples of the frequency below which nearly all of the motion's power is."""

POWER = 0.99
"""Share of the power of velocities that is nearly all of it."""


@dataclass(frozen=True, eq=False)
class CommandRows:
    """A log as rows of a regression, low-passed alike on both sides.

    Attributes:
        log: The log.
        X: For each joint its terms' columns, shape (rows, terms of the joint).
        links: Torques of the known links [N m or N], shape (rows, joints).
        b: Filter coefficients of rows.
        a: The same.
        every: Every how many samples a row is kept.
        form: How the law acts.
    """

    log: Log
    X: tuple[Array, ...]
    links: Array
    b: Array
    a: Array
    every: int
    form: LawForm = "continuous"

    def torque(self, delay: float) -> Array:
        """The law's torque with commands that act later [N m or N], shape (rows, joints)."""
        log = self.log
        torque = law_torque(log.commands, log.time, log.position, log.velocity, delay, self.form)
        return filtered(torque, self.b, self.a, self.every)


def filtered(x: Array, b: Array, a: Array, every: int) -> Array:
    """Columns without what is above a cut-off frequency, without delay, and fewer rows; ends are left out."""
    from scipy.signal import filtfilt

    edge = min(len(x) // 4, 3 * every)
    return filtfilt(b, a, x, axis=0)[edge : len(x) - edge : every]


def bandwidth(log: Log) -> float:
    """Frequency [Hz] below which nearly all of the power of a log's velocities is, of the fastest joint."""
    from scipy.signal import welch

    period = float(np.median(np.diff(log.time)))
    size = min(len(log), max(64, int(4.0 / period)))
    f, power = welch(np.gradient(log.position, period, axis=0), 1.0 / period, nperseg=size, axis=0)
    share = np.cumsum(power, axis=0) / np.maximum(power.sum(axis=0), 1e-300)
    return float(max(f[np.argmax(column >= POWER)] for column in share.T))


def command_rows(log: Log, model: DynamicModel, links: Array) -> CommandRows:
    """Rows of a log.

    Args:
        log: The log, with commands.
        model: The robot with its terms.
        links: Inertial parameters of its links, shape (10 * solid links,).
    """
    from scipy.signal import butter

    period = float(np.median(np.diff(log.time)))
    nyquist = 0.5 / period
    cutoff = min(PASS * bandwidth(log), 0.4 * nyquist)
    b, a = butter(2, cutoff / nyquist)
    every = max(1, int(nyquist / (1.5 * cutoff)))
    q = log.position
    v, acceleration = _derivatives(q, log.time)
    smooth, _ = _derivatives(_smoothed(q, b, a), log.time)
    robot = model.robot
    torque = DynamicModel(robot).inverse_dynamics(q, v, acceleration, links)
    columns: list[list[Array]] = [[] for _ in range(robot.nv)]
    for term in model.terms:
        for row, _, values in term.entries(robot, q, smooth, acceleration):
            columns[row].append(np.broadcast_to(values, len(q)))
    X = tuple(filtered(np.stack(of_row, axis=1), b, a, every) for of_row in columns)
    return CommandRows(log, X, filtered(torque, b, a, every), b, a, every)


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
        values: Of each joint its terms' values; with unknown gains followed by the scale of the gains.
        squares: Sum of the squared residuals of each joint, shape (joints,).
        rows: Number of rows.
    """

    delay: float
    values: tuple[Array, ...]
    squares: Array
    rows: int


def fit_at(rows: Sequence[CommandRows], delay: float, *, scale: bool = False) -> CommandFit:
    """Fit all joints at a delay.

    Args:
        rows: The logs.
        delay: The delay of the commands [s].
        scale: Whether gains are known but for a scale of each joint: then it is estimated, last of the values.
    """
    torques = [one.torque(delay) for one in rows]
    values, squares, count = [], [], 0
    for j in range(torques[0].shape[1]):
        y = np.concatenate([torque[:, j] for torque in torques])
        known = np.concatenate([one.links[:, j] for one in rows])
        X = np.concatenate([one.X[j] for one in rows])
        weight = np.repeat([one.log.weight for one in rows], [len(torque) for torque in torques])
        left, right = (np.column_stack([X, known]), y) if scale else (X, y - known)
        theta, *_ = np.linalg.lstsq(left * weight[:, None], right * weight, rcond=None)
        residual = (right - left @ theta) * weight
        count, total = len(y), float(residual @ residual)
        if scale:  # torque = (links + terms) / scale
            size = 1.0 / theta[-1] if theta[-1] > 0.0 else np.nan
            theta = np.append(theta[:-1] * size, size)
        values.append(theta)
        squares.append(total)
    return CommandFit(delay, tuple(values), np.array(squares), count)


@dataclass(frozen=True, eq=False)
class DelayProfile:
    """Fits at several delays, and the best.

    Attributes:
        best: The best fit.
        fits: All fits, in the order of their delays.
    """

    best: CommandFit
    fits: tuple[CommandFit, ...] = field(repr=False)

    def misfit(self, fit: CommandFit) -> float:
        """How much worse than the best a fit is: mean over joints of the ratio of squared residuals, less one."""
        return float(np.mean(fit.squares / np.maximum(self.best.squares, 1e-300)) - 1.0)


def delay_profile(rows: Sequence[CommandRows], lowest: float, highest: float, *, scale: bool = False) -> DelayProfile:
    """The delay of the commands that explains the motion best, by a coarse and a fine search.

    Args:
        rows: The logs.
        lowest: Smallest delay that is tried [s].
        highest: Largest delay that is tried [s].
        scale: As in `fit_at`.
    """
    tried = {float(d): fit_at(rows, float(d), scale=scale) for d in np.linspace(lowest, highest, 13)}
    reference = min(tried.values(), key=lambda fit: float(fit.squares.sum())).squares
    for _ in range(4):
        order = sorted(tried)
        cost = [float(np.mean(tried[d].squares / np.maximum(reference, 1e-300))) for d in order]
        k = int(np.argmin(cost))
        near = order[max(0, k - 1) : k + 2]
        new = _vertex(near, [cost[order.index(d)] for d in near])
        if min(abs(new - d) for d in tried) < 1e-5:
            break
        tried[new] = fit_at(rows, new, scale=scale)
    best = min(tried.values(), key=lambda fit: float(np.mean(fit.squares / np.maximum(reference, 1e-300))))
    return DelayProfile(best, tuple(tried[d] for d in sorted(tried)))


def _vertex(x: Sequence[float], y: Sequence[float]) -> float:
    """Where the parabola through three points is lowest; the lower end's neighbourhood where there are two."""
    if len(x) < 3:
        return 0.5 * (x[0] + x[-1])
    curve = np.polyfit(np.array(x) - x[1], y, 2)
    return float(x[1] - curve[1] / (2.0 * curve[0])) if curve[0] > 0.0 else float(x[int(np.argmin(y))])
