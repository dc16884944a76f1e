"""Physically consistent links together with drive gains.

The program is convex in links and gains at once. Gains have no constraints of their own, so they are eliminated: the
links are fitted to what the data say of base parameters once gains are free, and the gains follow from the links.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.drive_gains import GainEstimate
from dynid.estimation.factors.factors import Factor
from dynid.estimation.physical.physical_estimate import Physics, problem_of
from dynid.estimation.physical.semidefinite import fit
from dynid.model import BaseParameters


@dataclass(frozen=True, eq=False)
class PhysicalGains:
    """Gains beside physically consistent links.

    Attributes:
        gains: The gains [N m/A or N/A], shape (motors,); NaN where undetermined.
        parameters: Standard parameters of links and joints, shape (parameters,).
    """

    gains: Array
    parameters: Array


def physical_gains(estimate: GainEstimate, base: BaseParameters, physics: Physics) -> PhysicalGains:
    """Fit physically consistent links and gains together.

    Args:
        estimate: What the data say of both.
        base: The base parameters.
        physics: Prior and constraints of links.

    Raises:
        ConflictError: If constraints exclude each other, or the data.
        SolverError: If the solver did not reach its full accuracy.
    """
    R = estimate.information
    factor = Factor(base.names, R, R @ estimate.base, 0.0, len(R))
    p = fit(problem_of(factor, base, physics))
    change = estimate.slopes @ (base.to_base(p) - estimate.base)
    return PhysicalGains(estimate.gains * np.exp(change), p)
