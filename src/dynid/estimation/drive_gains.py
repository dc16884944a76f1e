"""Drive gains from currents with and without a known load.

With the currents C of the motors, unknown gains g and base parameters b, rows of logs are

    C g = W b                       without a load,
    C g = W (b + B u) + W b_load    with a load, of which b_load is known and u is not

(Gautier and Briot, "Global identification of drive gains parameters of robots using a known payload", ICRA 2012). The
known load sets the scale. Errors are in the currents, which multiply unknowns, so that ordinary least squares would
draw gains towards zero. Two ways that do not:

- total least squares: errors in the columns C alone, of the size that each joint's own currents show; a generalised
  eigenvalue problem.
- constrained least squares: the currents are explained, C = (W b + ...) / g, with the load's parameters held at their
  known values; Gauss-Newton in the logarithms of the gains, which is maximum likelihood for normal errors.

The textbook's ordinary least squares, with the known torques on the right, is there for comparison.

Everything is computed from triangles as small as the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.arrays import Array, Flags, Indices
from dynid.errors import DynidError
from dynid.estimation.current_rows import CurrentRows, Rows
from dynid.estimation.quantiles import student_quantile

GainMethod = Literal["constrained", "total", "linear"]


@dataclass(frozen=True)
class GainThresholds:
    """When a gain counts as determined, and what its standard deviation rests on.

    Shown by `benchmarks/drive_gains.py`: simulated arms whose true gains are known, and the log of a UR10e.
    """

    relative_std: float = 0.03
    """Standard deviation of a gain, relative to it, above which it is said to be undetermined: the constant of a data
    sheet is then as good, which states 10 % as its limits, or three standard deviations. Chosen on the UR10e, whose
    first joint has 4.4 % and the others at most 1.9 %."""

    largest_correlation: float = 0.8
    """Correlation of neighbouring blocks that is taken into account at most: beyond it errors last as long as logs."""

    fewest_blocks: int = 8
    """Blocks below which the errors are taken as white."""


GAIN_THRESHOLDS = GainThresholds()

SMALLEST_ERROR = 1e-9
"""Errors of currents are taken as no smaller than this part of them, so that rows without errors have a weight."""

PASSES = 60
"""Most passes of a search for gains; most need ten."""

FIRST_PASSES = 4
"""Passes in which all rows count the same, relative to their torques: weights by errors of gains that are far off would
hold these where they are."""


class NoScaleError(DynidError):
    """Nothing known sets the scale of gains."""


@dataclass(frozen=True, eq=False)
class GainEstimate:
    """Gains of drives, with the parameters that were estimated beside them.

    Attributes:
        gains: Torque per unit of current of each motor [N m/A or N/A], shape (motors,); NaN where undetermined.
        relative_covariance: Covariance of the logarithms of the gains, shape (motors, motors); NaN where undetermined.
        relative_stds: Standard deviations of each gain relative to it, also where that makes it undetermined; infinite
            where nothing determines it. Shape (motors,).
        determined: Which are determined, shape (motors,).
        base: Values of the base parameters, shape (base,); those that the rows of determined joints show.
        load: Values of unknown parameters of loads by the load's name, each of shape (free,).
        blocks: Blocks of time that standard deviations rest on; fewer than `fewest_blocks` where errors count as white.
        errors: Root mean square errors of each log and joint in units of current, shape (logs, joints).
        method: How they were estimated.
        information: What the data say of base parameters once gains are free: the triangle R of shape (k, base) of
            `|R (b - base)|^2`, in squared standard deviations of errors as large as blocks of time show.
        slopes: Change of the logarithms of gains for base parameters other than the estimate, shape (motors, base).
    """

    gains: Array
    relative_covariance: Array
    relative_stds: Array
    determined: Flags
    base: Array
    load: dict[str, Array]
    blocks: int
    errors: Array
    method: GainMethod
    information: Array
    slopes: Array

    @property
    def stds(self) -> Array:
        """Standard deviations of the gains, shape (motors,); NaN where undetermined."""
        return np.abs(self.gains) * np.sqrt(np.diag(self.relative_covariance))

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends of confidence intervals, each of shape (motors,)."""
        freedom = self.blocks - 1 if self.blocks >= GAIN_THRESHOLDS.fewest_blocks else 10_000
        half = student_quantile(freedom, 0.5 + confidence / 2) * self.stds
        return self.gains - half, self.gains + half


