"""Nonlinear parameters of a model: found in logs, carried through the estimator, reported with the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.estimation.bootstrap import Bootstrap
from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.lazy_sequences import mapped
from dynid.estimation.factors.row_forms import TORQUES, RowForm
from dynid.estimation.least_squares import Estimate, NotIdentifiableError, merge_logs
from dynid.estimation.nonlinear.projection_point import FURTHEST_STEP, significance
from dynid.estimation.nonlinear.variable_projection import NonlinearSearch, fit_nonlinear
from dynid.estimation.robust import robust_least_squares
from dynid.estimation.settings import EstimationSettings
from dynid.logs import PreparedLog, Speeds
from dynid.machine import single_threaded_blas
from dynid.model.base_parameters import BaseParameters
from dynid.model.dynamic_model import DynamicModel, split_known
from dynid.model.linearisation import linearised, with_nonlinear_columns
from dynid.model.terms import NonlinearParameter
from dynid.robot import Joint


@dataclass(frozen=True)
class NonlinearThresholds:
    """Which nonlinear parameters the logs determine.

    Shown by `benchmarks/friction_nonlinear.py` and `tests/estimation/test_friction_findings.py`: those of simulated
    robots are found, and velocities outside the data are named.
    """

    largest_std: float = 0.5
    """Standard deviation, relative to a nonlinear parameter's size, from which the logs do not determine it: then even
    its order of magnitude is open."""

    significant_parameter: float = 4.0
    """Standard deviations that a linear parameter must be away from zero for its nonlinear parameters to mean
    anything."""

    smallest_size: float = 0.02
    """Part of its range that a nonlinear parameter of either sign is taken to be as large as, at least."""


THRESHOLDS = NonlinearThresholds()

ROBUST_ROUNDS = 20
"""Rounds of robust estimates and of nonlinear parameters that follow them."""


@dataclass(frozen=True, eq=False)
class NonlinearFit:
    """The nonlinear parameters of a model, found or held.

    Attributes:
        base: The base parameters, with the model at these values.
        linear: The same with the derivatives over those that were found; `base` itself where there are none.
        fit: How they were found; None where all were held.
        doubtful: Names of those that the logs do not determine: they are held where the search left them.
    """

    base: BaseParameters
    linear: BaseParameters
    fit: NonlinearSearch | None
    doubtful: tuple[str, ...] = ()

    @property
    def found(self) -> tuple[str, ...]:
        """Names of the nonlinear parameters that were found."""
        return self.linear.names[len(self.base) :]

    def own_logs(self, logs: Sequence[Factors]) -> Sequence[Factors]:
        """Factors without the derivatives over nonlinear parameters."""
        return mapped(logs, lambda log: log.restricted(self.base.model.names))

    def own(self, estimate: Estimate, logs: Sequence[Factors]) -> Estimate:
        """The estimate of linear parameters, whose covariance accounts for that of nonlinear parameters."""
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

    def found_values(
        self, estimate: Estimate, bootstrap: Bootstrap | None, confidence: float
    ) -> tuple[FoundNonlinear, ...]:
        """Each nonlinear parameter with its uncertainty; estimate and bootstrap of the linearised model."""
        lower, upper = estimate.interval(confidence)
        values = []
        for parameter in self.base.model.nonlinear:
            k = estimate.names.index(parameter.name) if parameter.name in self.found else None
            values.append(
                FoundNonlinear(
                    parameter,
                    "data" if k is not None else "undetermined" if parameter.name in self.doubtful else "known",
                    None if k is None else float(estimate.stds[k]),
                    None if k is None else (parameter.value + float(lower[k]), parameter.value + float(upper[k])),
                    None if k is None or bootstrap is None else float(bootstrap.stds[k]),
                )
            )
        return tuple(values)


@dataclass(frozen=True)
class FoundNonlinear:
    """A nonlinear parameter with its uncertainty.

    Attributes:
        parameter: The parameter, with the value that the model has.
        source: "data", "known", or "undetermined" where the logs do not determine it.
        std: Its standard deviation for white errors; None where it was not found.
        interval: Its confidence interval.
        bootstrap: Its standard deviation that does not assume white errors.
    """

    parameter: NonlinearParameter
    source: str
    std: float | None
    interval: tuple[float, float] | None
    bootstrap: float | None


def find_nonlinear(
    base: BaseParameters,
    logs: Sequence[PreparedLog],
    settings: EstimationSettings,
    known: Mapping[str, float],
    *,
    hold: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> NonlinearFit:
    """Find the nonlinear parameters that are not known, and the loads that terms depend on.

    Args:
        base: The base parameters of the model.
        logs: The logs.
        settings: How to estimate.
        known: Parameters that are known beforehand, by name or pattern.
        hold: Whether all are held, as earlier logs were reduced with them.
        progress: Callback; receives a short description of each pass.
    """
    model = base.model
    if hold or not (model.nonlinear or any(term.needs_links for term in model.terms)):
        return NonlinearFit(base, base, None)

    def factors(trial: DynamicModel, of: RowForm) -> list[Factors]:
        return [of.factors(trial, log.segments, log.processing, log.sampling).weighted(log.weight) for log in logs]

    def reduce(trial: DynamicModel) -> list[Factors]:
        return factors(trial, form)

    form, held = RowForm.of(settings), tuple(split_known(model, known)[0])
    lowest = {name: v for name, v in slowest_speeds(model, logs, form).items() if name not in held}
    base = replace(base, model=model.searched_from(lowest))
    with single_threaded_blas():
        fit = fit_nonlinear(base, reduce, held, settings.method, progress, lambda trial: factors(trial, TORQUES))
        if settings.robust is not None and fit.free:
            fit = _robust(settings, base, fit, logs, reduce, progress)
    doubtful = doubtful_nonlinear(fit)
    at_nonlinear = replace(base, model=fit.model)
    free = [name for name in fit.free if name not in doubtful]
    linear = with_nonlinear_columns(at_nonlinear, linearised(fit.model, free, fit.parameters)) if free else at_nonlinear
    return NonlinearFit(at_nonlinear, linear, fit, doubtful)


def doubtful_nonlinear(fit: NonlinearSearch) -> tuple[str, ...]:
    """Names of nonlinear parameters that the logs do not determine.

    Their standard deviation is large, they ran into a bound, or the parameter whose column they change may be zero.
    """
    return tuple(
        parameter.name
        for parameter in fit.model.nonlinear
        if parameter.name in fit.free
        and (
            fit.stds[parameter.name] > THRESHOLDS.largest_std * _size(parameter)
            or fit.significance[parameter.name] < THRESHOLDS.significant_parameter
            or parameter.is_at_bound
        )
    )


def _size(parameter: NonlinearParameter) -> float:
    """What a standard deviation is compared with: the value, or a part of the range if it has either sign."""
    return (
        parameter.value
        if parameter.lower > 0.0
        else max(abs(parameter.value), THRESHOLDS.smallest_size * (parameter.upper - parameter.lower))
    )


def _robust(
    settings: EstimationSettings,
    base: BaseParameters,
    fit: NonlinearSearch,
    logs: Sequence[PreparedLog],
    reduce: Callable[[DynamicModel], list[Factors]],
    progress: Callable[[str], None],
) -> NonlinearSearch:
    """Nonlinear parameters of robust estimates of the linearised model, round by round."""
    weights, loss = [log.weight for log in logs], str(settings.robust)
    for k in range(ROBUST_ROUNDS):
        progress(f"Nonlinear parameters, robust (round {k + 1})")
        model = linearised(fit.model, fit.free, fit.parameters)
        linear = with_nonlinear_columns(replace(base, model=fit.model), model)
        try:
            estimate = robust_least_squares(
                logs, weights, reduce(model), linear, loss, form=RowForm.of(settings)
            ).estimate
        except NotIdentifiableError:  # one has no effect: what was found before says which
            return fit
        p = dict(zip(model.names, linear.to_standard(estimate.values).tolist(), strict=True))
        stds = dict(zip(estimate.names, estimate.stds.tolist(), strict=True))
        changing = significance(fit.model, p, stds)
        moved = {
            parameter.name: float(np.clip(parameter.value + p[parameter.name], *parameter.reach(FURTHEST_STEP)))
            for parameter in fit.model.nonlinear
            if parameter.name in fit.free
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


def threshold_of(log: PreparedLog, joint: Joint, form: RowForm) -> float:
    """Speed [rad/s or m/s] below which rows of a joint are dropped; rows of power and energy never are."""
    thresholds = log.processing.thresholds
    return thresholds[joint.v.start] if thresholds and form.name in ("torque", "momentum") else 0.0


def speeds(logs: Sequence[PreparedLog], form: RowForm) -> Speeds | None:
    """Velocities of the joints in all rows that count; None where there is no log."""
    drops_slow = form.name in ("torque", "momentum")
    found = [log.motion.counted if drops_slow else log.motion.kept for log in logs]
    return Speeds.joined(found) if found else None


def slowest_speeds(model: DynamicModel, logs: Sequence[PreparedLog], form: RowForm) -> dict[str, float]:
    """For each nonlinear parameter that is a positive speed, the slowest speed of its joint in all rows that count.

    What happens at slower speeds acts in no row: only smearing by filters, or rounding, would determine it.
    """
    found, all_speeds = {}, speeds(logs, form) if model.nonlinear else None
    if all_speeds is None:
        return {}
    for parameter in model.nonlinear:
        column = model.robot.joint(parameter.owner).v.start
        if parameter.unit in ("rad/s", "m/s") and parameter.lower > 0.0 and all_speeds.rows[column]:
            found[parameter.name] = float(all_speeds.slowest[column])
    return found
