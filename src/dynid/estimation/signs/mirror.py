"""The mirror: all signs turned round fit as well, and only physics tells them apart.

Its masses, inertias and friction are negative. So are those of a joint whose signs alone are turned round, where
little ties it to the others. The semidefinite fit of possible links tells what each choice of signs costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.physical import constraints as conditions
from dynid.estimation.physical.cone_program import InfeasibleError, SolverError
from dynid.estimation.physical.physical_estimate import Physics
from dynid.estimation.physical.semidefinite import ConflictError, LinkPrior, PriorKind, Problem, fit
from dynid.estimation.signs.sign_energy import Energy
from dynid.model.base_parameters import BaseParameters

ATTEMPTS = (
    *((LinkPrior(PriorKind.NONE), scale) for scale in (1.0, 0.1, 0.01)),
    (LinkPrior(PriorKind.EUCLIDEAN, 0.01), 0.1),
    (LinkPrior(PriorKind.LOG_DET), 0.1),
)
"""Priors and scales of the problem that are tried in turn: signs far from all possible links are hard to solve."""


@dataclass(frozen=True)
class Mirror:
    """How physics decided between signs and their mirror.

    Attributes:
        energy: What possible links leave of the torques with the chosen signs, in variances of the noise.
        mirrored: The same with all signs turned round.
        known: Whether known parameters decided already.
    """

    energy: float
    mirrored: float
    known: bool = False

    @property
    def margin(self) -> float:
        """How sure the choice is, in deviations of the noise."""
        if not np.isfinite(self.energy) or np.isnan(self.mirrored):
            return 0.0
        return float(np.sqrt(max(self.mirrored - self.energy, 0.0)))


def physical_energy(energy: Energy, signs: Array, base: BaseParameters, physics: Physics) -> float:
    """What the best possible links leave of signed torques, in variances of the noise.

    Args:
        energy: The energies, with weights that make errors of unit variance.
        signs: Shape (1 + segments,).
        base: The base parameters.
        physics: References of links and stated constraints; its prior does not count.

    Returns:
        The energy; infinite where stated constraints exclude the torques, NaN where the solver finds no answer, so that
        physics says nothing.
    """
    laws = (*conditions.of_terms(base.model), *conditions.known(base.model, base.known), *physics.constraints)
    factor = energy.factor(signs)
    for prior, scale in ATTEMPTS:
        try:
            p = fit(Problem(factor.weighted(scale), base, physics.references, prior, laws))
        except (ConflictError, InfeasibleError):
            return float("inf")
        except SolverError:
            continue
        return factor.residual_squares(base.regrouping @ p)
    return float("nan")
