"""Shapes of an experiment's terms: found in its logs, carried through its estimator, and told with the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.estimation.bootstrap import Bootstrap
from dynid.estimation.estimate import Estimate
from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.row_forms import TORQUES, RowForm
from dynid.estimation.least_squares import NotIdentifiableError, merge_logs
from dynid.estimation.nonlinear.projection_point import FURTHEST, significance
from dynid.estimation.nonlinear.variable_projection import NonlinearSearch, fit_nonlinear
from dynid.estimation.robust import robust_least_squares
from dynid.experiment.experiment import Experiment
from dynid.identification.estimators import form_of
from dynid.identification.missing_friction import without_probes
from dynid.identification.row_speeds import slowest_speeds
from dynid.logs.processing.automatic import PreparedLog
from dynid.model.base_parameters import BaseParameters
from dynid.model.dynamic_model import DynamicModel
from dynid.model.known_values import split_known
from dynid.model.linearisation import linearised, with_nonlinear_columns
from dynid.model.terms import NonlinearParameter

UNSURE = 0.5
"""Deviation, in parts of a shape's size, from which the logs do not tell it."""

SIGNIFICANT = 4.0
"""Deviations that a parameter must be away from zero for its shapes to mean anything."""

ROUNDS = 20
"""Rounds of robust estimates and of shapes that follow them."""


@dataclass(frozen=True, eq=False)
class NonlinearFit:
    """The shapes of a model, found or held.

    Attributes:
        base: The base parameters, with the model at these shapes.
        linear: The same with the changes of the shapes that were found; `base` itself where there are none.
        fit: How they were found; None where all were held.
        doubtful: Names of shapes that the logs do not tell: they are held where the search left them.
    """

    base: BaseParameters
    linear: BaseParameters
    fit: NonlinearSearch | None
    doubtful: tuple[str, ...] = ()

    @property
    def found(self) -> tuple[str, ...]:
        """Names of the shapes that were found."""
        return self.linear.names[len(self.base) :]

    def own_logs(self, logs: Iterable[Factors]) -> list[Factors]:
        """Factors without the changes of shapes."""
        return [without_probes(log, self.base.model) for log in logs]

    def own(self, estimate: Estimate, logs: Sequence[Factors]) -> Estimate:
        """The estimate of linear parameters, whose covariance knows that shapes are uncertain, too."""
        n = len(self.base)
        if not self.found:
            return estimate
        R = merge_logs(logs).stacked(self.base.names, known=self.base.known).R
        return replace(
            estimate,
            names=estimate.names[:n],
            values=estimate.values[:n],
            covariance=estimate.covariance[:n, :n],
            condition_number=float(np.linalg.cond(R)),
        )

    def own_bootstrap(self, bootstrap: Bootstrap | None) -> Bootstrap | None:
        """The bootstrap of linear parameters."""
        return None if bootstrap is None else replace(bootstrap, stds=bootstrap.stds[: len(self.base)])

    def told(self, estimate: Estimate, bootstrap: Bootstrap | None, confidence: float) -> tuple[FoundNonlinear, ...]:
        """What is told of each shape; estimate and bootstrap with the changes of shapes."""
        lower, upper = estimate.interval(confidence)
        told = []
        for shape in self.base.model.nonlinear:
            k = estimate.names.index(shape.name) if shape.name in self.found else None
            told.append(
                FoundNonlinear(
                    shape,
                    "data" if k is not None else "undetermined" if shape.name in self.doubtful else "known",
                    None if k is None else float(estimate.stds[k]),
                    None if k is None else (shape.value + float(lower[k]), shape.value + float(upper[k])),
                    None if k is None or bootstrap is None else float(bootstrap.stds[k]),
                )
            )
        return tuple(told)


@dataclass(frozen=True)
class FoundNonlinear:
    """What is told of a shape.

    Attributes:
        shape: The shape, with the value that the model has.
        source: "data", "known", or "undetermined" where the logs do not tell it.
        std: Its standard deviation for white errors; None where it was not found.
        interval: Its confidence interval.
        bootstrap: Its deviation that does not assume white errors.
    """

    shape: NonlinearParameter
    source: str
    std: float | None
    interval: tuple[float, float] | None
    bootstrap: float | None


