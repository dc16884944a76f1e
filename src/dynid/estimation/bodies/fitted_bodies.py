"""From a regressor matrix in memory to physically consistent bodies with uncertainties."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.bodies.body_covariance import BodyErrors, body_errors
from dynid.estimation.bodies.body_data import SMALLEST_ROW_STD, BodyData
from dynid.estimation.bodies.body_fit import BodyFit
from dynid.estimation.bodies.body_priors import BodyPrior, body_prior, std_of, weight_of
from dynid.estimation.bodies.whitened_rows import RowErrors, require_shapes
from dynid.estimation.factors.factors import Factor
from dynid.estimation.physical.cone_program import SolverError
from dynid.estimation.physical.link_prior import LinkPrior, PriorKind
from dynid.estimation.physical.prior_weight import cross_validated, dispersion
from dynid.estimation.physical.semidefinite import Problem, fit
from dynid.findings import Finding
from dynid.machine import single_threaded_blas
from dynid.robot import inertia


@dataclass(frozen=True)
class BodyFitThresholds:
    """What is said of rows and priors that do not agree with bodies."""

    significant_stds: float = 4.0
    """Standard deviations of a mean of squares above which it is no chance. By judgement: one in 30,000."""

    least_ratio: float = 1.1
    """Size of residuals over what was stated from which on it is said: smaller differences change no conclusion. By
    judgement."""

    fewest_parts: int = 4
    """Parts of the rows below which none is held out. By judgement, as for logs."""

    untried_std: float = 0.3
    """Relative standard deviation of a prior that cannot be chosen. By judgement: what tables of human bodies and CAD
    files without cables come near to."""


THRESHOLDS = BodyFitThresholds()


def fit_bodies(
    W: Any,
    y: Any = None,
    *,
    prior: Any = None,
    prior_std: Any = None,
    distance: str = "logdet",
    std: Any = None,
    covariance: Any = None,
    row_kinds: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    bounds: Mapping[str, Any] | Sequence[Any] | None = None,
    others: Sequence[str] = (),
) -> BodyFit:
    """Fit physically consistent bodies to rows `W p = y` of any kind.

    minimise `|L (W p - y)|^2 + sum of w_k d(J_k, J0_k)` over bodies whose pseudo-inertias J_k are positive definite and
    whose mass lies inside their bounds; L whitens the errors of rows, and d is the distance from the prior.

    Args:
        W: The regressor matrix, shape (rows, 10 bodies + others): for each body the columns of m, mx, my, mz, Ixx, Ixy,
            Iyy, Ixz, Iyz, Izz about its frame, which is Pinocchio's order. A memory-mapped array is read in pieces.
            Where y is None, an iterator of pairs (W, y) of whole samples.
        y: The right-hand side, shape (rows,).
        prior: The bodies that are expected, shape (bodies, 10), or ten parameters by name; physically consistent. When
            None, the lightest bodies that fit equally well are taken.
        prior_std: Relative standard deviation of the masses that are expected (and of second moments in any direction):
            one number such as 0.15, one for each body, or, with the Euclidean distance, standard deviations of all
            parameters, shape (bodies, 10). When None, cross-validation chooses one for all bodies.
        distance: "logdet" (the entropic one), "pullback" (its second-order expansion at the prior) or "euclidean"
            (squared differences of the ten parameters in units of the prior's mass and size).
        std: Standard deviation of the rows' errors: one number, one for each row of a sample (repeated), or one for
            each row. When neither this nor `covariance` is given, it is estimated from the residuals.
        covariance: Of errors: one matrix for each sample, shape (samples, n, n), one that all samples have, shape (n,
            n), or a list of square blocks of any size.
        row_kinds: Label of each row of a sample, where errors are estimated: rows of one label have errors of one size,
            such as "fffttt" for three forces and three torques. All rows have when None.
        names: Names of the bodies.
        bounds: What holds all mass of a body, by name, or one for each body: `Ellipsoid`, `Box`, a list of such, or
            None.
        others: Names of columns after those of bodies, such as offsets of a force plate; they are free.

    Raises:
        ShapeError, InvalidRequestError, UnknownNameError: If something that was given makes no sense, or the solver did
            not reach its full accuracy.
        ConflictError: If bounds exclude each other.
    """
    start = time.perf_counter()
    others = tuple(map(str, others))
    width = None if y is None or np.ndim(W) != 2 else int(np.shape(W)[1]) - len(others)
    expected = body_prior(prior, prior_std, distance, names, bounds, width)
    columns = inertia.SIZE * len(expected.names) + len(others)
    errors = RowErrors.of(std, covariance, row_kinds, require_shapes(W, y, columns, len(expected.names), len(others)))
    with single_threaded_blas():
        data = BodyData.of(W, y, errors, expected, others)
        problem, findings = _weighed_problem(data, expected)
        p = _solved(problem)
        bodies = p[: inertia.SIZE * len(expected.names)].reshape(-1, inertia.SIZE)  # a view
        for k, body in enumerate(bodies):
            bodies[k] = expected.moved_inside(k, body)
        alone = np.concatenate([expected.parameters.ravel(), p[inertia.SIZE * len(expected.names) :]])
        sure = body_errors(problem, p, alone, lambda k: expected.is_at_bounds(k, bodies[k]))
    return _result(data, expected, problem, p, sure, findings, start)


def _solved(problem: Problem) -> Array:
    try:
        return fit(problem)
    except SolverError as error:
        raise InvalidRequestError(
            f"the semidefinite solver stopped with '{error.status}'; check the units of W and y, or give larger errors "
            "(std) or another prior_std"
        ) from error


def _weighed_problem(data: BodyData, expected: BodyPrior) -> tuple[Problem, list[Finding]]:
    """The problem with what residuals say of the rows' errors, and with the weight of the prior."""
    findings: list[Finding] = []
    if data.silent:
        if expected.kind is PriorKind.NONE:
            raise InvalidRequestError(
                f"no row depends on {', '.join(data.silent)}, and there is no prior; give one, or leave the body out"
            )
        findings.append(Finding.of("bodies-without-rows", "bodies", bodies=list(data.silent)))
    spread, found = _spread(data)
    findings += found
    whole = data.whole.weighted(1.0 / np.sqrt(spread))
    constraints = expected.constraints(len(data.base.back))
    problem = Problem(whole, data.base, expected.references, LinkPrior(expected.kind), constraints)
    if expected.kind is PriorKind.NONE or expected.std is not None:
        return problem, findings
    weight = weight_of(expected.kind, THRESHOLDS.untried_std)
    if len(data.parts) >= THRESHOLDS.fewest_parts:
        choice = cross_validated(data.parts, problem, spread)
        if choice.errors:
            weight = choice.weight
            tried = {f"{std_of(expected.kind, w):.2g}": error for w, error in choice.errors.items()}
            values = {"std": std_of(expected.kind, weight), "errors": tried}
            findings.append(Finding.of("body-prior-chosen", "prior", **values))
    return replace(problem, prior=LinkPrior(expected.kind, weight)), findings


def _spread(data: BodyData) -> tuple[float, list[Finding]]:
    """How many times larger than stated the variances of estimates are, by residuals; at least one."""
    whole, rank = data.whole, len(data.base.names)
    freedom = whole.rows - rank
    spread = 1.0
    if len(data.parts) >= THRESHOLDS.fewest_parts and freedom > rank:
        pulls = dispersion(data.parts)
        spread = pulls if pulls > 1.0 + THRESHOLDS.significant_stds * np.sqrt(2.0 / rank) else 1.0
    if len(data.row_std) or freedom < 1:
        return spread, []
    mean = whole.residual_squares(whole.solve()) / freedom
    chance = THRESHOLDS.significant_stds * np.sqrt(2.0 / freedom)
    values = {"ratio": float(np.sqrt(mean)), "rows": whole.rows}
    if mean > 1.0 + chance and np.sqrt(mean) > THRESHOLDS.least_ratio:
        return max(spread, mean), [Finding.of("rows-less-sure-than-stated", "rows", **values)]
    if mean < 1.0 - chance and np.sqrt(mean) < 1.0 / THRESHOLDS.least_ratio:
        return spread, [Finding.of("rows-surer-than-stated", "rows", **values)]
    return spread, []


def _result(
    data: BodyData,
    expected: BodyPrior,
    problem: Problem,
    p: Array,
    sure: BodyErrors,
    findings: list[Finding],
    start: float,
) -> BodyFit:
    count = inertia.SIZE * len(expected.names)
    whole = data.whole
    squares, rank = whole.residual_squares(data.base.regrouping @ p), len(data.base.names)
    total = whole.residual_squares(np.zeros(rank))
    residual = float(np.sqrt(squares / max(whole.rows - sure.scatter_count, 1.0)))
    held = tuple(expected.names[k] for k in sure.held)
    if held:
        findings.append(Finding.of("bodies-at-bounds", "bodies", bodies=list(held)))
    chance = 1.0 + THRESHOLDS.significant_stds * np.sqrt(2.0 / max(sure.scatter_count, 1.0))
    if expected.std is not None and sure.scatter > max(chance, THRESHOLDS.least_ratio**2):
        findings.append(Finding.of("prior-less-sure-than-stated", "prior", ratio=float(np.sqrt(sure.scatter))))
    findings += _on_residual(residual, whole, rank)
    return BodyFit(
        names=expected.names,
        parameters=p[:count].reshape(-1, inertia.SIZE),
        others=dict(zip(data.others, p[count:].tolist(), strict=True)),
        covariance=sure.covariance,
        undetermined=sure.undetermined,
        from_data=sure.from_data[:count].reshape(-1, inertia.SIZE),
        prior=expected,
        prior_std=_prior_stds(expected, problem.prior.weight),
        rank=rank,
        rows=whole.rows,
        row_std=data.row_std,
        residual=residual,
        relative_error=float(np.sqrt(squares / total)) if total else 0.0,
        held=held,
        findings=tuple(findings),
        seconds=time.perf_counter() - start,
    )


def _on_residual(residual: float, whole: Factor, rank: int) -> list[Finding]:
    """Whether conditions and prior cost more than chance explains."""
    freedom = whole.rows - rank
    if freedom < 1:
        return []
    alone = float(np.sqrt(whole.residual_squares(whole.solve()) / freedom))
    ratio = residual / max(alone, SMALLEST_ROW_STD)
    chance = 1.0 + THRESHOLDS.significant_stds * np.sqrt(2.0 / freedom)
    is_worse = ratio > THRESHOLDS.least_ratio and ratio**2 > chance and residual > THRESHOLDS.least_ratio
    return [Finding.of("bodies-fit-worse", "bodies", ratio=ratio)] if is_worse else []


def _prior_stds(expected: BodyPrior, weight: float) -> Array:
    """Relative standard deviations of the masses that were expected, shape (bodies,)."""
    if expected.kind is PriorKind.NONE:
        return np.full(len(expected.names), np.inf)
    if expected.std is None:
        return np.full(len(expected.names), std_of(expected.kind, weight))
    return np.full(len(expected.names), np.nan) if expected.std.ndim == 2 else expected.std