def estimate_gains(logs: Sequence[CurrentRows], method: GainMethod = "constrained") -> GainEstimate:
    """Estimate the gains of drives from logs with and without known loads.

    Args:
        logs: The rows of each log.
        method: Constrained or total least squares; or ordinary least squares of `C g - W b - F u = d`, whose gains are
            too small where currents have errors.

    Raises:
        NoScaleError: If no log carries a load of which something is known, or it has no effect on any joint.
    """
    motors = len(logs[0].ratios)
    kept, weak, best = np.ones(motors, dtype=bool), np.full(motors, np.inf), np.inf
    while kept.any():
        system = _System.of(logs, kept)
        if not any(rows.d.any() for rows in system.rows):
            break
        found = _constrained(system, _first(system))
        stds = np.sqrt(np.diag(_relative_covariance(system, found)[0]))
        lost, best = kept & ~(stds <= GAIN_THRESHOLDS.relative_std), min(best, float(np.nanmin(stds[kept])))
        if not lost.any():
            if method == "total":
                found = _total(system, found)
            elif method == "linear":
                found = _linear(system, found)
            return _estimate(system, found, kept, np.where(kept, stds, weak), method)
        lost &= ~(stds < stds[lost].max())  # one at a time: others may be determined without its rows
        weak = np.where(lost, np.minimum(stds, weak), weak)
        kept = kept & ~lost
    known = f"the best has a standard deviation of {best:.1%}" if np.isfinite(best) else "the known load has no effect"
    raise NoScaleError(
        f"the logs determine no drive gain: {known}; record longer, with a heavier load, and in postures in which its "
        "weight acts on all joints"
    )


@dataclass(frozen=True, eq=False)
class _System:
    """Rows of all logs and joints that count, one entry each.

    Attributes:
        rows: The rows.
        X: For each, the columns of base parameters and of the loads' unknown ones.
        log: Its log.
        joint: Its joint.
        counts: Number of samples that it stands for, shape (entries,).
        logs: The logs.
        free: Where the unknown parameters of each load stand among the columns of X.
        kept: Which motors count, shape (motors,).
    """

    rows: tuple[Rows, ...]
    X: tuple[Array, ...]
    log: Indices
    joint: Indices
    counts: Array
    logs: Sequence[CurrentRows]
    free: dict[str, slice]
    kept: Flags

    @staticmethod
    def of(logs: Sequence[CurrentRows], kept: Flags) -> _System:
        places, width = _places(logs)
        rows, X, number, joints, counts = [], [], [], [], []
        for k, log in enumerate(logs):
            for j, own in enumerate(log.joints):
                acting = np.flatnonzero(log.ratios[:, j])
                if log.counts[j].sum() and kept[acting].all():
                    rows.append(own)
                    X.append(_columns(log, own, places, width))
                    number.append(k)
                    joints.append(j)
                    counts.append(log.counts[j].sum())
        places_in_rows = np.array(number, dtype=int), np.array(joints, dtype=int), np.array(counts, dtype=float)
        return _System(tuple(rows), tuple(X), *places_in_rows, logs, places, kept)

    @property
    def ratios(self) -> Array:
        """Joint torque per motor torque, shape (motors, joints)."""
        return self.logs[0].ratios


