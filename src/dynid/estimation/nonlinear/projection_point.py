"""Where a search for nonlinear parameters starts: the best of a grid, joint by joint, in one pass over the logs.

Friction of a joint acts in that joint's own row. So all candidates of all joints are columns of one pass, and each
row is fitted alone, with one candidate at a time: algebra on small triangles.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.factors import Factor, Factors
from dynid.estimation.least_squares import joint_fits, joint_weights, merge_logs
from dynid.model import BaseParameters, Candidates, DynamicModel, Term, nonlinear_columns

Reduce = Callable[[DynamicModel], list[Factors]]
"""A pass over all logs: from a model to the factors of each log."""


def scanned(
    model: DynamicModel, term: Term, free: Sequence[str], known: Mapping[str, float], reduce: Reduce
) -> dict[str, float]:
    """The best values of a term's nonlinear parameters on their grids.

    Args:
        model: The model, at the present values of its nonlinear parameters.
        term: One of its terms.
        free: Names of the nonlinear parameters to look for; others stay as they are.
        known: Values of linear parameters that are known.
        reduce: A pass over the logs.
    """
    grids = nonlinear_grids(model, term, free)
    count = max(len(grid) for grid in grids.values())
    sets = [
        dict(itertools.chain(*(grid[min(k, len(grid) - 1)].items() for grid in grids.values()))) for k in range(count)
    ]
    others = tuple(other for other in model.terms if other is not term)
    logs = reduce(DynamicModel(model.robot, (*others, Candidates(term, sets)), model.observed))
    whole = logs[0].merged(*logs[1:])
    owners = {parameter.name: parameter.owner for parameter in term.parameters(model.robot)}
    found: dict[str, float] = {}
    for owner, grid in grids.items():
        own = [name for name, of in owners.items() if of == owner]
        rows = [f for f in whole.joints.values() if any(Candidates.name(name, 0) in f.names for name in own)]
        costs = np.sum([_costs(factor, own, len(grid), known) for factor in rows], axis=0)
        found |= grid[int(np.argmin(costs))]
    return found


def nonlinear_grids(model: DynamicModel, term: Term, free: Sequence[str]) -> dict[str, list[dict[str, float]]]:
    """For each joint all combinations of its nonlinear parameters' values; those that are not free have one."""
    owners: dict[str, list[list[tuple[str, float]]]] = {}
    for parameter in term.nonlinear(model.robot):
        values = parameter.grid if parameter.name in free else (parameter.value,)
        owners.setdefault(parameter.owner, []).append([(parameter.name, value) for value in values])
    return {owner: [dict(chosen) for chosen in itertools.product(*axes)] for owner, axes in owners.items()}


def _costs(factor: Factor, own: Sequence[str], count: int, known: Mapping[str, float]) -> Array:
    """Squared errors of a row in parts of all that is left without the term, for each candidate of a joint."""
    factor = factor.without({name: value for name, value in known.items() if name in factor.names})
    candidates = [[Candidates.name(name, k) for name in own] for k in range(count)]
    all_own = {name for names in candidates for name in names}
    fixed = [name for name in factor.names if " of " not in name]
    whole = factor.select([*fixed, *(name for name in factor.names if name in all_own)])
    A, c = whole.R[:, : len(fixed)], whole.z
    basis = column_space(A)
    left = c - basis @ (basis.T @ c)
    total = float(left @ left) + whole.squares
    costs = []
    for names in candidates:
        B = whole.R[:, [whole.names.index(name) for name in names if name in whole.names]]
        B = B - basis @ (basis.T @ B)
        more = column_space(B)
        costs.append(total - float(np.sum((more.T @ left) ** 2)))
    return np.array(costs) / (total or 1.0)


def column_space(A: Array, tolerance: float = 1e-9) -> Array:
    """Orthonormal basis of a matrix's columns, shape (rows, rank); columns count whatever their size."""
    lengths = np.linalg.norm(A, axis=0)
    present = lengths > 1e-12 * lengths.max(initial=0.0)
    if not present.any():
        return np.zeros((len(A), 0))
    U, sizes, _ = np.linalg.svd(A[:, present] / lengths[present], full_matrices=False)
    return U[:, sizes > tolerance * sizes[0]]


FURTHEST_STEP = 4.0
"""Largest factor by which one step changes a parameter that is positive."""

Weights = Sequence[Mapping[str, float]]
"""For each log what its rows of each joint are multiplied with."""


