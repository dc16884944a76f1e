"""Maximum likelihood for a motion that repeats, with noise in positions and in torques.

Positions are a trigonometric polynomial `q(t) = F(t) c` and noise, torques are `W(q, v, a) b` along it and noise. The
coefficients c of the true motion and the base parameters b minimise

    sum |q_mean - F c|^2 / var_q + sum |tau_mean - tau(F c, b)|^2 / var_tau

by Gauss-Newton, with exact derivatives of torques over positions, velocities and accelerations. What is left of a step
when c is eliminated are rows of b alone, whose covariance has the noise of positions in it.

Noise is taken as white, and independent between joints and between positions and torques. Coloured noise, as that of
drives or of feedback, leaves the estimate consistent, but standard deviations are then too small (or too large). Where
torques differ from the model by more than periods differ from each other, the model is wrong by that much: the
difference is then taken as the noise of torques, so that the motion is not bent to explain it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from dynid.arrays import Array, Flags
from dynid.estimation.least_squares import NotIdentifiableError
from dynid.logs.processing.repeated_motion import RepeatedMotion, waves
from dynid.model import BaseParameters, RowLayout, layout_slopes

SETTLED = 0.01
"""Root mean square of a step, in standard deviations of the estimate, below which an iteration has settled."""

ROUNDING_STEP = 1e-11
"""Size of a step relative to the estimate that rounding alone makes."""

ROUNDING_OF_SQUARES = 1e-14
"""What is added to the diagonal of normal equations with a diagonal of ones; the steps still lead to the minimum."""

WEAK = 1e-9
"""Singular value of the rows, with columns of unit length, below which they do not determine all parameters."""

HALVINGS = 8
"""How often a step is halved where it does not lead down."""

SIGNIFICANT_EXCESS = 4.0
"""Standard deviations by which the variance of residuals must exceed that of the noise to count as an error of the
model."""

PIECE_NUMBERS = 4_000_000
"""Numbers of rows that are in memory at a time."""


@dataclass(frozen=True, eq=False)
class PeriodicLog:
    """A log of a motion that repeats, and what counts of it.

    Attributes:
        motion: The mean motion and torques, and their noise.
        counted: Which torques count, shape (n, nv).
        fixed: Standard parameters that are not estimated, such as known ones and carried loads, shape (parameters,).
        delay: Time [s] by which torques were logged later than positions.
        weight: Factor of the log's rows.
    """

    motion: RepeatedMotion
    counted: Flags
    fixed: Array
    delay: float = 0.0
    weight: float = 1.0

    @property
    def rows(self) -> int:
        """Number of torques that count."""
        return int(np.count_nonzero(self.counts))

    @property
    def counts(self) -> Array:
        """Number of samples in each mean torque that counts, otherwise zero, shape (n, nv)."""
        return self.motion.torque_count * self.counted


@dataclass(frozen=True, eq=False)
class PeriodicEstimate:
    """An estimate by maximum likelihood.

    Attributes:
        values: Base parameters, shape (base,).
        R: Rows of them with errors of unit variance: covariance `(R' R)^-1`, shape (base, base).
        z: What these are equal to: `R b = z`, shape (base,).
        rows: Number of mean torques.
        iterations: Number of steps.
        settled: Whether the last step changed nothing any more.
        torque_stds: For each log the standard deviation of single torques that was used [N m or N], shape (nv,).
    """

    values: Array
    R: Array
    z: Array
    rows: int
    iterations: int
    settled: bool
    torque_stds: tuple[Array, ...]


def maximum_likelihood(
    base: BaseParameters,
    logs: Sequence[PeriodicLog],
    most: int = 10,
    progress: Callable[[str], None] = lambda _: None,
) -> PeriodicEstimate:
    """Estimate base parameters and true motions together.

    Args:
        base: The base parameters.
        logs: The logs.
        most: Steps at most.
        progress: Callback; receives a short description of each step.

    Raises:
        NotIdentifiableError: If the motions do not determine all parameters.
    """
    systems = [_System(base, log) for log in logs]
    rows = sum(log.rows for log in logs)
    point = _Point(
        _start(base, systems, rows), [s.measured for s in systems], [log.motion.torque_noise for log in logs]
    )
    for k in range(1, most + 1):
        progress(f"Maximum likelihood: iteration {k}")
        steps = [system.step(c, point.b, s) for system, c, s in zip(systems, point.c, point.stds, strict=True)]
        R, z = _merged([np.column_stack([step.R, step.z]) for step in steps])
        change = _solution(base, R, z, rows)
        c = [old + step.own + step.along @ change for old, step in zip(point.c, steps, strict=True)]
        b = point.b + change
        settled = np.sqrt(np.mean(z**2)) < SETTLED + ROUNDING_STEP * np.sqrt(np.mean((R @ b) ** 2))
        before, point = point, _downhill(systems, point, _Point(b, c, point.stds))
        stds = [s.grown(c, point.b, old, rows) for s, c, old in zip(systems, point.c, point.stds, strict=True)]
        grew = any((new > old).any() for new, old in zip(stds, point.stds, strict=True))
        if ((settled or point is before) and not grew) or k == most:
            return PeriodicEstimate(point.b, R, R @ point.b, rows, k, bool(settled) and not grew, tuple(point.stds))
        point = _Point(point.b, point.c, stds)
    raise AssertionError


@dataclass(frozen=True, eq=False)
class _Point:
    """Base parameters, coefficients of each log's motion, and standard deviations of its torques."""

    b: Array
    c: list[Array]
    stds: list[Array]