def _places(logs: Sequence[CurrentRows]) -> tuple[dict[str, slice], int]:
    """Where the unknown parameters of each load stand among all columns, and how many columns there are."""
    places, width = {}, len(logs[0].base.names)
    for log in logs:
        if log.load is not None and log.load.name not in places:
            places[log.load.name] = slice(width, width + log.load.free.shape[1])
            width += log.load.free.shape[1]
    return places, width


def _columns(log: CurrentRows, rows: Rows, places: dict[str, slice], width: int) -> Array:
    X = np.zeros((len(rows.W), width))
    X[:, : rows.W.shape[1]] = rows.W
    if log.load is not None:
        X[:, places[log.load.name]] = rows.F
    return X


@dataclass(frozen=True, eq=False)
class _State:
    """Gains, with all that follows from them at their weights.

    Attributes:
        gains: The gains, shape (motors,).
        weights: One over the size of errors of each entry [1/N m].
        beta: Best other parameters, shape (columns,).
        errors: `C g - X beta - d` of each entry.
        squares: Sum of squares of each, shape (entries,).
        shares: Share of each motor in the errors of each entry, shape (entries, motors).
    """

    gains: Array
    weights: Array
    beta: Array
    errors: list[Array]
    squares: Array
    shares: Array
    basis: Array
    coefficients: Array


def _state(system: _System, gains: Array, weights: Array) -> _State:
    """Solve for everything but the gains."""
    X = np.concatenate([w * x for w, x in zip(weights, system.X, strict=True)])
    y = np.concatenate([w * (r.C @ gains - r.d) for w, r in zip(weights, system.rows, strict=True)])
    sizes = np.linalg.norm(X, axis=0)
    sizes[sizes == 0.0] = 1.0
    U, S, V = np.linalg.svd(X / sizes, full_matrices=False)
    good = 1e-9 * S[0] < S
    U, inverse = U[:, good], (V[good].T / S[good]) / sizes[:, None]
    beta = inverse @ (U.T @ y)
    errors = [r.C @ gains - r.d - x @ beta for r, x in zip(system.rows, system.X, strict=True)]
    squares = np.array([float(e @ e) for e in errors])
    floor = [SMALLEST_ERROR**2 * float(np.sum((r.C @ gains) ** 2)) for r in system.rows]
    squares = np.maximum(squares, np.maximum(floor, 1e-300))
    shares = _shares(system, gains, squares)
    return _State(gains, weights, beta, errors, squares, shares, U, inverse)


def _shares(system: _System, gains: Array, squares: Array) -> Array:
    """Share of each motor in the errors of each entry; 1 where one motor acts on a joint."""
    N = system.ratios
    acting = (N[:, system.joint] != 0.0).T.astype(float)
    if (acting.sum(axis=1) == 1.0).all():
        return acting
    shares = np.zeros(acting.shape)
    for k in np.unique(system.log):
        own = np.flatnonzero(system.log == k)
        M = (N[:, system.joint[own]].T * gains) ** 2
        variances = np.maximum(np.linalg.lstsq(M, squares[own] / system.counts[own], rcond=1e-9)[0], 0.0)
        parts = M * variances
        parts = np.where(parts.sum(axis=1, keepdims=True) > 0.0, parts, M)
        shares[own] = parts / parts.sum(axis=1, keepdims=True)
    return shares


def _predicted(system: _System, state: _State) -> Array:
    """Derivatives of weighted errors over logarithms of gains: torques that motors should make, (rows, motors)."""
    return np.concatenate(
        [
            w * (r.C * state.gains - share * e[:, None])
            for w, r, e, share in zip(state.weights, system.rows, state.errors, state.shares, strict=True)
        ]
    )


