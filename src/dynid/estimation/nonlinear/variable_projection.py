"""Nonlinear parameters by variable projection: linear parameters are solved for, nonlinear ones are searched.

    minimise over nonlinear parameters z:  min over x of |W x + C(z) x - y|^2, rows weighed by joint and log

Each pass over the logs is made with the columns at the present values, and with their slopes. Its factors give the
smallest error at these values, the Gauss-Newton step of the projected problem, and the covariance of all. Steps that do
not lower the error are damped, as Levenberg and Marquardt do, and stay within bounds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.nonlinear.projection_point import ProjectionPoint, Reduce, Weights, scanned
from dynid.model import BaseParameters, DynamicModel, linearised

MOST_PASSES = 60
"""Passes over the logs after which a search gives up."""

LOAD_ROUNDS = 20
"""Rounds of estimates and of loads from them."""

SMALL_STEP = 1e-3
"""Steps below this part of a standard deviation count as none."""

ROUNDING_STEP = 1e-10
"""Steps below this part of a parameter are rounding."""

SMALL_GAIN = 1e-9
"""Gains below this part of the squared error are none."""

GOOD_GAIN, POOR_GAIN = 0.75, 0.25
"""Shares of the expected gain from which damping is lowered, and below which it is raised."""

SAME_LOAD = 1e-5
"""Relative change of friction by load below which loads are those of the estimate."""


@dataclass(frozen=True, eq=False)
class NonlinearSearch:
    """Nonlinear parameters that were found.

    Attributes:
        model: The model with them.
        free: Names of the nonlinear parameters that were looked for.
        stds: Their standard deviations by name, if errors are white; infinite where the data say nothing.
        significance: How many standard deviations the parameter whose column it changes is from zero, by name.
        parameters: Values of all standard parameters by name; base parameters stand for their groups.
        passes: How many passes over the logs it took.
        converged: Whether it came to an end by itself.
    """

    model: DynamicModel
    free: tuple[str, ...]
    stds: Mapping[str, float]
    significance: Mapping[str, float]
    parameters: Mapping[str, float]
    passes: int
    converged: bool

    @property
    def nonlinear(self) -> dict[str, float]:
        """Values of the nonlinear parameters that were looked for, by name."""
        return {parameter.name: parameter.value for parameter in self.model.nonlinear if parameter.name in self.free}


def fit_nonlinear(
    base: BaseParameters,
    reduce: Reduce,
    held: Sequence[str] = (),
    method: str = "wls",
    progress: Callable[[str], None] = lambda _: None,
    scan: Reduce | None = None,
) -> NonlinearSearch:
    """Find the nonlinear parameters of a model, and the loads of terms that depend on them.

    Args:
        base: The base parameters of the model; its nonlinear parameters have the values that those in `held` keep.
        reduce: A pass over the logs.
        held: Names of nonlinear parameters that are not looked for.
        method: "wls" weighs the rows of each joint and log by their errors, "ols" does not.
        progress: Callback; receives a short description of each pass.
        scan: A pass over the rows of torques, one for each joint, where `reduce` gives others.
    """
    free = tuple(parameter.name for parameter in base.model.nonlinear if parameter.name not in held)
    search = _Search(base, reduce, free, method, progress)
    model = base.model
    for k, term in enumerate(base.model.terms):
        own = [parameter.name for parameter in term.nonlinear(model.robot) if parameter.name in free]
        if own:
            progress(f"Trying values of {', '.join(own[:3])}{', ...' if len(own) > 3 else ''}")
            model = model.at_nonlinear(scanned(model, model.terms[k], own, base.known, scan or reduce))
            search.passes += 1
    return search.run(model)


@dataclass
class _Search:
    """A search, which counts its passes over the logs."""

    base: BaseParameters
    reduce: Reduce
    free: tuple[str, ...]
    method: str
    progress: Callable[[str], None]
    passes: int = 0

    def at(self, model: DynamicModel, values: Mapping[str, float]) -> ProjectionPoint:
        self.passes += 1
        self.progress(f"Fitting nonlinear parameters (pass {self.passes})")
        return ProjectionPoint(model, self.base, self.free, self.reduce(linearised(model, self.free, values)))

    def run(self, model: DynamicModel) -> NonlinearSearch:
        point = self.at(model, dict.fromkeys(model.names, 1.0))
        point = self.at(point.model, point.values(point.weights(self.method)))  # now slopes are of the right size
        point, converged = self._restarted(*self._descended(point))
        loaded = [parameter for term in model.terms if term.needs_links for parameter in term.parameters(model.robot)]
        for _ in range(LOAD_ROUNDS if loaded else 0):
            before = point.values(point.weights(self.method))
            links = [before[name] for name in model.names[: len(model.robot.parameters)]]
            model = point.model.with_values(before).with_links(np.array(links))
            point, converged = self._descended(self.at(model, before))
            now = point.values(point.weights(self.method))
            change = max(abs(now[parameter.name] - before[parameter.name]) for parameter in loaded)
            if change <= SAME_LOAD * max(abs(now[parameter.name]) for parameter in loaded):
                break
        else:
            converged = converged and not loaded
        return self._found(point, converged)

    def _restarted(self, point: ProjectionPoint, converged: bool) -> tuple[ProjectionPoint, bool]:
        """The same, or a better point from the middles of grids for joints of which a parameter ran into its bound."""
        stuck = {
            parameter.owner
            for parameter in point.model.nonlinear
            if parameter.name in self.free and parameter.is_at_bound
        }
        middles = {
            parameter.name: parameter.grid[len(parameter.grid) // 2]
            for parameter in point.model.nonlinear
            if parameter.owner in stuck and parameter.name in self.free
        }
        if not middles:
            return point, converged
        weights = point.weights(self.method)
        other, ended = self._descended(self.at(point.model.at_nonlinear(middles), point.values(weights)))
        return (other, ended) if other.cost(weights) < point.cost(weights) else (point, converged)

    def _descended(self, point: ProjectionPoint) -> tuple[ProjectionPoint, bool]:
        """The point of least error, and whether it is one.

        Damping follows how much of the expected gain there was, as in trust regions: little where the problem is more
        curved than its slopes say.
        """
        damping, growth = 1e-2, 4.0
        while self.passes < MOST_PASSES:
            weights = point.weights(self.method)
            step, expected = point.step(weights, damping)
            if self._is_done(point, weights, step, expected):
                return point, True
            moved = {name: point.nonlinear[name] + d for name, d in zip(self.free, step.tolist(), strict=True)}
            new = self.at(point.model.at_nonlinear(moved), point.values(weights, step))
            share = (point.cost(weights) - new.cost(weights)) / expected
            if share > 0.0:
                point, growth = new, 4.0
                damping *= 0.1 if share > GOOD_GAIN else 1.0 if share > POOR_GAIN else 4.0
                damping = max(damping, 1e-9)
            else:
                damping, growth = max(damping, 1e-3) * growth, 2.0 * growth
        return point, False

    def _is_done(self, point: ProjectionPoint, weights: Weights, step: Array, expected: float) -> bool:
        sizes = np.array([abs(point.nonlinear[name]) for name in self.free])
        small = np.abs(step) <= np.maximum(SMALL_STEP * point.stds(weights), ROUNDING_STEP * sizes)
        return bool(np.all(small)) or expected <= SMALL_GAIN * point.cost(weights)

    def _found(self, point: ProjectionPoint, converged: bool) -> NonlinearSearch:
        weights = point.weights(self.method)
        return NonlinearSearch(
            model=point.model,
            free=self.free,
            stds=dict(zip(self.free, point.stds(weights).tolist(), strict=True)),
            significance=point.significance(weights),
            parameters=point.values(weights),
            passes=self.passes,
            converged=converged,
        )
