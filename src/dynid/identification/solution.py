"""From factors to an estimate with uncertainties, and what is told by the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dynid.estimation.bootstrap import Bootstrap
from dynid.estimation.estimate import Estimate
from dynid.estimation.factors.factors import Factors
from dynid.estimation.least_squares import NotIdentifiableError, essential_parameters, weighted_least_squares
from dynid.findings import Finding, Severity
from dynid.identification.estimate_findings import findings_on_bootstrap, findings_on_estimate
from dynid.identification.estimators import bootstrapped, estimated, form_of
from dynid.identification.factorisation import ReducedLogs
from dynid.identification.forms import (
    FormFit,
    advice_on_motion,
    findings_on_form,
    form_fit,
    with_torque_fits,
    without_consequences,
)
from dynid.identification.log_reading import ReadLogs
from dynid.identification.missing_friction import findings_on_friction
from dynid.identification.nonlinear_terms import FoundNonlinear, NonlinearFit
from dynid.model.base_parameters import BaseParameters


@dataclass(frozen=True, eq=False)
class Solution:
    """An estimate, with all that comes from the same factors.

    Attributes:
        estimate: Values with uncertainties; its fits are those of torques.
        essential: The same for the essential ones of the parameters only.
        by_data: What the data say by themselves, without a prior.
        bootstrap: Deviations that do not assume white errors; None where there are too few blocks of time.
        nonlinear: What is told of the shapes of terms.
        form: How well rows of power, energy or momentum are fitted; None where torques were.
        torques: The factors of each log's torques, with the weights of a robust estimate.
        rows: The factors of each log that were estimated from.
        lost: Findings on what the form of rows cannot tell.
        findings: All findings on the estimate.
    """

    estimate: Estimate
    essential: Estimate
    by_data: Estimate
    bootstrap: Bootstrap | None
    nonlinear: tuple[FoundNonlinear, ...]
    form: FormFit | None
    torques: tuple[Factors, ...]
    rows: tuple[Factors, ...]
    lost: tuple[Finding, ...]
    findings: tuple[Finding, ...]


def solved(
    read: ReadLogs,
    reduced: ReducedLogs,
    nonlinear: NonlinearFit,
    noticed: Sequence[Finding],
    progress: Callable[[str], None],
) -> Solution:
    """Estimate base parameters.

    Args:
        read: The logs that were read.
        reduced: The factors of all logs.
        nonlinear: The shapes of the model.
        noticed: Findings so far, one of which may be the cause of what cannot be told.
        progress: Is told each step in a few words.

    Raises:
        NotIdentifiableError: If the data do not determine all parameters.
    """
    experiment, form, base = read.experiment, form_of(read.experiment), nonlinear.base
    try:
        whole, with_changes, scales, notes = estimated(
            experiment, read.logs, list(reduced.rows), nonlinear.linear, progress
        )
        rows = nonlinear.own_logs(with_changes)
        estimate = nonlinear.own(whole, rows)
        essential = essential_parameters(rows, base, experiment.estimation.essential_ratio)
    except NotIdentifiableError as error:
        raise NotIdentifiableError(error.names, error.rows, error.problem, _cause(noticed, error)) from error
    fit, torques = form_fit(form, estimate, read.logs), rows
    if fit is not None:
        torques = nonlinear.own_logs(reduced.torques)
        estimate, essential = (with_torque_fits(found, torques, base) for found in (estimate, essential))
    has_earlier = len(reduced.rows) > len(read.logs)
    blocks = None if has_earlier else bootstrapped(experiment, read.logs, with_changes, nonlinear.linear, whole, scales)
    bootstrap = nonlinear.own_bootstrap(blocks)
    lost = findings_on_form(form, estimate, torques, base, read.logs)
    of_estimate = findings_on_estimate(estimate, base.model, advice_on_motion(form))
    return Solution(
        estimate=estimate,
        essential=essential,
        by_data=nonlinear.own(_without_prior(with_changes, nonlinear.linear, whole), rows),
        bootstrap=bootstrap,
        nonlinear=nonlinear.told(whole, blocks, experiment.estimation.confidence),
        form=fit,
        torques=tuple(torques),
        rows=tuple(rows),
        lost=lost,
        findings=(
            *notes,
            *without_consequences(of_estimate, lost),
            *lost,
            *findings_on_friction(reduced.probes, base),
            *findings_on_bootstrap(estimate, bootstrap),
        ),
    )


def _cause(findings: Sequence[Finding], error: NotIdentifiableError) -> str:
    """The finding that tells most about what cannot be told.

    That is one on a joint that never moves, else the one that names it, else a warning, else a note.
    """

    def rank(finding: Finding) -> tuple[bool, int, bool]:
        words = finding.text.replace(",", " ").split()
        named = sum(name in words for name in error.names)
        return "never moves" in finding.text, named, finding.severity is not Severity.NOTE

    best = max(findings, key=rank, default=None)
    return "" if best is None else f"{best.subject}: {best.text}"


def _without_prior(logs: Sequence[Factors], base: BaseParameters, estimate: Estimate) -> Estimate:
    """What the data say by themselves; the estimate with its prior where they do not say all."""
    try:
        return weighted_least_squares(logs, base)
    except NotIdentifiableError:
        return estimate
