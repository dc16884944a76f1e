"""Errors on blocks of time that a fit has not seen: each block is predicted by a fit to all others.

Blocks are contiguous, with gaps between them, and all of it is algebra on their factors. It shows how far a fit carries
over to other parts of the same logs; only another log shows how far it carries over to other motions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.factors import Factor, merged
from dynid.estimation.factors.reduced_logs import Fold
from dynid.estimation.least_squares import JointFit, NotIdentifiableError, Prior, merge_logs
from dynid.estimation.physical.physical_estimate import row_weights
from dynid.machine import single_threaded_blas
from dynid.model import BaseParameters


@dataclass(frozen=True)
class HeldOutThresholds:
    """How many blocks of time are held out.

    By judgement; `tests/estimation/test_held_out_blocks.py` compares with fits to rows.
    """

    most_blocks: int = 12
    """Blocks that are held out in turn at most; more of them are joined, so that time does not grow with the logs."""

    fewest_blocks: int = 4
    """Blocks below which nothing is said of how they differ: the standard error of fewer means nothing."""


HELD_OUT_THRESHOLDS = HeldOutThresholds()

WEAKEST_DIRECTION = 1e-10
"""Smallest singular value, relative to the largest, of unit columns that a fit to the other blocks needs: a block that
alone excites a combination cannot be predicted by the others, and does not count."""


@dataclass(frozen=True)
class HeldOutBlocks:
    """Errors on blocks of time, each predicted by a fit to all others.

    Attributes:
        blocks: Number of blocks.
        relative_error: Norm of all errors of the base parameters over the norm of what was measured.
        own_relative_error: The same of a fit to all blocks.
        joints: How well each row is predicted.
        physical_relative_error: Error of physically consistent links, likewise; None where they were not tried.
    """

    blocks: int
    relative_error: float
    own_relative_error: float
    joints: Mapping[str, JointFit]
    physical_relative_error: float | None = None

    def to_dict(self) -> dict[str, object]:
        """As plain data for JSON."""
        return {**vars(self), "joints": [{"name": name, **vars(fit)} for name, fit in self.joints.items()]}


def joined_folds(folds: Sequence[Fold]) -> list[Sequence[Fold]]:
    """The folds that are held out together: one each, or neighbours where they are many."""
    step = -(-len(folds) // HELD_OUT_THRESHOLDS.most_blocks)
    return [folds[k : k + step] for k in range(0, len(folds), step or 1)]


def weighed_blocks(folds: Sequence[Fold], base: BaseParameters, method: str) -> list[Factor]:
    """The factor of each block, scaled so that errors have about unit variance.

    Raises:
        NotIdentifiableError: If the blocks together do not determine the base parameters.
    """
    numbers = sorted({fold.log for fold in folds})
    logs = [merge_logs([fold.factors for fold in folds if fold.log == k]) for k in numbers]
    weights = dict(zip(numbers, row_weights(logs, base, method), strict=True))

    def stacked(fold: Fold) -> Factor:
        return fold.factors.weighted(weights[fold.log]).stacked(base.names, known=base.known)

    return [merged(map(stacked, each), base.names) for each in joined_folds(folds)]


def held_out_blocks(
    folds: Sequence[Fold],
    base: BaseParameters,
    method: str = "wls",
    prior: Prior | None = None,
    links: Sequence[Array] = (),
) -> HeldOutBlocks | None:
    """Predict each block by a fit to all others; None where there are too few blocks.

    Args:
        folds: Parts of the logs.
        base: The base parameters.
        method: "ols" or "wls".
        prior: What is known of the parameters beforehand.
        links: Base parameters of physically consistent links, each shape (base,), fitted to all blocks but one.
    """
    groups = joined_folds(folds)
    if len(groups) < HELD_OUT_THRESHOLDS.fewest_blocks:
        return None
    with single_threaded_blas():
        try:
            parts = weighed_blocks(folds, base, method)
        except NotIdentifiableError:
            return None
        found = _left_out(parts, prior)
        whole = _solved(parts, prior)
        used = [k for k, values in enumerate(found) if values is not None]
        if whole is None or len(used) < HELD_OUT_THRESHOLDS.fewest_blocks:
            return None
        sums = np.sum([_squares(groups[k], base, found[k]) for k in used], axis=0)
        own = np.sum([_squares(groups[k], base, whole) for k in used], axis=0)
        of_links = None
        if len(links) == len(groups):
            of_links = _ratio(*np.sum([_squares(groups[k], base, links[k]) for k in used], axis=0)[:2].sum(axis=1))
    names = folds[0].factors.joints
    joints = {name: _fit(*column) for name, column in zip(names, sums.T.tolist(), strict=True)}
    return HeldOutBlocks(len(used), _ratio(*sums[:2].sum(axis=1)), _ratio(*own[:2].sum(axis=1)), joints, of_links)


def left_out_fits(
    folds: Sequence[Fold], base: BaseParameters, method: str = "wls", prior: Prior | None = None
) -> list[Array | None]:
    """Base parameters that were fitted to all parts but each, shape (base,); None where the others do not suffice.

    Args:
        folds: Parts of the logs; those that `joined_folds` joins are left out together.
        base: The base parameters.
        method: "ols" or "wls".
        prior: What is known of the parameters beforehand.

    Raises:
        NotIdentifiableError: If all parts together do not determine the base parameters.
    """
    with single_threaded_blas():
        return _left_out(weighed_blocks(folds, base, method), prior)


def _left_out(parts: Sequence[Factor], prior: Prior | None) -> list[Array | None]:
    return [_solved([*parts[:k], *parts[k + 1 :]], prior) for k in range(len(parts))]


def _solved(parts: Sequence[Factor], prior: Prior | None) -> Array | None:
    """Least-squares values, shape (base,); None where the blocks do not determine them."""
    whole = merged(parts, parts[0].names)
    if prior is not None:
        whole = whole.with_prior(prior.means, prior.stds)
    lengths = np.linalg.norm(whole.R, axis=0)
    if len(whole.R) < len(lengths) or not lengths.all():
        return None
    sizes = np.linalg.svd(whole.R / lengths, compute_uv=False)
    return whole.solve() if sizes[-1] > WEAKEST_DIRECTION * sizes[0] else None


def _squares(folds: Sequence[Fold], base: BaseParameters, values: Array | None) -> Array:
    """Squared errors, squares of what was measured, and number of rows of each row, shape (3, rows)."""
    known = {**({} if values is None else dict(zip(base.names, values.tolist(), strict=True))), **base.known}
    found = np.zeros((3, len(folds[0].factors.joints)))
    for fold in folds:
        for row, factor in enumerate(fold.factors.joints.values()):
            x = np.array([known.get(name, 0.0) for name in factor.names])
            found[:, row] += [factor.residual_squares(x), factor.residual_squares(np.zeros(len(x))), factor.rows]
    return found


def _fit(errors: float, total: float, rows: float) -> JointFit:
    return JointFit(int(rows), float(np.sqrt(errors / rows)) if rows else 0.0, _ratio(errors, total))


def _ratio(errors: float, total: float) -> float:
    return float(np.sqrt(errors / total)) if total > 0.0 else 0.0