@dataclass(frozen=True, eq=False)
class _Step:
    """Normal equations of a step of a log's motion and of base parameters, with the motion eliminated.

    Attributes:
        R: Triangular factor of the rows of base parameters alone, shape (base, base).
        z: What these are equal to for the step of base parameters, shape (base,).
        own: Step of the motion's coefficients where base parameters stay, shape (coefficients, nv).
        along: Its change per step of base parameters, shape (coefficients, nv, base).
    """

    R: Array
    z: Array
    own: Array
    along: Array

    @staticmethod
    def of(G: Array, g: Array, shape: tuple[int, int], weight: float) -> _Step:
        """The step of normal equations G x = g, of all coefficients of the motion, joint by joint, and then of b.

        Args:
            G: Shape (m, m).
            g: Shape (m,).
            shape: Number of coefficients of a joint, and of joints.
            weight: Factor of the log's rows.
        """
        n, scale = shape[0] * shape[1], 1.0 / np.sqrt(np.maximum(np.diag(G), np.finfo(float).tiny))
        L = np.linalg.cholesky(G * np.outer(scale, scale) + ROUNDING_OF_SQUARES * np.eye(len(G)))
        right = linalg.solve_triangular(L, scale * g, lower=True)
        top = linalg.solve_triangular(L[:n, :n].T, np.column_stack([right[:n], L[n:, :n].T]))
        top *= scale[:n, None]
        own, along = top[:, 0], -top[:, 1:] / scale[n:]
        R, z = L[n:, n:].T / scale[n:], right[n:]
        by_joints = along.reshape(shape[1], shape[0], -1).swapaxes(0, 1)
        return _Step(weight * R, weight * z, own.reshape(shape[::-1]).T, by_joints)