def _first(system: _System) -> Array:
    """Gains to begin with: each joint for itself, whose current is explained by its own columns and the known load."""
    N = system.ratios
    gains = np.zeros(len(N))
    for j in np.unique(system.joint):
        own = np.flatnonzero(system.joint == j)
        X = np.concatenate([np.column_stack([system.X[k], system.rows[k].d]) for k in own])
        y = np.concatenate([system.rows[k].C.sum(axis=1) for k in own])
        sizes = np.linalg.norm(X, axis=0)
        sizes[sizes == 0.0] = 1.0
        inverse_gain = np.linalg.lstsq(X / sizes, y, rcond=1e-9)[0][-1] / sizes[-1]
        if inverse_gain:
            gains[j] = 1.0 / inverse_gain
    coupled = ((N != 0.0).sum(axis=0) > 1)[None, :] & (N != 0.0)
    if coupled.any():
        gains = np.where(coupled.any(axis=1), _together(system), gains)
    known = gains[system.kept & (gains != 0.0)]
    typical = float(np.median(np.abs(known))) if len(known) else 1.0
    far = (np.abs(gains) < 0.01 * typical) | (np.abs(gains) > 100.0 * typical)
    return np.where(far, typical, gains)


def _together(system: _System) -> Array:
    """Gains of all motors by ordinary least squares, where several act on one joint, shape (motors,)."""
    A = np.concatenate([np.column_stack([r.C, -x]) for r, x in zip(system.rows, system.X, strict=True)])
    sizes = np.linalg.norm(A, axis=0)
    sizes[sizes == 0.0] = 1.0
    solution = np.linalg.lstsq(A / sizes, np.concatenate([r.d for r in system.rows]), rcond=1e-10)[0]
    return (solution / sizes)[: len(system.ratios)]


def _constrained(system: _System, gains: Array) -> _State:
    """Gauss-Newton in the logarithms of gains, with weights by the errors of the pass before."""
    weights = 1.0 / np.array([max(np.linalg.norm(r.C @ gains), 1e-300) for r in system.rows])
    state = _state(system, gains, weights)
    for k in range(PASSES):
        if k >= FIRST_PASSES:
            state = _state(system, state.gains, np.sqrt(system.counts / state.squares))
        F = _predicted(system, state)
        F = F - state.basis @ (state.basis.T @ F)
        e = np.concatenate([w * e for w, e in zip(state.weights, state.errors, strict=True)])
        step = -_inverse(F.T @ F) @ (F.T @ e)
        step = np.clip(step, -0.5, 0.5)
        state = _state(system, state.gains * (1.0 + step), state.weights)
        if k > FIRST_PASSES and np.abs(step).max(initial=0.0) < 1e-11:
            break
    return state


def _inverse(G: Array) -> Array:
    """Inverse of an information matrix; directions that have none are left where they are."""
    values, vectors = np.linalg.eigh(G)
    good = values > max(1e-12 * values[-1], 1e-6)  # a relative standard deviation of 1000
    return (vectors[:, good] / values[good]) @ vectors[:, good].T


def _total(system: _System, state: _State) -> _State:
    """Total least squares: errors in the columns of currents alone, of sizes that each joint's own fit shows."""
    kept = np.flatnonzero(system.kept)
    gains = state.gains
    for _ in range(PASSES):
        sizes = _own_errors(system, gains)
        shares = _shares(system, gains, system.counts * sizes**2)
        before = _state(system, gains, 1.0 / sizes)
        A = np.concatenate(
            [w * np.column_stack([r.C[:, kept], -r.d]) for w, r in zip(before.weights, system.rows, strict=True)]
        )
        A = A - before.basis @ (before.basis.T @ A)
        noise = (system.counts @ shares)[kept] / gains[kept] ** 2  # rows have errors of unit variance
        S = np.asarray(np.linalg.qr(A, mode="r"))
        new = gains.copy()
        new[kept] = _smallest(S.T @ S, noise)
        if not np.isfinite(new).all() or not new[kept].all():
            break
        change = np.abs(new[kept] / gains[kept] - 1.0).max()
        gains = new
        if change < 1e-11:
            break
    return _state(system, gains, np.sqrt(system.counts / _state(system, gains, state.weights).squares))


