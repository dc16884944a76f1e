"""From logs to factors: all that estimation needs of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.row_forms import TORQUES
from dynid.identification.estimators import form_of
from dynid.identification.log_reading import ReadLogs
from dynid.identification.missing_friction import probed, without_probes
from dynid.identification.nonlinear_terms import NonlinearFit
from dynid.identification.outcome import EarlierLogs
from dynid.model.chunks import split

FOLDS = 5
"""Parts of a log that cross-validation predicts in turn from the others."""


@dataclass(frozen=True, eq=False)
class ReducedLogs:
    """The factors of all logs, those that were read before first.

    Attributes:
        torques: The factors of each log's torques, with the changes of shapes that were found.
        rows: The factors of each log that are estimated from: the same, or those of another form of rows.
        folds: The factors of parts of the logs, for cross-validation; none where it is not wished.
        probes: The factors of the torques of each log that was read now, with friction that the model lacks.
    """

    torques: tuple[Factors, ...]
    rows: tuple[Factors, ...]
    folds: tuple[Factors, ...]
    probes: tuple[Factors, ...]


def reduced_logs(
    read: ReadLogs, nonlinear: NonlinearFit, earlier: EarlierLogs | None, progress: Callable[[str], None]
) -> ReducedLogs:
    """Reduce logs that were read."""
    experiment, form, model = read.experiment, form_of(read.experiment), nonlinear.linear.model
    torques, rows = ([], []) if earlier is None else (list(earlier.torques), list(earlier.rows))
    folds, probes = list(rows), list[Factors]()
    with_probes = probed(model)
    for k, (table, log) in enumerate(zip(experiment.log, read.logs, strict=True), start=1):
        progress(f"Reducing log {k} of {len(experiment.log)}")
        segments, processing, weight = log.segments, log.processing, table.weight
        probes.append(TORQUES.factors(with_probes, segments, processing, log.sampling).weighted(weight))
        torques.append(without_probes(probes[-1], model))
        if form.name == "torque":
            rows.append(torques[-1])
        else:
            rows.append(form.factors(model, segments, processing, log.sampling).weighted(weight))
        if experiment.physical.weight == "cross-validation":
            for part in split(segments, FOLDS):
                factors = form.factors(nonlinear.base.model, part, processing, log.sampling)
                folds.append(factors.weighted(weight))
    return ReducedLogs(tuple(torques), tuple(rows), tuple(folds), tuple(probes))
