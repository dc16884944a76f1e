"""Instrumental variables: estimates that stay consistent where noisy feedback drives the observation matrix.

Rows are `y = W b + e`. Where W has noise that goes with e, least squares are biased. Instruments Z are the same columns
along a motion that knows nothing of the noise, such as that of the model simulated in the same loop; b solves
`Z' (y - W b) = 0`. All that is needed of the rows of a joint is the triangular factor of `[Z | W | y]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Flags
from dynid.estimation.factors.decimation import counted_rows, kept_around, windows
from dynid.estimation.least_squares import NotIdentifiableError
from dynid.logs import PreparedLog, decimated
from dynid.model import BaseParameters, Chunk, TorqueRows
from dynid.model.row_bases import RowBasis

WEAK = 1e-8
"""Singular value of the instruments' products with the columns, relative to the largest, below which they say nothing
of some parameters."""

SAME_COLUMNS = 1e-9
"""Part of the columns that instruments do not explain, relative to them, below which both are the same."""


@dataclass(frozen=True, eq=False)
class PairedFactor:
    """A factor of a joint's rows `[Z | W | y]`: rows with the same products as those of all samples.

    Attributes:
        Z: Instruments of the base parameters, shape (k, base).
        W: Columns of the base parameters, shape (k, base).
        y: Torques without those of known parameters, shape (k,).
        rows: Number of rows that it stands for.
    """

    Z: Array
    W: Array
    y: Array
    rows: int

    def errors(self, values: Array) -> float:
        """Sum of squared errors `|y - W b|^2` of base parameters, shape (base,)."""
        return float(np.sum((self.y - self.W @ values) ** 2))


def paired_factors(base: BaseParameters, log: PreparedLog, instruments: PreparedLog) -> dict[str, PairedFactor]:
    """For each joint the factor of a log's rows beside those of instruments.

    Rows count where the instruments' velocity is large enough: their choice, too, must know nothing of the noise.

    Args:
        base: The base parameters; known ones are taken off.
        log: The log, ready for the model.
        instruments: The same samples along another motion.
    """
    rows, factors = TorqueRows(base.model), log.processing.decimate
    found = [np.zeros((0, 2 * len(basis.columns) + 1)) for basis in rows.bases]
    counts = [0] * len(found)
    step = int(np.prod(factors)) if factors else 1
    for own, other in zip(log.segments, instruments.segments, strict=True):
        for (window, part), (along, _) in zip(windows(own, step), windows(other, step), strict=True):
            kept = _kept(log, window, along, part, base)
            pairs = zip(rows.matrices(along), rows.matrices(window), strict=True)
            for row, (instrument, matrix) in enumerate(pairs):
                both = np.concatenate([instrument[:, :-1], matrix], axis=1)
                left = (decimated(both, factors) if factors else both)[part][kept[:, row]]
                found[row] = np.asarray(np.linalg.qr(np.concatenate([found[row], left]), mode="r"))
                counts[row] += len(left)
    return {
        basis.joint: _of_base(base, basis, log.weight * R, count)
        for basis, R, count in zip(rows.bases, found, counts, strict=True)
    }


def _of_base(base: BaseParameters, basis: RowBasis, R: Array, count: int) -> PairedFactor:
    """The factor over base parameters of one over a row's independent columns."""
    K, known = np.zeros((len(basis.columns), len(base.names))), np.zeros(len(basis.columns))
    for k, name in enumerate(basis.names):
        if name in base.known:
            known += basis.regrouping[:, k] * base.known[name]
        elif name in base.names:
            K[:, base.names.index(name)] = basis.regrouping[:, k]
    n = len(basis.columns)
    Z, W = R[:, :n], R[:, n : 2 * n]
    return PairedFactor(Z @ K, W @ K, R[:, -1] - W @ known, count)


def _kept(log: PreparedLog, window: Chunk, along: Chunk, part: slice, base: BaseParameters) -> Flags:
    """Which rows of a window count, shape (samples, rows)."""
    factors, v = log.processing.decimate, along.v[:, base.model.rows]
    v = decimated(v, factors)[part] if factors else v[part]
    keep = None
    if window.keep is not None:
        keep = kept_around(window.keep, int(np.prod(factors)))[part] if factors else window.keep[part]
    return counted_rows(base.model.row_names, log.processing, v, keep)


@dataclass(frozen=True, eq=False)
class InstrumentalEstimate:
    """An estimate by instrumental variables.

    Attributes:
        values: Base parameters, shape (n,).
        covariance: Their covariance, shape (n, n).
        stds: Standard deviations of each log's rows, by joint [N m or N].
        rows: Number of rows.
        test: Whether least squares would have been consistent; None where instruments are the columns themselves.
    """

    values: Array
    covariance: Array
    stds: tuple[Mapping[str, float], ...]
    rows: int
    test: ConsistencyTest | None


@dataclass(frozen=True)
class ConsistencyTest:
    """The test of Durbin, Wu and Hausman: do errors go with what instruments do not explain of the columns?

    Attributes:
        statistic: F.
        freedom: Its degrees of freedom.
        p_value: Probability of a larger one where least squares are consistent.
    """

    statistic: float
    freedom: tuple[int, int]
    p_value: float

    def rejects(self, level: float = 0.05) -> bool:
        """Whether least squares are called inconsistent."""
        return self.p_value < level


