"""Where a search for shapes starts: the best of a grid, joint by joint, in one pass over the logs.

Friction of a joint acts in that joint's own row. So all candidates of all joints are columns of one pass, and each
row is fitted alone, with one candidate at a time: algebra on small triangles.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.factors import Factor, Factors
from dynid.model.dynamic_model import DynamicModel
from dynid.model.linearisation import Candidates
from dynid.model.terms import Term

Reduce = Callable[[DynamicModel], list[Factors]]
"""A pass over all logs: from a model to the factors of each log."""


def scanned(
    model: DynamicModel, term: Term, free: Sequence[str], known: Mapping[str, float], reduce: Reduce
) -> dict[str, float]:
    """The best values of a term's shapes on their grids.

    Args:
        model: The model, at the present values of its shapes.
        term: One of its terms.
        free: Names of the shapes to look for; others stay as they are.
        known: Values of linear parameters that are known.
        reduce: A pass over the logs.
    """
    grids = _grids(model, term, free)
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


def _grids(model: DynamicModel, term: Term, free: Sequence[str]) -> dict[str, list[dict[str, float]]]:
    """For each joint all combinations of its shapes' values; those that are not free have one."""
    owners: dict[str, list[list[tuple[str, float]]]] = {}
    for shape in term.nonlinear(model.robot):
        values = shape.grid if shape.name in free else (shape.value,)
        owners.setdefault(shape.owner, []).append([(shape.name, value) for value in values])
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
