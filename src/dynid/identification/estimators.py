"""From prepared logs to an estimate and to what it leaves: the steps that an experiment can change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dynid.estimation.bootstrap import Bootstrap, block_bootstrap
from dynid.estimation.estimate import Estimate
from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.row_forms import RowForm
from dynid.estimation.least_squares import (
    Prior,
    log_stds,
    merge_logs,
    ordinary_least_squares,
    weighted_least_squares,
)
from dynid.estimation.robust import LOSSES, robust_least_squares
from dynid.experiment.experiment import Experiment
from dynid.findings import Finding
from dynid.identification.estimate_findings import findings_on_robust
from dynid.identification.residuals import JointDiagnostics, diagnose
from dynid.logs.processing.automatic import PreparedLog
from dynid.model.base_parameters import BaseParameters

Scales = Sequence[Mapping[str, float]]


def form_of(experiment: Experiment) -> RowForm:
    """The form of rows that an experiment estimates from."""
    return RowForm(experiment.estimation.estimator, experiment.estimation.window)


def estimated(
    experiment: Experiment,
    ready: Sequence[PreparedLog],
    logs: list[Factors],
    base: BaseParameters,
    progress: Callable[[str], None],
) -> tuple[Estimate, list[Factors], Scales, tuple[Finding, ...]]:
    """The estimate, the factors that it comes from, and by what deviation it divides each joint's rows in each log."""
    settings = experiment.estimation
    if settings.method == "ols":
        return (
            ordinary_least_squares(merge_logs(logs), base),
            logs,
            [dict.fromkeys(logs[0].joints, 1.0)] * len(logs),
            (),
        )
    prior = None if settings.prior is None else Prior.near_reference(base, settings.prior)
    if settings.robust is None:
        scales = log_stds(logs, base, base.names)
        return weighted_least_squares(logs, base, stds=scales, prior=prior), logs, scales, ()
    progress("Weighing rows by their errors")
    weights = [log.weight for log in experiment.log]
    fit = robust_least_squares(ready, weights, logs, base, settings.robust, prior, form_of(experiment))
    return fit.estimate, list(fit.logs), fit.scales, findings_on_robust(fit)


def bootstrapped(
    experiment: Experiment,
    ready: Sequence[PreparedLog],
    logs: Sequence[Factors],
    base: BaseParameters,
    estimate: Estimate,
    scales: Scales,
) -> Bootstrap | None:
    """Deviations from blocks of time, where that is wished."""
    settings = experiment.estimation
    if not settings.bootstrap:
        return None
    floors = [1e-12 * max(scale.values()) or 1.0 for scale in scales]
    sizes = [[max(size, floor) for size in scale.values()] for scale, floor in zip(scales, floors, strict=True)]
    weighed = [
        log.weighted({joint: 1.0 / size for joint, size in zip(log.joints, of_log, strict=True)})
        for log, of_log in zip(logs, sizes, strict=True)
    ]
    whole = merge_logs(weighed).stacked(base.names, known=base.known)
    if settings.prior is not None:
        prior = Prior.near_reference(base, settings.prior)
        whole = whole.with_prior(prior.means, prior.stds)
    plain = [[size / log.weight for size in of_log] for log, of_log in zip(experiment.log, sizes, strict=True)]
    loss = None if settings.robust is None else LOSSES[settings.robust]
    return block_bootstrap(
        ready, plain, whole, base, estimate.values, np.random.default_rng(0), loss, form_of(experiment)
    )


def diagnosed(ready: Sequence[PreparedLog], base: BaseParameters, estimate: Estimate) -> tuple[JointDiagnostics, ...]:
    """What the residuals of the longest log are like."""
    if not ready:
        return ()
    longest = max(ready, key=lambda log: sum(map(len, log.segments)))
    return diagnose(base.model, longest, base.to_standard(estimate.values), longest.temperature)
