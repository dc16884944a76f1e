"""From logs to factors: all that estimation needs of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.row_forms import TORQUES, RowForm
from dynid.estimation.friction_probes import probed, without_probes
from dynid.estimation.nonlinear.nonlinear_fit import NonlinearFit
from dynid.estimation.settings import EstimationSettings
from dynid.logs.processing.automatic import PreparedLog
from dynid.model.chunks import split
from dynid.model.dynamic_model import DynamicModel

FOLDS = 5
"""Parts of a log that cross-validation predicts in turn from the others."""


@dataclass(frozen=True, eq=False)
class EarlierLogs:
    """Logs that were reduced before, and count, too.

    Attributes:
        model: The model that they were reduced with, whose nonlinear parameters are held.
        torques: The factors of each log's torques.
        rows: The factors of each log that are estimated from: the same, or those of another form of rows.
    """

    model: DynamicModel
    torques: tuple[Factors, ...] = ()
    rows: tuple[Factors, ...] = ()


@dataclass(frozen=True, eq=False)
class ReducedLogs:
    """The factors of all logs, those that were reduced before first.

    Attributes:
        torques: The factors of each log's torques, with the derivatives over nonlinear parameters that were found.
        rows: The factors of each log that are estimated from: the same, or those of another form of rows.
        folds: The factors of parts of the logs, for cross-validation; none where it is not asked for.
        probes: The factors of the torques of each log that was read now, with friction that the model lacks.
    """

    torques: tuple[Factors, ...]
    rows: tuple[Factors, ...]
    folds: tuple[Factors, ...]
    probes: tuple[Factors, ...]


def reduce_logs(
    logs: Sequence[PreparedLog],
    nonlinear: NonlinearFit,
    settings: EstimationSettings,
    earlier: EarlierLogs | None = None,
    *,
    folds: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> ReducedLogs:
    """Reduce logs to factors.

    Args:
        logs: The logs, ready for the model.
        nonlinear: The nonlinear parameters of the model, found or held.
        settings: How to estimate: which rows.
        earlier: Logs that were reduced before.
        folds: Whether parts of the logs are reduced by themselves, too, for cross-validation.
        progress: Callback; receives a short description of each step.
    """
    form, model = RowForm.of(settings), nonlinear.linear.model
    torques, rows = ([], []) if earlier is None else (list(earlier.torques), list(earlier.rows))
    parts, probes = list(rows), list[Factors]()
    with_probes = probed(model)
    for k, log in enumerate(logs, start=1):
        progress(f"Reducing log {k} of {len(logs)}")
        segments, processing, weight = log.segments, log.processing, log.weight
        probes.append(TORQUES.factors(with_probes, segments, processing, log.sampling).weighted(weight))
        torques.append(without_probes(probes[-1], model))
        if form.name == "torque":
            rows.append(torques[-1])
        else:
            rows.append(form.factors(model, segments, processing, log.sampling).weighted(weight))
        for part in split(segments, FOLDS) if folds else ():
            parts.append(form.factors(nonlinear.base.model, part, processing, log.sampling).weighted(weight))
    return ReducedLogs(tuple(torques), tuple(rows), tuple(parts), tuple(probes))
