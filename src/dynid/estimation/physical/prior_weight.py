"""How much the prior should count: how sure the data are, and which weight predicts parts of them that were held out.

Errors of a model last, and come from what the model lacks; then data are far less sure than so many white errors would
be. Parts of the data show it: each pulls the estimate its own way, and the *dispersion* is how many times further than
white errors would. The data count that many times less.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.factors.factors import Factor, merged
from dynid.estimation.factors.reduced_logs import Fold
from dynid.estimation.held_out_blocks import HELD_OUT_THRESHOLDS, weighed_blocks
from dynid.estimation.least_squares import NotIdentifiableError
from dynid.estimation.physical.cone_program import SolverError
from dynid.estimation.physical.link_prior import PriorKind
from dynid.estimation.physical.physical_estimate import Physics, problem_of
from dynid.estimation.physical.references import GUESSED_WEIGHT, Origin
from dynid.estimation.physical.semidefinite import Problem
from dynid.estimation.physical.smooth_fit import SmoothFit
from dynid.model import BaseParameters


@dataclass(frozen=True)
class PriorWeightThresholds:
    """How the weight of the prior is chosen.

    Shown by `benchmarks/prior_weight.py`: simulated arms with files that are right, off and wrong (table in
    `docs/physical.md`), and by the masses of the UR10 and UR10e in `tests/estimation/test_prior_weight.py`.
    """

    weights: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0, 10_000.0)
    """Weights of the prior that cross-validation chooses from. At 1, links are free within a factor of two already.
    Where data prefer less, a term is missing more often than the file is that wrong: links that stand in for motor
    inertia predict well and weigh a hundred kilograms."""

    untried_weight: float = 10.0
    """Weight where no part can be held out: files are right within 20 to 30 % of inertias, mostly."""

    significant_errors: float = 1.0
    """Standard errors by which squared errors on held-out data must be worse for a weight to be too large: the usual
    rule of one standard error."""

    largest_ratio: float = 1.03
    """How many times larger the error on held-out data makes a weight too large, significant or not: where parts
    scatter, placeholders of friction were kept otherwise."""


THRESHOLDS = PriorWeightThresholds()


@dataclass(frozen=True)
class WeightChoice:
    """The weight of the prior, and why.

    Attributes:
        weight: The weight.
        dispersion: How many times larger than those of white errors the variances of estimates are.
        errors: For each weight that was tried the relative error on data that were held out; nothing where none was.
        best: The weight with the least of them.
        left_out: Base parameters of the links that were fitted to all parts but one, each of shape (base,); none where
            they were not tried.
    """

    weight: float
    dispersion: float
    errors: Mapping[float, float] = field(default_factory=dict[float, float])
    best: float = np.nan
    left_out: tuple[Array, ...] = ()


def choose_weight(
    folds: Sequence[Fold], base: BaseParameters, physics: Physics, weight: float | str, method: str = "wls"
) -> WeightChoice:
    """How sure the data are, and the weight of the prior.

    The weight is the largest one with which data that were held out are predicted not significantly worse than with
    the best one: paired by parts, within one standard error.

    Args:
        folds: Parts of the logs.
        base: The base parameters.
        physics: Prior and constraints.
        weight: The weight where it is stated; "cross-validation", or "auto" for that where it is possible.
        method: "ols" or "wls".

    Raises:
        InvalidRequestError: If cross-validation is asked for and impossible.
    """
    try:
        parts = weighed_blocks(folds, base, method) if len(folds) >= HELD_OUT_THRESHOLDS.fewest_blocks else []
    except NotIdentifiableError:
        parts = []
    if not parts and weight == "cross-validation":
        raise InvalidRequestError("cross-validation needs at least four parts of logs that move; set physical.weight")
    spread = dispersion(parts) if parts else 1.0
    has_files = any(reference.origin in (Origin.FILE, Origin.MENDED) for reference in physics.references)
    has_prior = physics.prior.kind is not PriorKind.NONE
    problem = problem_of(parts[0], base, physics) if parts else None
    if isinstance(weight, float | int) or problem is None or not has_files or not has_prior:
        untried = THRESHOLDS.untried_weight if has_files else GUESSED_WEIGHT
        stated = float(weight) if isinstance(weight, float | int) else untried
        found = _held_out(parts, problem, spread, (stated,)) if problem is not None and has_prior else {}
        return WeightChoice(stated, spread, left_out=tuple(found.get(stated, ())))
    return cross_validated(parts, problem, spread)


def cross_validated(parts: Sequence[Factor], problem: Problem, spread: float) -> WeightChoice:
    """The weight of the prior by predicting each part of the data from the others; see `choose_weight`.

    Args:
        parts: The factors of parts of the data for the problem's combinations of parameters, scaled so that errors have
            unit variance.
        problem: Prior and constraints; its own factor does not count.
        spread: How many times larger than those of white errors the variances of estimates are.
    """
    found = _held_out(parts, problem, spread)
    squares = {w: _squares(parts, values) for w, values in found.items()}
    total = sum(part.residual_squares(np.zeros(len(part.names))) for part in parts)
    best = min(squares, key=lambda w: float(squares[w].sum()), default=THRESHOLDS.untried_weight)
    chosen = max((w for w in squares if w > best and _is_as_good(squares[w], squares[best])), default=best)
    relative = {w: float(np.sqrt(squares[w].sum() / total)) if total else 0.0 for w in sorted(squares)}
    return WeightChoice(chosen, spread, relative, best, tuple(found.get(chosen, ())))


def dispersion(parts: Sequence[Factor]) -> float:
    """How many times larger than those of white errors the variances of estimates are; at least one.

    Each part's sum of regressors times errors is m_k, in a scale in which all data have the identity as Gram matrix and
    part k has G_k. White errors of unit variance have E |m_k|^2 = tr(G_k - G_k^2).

    Args:
        parts: The factors of parts of the data, scaled so that errors have unit variance, or less where they are exact.
    """
    from scipy.linalg import solve_triangular

    whole = merged(parts, parts[0].names)
    x = whole.solve()
    found, expected = 0.0, float(len(x))
    for part in parts:
        Q = solve_triangular(whole.R, part.R.T, trans=1).T
        found += float(np.sum((Q.T @ (part.z - part.R @ x)) ** 2))
        expected -= float(np.sum((Q.T @ Q) ** 2))
    return max(1.0, found / expected) if expected > 1e-6 * len(x) else 1.0


def _is_as_good(found: Array, best: Array) -> bool:
    """Whether squared errors of parts are neither significantly nor much above those with the best weight."""
    worse = found - best
    error = float(np.std(worse, ddof=1)) / np.sqrt(len(worse))
    is_much = float(found.sum()) > THRESHOLDS.largest_ratio**2 * float(best.sum())
    return float(np.mean(worse)) <= THRESHOLDS.significant_errors * error and not is_much


def _squares(parts: Sequence[Factor], values: Sequence[Array]) -> Array:
    """The squared error of each part, predicted from the others, shape (parts,)."""
    return np.array([part.residual_squares(x) for part, x in zip(parts, values, strict=True)])


def _held_out(
    parts: Sequence[Factor], problem: Problem, spread: float, weights: Sequence[float] = THRESHOLDS.weights
) -> dict[float, list[Array]]:
    """For each weight the combinations b, each of shape (base,), of links that were fitted to all parts but one.

    Weights are tried from the largest on, each from the solution of the one before, until one has none.
    """
    found: dict[float, list[Array]] = {}
    try:
        solve = _solver(parts, problem, spread)
        for weight in sorted(weights, reverse=True):
            found[weight] = [problem.base.regrouping @ solve(k, weight) for k in range(len(parts))]
    except (SolverError, np.linalg.LinAlgError):
        pass  # weights that have a solution are compared
    return found


def _solver(parts: Sequence[Factor], problem: Problem, spread: float) -> Callable[[int, float], Array]:
    """What fits standard parameters to all parts but one, with a weight of the prior."""
    scale = 1.0 / np.sqrt(spread)
    smooth = SmoothFit.of(replace(problem, factor=merged(parts, parts[0].names).weighted(scale)))
    rows = [scale * part.R @ problem.base.regrouping @ smooth.C for part in parts]
    grams = [A.T @ A for A in rows]
    moments = [A.T @ (scale * part.z) for A, part in zip(rows, parts, strict=True)]
    gram, moment = np.sum(grams, axis=0), np.sum(moments, axis=0)
    strongest = max(THRESHOLDS.weights)
    of_all = {strongest: smooth.start(gram, moment, strongest)}

    def at(k: int, weight: float) -> Array:
        if weight not in of_all:
            of_all[weight] = smooth.solve(gram, moment, weight, of_all[min(of_all)])
        return smooth.C @ smooth.solve(gram - grams[k], moment - moments[k], weight, of_all[weight])

    return at