def _linear(system: _System, state: _State) -> _State:
    """Ordinary least squares with the known torques on the right, at the weights of the constrained estimate."""
    C, d = (
        np.concatenate([w * getattr(r, key) for w, r in zip(state.weights, system.rows, strict=True)]) for key in "Cd"
    )
    C = C - state.basis @ (state.basis.T @ C)
    gains = np.asarray(np.linalg.lstsq(C, d - state.basis @ (state.basis.T @ d), rcond=1e-12)[0], dtype=float)
    return _state(system, gains, state.weights)


def _smallest(M: Array, noise: Array) -> Array:
    """The vector x = (g, 1) of smallest `x' M x / g' diag(noise) g`, without its last element, shape (gains,)."""
    scale = 1.0 / np.sqrt(noise)
    H, h, rest = M[:-1, :-1] * scale * scale[:, None], M[:-1, -1] * scale, M[-1, -1]
    _, vectors = np.linalg.eigh(H - np.outer(h, h) / rest)  # the best multiple of the known column is taken off
    g = vectors[:, 0] * scale
    return g * (-rest / (M[:-1, -1] @ g))


def _own_errors(system: _System, gains: Array) -> Array:
    """Root mean square of what its own columns and the load leave of each entry's torque [N m], shape (entries,)."""
    found = np.zeros(len(system.rows))
    for k, (r, x) in enumerate(zip(system.rows, system.X, strict=True)):
        y, x = r.C @ gains, np.column_stack([x, r.d])
        sizes = np.linalg.norm(x, axis=0)
        x = x[:, sizes > 0.0] / sizes[sizes > 0.0]
        solution, _, rank, _ = np.linalg.lstsq(x, y, rcond=1e-9)
        left = y - x @ solution
        size = np.sqrt(left @ left / max(system.counts[k] - rank, 1.0))
        found[k] = max(size, SMALLEST_ERROR * np.sqrt(y @ y / system.counts[k]), 1e-300)
    return found


def _relative_covariance(system: _System, state: _State) -> tuple[Array, int, float]:
    """Covariance of the logarithms of gains (infinite where nothing is known), blocks that it rests on, dispersion."""
    F = _predicted(system, state)
    own = F - state.basis @ (state.basis.T @ F)
    values, vectors = np.linalg.eigh(own.T @ own)
    good = values > max(1e-12 * values[-1], 1e-6)
    covariance = white = (vectors[:, good] / values[good]) @ vectors[:, good].T
    lost = (vectors[:, ~good] ** 2).sum(axis=1) > 1e-9
    changes = _changes(system, state, F)
    blocks = sum(map(len, changes))
    if blocks >= GAIN_THRESHOLDS.fewest_blocks:
        covariance = _spread(changes)
    known = system.kept & ~lost
    dispersion = float(np.mean(np.diag(covariance)[known] / np.diag(white)[known])) if known.any() else 1.0
    covariance[lost, lost] = np.inf
    return covariance, blocks, max(dispersion, 1.0)