def find_nonlinear(
    experiment: Experiment,
    base: BaseParameters,
    logs: Sequence[PreparedLog],
    progress: Callable[[str], None],
    *,
    hold: bool = False,
) -> NonlinearFit:
    """Find the shapes that are not known, and the loads that terms depend on.

    Args:
        experiment: The experiment.
        base: The base parameters of its model.
        logs: Its logs.
        progress: Is told each pass in a few words.
        hold: Whether all are held, as earlier logs were reduced with them.
    """
    model = base.model
    if hold or not (model.nonlinear or any(term.needs_links for term in model.terms)):
        return NonlinearFit(base, base, None)

    def factors(trial: DynamicModel, of: RowForm) -> list[Factors]:
        return [
            of.factors(trial, log.segments, log.processing, log.sampling).weighted(table.weight)
            for log, table in zip(logs, experiment.log, strict=True)
        ]

    def reduce(trial: DynamicModel) -> list[Factors]:
        return factors(trial, form)

    form, held = form_of(experiment), tuple(split_known(model, experiment.known)[0])
    method = experiment.estimation.method
    lowest = {name: v for name, v in slowest_speeds(model, logs, form).items() if name not in held}
    base = replace(base, model=model.searched_from(lowest))
    fit = fit_nonlinear(base, reduce, held, method, progress, lambda trial: factors(trial, TORQUES))
    if experiment.estimation.robust is not None and fit.free:
        fit = _robust(experiment, base, fit, logs, reduce, progress)
    doubtful = doubtful_nonlinear(fit)
    at_nonlinear = replace(base, model=fit.model)
    free = [name for name in fit.free if name not in doubtful]
    linear = with_nonlinear_columns(at_nonlinear, linearised(fit.model, free, fit.parameters)) if free else at_nonlinear
    return NonlinearFit(at_nonlinear, linear, fit, doubtful)


def doubtful_nonlinear(fit: NonlinearSearch) -> tuple[str, ...]:
    """Names of shapes that the logs do not tell.

    Their deviation is large, they ran into a bound, or the parameter whose column they change may as well be zero.
    """
    return tuple(
        shape.name
        for shape in fit.model.nonlinear
        if shape.name in fit.free
        and (
            fit.stds[shape.name] > UNSURE * _size(shape)
            or fit.significance[shape.name] < SIGNIFICANT
            or shape.is_at_bound
        )
    )


def _size(shape: NonlinearParameter) -> float:
    """What a deviation is compared with: the value, or a part of all that is looked for if it has either sign."""
    return shape.value if shape.lower > 0.0 else max(abs(shape.value), 0.02 * (shape.upper - shape.lower))


def _robust(
    experiment: Experiment,
    base: BaseParameters,
    fit: NonlinearSearch,
    logs: Sequence[PreparedLog],
    reduce: Callable[[DynamicModel], list[Factors]],
    progress: Callable[[str], None],
) -> NonlinearSearch:
    """Shapes that outliers do not spoil: those of robust estimates of the linear model, round by round."""
    weights, loss = [table.weight for table in experiment.log], str(experiment.estimation.robust)
    for k in range(ROUNDS):
        progress(f"Looking for shapes that outliers do not spoil (round {k + 1})")
        model = linearised(fit.model, fit.free, fit.parameters)
        linear = with_nonlinear_columns(replace(base, model=fit.model), model)
        try:
            estimate = robust_least_squares(
                logs, weights, reduce(model), linear, loss, form=form_of(experiment)
            ).estimate
        except NotIdentifiableError:  # some shape does not show: what was found before says which
            return fit
        p = dict(zip(model.names, linear.to_standard(estimate.values).tolist(), strict=True))
        stds = dict(zip(estimate.names, estimate.stds.tolist(), strict=True))
        changing = significance(fit.model, p, stds)
        moved = {
            shape.name: float(np.clip(shape.value + p[shape.name], *shape.reach(FURTHEST)))
            for shape in fit.model.nonlinear
            if shape.name in fit.free
        }
        settled = all(abs(p[name]) <= 0.02 * stds[name] for name in fit.free)
        fit = replace(
            fit,
            model=fit.model.at_nonlinear(moved),
            stds={name: stds[name] for name in fit.free},
            significance={name: changing[name] for name in fit.free},
            parameters=p,
            passes=fit.passes + 1,
            converged=settled,
        )
        if settled:
            break
    return fit