@dataclass(frozen=True, eq=False)
class _System:
    """A log's equations, of the coefficients c, shape (2 harmonics + 1, nv), and base parameters b, shape (base,)."""

    base: BaseParameters
    log: PeriodicLog

    @cached_property
    def _of_positions(self) -> tuple[Array, Array]:
        """Triangular R and right z of positions: `R c = z`."""
        motion = self.log.motion
        root = np.sqrt(motion.position_count)[:, None]
        Q, R = np.linalg.qr(root * waves(motion.time, motion.period, motion.harmonics))
        return R, Q.T @ (root * motion.position)

    @cached_property
    def measured(self) -> Array:
        """The coefficients of measured positions alone."""
        R, z = self._of_positions
        return linalg.solve_triangular(R, z)

    @cached_property
    def _waves(self) -> tuple[Array, ...]:
        """The waves and their derivatives at the times of torques."""
        motion = self.log.motion
        times = motion.time - self.log.delay
        return tuple(waves(times, motion.period, motion.harmonics, k) for k in range(3))

    @cached_property
    def _layouts(self) -> list[RowLayout]:
        """For each joint a layout of its row alone."""
        acting = self.base.model.acting
        return [
            self.base.model.layout([own if i == j else () for i in range(len(acting))]) for j, own in enumerate(acting)
        ]

    def _standard(self, b: Array) -> Array:
        """Standard parameters that have base parameters, with what is fixed."""
        p = self.log.fixed.copy()
        p[list(self.base.columns)] += b
        return p

    def _pieces(self, width: int) -> Iterator[slice]:
        size = max(1, PIECE_NUMBERS // max(1, width * self.base.model.robot.nv))
        return (slice(k, k + size) for k in range(0, len(self.log.motion.time), size))

    def _states(self, c: Array, part: slice) -> tuple[Array, Array, Array]:
        q, v, a = (np.ascontiguousarray(F[part] @ c) for F in self._waves)
        return q, v, a

    def step(self, c: Array, b: Array, stds: Array) -> _Step:
        """The step of Gauss-Newton, linearised at coefficients and base parameters.

        Args:
            c: Coefficients of the motion.
            b: Base parameters.
            stds: Standard deviations of single torques [N m or N], shape (nv,).
        """
        size, width = len(c), c.size + len(b)
        R, z = self._of_positions
        G, g = np.zeros((width, width)), np.zeros(width)
        for j, noise in enumerate(self.log.motion.position_noise):
            own = slice(j * size, (j + 1) * size)
            G[own, own], g[own] = R.T @ R / noise**2, R.T @ (z[:, j] - R @ c[:, j]) / noise**2
        for part in self._pieces(width):
            for rows in self._torque_rows(c, b, stds, part):
                G += rows[:, :-1].T @ rows[:, :-1]
                g += rows[:, :-1].T @ rows[:, -1]
        return _Step.of(G, g, c.shape, self.log.weight)

    def _torque_rows(self, c: Array, b: Array, stds: Array, part: slice) -> Iterator[Array]:
        """Rows `[d tau / d c | W | error]` of each joint, of unit variance."""
        q, v, a = self._states(c, part)
        size, p, count = len(c), self._standard(b), len(q)
        own_rows = self.own_rows(c, stds, part)
        for i, (layout, acting) in enumerate(zip(self._layouts, self.base.model.acting, strict=True)):
            kept, root, own = own_rows[i]
            rows = np.zeros((len(root), c.size + len(b) + 1))
            cotangents = [
                np.broadcast_to(p[acting], (count, len(acting))) if k == i else np.zeros((count, 0))
                for k in range(len(self._layouts))
            ]
            slopes = layout_slopes(layout, q, v, a, cotangents)
            for j in range(c.shape[1]):
                block = rows[:, j * size : (j + 1) * size]
                for F, slope in zip(self._waves, slopes, strict=True):
                    if (along := slope[kept, j]).any():
                        block += (root * along)[:, None] * F[part][kept]
            rows[:, c.size :] = own
            rows[:, -1] -= own[:, :-1] @ b
            yield rows

    def own_rows(self, c: Array, stds: Array, part: slice) -> list[tuple[Flags, Array, Array]]:
        """For each joint which samples count, the weights of these, and weighted rows `[W | y]` of base parameters."""
        W = self.base.model.regressor(*self._states(c, part))
        y = self.log.motion.torque[part].T - W @ self.log.fixed
        found = []
        for i, count in enumerate(self.log.counts[part].T):
            kept = count > 0.0
            root = np.sqrt(count[kept]) / stds[i]
            rows = np.column_stack([W[i][kept][:, list(self.base.columns)], y[i][kept]])
            found.append((kept, root, root[:, None] * rows))
        return found

    def squares(self, c: Array, b: Array, stds: Array) -> tuple[float, Array]:
        """Sum of squared errors of positions, and of torques by joint, shape (nv,), both of unit variance."""
        R, z = self._of_positions
        of_positions = float(np.sum(((z - R @ c) / self.log.motion.position_noise) ** 2))
        of_torques = np.zeros(c.shape[1])
        for part in self._pieces(len(self.log.fixed)):
            for i, (_, _, rows) in enumerate(self.own_rows(c, stds, part)):
                of_torques[i] += np.sum((rows[:, -1] - rows[:, :-1] @ b) ** 2)
        return of_positions, of_torques

    def grown(self, c: Array, b: Array, stds: Array, rows: int) -> Array:
        """Standard deviations of torques, larger where residuals are: the model is wrong there, shape (nv,).

        Args:
            c: Coefficients of the motion.
            b: Base parameters.
            stds: The present ones.
            rows: Number of rows of all logs.
        """
        count = np.maximum(np.count_nonzero(self.log.counts, axis=0), 1)
        _, squares = self.squares(c, b, stds)
        ratio = squares / count * rows / max(rows - len(b), 1)
        chance = np.sqrt(2.0 / count * (1.0 + 1.0 / max(self.log.motion.periods - 1, 1)))
        return stds * np.sqrt(np.where(ratio > 1.0 + SIGNIFICANT_EXCESS * chance, ratio, 1.0))


def _start(base: BaseParameters, systems: Sequence[_System], rows: int) -> Array:
    """Base parameters of weighted least squares along measured motions, shape (base,)."""
    parts = []
    for system in systems:
        for part in system._pieces(len(system.log.fixed)):
            of_joints = system.own_rows(system.measured, system.log.motion.torque_noise, part)
            parts.append(_triangular(system.log.weight * np.concatenate([own for _, _, own in of_joints])))
    return _solution(base, *_merged(parts), rows)


def _downhill(systems: Sequence[_System], old: _Point, new: _Point) -> _Point:
    """The new point, or the first on the way back to the old one at which errors are smaller; else the old one."""

    def cost(point: _Point) -> float:
        found = 0.0
        for system, c, stds in zip(systems, point.c, point.stds, strict=True):
            of_positions, of_torques = system.squares(c, point.b, stds)
            found += system.log.weight**2 * (of_positions + float(of_torques.sum()))
        return found

    before = cost(old)
    for _ in range(HALVINGS):
        if cost(new) <= before * (1.0 + 1e-9):
            return new
        c = [0.5 * (one + other) for one, other in zip(old.c, new.c, strict=True)]
        new = _Point(0.5 * (old.b + new.b), c, new.stds)
    return old


def _triangular(rows: Array) -> Array:
    """The square triangular factor of rows, shape (columns, columns)."""
    R = np.asarray(np.linalg.qr(rows, mode="r"))
    missing = rows.shape[1] - len(R)
    return np.concatenate([R, np.zeros((missing, rows.shape[1]))]) if missing else R


def _merged(parts: Sequence[Array]) -> tuple[Array, Array]:
    """Triangular R and right z of several rows `[R | z]`."""
    whole = _triangular(np.concatenate(parts))
    n = whole.shape[1] - 1
    return whole[:n, :n], whole[:n, n]


def _solution(base: BaseParameters, R: Array, z: Array, rows: int) -> Array:
    """The base parameters with `R b = z`, shape (base,).

    Raises:
        NotIdentifiableError: If R does not determine all of them.
    """
    scale = np.linalg.norm(R, axis=0)
    scaled = R / np.where(scale > 0.0, scale, 1.0)
    s, V = np.linalg.svd(scaled)[1:]
    if s[-1] < WEAK * s[0]:
        weak = np.linalg.norm(V[s < WEAK * s[0]], axis=0)
        names = tuple(base.names[k] for k in np.argsort(-weak) if weak[k] > 0.3 * weak.max())
        raise NotIdentifiableError(names, rows, "the periodic motion does not determine all parameters")
    return linalg.solve_triangular(scaled, z) / scale