def _changes(system: _System, state: _State, F: Array) -> list[Array]:
    """How the logarithms of gains change when a block of time is left out, shape (blocks, motors), for each group.

    To first order, with the information of the other blocks: blocks that few others can replace count in full.
    """
    n, motors = len(system.logs[0].base.names), len(system.ratios)
    U, K = state.basis, state.coefficients
    whole = np.block([[F.T @ F, -F.T @ U], [-U.T @ F, np.eye(U.shape[1])]])
    found: dict[int, tuple[Array, Array]] = {}
    for number, log in enumerate(system.logs):
        count, width = len(log.triangles[0]), len(whole)
        grams, moments = found.setdefault(log.group, (np.zeros((count, width, width)), np.zeros((count, width))))
        u = slice(n, n) if log.load is None else system.free[log.load.name]
        for entry in np.flatnonzero(system.log == number):
            j, w = system.joint[entry], state.weights[entry]
            acting, rows = np.flatnonzero(system.ratios[:, j]), np.concatenate(log.triangles[j])
            C = rows[:, rows.shape[1] - len(acting) :] * state.gains[acting]
            e = C.sum(axis=1) - rows @ log.combined(j, state.beta[:n], state.beta[u], known=True)
            J = np.zeros((len(rows), width))
            J[:, motors:] = -w * (rows @ log.combined(j, K[:n], K[u], known=False))
            J[:, acting] = w * (C - state.shares[entry, acting] * e[:, None])
            ends = np.cumsum([0, *map(len, log.triangles[j])])
            for b in range(count):
                part = J[ends[b] : ends[b + 1]]
                grams[b] += part.T @ part
                moments[b] += part.T @ (w * e[ends[b] : ends[b + 1]])
    ridge = 1e-9 * np.diag(np.maximum(np.diag(whole), 1e-3))  # what no other block shows stays where it is
    solved = (np.linalg.solve(whole - G + ridge, m[..., None])[..., 0] for G, m in found.values())
    return [np.asarray(each[:, :motors], dtype=float) for each in solved]


def _spread(changes: Sequence[Array]) -> Array:
    """Covariance by the jackknife, of blocks of which neighbours may be correlated.

    The lag-one correlation is that of all motors together, and variances are larger by (1 + r) / (1 - r), as of a
    first-order autoregression: kernels over several lags are too uncertain, and too small, with a hundred blocks.
    """
    blocks = sum(map(len, changes))
    total = np.asarray(sum(own.T @ own for own in changes))
    cross = np.sum([np.sum(own[:-1] * own[1:], axis=0) for own in changes], axis=0)
    sizes = np.diag(total)
    known = sizes > 0.0
    r = float(np.mean(cross[known] / sizes[known])) if known.any() else 0.0
    r += 1.0 / blocks  # changes sum to zero, which makes neighbours look less alike
    r = min(max(r, 0.0), GAIN_THRESHOLDS.largest_correlation)
    return (blocks - 1.0) / blocks * (1.0 + r) / (1.0 - r) * total


def _estimate(system: _System, state: _State, kept: Flags, stds: Array, method: GainMethod) -> GainEstimate:
    """The estimate of gains, and what the data say of base parameters once they are free."""
    covariance, blocks, dispersion = _relative_covariance(system, state)
    covariance = np.where(np.outer(kept, kept), covariance, np.nan)
    log = system.logs[0]
    n = len(log.base.names)
    errors = np.full((len(system.logs), len(log.triangles)), np.nan)
    for k, (number, joint) in enumerate(zip(system.log, system.joint, strict=True)):
        size = np.sqrt(np.sum((system.ratios[:, joint] * state.gains) ** 2))
        errors[number, joint] = np.sqrt(state.squares[k] / system.counts[k]) / size
    X = np.concatenate([w * x for w, x in zip(state.weights, system.X, strict=True)])
    F = _predicted(system, state)[:, kept]
    A = np.column_stack([F, -X[:, n:], -X[:, :n]])  # errors = F log g - X beta
    R = np.asarray(np.linalg.qr(A, mode="r"))
    first = A.shape[1] - n
    slopes = np.zeros((len(kept), n))
    slopes[kept] = -np.linalg.lstsq(R[:first, :first], R[:first, first:], rcond=1e-9)[0][: kept.sum()]
    loads = {name: state.beta[place] for name, place in system.free.items()}
    return GainEstimate(
        gains=np.where(kept, state.gains, np.nan),
        relative_covariance=covariance,
        relative_stds=stds,
        determined=kept,
        base=state.beta[:n],
        load=loads,
        blocks=blocks,
        errors=errors,
        method=method,
        information=R[first:, first:] / np.sqrt(dispersion),
        slopes=slopes,
    )