@dataclass(frozen=True, eq=False)
class ProjectionPoint:
    """Nonlinear parameters with the factors of all logs there.

    Attributes:
        model: The model at these nonlinear parameters.
        base: Its base parameters (those of another set of nonlinear parameters will do).
        free: Names of the nonlinear parameters that may change.
        logs: Factors of the logs, with the slopes over these nonlinear parameters as columns of their names.
    """

    model: DynamicModel
    base: BaseParameters
    free: tuple[str, ...]
    logs: Sequence[Factors]

    @cached_property
    def nonlinear(self) -> dict[str, float]:
        """Values of all nonlinear parameters by name."""
        return {parameter.name: parameter.value for parameter in self.model.nonlinear}

    def weights(self, method: str) -> Weights:
        """Weights of rows: one over the size of their errors, or one for all with "ols"."""
        ones = [dict.fromkeys(log.joints, 1.0) for log in self.logs]
        if method == "ols":
            return ones
        values = self.values(ones)
        return [joint_weights({j: fit.rmse for j, fit in joint_fits(log, values)[0].items()}) for log in self.logs]

    def values(self, weights: Weights, step: Array | None = None) -> dict[str, float]:
        """The best linear parameters after a step of the nonlinear ones, shape (free,); of the smallest norm.

        Returns:
            All standard parameters of the model by name: base parameters stand for their groups.
        """
        whole = self._weighed(weights)
        n = len(self.base)
        c = whole.z if step is None else whole.z - whole.R[:, n:] @ step
        lengths = np.linalg.norm(whole.R[:, :n], axis=0)
        lengths[lengths == 0.0] = 1.0
        b = np.linalg.lstsq(whole.R[:, :n] / lengths, c, rcond=1e-10)[0] / lengths
        return dict(zip(self.model.names, self.base.to_standard(b).tolist(), strict=True))

    def cost(self, weights: Weights) -> float:
        """The smallest sum of squared errors at these nonlinear parameters, with weights."""
        _, left, squares, _ = self._projected(weights)
        return float(left @ left) + squares

    def step(self, weights: Weights, damping: float) -> tuple[Array, float]:
        """The damped Gauss-Newton step of the free parameters, within bounds, shape (free,), and what it gains."""
        from scipy.optimize import lsq_linear

        J, left, _, _ = self._projected(weights)
        lengths = np.linalg.norm(J, axis=0)
        seen = np.flatnonzero(lengths > 0.0)
        step = np.zeros(len(self.free))
        if not len(seen):
            return step, 0.0
        lower, upper = self._reach()
        damped = np.vstack([J[:, seen] / lengths[seen], np.sqrt(damping) * np.eye(len(seen))])
        box = (lower[seen] * lengths[seen], upper[seen] * lengths[seen])
        found = lsq_linear(damped, np.concatenate([left, np.zeros(len(seen))]), box, method="bvls")
        step[seen] = np.clip(found.x / lengths[seen], lower[seen], upper[seen])
        return step, float(left @ left - np.sum((J @ step - left) ** 2))

    def stds(self, weights: Weights) -> Array:
        """Standard deviations of the free parameters for white errors, shape (free,); infinite where undetermined."""
        J, left, squares, rows = self._projected(weights)
        found = np.full(len(self.free), np.inf)
        lengths = np.linalg.norm(J, axis=0)
        seen = np.flatnonzero(lengths > 0.0)
        if len(seen):
            _, sizes, V = np.linalg.svd(J[:, seen] / lengths[seen], full_matrices=False)
            spread = np.sum((V / np.maximum(sizes, 1e-12 * sizes[0])[:, None]) ** 2, axis=0)
            variance = (float(left @ left) + squares) / max(rows - len(self.base) - len(self.free), 1)
            found[seen] = np.sqrt(variance * spread) / lengths[seen]
        return found

    def significance(self, weights: Weights) -> dict[str, float]:
        """For each free one, how many standard deviations the parameter whose column it changes is from zero."""
        whole = self._weighed(weights)
        lengths = np.linalg.norm(whole.R, axis=0)
        lengths[lengths == 0.0] = 1.0
        inverse = np.linalg.pinv(whole.R / lengths, rcond=1e-12)
        variance = self.cost(weights) / max(whole.rows - len(whole.names), 1)
        spread = np.sqrt(variance * np.sum(inverse**2, axis=1)) / lengths
        stds = dict(zip(whole.names, spread.tolist(), strict=True))
        found = significance(self.model, self.values(weights), stds)
        return {name: found[name] for name in self.free}

    def _weighed(self, weights: Weights) -> Factor:
        logs = [log.weighted(of_log) for log, of_log in zip(self.logs, weights, strict=True)]
        return merge_logs(logs).stacked((*self.base.names, *self.free), known=self.base.known)

    def _projected(self, weights: Weights) -> tuple[Array, Array, float, int]:
        """Slopes and errors that no linear parameter explains, further squared errors, and the number of rows."""
        whole = self._weighed(weights)
        n = len(self.base)
        basis = column_space(whole.R[:, :n])
        B = whole.R[:, n:]
        J, left = B - basis @ (basis.T @ B), whole.z - basis @ (basis.T @ whole.z)
        J[:, np.linalg.norm(J, axis=0) <= 1e-9 * np.linalg.norm(B, axis=0)] = 0.0
        return J, left, whole.squares, whole.rows

    def _reach(self) -> tuple[Array, Array]:
        """Smallest and largest step of each free parameter."""
        nonlinear = {parameter.name: parameter for parameter in self.model.nonlinear}
        steps = []
        for name in self.free:
            parameter = nonlinear[name]
            lower, upper = parameter.reach(FURTHEST_STEP)
            steps.append((min(lower - parameter.value, 0.0), max(upper - parameter.value, 0.0)))
        reach = np.array(steps).reshape(-1, 2)
        return reach[:, 0], np.maximum(reach[:, 1], reach[:, 0] + 1e-12)


def significance(model: DynamicModel, values: Mapping[str, float], stds: Mapping[str, float]) -> dict[str, float]:
    """For each one, how many standard deviations the parameter whose column it changes is from zero."""
    return {
        parameter: max((abs(values[x]) / max(stds[x], 1e-300) for x in names if x in stds), default=np.inf)
        for parameter, names in nonlinear_columns(model).items()
    }
