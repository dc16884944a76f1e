"""From factors to an estimate with uncertainties: the linear solution of an identification."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.estimation.bootstrap import Bootstrap, block_bootstrap
from dynid.estimation.equivalent_rows import EQUIVALENT
from dynid.estimation.estimate_findings import (
    findings_on_bootstrap,
    findings_on_breakaway,
    findings_on_directions,
    findings_on_estimate,
    findings_on_nonlinear,
    findings_on_robust,
)
from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.reduced_logs import ReducedLogs, findings_on_friction
from dynid.estimation.factors.row_forms import RowForm
from dynid.estimation.form_fits import FormFit, findings_on_form, form_fit, with_torque_fits, without_consequences
from dynid.estimation.least_squares import (
    Estimate,
    NotIdentifiableError,
    Prior,
    essential_parameters,
    joint_weights,
    log_stds,
    merge_logs,
    merge_weighted,
    ordinary_least_squares,
    weighted_least_squares,
)
from dynid.estimation.nonlinear.nonlinear_fit import FoundNonlinear, NonlinearFit
from dynid.estimation.robust import LOSSES, robust_least_squares
from dynid.estimation.settings import EstimationSettings
from dynid.findings import Finding, Severity
from dynid.logs import PreparedLog, findings_on_rest
from dynid.model import BaseParameters
from dynid.robot import notes_on_frames

Scales = Sequence[Mapping[str, float]]
"""For each log and each of its rows, the standard deviation that rows are divided by."""


@dataclass(frozen=True, eq=False)
class Solution:
    """An estimate, with all that comes from the same factors.

    Attributes:
        estimate: Values with uncertainties; its fits are those of torques.
        essential: The same for the essential parameters only.
        by_data: The estimate from the data alone, without a prior.
        bootstrap: Standard deviations that do not assume white errors; None where there are too few blocks of time.
        nonlinear: Nonlinear parameters with their uncertainties.
        form: Fit of the rows of power, energy or momentum; None where rows are torques.
        torques: The factors of each log's torques, with the weights of a robust estimate.
        rows: The factors of each log that were estimated from.
        weighted_relative_error: Error of rows as a robust estimate weighs them; None for other estimates.
        plain: The factors of each log's torques without such weights, which all fits are stated for.
        lost: Findings on what the form of rows cannot determine.
        findings: All findings on the estimate.
    """

    estimate: Estimate
    essential: Estimate
    by_data: Estimate
    bootstrap: Bootstrap | None
    nonlinear: tuple[FoundNonlinear, ...]
    form: FormFit | None
    torques: Sequence[Factors]
    rows: Sequence[Factors]
    weighted_relative_error: float | None
    plain: Sequence[Factors]
    lost: tuple[Finding, ...]
    findings: tuple[Finding, ...]


def solve(
    logs: Sequence[PreparedLog],
    sample: Sequence[PreparedLog],
    reduced: ReducedLogs,
    nonlinear: NonlinearFit,
    settings: EstimationSettings,
    noticed: Sequence[Finding] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Solution:
    """Estimate base parameters.

    Args:
        logs: The logs that were read; they need no samples where no loss is robust.
        sample: The same, or a sample of them, in memory.
        reduced: The factors of all logs.
        nonlinear: The nonlinear parameters of the model, found or held.
        settings: How to estimate.
        noticed: Findings so far, one of which may be the cause of parameters that are not identifiable.
        progress: Callback; receives a short description of each step.

    Raises:
        NotIdentifiableError: If the data do not determine all parameters.
    """
    form, base = RowForm.of(settings), nonlinear.base
    early = (
        *notes_on_frames(base.model.robot),
        *base.findings(),
        *findings_on_rest(base.model, logs),
        *findings_on_directions(base.model, logs, form),
        *findings_on_nonlinear(nonlinear, logs, form),
    )
    try:
        whole, with_changes, scales, notes = _estimated(settings, logs, reduced.rows, nonlinear.linear, progress)
        rows = nonlinear.own_logs(with_changes)
        estimate = nonlinear.own(whole, rows)
        essential = essential_parameters(rows, base, settings.essential_ratio)
    except NotIdentifiableError as error:
        raise NotIdentifiableError(error.names, error.rows, error.problem, _cause((*noticed, *early), error)) from error
    weighted, torques, plain = estimate, rows, rows
    if settings.robust is not None:  # errors are stated for all rows alike
        plain = nonlinear.own_logs(reduced.rows)
    fit = form_fit(form, estimate if plain is rows else with_torque_fits(estimate, plain, base), logs)
    if fit is not None or not settings.is_least_squares:
        torques = plain = nonlinear.own_logs(reduced.torques)
    if plain is not rows:
        estimate, essential = (with_torque_fits(found, plain, base) for found in (estimate, essential))
    blocks = _bootstrapped(settings, logs, sample, with_changes, nonlinear.linear, whole, scales, reduced)
    bootstrap = nonlinear.own_bootstrap(blocks)
    lost = findings_on_form(form, estimate, torques, base, logs)
    of_estimate = findings_on_estimate(weighted if fit is None else estimate, base.model, form)
    if base.gap.is_doubtful:  # said already: parameters that no motion excites are not the trajectory's fault
        of_estimate = tuple(finding for finding in of_estimate if not finding.code.startswith("excitation-poor"))
    return Solution(
        estimate=estimate,
        essential=essential,
        by_data=nonlinear.own(_without_prior(with_changes, nonlinear.linear, whole), rows),
        bootstrap=bootstrap,
        nonlinear=nonlinear.found_values(whole, blocks, settings.confidence),
        form=fit,
        torques=torques,
        rows=rows,
        weighted_relative_error=None if settings.robust is None else weighted.relative_error,
        plain=plain,
        lost=lost,
        findings=(
            *early,
            *notes,
            *without_consequences(of_estimate, lost),
            *lost,
            *findings_on_friction(reduced.probes, base),
            *findings_on_bootstrap(estimate, bootstrap),
            *findings_on_breakaway(estimate, base.model),
        ),
    )


def _cause(findings: Sequence[Finding], error: NotIdentifiableError) -> str:
    """The finding that best explains why parameters are not identifiable.

    That is one on a joint that never moves, else the one that names most of them, else a warning, else a note.
    """

    def rank(finding: Finding) -> tuple[bool, int, bool]:
        named = sum(name in error.names for name in _named(finding))
        return finding.code == "joint-never-moves", named, finding.severity is not Severity.NOTE

    best = max(findings, key=rank, default=None)
    return "" if best is None else f"{best.subject}: {best.text}"


def _named(finding: Finding) -> Iterator[str]:
    """All names among the values of a finding."""
    for value in finding.values.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping | Sequence):
            yield from (each for each in value if isinstance(each, str))


def _without_prior(logs: Sequence[Factors], base: BaseParameters, estimate: Estimate) -> Estimate:
    """The estimate from the data alone; the one with its prior where they do not determine all parameters."""
    try:
        return weighted_least_squares(logs, base)
    except NotIdentifiableError:
        return estimate


def _estimated(
    settings: EstimationSettings,
    logs: Sequence[PreparedLog],
    factors: Sequence[Factors],
    base: BaseParameters,
    progress: Callable[[str], None],
) -> tuple[Estimate, Sequence[Factors], Scales, tuple[Finding, ...]]:
    """The estimate, the factors that it comes from, and the scales that divide each joint's rows in each log."""
    if factors and EQUIVALENT in factors[0].joints:
        scales = [{EQUIVALENT: 1.0}]
        return weighted_least_squares(factors, base, stds=scales), factors, scales, ()
    if settings.method == "ols":
        scales = [dict.fromkeys(factors[0].joints, 1.0)] * len(factors)
        return ordinary_least_squares(merge_logs(factors), base), factors, scales, ()
    prior = None if settings.prior is None else Prior.near_reference(base, settings.prior)
    if settings.robust is None:
        scales = _widened(log_stds(factors, base, base.names), logs, factors, base)
        return weighted_least_squares(factors, base, stds=scales, prior=prior), factors, scales, ()
    progress("Weighting rows by their residuals")
    weights = [log.weight for log in logs]
    fit = robust_least_squares(logs, weights, factors, base, settings.robust, prior, RowForm.of(settings))
    return fit.estimate, list(fit.logs), fit.scales, findings_on_robust(fit)


