"""Standard deviations that do not assume white errors: a block bootstrap.

Errors of a model last: what friction or flexibility leaves at one sample it leaves at the next. Blocks that are longer
than errors last are nearly independent, so drawing blocks anew shows how far estimates scatter. Each block is a Gram
matrix and a vector, small and well scaled because all together are the identity; a draw is a sum of these.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.correlation import correlation_samples
from dynid.estimation.error_stretches import error_stretches
from dynid.estimation.factors.accumulation import Blocks
from dynid.estimation.factors.factors import Factor
from dynid.estimation.factors.row_forms import TIME_BLOCKS, TORQUES, RowForm, RowPasses, block_rows
from dynid.estimation.quantiles import student_quantile
from dynid.estimation.robust import Loss
from dynid.logs import PreparedLog
from dynid.machine import single_threaded_blas
from dynid.model import BaseParameters, Rows


@dataclass(frozen=True)
class BootstrapThresholds:
    """Which blocks of time a bootstrap draws, and when there are too few of them.

    Shown by `benchmarks/coverage.py`: 94 to 96 % of the 95 % intervals hold the true value (table in
    `docs/accuracy.md`).
    """

    fewest_blocks: int = 8
    """Blocks below which a bootstrap says nothing: intervals would be those of Student's t with a few degrees of
    freedom."""

    enough_blocks: int = 24
    """Blocks from which on each draw is solved by itself; with fewer, draws lack parameters, and estimates are taken to
    first order."""

    block_length: float = 3.0
    """Length of a block, in correlation times of the errors: blocks are then nearly independent, and there are as many
    as can be."""


THRESHOLDS = BootstrapThresholds()

DRAWS = 500

BATCH_NUMBERS = 2_000_000
"""Numbers of the matrices that are solved at once."""


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """The result of a block bootstrap.

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
        half = student_quantile(self.blocks - 1, 0.5 + confidence / 2) * self.stds
        return values - half, values + half


LASTING_ROWS = 100_000
"""Rows of a joint in a log that show how long errors last."""

PERIOD_SAMPLES = 100_000
"""Samples of a log that show their period."""


def block_bootstrap(
    logs: Sequence[PreparedLog],
    stds: Sequence[Sequence[float]],
    whole: Factor,
    base: BaseParameters,
    values: Array,
    rng: np.random.Generator,
    loss: Loss | None = None,
    form: RowForm = TORQUES,
    blocks: Sequence[Blocks] = (),
    sample: Sequence[PreparedLog] | None = None,
    size: int | None = None,
) -> Bootstrap | None:
    """Draw blocks of time anew.

    Where the blocks of time were reduced with the logs, these are not passed over again; where they were not, or where
    rows are weighed by their errors, they are.

    Args:
        logs: The logs; without samples where a sample is given.
        stds: Standard deviation of the errors of each joint (or other row) in each log; rows are divided by them.
        whole: The factor of all rows so weighed, with the prior if there is one, over the base parameters.
        base: The base parameters.
        values: Their estimate, shape (parameters,).
        rng: The random generator.
        loss: Weights by errors, where the estimate is a robust one.
        form: What the rows are.
        blocks: The blocks of each log, as they were reduced.
        sample: A sample of the logs, which shows how long errors last; the logs themselves when None.
        size: Rows of a block; those of `block_rows` when None.

    Returns:
        The standard deviations; None where there are too few blocks.
    """
    shown = logs if sample is None else sample
    is_reduced = not any(log.segments for log in logs)
    size = block_rows(logs, form) if size is None else size
    with single_threaded_blas():
        if loss is None and len(blocks) == len(logs) > 0 and (form.name == "torque" or is_reduced):
            G, m = _reduced_moments(blocks, stds, whole, base, values)
            lasting = _lasting(shown, base, values, form)
        else:
            G, m, lasting = _moments(logs, stds, whole, base, values, size, loss, form)
        joined = max(1, int(np.ceil(THRESHOLDS.block_length * lasting / size)))
        if len(G) // joined < THRESHOLDS.fewest_blocks:
            return None
        starts = np.arange(0, len(G), joined)
        G, m = np.add.reduceat(G, starts, axis=0), np.add.reduceat(m, starts, axis=0)
        scatter = _draws(G, m, rng)
    from scipy.linalg import solve_triangular

    moved = solve_triangular(whole.R, scatter.T).T
    width = form.samples_a_row(shown[0].processing, shown[0].sampling)
    period = float(np.median(np.diff(shown[0].times[0][:PERIOD_SAMPLES]))) * width
    return Bootstrap(np.std(moved, axis=0, ddof=1), len(G), size * joined * period, lasting * period)


