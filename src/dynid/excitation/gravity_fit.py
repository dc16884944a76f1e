"""Gravity parameters from a log of static postures: least squares on mean torques, free of static friction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.static_estimate import RowGroup, estimate_static
from dynid.logs import Log
from dynid.model import BaseParameters


@dataclass(frozen=True, eq=False, repr=False)
class GravityFit:
    """Gravity parameters that a log of static postures determines.

    Attributes:
        base: The gravity parameters.
        values: Their values, shape (base,).
        stds: Their standard deviations, from the residuals of the postures, shape (base,).
        residuals: Mean torques less what the values predict [N m or N], shape (postures, joints).
    """

    base: BaseParameters
    values: Array
    stds: Array
    residuals: Array

    def __repr__(self) -> str:
        rms = ", ".join(f"{value:.2g}" for value in np.sqrt(np.mean(self.residuals**2, axis=0)))
        return f"GravityFit({len(self.values)} parameters from {len(self.residuals)} postures, RMS residuals {rms})"

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Give values and standard deviations by name."""
        rows = zip(self.base.names, self.values.tolist(), self.stds.tolist(), strict=True)
        return {name: {"value": value, "std": std} for name, value, std in rows}


def fit_gravity(
    base: BaseParameters, holds: Array, log: Log, *, start: float = 0.0, settled: float = 0.3
) -> GravityFit:
    """Fit gravity parameters to the mean torques of rests.

    Rests of one posture that were approached from different sides count as one, with the mean of their torques: static
    friction, which points against the approach, cancels out.

    Args:
        base: The gravity parameters.
        holds: Begin and end of the rests of each posture [s], shape (postures, sides, 2).
        log: The log, with joint torques.
        start: Time of the log at which the motion began [s].
        settled: Part of each rest that is left out at its beginning.

    Raises:
        InvalidRequestError: If the log does not have all rests, or too few for the parameters.
    """
    q, tau = _means(log, np.asarray(holds) + start, settled)
    W = base.regressor(q)  # (joints, postures, base)
    tau = tau - base.known_torques(q).T
    _, postures, size = W.shape
    if np.linalg.matrix_rank(W.reshape(-1, size)) < size:
        raise InvalidRequestError(
            f"{postures} postures do not determine {size} gravity parameters; measure more, or others (dynid excite "
            "--postures)"
        )
    names = base.model.row_names
    groups = [RowGroup(name, rows, y) for name, rows, y in zip(names, W, tau.T, strict=True)]
    found = estimate_static(base, groups)
    return GravityFit(base, found.values, found.stds, tau - np.einsum("jsp,p->sj", W, found.values))


def _means(log: Log, holds: Array, settled: float) -> tuple[Array, Array]:
    """Mean positions and torques of each posture, over its sides, each of shape (postures, joints)."""
    begins, ends = holds[..., 0] + settled * (holds[..., 1] - holds[..., 0]), holds[..., 1]
    first, last = np.searchsorted(log.time, begins), np.searchsorted(log.time, ends)
    if (last <= first).any():
        k = int(np.argwhere(last <= first)[0, 0])
        raise InvalidRequestError(
            f"the log has no samples of posture {k + 1}, from {begins[k, 0]:.4g} to {ends[k, -1]:.4g} s of its time; "
            "give the log of the whole motion, and its start (start=...) where that is not at zero"
        )
    means = [
        np.array([[values[a:b].mean(axis=0) for a, b in zip(*of, strict=True)] for of in zip(first, last, strict=True)])
        for values in (log.position, log.torque)
    ]
    q, tau = (part.mean(axis=1) for part in means)
    return q, tau