def _widened(
    scales: Scales, logs: Sequence[PreparedLog], factors: Sequence[Factors], base: BaseParameters
) -> list[dict[str, float]]:
    """Scales of errors where the rows of a log were decimated by choice, so that intervals hold what they promise.

    The filter of decimation leaves errors in a part of the rows' band only, where their density is higher. Decimation
    that was stated keeps the textbook's formula, by which others have published.
    """
    rows = sum(log.rows for log in factors)
    freedom = rows / max(rows - len(base.names), 1)
    bands = [1.0] * (len(factors) - len(logs)) + [log.error_band for log in logs]  # logs reduced before come first
    factor = [1.0 if band == 1.0 else float(np.sqrt(freedom / band)) for band in bands]
    return [{joint: size * wider for joint, size in scale.items()} for scale, wider in zip(scales, factor, strict=True)]


def _bootstrapped(
    settings: EstimationSettings,
    logs: Sequence[PreparedLog],
    sample: Sequence[PreparedLog],
    factors: Sequence[Factors],
    base: BaseParameters,
    estimate: Estimate,
    scales: Scales,
    reduced: ReducedLogs,
) -> Bootstrap | None:
    """Standard deviations by a block bootstrap, where that is asked for and no log was reduced before."""
    if not (settings.bootstrap and settings.is_least_squares) or len(factors) > len(logs):
        return None
    floors = [1e-12 * max(scale.values()) or 1.0 for scale in scales]
    sizes = [[max(size, floor) for size in scale.values()] for scale, floor in zip(scales, floors, strict=True)]
    whole = merge_weighted(factors, [joint_weights(scale) for scale in scales]).stacked(base.names, known=base.known)
    if settings.prior is not None:
        prior = Prior.near_reference(base, settings.prior)
        whole = whole.with_prior(prior.means, prior.stds)
    plain = [[size / log.weight for size in of_log] for log, of_log in zip(logs, sizes, strict=True)]
    loss = None if settings.robust is None else LOSSES[settings.robust]
    rng = np.random.default_rng(0)
    form, blocks, size = RowForm.of(settings), reduced.blocks, reduced.block_rows
    return block_bootstrap(logs, plain, whole, base, estimate.values, rng, loss, form, blocks, sample, size)