def _draws(G: Array, m: Array, rng: np.random.Generator) -> Array:
    """Estimates of draws of blocks, from the estimate of all and in its scale; shape (draws, parameters)."""
    blocks, n = m.shape
    fixed, level = np.eye(n) - G.sum(axis=0), -m.sum(axis=0)  # the prior, and nothing where there is none
    if blocks < THRESHOLDS.enough_blocks:  # too few of them to have all parameters in each draw: to first order
        counts = rng.multinomial(blocks, np.full(blocks, 1.0 / blocks), size=DRAWS)
        return np.sqrt(blocks / (blocks - 1.0)) * (counts - 1.0) @ m
    found, batch = [], max(1, BATCH_NUMBERS // n**2)
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
    scaled = _maps(form.equations(base.model), whole, base)
    n = len(base.names)
    grams, moments, lasting = [], [], [1.0]
    for log, sizes in zip(logs, stds, strict=True):
        errors: list[list[Array]] = [[] for _ in scaled]
        for matrices, left in RowPasses(base, log, size, form, held=0).errors(values):
            G, m = np.zeros((n, n)), np.zeros(n)
            for j, (W, e) in enumerate(zip(matrices, left, strict=True)):
                weight = np.ones(len(e)) if loss is None else loss(e / sizes[j])
                X = W[:, :-1] / sizes[j]
                G += scaled[j].T @ ((X.T * weight) @ X) @ scaled[j]
                m += scaled[j].T @ (X.T @ (weight * e / sizes[j]))
                if sum(map(len, errors[j])) < LASTING_ROWS:
                    errors[j].append(e)
            grams.append(G)
            moments.append(m)
        lasting += [correlation_samples(np.concatenate(e)) for e in errors if e]
    return np.array(grams), np.array(moments), max(lasting)


def _maps(rows: Rows, whole: Factor, base: BaseParameters) -> list[Array]:
    """For each row the map from base parameters, scaled by the whole, to values of its independent columns."""
    from scipy.linalg import solve_triangular

    n = len(base.names)
    spare = np.zeros(len(rows.model.names) - len(base.model.names))  # friction that the model lacks
    standard = [np.concatenate([base.to_standard(b), spare]) for b in (np.zeros(n), *np.eye(n))]
    zero, *each = (rows.predictors(p) for p in standard)
    maps = [np.column_stack([one[j] - zero[j] for one in each]) for j in range(len(zero))]
    return [solve_triangular(whole.R, P.T, trans=1).T for P in maps]  # P R^-1


def _reduced_moments(
    blocks: Sequence[Blocks], stds: Sequence[Sequence[float]], whole: Factor, base: BaseParameters, values: Array
) -> tuple[Array, Array]:
    """Gram matrices and moments as `_moments`, of blocks that were reduced before."""
    rows = blocks[0].rows
    spare = np.zeros(len(rows.model.names) - len(base.model.names))
    predictors, maps = rows.predictors(np.concatenate([base.to_standard(values), spare])), _maps(rows, whole, base)
    grams, moments, begun = [], [], -1
    for number, (of_log, sizes) in enumerate(zip(blocks, stds, strict=True)):
        G, m = np.zeros((len(of_log), len(base.names), len(base.names))), np.zeros((len(of_log), len(base.names)))
        for joint, P, b, size in zip(of_log.joints, maps, predictors, sizes, strict=True):
            for k, (triangle, _, _) in enumerate(joint):
                X = triangle[:, :-1] @ P / size
                G[k] += X.T @ X
                m[k] += X.T @ (triangle[:, -1] - triangle[:, :-1] @ b) / size
        group = number * TIME_BLOCKS // len(blocks)
        if len(blocks) > TIME_BLOCKS and group == begun:  # consecutive logs are one block, where they are many
            grams[-1] += G.sum(axis=0, keepdims=True)
            moments[-1] += m.sum(axis=0, keepdims=True)
        elif len(blocks) > TIME_BLOCKS:
            grams.append(G.sum(axis=0, keepdims=True))
            moments.append(m.sum(axis=0, keepdims=True))
        else:
            grams.append(G)
            moments.append(m)
        begun = group
    return np.concatenate(grams), np.concatenate(moments)


def _lasting(logs: Sequence[PreparedLog], base: BaseParameters, values: Array, form: RowForm) -> float:
    """For how many rows errors last, of the worst row."""
    lasting = [1.0]
    for log in logs:
        if form.name != "torque":
            errors = [left for _, left in RowPasses(base, log, form=form, held=0).errors(values)]
            lasting += [correlation_samples(np.concatenate(of_row)) for of_row in zip(*errors, strict=True)]
            continue
        left = error_stretches(base.model, log, base.to_standard(values))
        lasting += [correlation_samples(*left.of_row(row)) for row in range(base.model.row_count)]
    return max(lasting)
