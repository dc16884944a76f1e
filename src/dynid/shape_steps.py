"""Shapes of an experiment's terms: found in its logs, carried through its estimator, and told with the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.config import Experiment
from dynid.data.automatic import Prepared
from dynid.data.factors import Factors
from dynid.data.processing import factors_of
from dynid.errors import InvalidRequestError
from dynid.estimation import Estimate
from dynid.estimation.bootstrap import Bootstrap
from dynid.estimation.least_squares import merge_logs
from dynid.estimation.robust import robust_least_squares
from dynid.estimation.variable_projection import ShapeFit, fit_shapes
from dynid.missing_friction import without_probes
from dynid.model.base_parameters import BaseParameters
from dynid.model.dynamic_model import DynamicModel
from dynid.model.known_values import split_known
from dynid.model.linearisation import linearised, with_shape_columns
from dynid.model.terms import Shape

UNSURE = 0.5
"""Deviation, in parts of a shape's size, from which the logs do not tell it."""

ROUNDS = 8
"""Rounds of robust estimates and of shapes that follow them."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """The shapes of a model, found or held.

    Attributes:
        base: The base parameters, with the model at these shapes.
        linear: The same with the changes of the shapes that were found; `base` itself where there are none.
        fit: How they were found; None where all were held.
        doubtful: Names of shapes that the logs do not tell: they are held where the search left them.
    """

    base: BaseParameters
    linear: BaseParameters
    fit: ShapeFit | None
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
        return None if bootstrap is None else replace(bootstrap, deviations=bootstrap.deviations[: len(self.base)])

    def told(self, estimate: Estimate, bootstrap: Bootstrap | None, confidence: float) -> tuple[FoundShape, ...]:
        """What is told of each shape; estimate and bootstrap with the changes of shapes."""
        lower, upper = estimate.interval(confidence)
        told = []
        for shape in self.base.model.shapes:
            k = estimate.names.index(shape.name) if shape.name in self.found else None
            told.append(
                FoundShape(
                    shape,
                    "data" if k is not None else "undetermined" if shape.name in self.doubtful else "known",
                    None if k is None else float(estimate.deviations[k]),
                    None if k is None else (shape.value + float(lower[k]), shape.value + float(upper[k])),
                    None if k is None or bootstrap is None else float(bootstrap.deviations[k]),
                )
            )
        return tuple(told)


@dataclass(frozen=True)
class FoundShape:
    """What is told of a shape.

    Attributes:
        shape: The shape, with the value that the model has.
        source: "data", "known", or "undetermined" where the logs do not tell it.
        deviation: Its standard deviation for white errors; None where it was not found.
        interval: Its confidence interval.
        bootstrap: Its deviation that does not assume white errors.
    """

    shape: Shape
    source: str
    deviation: float | None
    interval: tuple[float, float] | None
    bootstrap: float | None


def find_shapes(
    experiment: Experiment,
    base: BaseParameters,
    logs: Sequence[Prepared],
    progress: Callable[[str], None],
    *,
    hold: bool = False,
) -> Shapes:
    """Find the shapes that are not known, and the loads that terms depend on.

    Args:
        experiment: The experiment.
        base: The base parameters of its model.
        logs: Its logs.
        progress: Is told each pass in a few words.
        hold: Whether all are held, as earlier logs were reduced with them.
    """
    model = base.model
    if hold or not (model.shapes or any(term.needs_links for term in model.terms)):
        return Shapes(base, base, None)
    if experiment.torque == "magnitude":
        raise InvalidRequestError(
            "torques without signs cannot tell the shapes of friction; use the terms viscous and coulomb for them"
        )

    def reduce(trial: DynamicModel) -> list[Factors]:
        return [
            factors_of(trial, log.segments, log.processing).weighted(table.weight)
            for log, table in zip(logs, experiment.log, strict=True)
        ]

    held = tuple(split_known(model, experiment.known)[0])
    fit = fit_shapes(base, reduce, held, experiment.estimation.method, progress)
    doubtful = doubtful_shapes(fit)
    shapes = _carried(base, fit.model, fit, doubtful, fit.parameters)
    if experiment.estimation.robust is not None and shapes.found:
        shapes = _robust(experiment, shapes, logs, reduce, progress)
    return shapes


def doubtful_shapes(fit: ShapeFit) -> tuple[str, ...]:
    """Names of shapes that the logs do not tell: their deviation is large, or they ran into a bound."""
    return tuple(
        shape.name
        for shape in fit.model.shapes
        if shape.name in fit.free and (fit.deviations[shape.name] > UNSURE * _size(shape) or at_bound(shape))
    )


def at_bound(shape: Shape) -> bool:
    """Whether a shape is as small or as large as was looked for."""
    near = 1e-6 * (shape.upper - shape.lower)
    return shape.value >= shape.upper - near or shape.value <= min(1.001 * shape.lower, shape.lower + near)


def _size(shape: Shape) -> float:
    """What a deviation is compared with: the value, or a part of the grid for shapes of either sign."""
    return shape.value if shape.lower > 0.0 else max(abs(shape.value), 0.1 * (shape.grid[-1] - shape.grid[0]))


def _carried(
    base: BaseParameters,
    model: DynamicModel,
    fit: ShapeFit,
    doubtful: tuple[str, ...],
    values: Mapping[str, float],
) -> Shapes:
    at_shapes = replace(base, model=model)
    free = [name for name in fit.free if name not in doubtful]
    linear = with_shape_columns(at_shapes, linearised(model, free, values)) if free else at_shapes
    return Shapes(at_shapes, linear, fit, doubtful)


def _robust(
    experiment: Experiment,
    shapes: Shapes,
    logs: Sequence[Prepared],
    reduce: Callable[[DynamicModel], list[Factors]],
    progress: Callable[[str], None],
) -> Shapes:
    """Shapes that outliers do not spoil: those of robust estimates of the linear model, round by round."""
    weights, loss = [table.weight for table in experiment.log], str(experiment.estimation.robust)
    for k in range(ROUNDS):
        progress(f"Looking for shapes that outliers do not spoil (round {k + 1})")
        linear = shapes.linear
        estimate = robust_least_squares(logs, weights, reduce(linear.model), linear, loss).estimate
        n = len(shapes.base)
        change = dict(zip(shapes.found, estimate.values[n:].tolist(), strict=True))
        if np.all(np.abs(estimate.values[n:]) <= 0.02 * estimate.deviations[n:]):
            break
        bounds = {shape.name: shape for shape in shapes.base.model.shapes}
        moved = {
            name: float(np.clip(bounds[name].value + d, bounds[name].lower, bounds[name].upper))
            for name, d in change.items()
        }
        p = dict(zip(linear.model.names, linear.to_standard(estimate.values).tolist(), strict=True))
        assert shapes.fit is not None
        shapes = _carried(shapes.base, shapes.base.model.shaped(moved), shapes.fit, shapes.doubtful, p)
    return shapes