def instrumental_variables(
    base: BaseParameters, logs: Sequence[Mapping[str, PairedFactor]], bands: Sequence[float], *, weighted: bool = True
) -> InstrumentalEstimate:
    """Estimate base parameters from paired factors.

    Args:
        base: The base parameters.
        logs: The factors of each log by joint.
        bands: Part of the band of each log's rows that holds their errors.
        weighted: Whether joints are weighed by their errors.

    Raises:
        NotIdentifiableError: If the instruments do not determine all parameters.
    """
    n = len(base.names)
    used = [{name: factor for name, factor in log.items() if factor.rows} for log in logs]
    rows = sum(factor.rows for log in used for factor in log.values())
    if rows <= n:
        raise NotIdentifiableError(base.names, rows, "there are too few rows")
    weights = [dict.fromkeys(log, 1.0) for log in used]
    values = _solution(base, used, weights, rows)
    stds = _stds(used, values, rows, n)
    for _ in range(3 if weighted else 0):
        weights = [{name: 1.0 / std for name, std in of_log.items()} for of_log in stds]
        values = _solution(base, used, weights, rows)
        stds = _stds(used, values, rows, n)
    A, B = np.zeros((2, n, n))
    for log, of_log, sizes, band in zip(used, weights, stds, bands, strict=True):
        for name, factor in log.items():
            A += of_log[name] ** 2 * factor.Z.T @ factor.W
            B += of_log[name] ** 4 * sizes[name] ** 2 / band * factor.Z.T @ factor.Z
    inverse = np.linalg.inv(A)
    covariance = inverse @ B @ inverse.T
    test = consistency_test(used, stds, bands)
    return InstrumentalEstimate(values, 0.5 * (covariance + covariance.T), tuple(stds), rows, test)


def _solution(
    base: BaseParameters,
    logs: Sequence[Mapping[str, PairedFactor]],
    weights: Sequence[Mapping[str, float]],
    rows: int,
) -> Array:
    """The parameters with `Z' (y - W b) = 0` over all weighted rows."""
    n = len(base.names)
    A, c = np.zeros((n, n)), np.zeros(n)
    for log, of_log in zip(logs, weights, strict=True):
        for name, factor in log.items():
            A += of_log[name] ** 2 * factor.Z.T @ factor.W
            c += of_log[name] ** 2 * factor.Z.T @ factor.y
    left, right = (np.sqrt(np.maximum(np.abs(A).max(axis=axis), 1e-300)) for axis in (1, 0))
    U, s, V = np.linalg.svd(A / np.outer(left, right))
    if s[-1] < WEAK * s[0]:
        weak = np.abs(V[-1])
        names = tuple(base.names[k] for k in np.argsort(-weak) if weak[k] > 0.3 * weak.max())
        raise NotIdentifiableError(names, rows, "the instruments do not determine all parameters")
    return (V.T @ ((U.T @ (c / left)) / s)) / right


def _stds(logs: Sequence[Mapping[str, PairedFactor]], values: Array, rows: int, n: int) -> list[dict[str, float]]:
    """Standard deviations of the rows of each log and joint, with the degrees of freedom that parameters take."""
    freedom = rows / (rows - n)
    stds = [{name: np.sqrt(freedom * f.errors(values) / f.rows) for name, f in log.items()} for log in logs]
    least = 1e-12 * max((std for of_log in stds for std in of_log.values()), default=0.0) or 1.0
    return [{name: max(float(std), least) for name, std in of_log.items()} for of_log in stds]


def consistency_test(
    logs: Sequence[Mapping[str, PairedFactor]], stds: Sequence[Mapping[str, float]], bands: Sequence[float]
) -> ConsistencyTest | None:
    """Test whether least squares are consistent, by the regression that is augmented with what Z does not explain of W.

    Under least squares that are consistent, the residual of W on Z has no part in y beyond that of W, and F has its
    distribution. Errors of decimated rows fill a part of their band only; rows count that much less.

    Args:
        logs: The factors of each log by joint.
        stds: Standard deviations of their rows.
        bands: Part of the band of each log's rows that holds their errors.
    """
    from scipy.special import fdtrc

    parts = []
    for log, sizes, band in zip(logs, stds, bands, strict=True):
        for name, factor in log.items():
            parts.append(np.sqrt(band) / sizes[name] * np.column_stack([factor.Z, factor.W, factor.y]))
    n = (parts[0].shape[1] - 1) // 2
    R = np.asarray(np.linalg.qr(np.concatenate(parts), mode="r"))
    rows = int(sum(band * factor.rows for log, band in zip(logs, bands, strict=True) for factor in log.values()))
    W, y, rest = R[: 2 * n, n : 2 * n], R[: 2 * n, -1], float(R[-1, -1] ** 2)
    unexplained = W[n:]
    size = np.linalg.norm(W, axis=0)
    scaled = unexplained / np.where(size > 0.0, size, 1.0)
    U, s, _ = np.linalg.svd(scaled)
    count = int(np.sum(s > SAME_COLUMNS))
    if not count:
        return None
    plain = _least(W, y) + rest
    beyond = y[n:] - U[:, :count] @ (U[:, :count].T @ y[n:])
    full = _least(W[:n], y[:n]) + float(beyond @ beyond) + rest
    freedom = count, rows - n - count
    if freedom[1] <= 0:
        return None
    statistic = max(plain - full, 0.0) / count / (full / freedom[1])
    return ConsistencyTest(statistic, freedom, float(fdtrc(*freedom, statistic)))


def _least(W: Array, y: Array) -> float:
    """Sum of squares of y that columns do not explain."""
    x = np.linalg.lstsq(W, y, rcond=None)[0]
    return float(np.sum((y - W @ x) ** 2))
