"""Deviations that do not assume white errors: a bootstrap of blocks of time.

Errors of a model last: what friction or flexibility leaves at one sample it leaves at the next. Blocks that are longer
than errors last are nearly independent, so drawing blocks anew shows how far estimates scatter. Each block is a Gram
matrix and a vector, small and well scaled because all together are the identity; a draw is a sum of these.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.factors import Factor
from dynid.estimation.factors.row_forms import TORQUES, RowForm, RowPasses
from dynid.estimation.robust import Loss
from dynid.logs import PreparedLog
from dynid.model import BaseParameters
from dynid.threads import single_threaded_blas

FINE = 128
"""Blocks that all logs together are cut into first."""

FEWEST = 8
"""Blocks below which a bootstrap says nothing."""

ENOUGH = 24
"""Blocks from which on each draw is solved by itself."""

LENGTH = 3.0
"""Length of a block, in correlation times of the errors."""

DRAWS = 500

BATCH = 2_000_000
"""Numbers of the matrices that are solved at once."""


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """What drawing blocks of time anew tells.

    Attributes:
        stds: Standard deviations of the parameters, shape (parameters,).
        blocks: Number of blocks; intervals have Student's t with one degree of freedom less.
        seconds: Length of a block [s].
        correlation_time: How long errors last [s]: the integral of their autocorrelation, of the worst joint.
    """

    stds: Array
    blocks: int
    seconds: float
    correlation_time: float

    def interval(self, values: Array, confidence: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends of confidence intervals around values, each of shape (parameters,)."""
        from scipy.stats import t

        half = t.ppf(0.5 + confidence / 2, self.blocks - 1) * self.stds
        return values - half, values + half


def block_bootstrap(
    logs: Sequence[PreparedLog],
    stds: Sequence[Sequence[float]],
    whole: Factor,
    base: BaseParameters,
    values: Array,
    rng: np.random.Generator,
    loss: Loss | None = None,
    form: RowForm = TORQUES,
) -> Bootstrap | None:
    """Draw blocks of time anew.

    Args:
        logs: The samples of each log.
        stds: Standard deviation of the errors of each joint (or other row) in each log; rows are divided by them.
        whole: The factor of all rows so weighed, with the prior if there is one, over the base parameters.
        base: The base parameters.
        values: Their estimate, shape (parameters,).
        rng: The random generator.
        loss: Weights by errors, where the estimate is a robust one.
        form: What the rows are.

    Returns:
        The deviations; None where there are too few blocks.
    """
    widths = [form.samples_a_row(log.processing, log.sampling) for log in logs]
    rows = [sum(map(len, log.segments)) // width for log, width in zip(logs, widths, strict=True)]
    size = max(1, -(-sum(rows) // FINE))
    with single_threaded_blas():
        G, m, lasting = _moments(logs, stds, whole, base, values, size, loss, form)
        joined = max(1, int(np.ceil(LENGTH * lasting / size)))
        if len(G) // joined < FEWEST:
            return None
        starts = np.arange(0, len(G), joined)
        G, m = np.add.reduceat(G, starts, axis=0), np.add.reduceat(m, starts, axis=0)
        scatter = _draws(G, m, rng)
    from scipy.linalg import solve_triangular

    moved = solve_triangular(whole.R, scatter.T).T
    period = float(np.median(np.diff(logs[0].times[0]))) * widths[0]
    return Bootstrap(np.std(moved, axis=0, ddof=1), len(G), size * joined * period, lasting * period)


def _draws(G: Array, m: Array, rng: np.random.Generator) -> Array:
    """Estimates of draws of blocks, from the estimate of all and in its scale; shape (draws, parameters)."""
    blocks, n = m.shape
    fixed, level = np.eye(n) - G.sum(axis=0), -m.sum(axis=0)  # the prior, and nothing where there is none
    if blocks < ENOUGH:  # too few of them to have all parameters in each draw: to first order
        counts = rng.multinomial(blocks, np.full(blocks, 1.0 / blocks), size=DRAWS)
        return np.sqrt(blocks / (blocks - 1.0)) * (counts - 1.0) @ m
    found, batch = [], max(1, BATCH // n**2)
    for first in range(0, DRAWS, batch):
        counts = rng.multinomial(blocks, np.full(blocks, 1.0 / blocks), size=min(batch, DRAWS - first)).astype(float)
        H = fixed + np.tensordot(counts, G, axes=1)
        H += 1e-9 * np.eye(n)  # a draw may lack a parameter: all together are the identity
        found.append(np.linalg.solve(H, (level + counts @ m)[..., None])[..., 0])
    return np.concatenate(found)


def _moments(
    logs: Sequence[PreparedLog],
    stds: Sequence[Sequence[float]],
    whole: Factor,
    base: BaseParameters,
    values: Array,
    size: int,
    loss: Loss | None,
    form: RowForm,
) -> tuple[Array, Array, float]:
    """Gram matrices (blocks, n, n) and moments (blocks, n), scaled by the whole; for how many rows errors last."""
    from scipy.linalg import solve_triangular

    rows = form.equations(base.model)  # only its maps from base parameters are used
    n = len(base.names)
    zero = rows.predictors(base.to_standard(np.zeros(n)))
    each = [rows.predictors(base.to_standard(unit)) for unit in np.eye(n)]
    maps = [np.column_stack([one[j] - zero[j] for one in each]) for j in range(len(zero))]
    scaled = [solve_triangular(whole.R, P.T, trans=1).T for P in maps]  # P R^-1
    grams, moments, lasting = [], [], [1.0]
    for log, sizes in zip(logs, stds, strict=True):
        errors: list[list[Array]] = [[] for _ in zero]
        for matrices, left in RowPasses(base, log, size, form).errors(values):
            G, m = np.zeros((n, n)), np.zeros(n)
            for j, (W, e) in enumerate(zip(matrices, left, strict=True)):
                weight = np.ones(len(e)) if loss is None else loss(e / sizes[j])
                X = W[:, :-1] / sizes[j]
                G += scaled[j].T @ ((X.T * weight) @ X) @ scaled[j]
                m += scaled[j].T @ (X.T @ (weight * e / sizes[j]))
                errors[j].append(e)
            grams.append(G)
            moments.append(m)
        lasting += [correlation_samples(np.concatenate(e)) for e in errors if e]
    return np.array(grams), np.array(moments), max(lasting)


def autocorrelation(errors: Array, lags: int = 200) -> Array:
    """Autocorrelation of errors at lags 0, 1, ..., shape (lags,)."""
    count = len(errors)
    if count < 8 or not np.any(errors):
        return np.ones(1)
    centred = errors - errors.mean()
    spectrum = np.fft.rfft(centred, 2 * count)
    found = np.fft.irfft(np.abs(spectrum) ** 2)[: min(lags, count // 2)]
    return found / found[0] if found[0] > 0.0 else np.ones(1)


def correlation_samples(errors: Array) -> float:
    """For how many samples errors last: 1 for white ones, the integral of their autocorrelation else."""
    rho = autocorrelation(errors, 2000)
    below = np.flatnonzero(rho < 0.05)
    end = below[0] if len(below) else len(rho)
    return float(1.0 + 2.0 * np.sum(rho[1:end]))
