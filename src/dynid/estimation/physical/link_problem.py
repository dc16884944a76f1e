"""The fit of physical parameters as a problem: what is minimised, over which bodies, under which conditions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.factors import Factor
from dynid.estimation.physical.cone_program import stack_order, stacked
from dynid.estimation.physical.constraints import Constraint
from dynid.estimation.physical.references import Origin, Reference
from dynid.model.base_parameters import BaseParameters
from dynid.robot import inertia

RIDGE = 1e-6
"""Weight that picks the smallest of terms' parameters where nothing else decides."""


class PriorKind(StrEnum):
    """How far a link is from its reference."""

    NONE = "none"
    EUCLIDEAN = "euclidean"
    LOG_DET = "logdet"


@dataclass(frozen=True)
class LinkPrior:
    """How much links should be like their references.

    Attributes:
        kind: Which distance counts.
        weight: Of the distance, in squared standard deviations of one torque row; at 1, a link of twice its
            reference's inertia costs as much as one torque that is off by about 1.1 deviations.
    """

    kind: PriorKind = PriorKind.LOG_DET
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Problem:
    """A fit of physical standard parameters.

    Its variables x are the whitened pseudo-inertia X of each link with mass, in stacked form, and then the terms'
    parameters in units of their sizes.

    Attributes:
        factor: The data's factor for the base parameters, weighed so that errors have unit variance; known
            parameters are taken off.
        base: The base parameters.
        references: What each solid link is expected to be like, in their order.
        prior: How much it should be so.
        constraints: What else must hold.
    """

    factor: Factor
    base: BaseParameters
    references: tuple[Reference, ...]
    prior: LinkPrior
    constraints: tuple[Constraint, ...]

    @cached_property
    def heavy(self) -> list[int]:
        """Positions of the references whose links have mass."""
        return [k for k, reference in enumerate(self.references) if reference.origin is not Origin.MASSLESS]

    @cached_property
    def first_term(self) -> int:
        """Index of the first term's parameter."""
        return inertia.SIZE * len(self.references)

    def columns(self, k: int) -> slice:
        """Columns of the ten parameters of a reference's link."""
        return slice(inertia.SIZE * k, inertia.SIZE * (k + 1))

    @cached_property
    def roots(self) -> list[Array]:
        """Cholesky factors L of the references of links with mass: J0 = L L', J = L X L'."""
        pseudo_inertias = [inertia.to_pseudo_inertia(self.references[k].parameters) for k in self.heavy]
        return [np.asarray(np.linalg.cholesky(J), dtype=float) for J in pseudo_inertias]

    @cached_property
    def to_parameters(self) -> Array:
        """Matrix C with p = C x, shape (parameters, variables)."""
        links = inertia.SIZE * len(self.heavy)
        C = np.zeros((len(self.base.model.names), links + len(self.term_sizes)))
        from_stacked = np.linalg.inv(stacked(inertia.pseudo_inertia_basis())).T
        for n, (k, L) in enumerate(zip(self.heavy, self.roots, strict=True)):
            C[self.columns(k), self.columns(n)] = from_stacked @ stacked(L @ _unit_matrices() @ L.T).T
        C[self.first_term :, links:] = np.diag(self.term_sizes)
        return C

    @cached_property
    def term_sizes(self) -> Array:
        """Size of each term's parameter that alone would explain the torques."""
        lengths = np.linalg.norm((self.factor.R @ self.base.regrouping)[:, self.first_term :], axis=0)
        size = float(np.linalg.norm(self.factor.z)) or 1.0
        return np.divide(size, lengths, out=np.ones_like(lengths), where=lengths > 0.0)

    def squares(self) -> tuple[Array, Array]:
        """Rows A and right-hand side c of all squares |A x - c|^2: of the data, of the prior, and a ridge on terms."""
        C = self.to_parameters
        of_terms, expected_terms = self._expectations_of_terms()
        rows, targets = [self.factor.R @ self.base.regrouping @ C, of_terms], [self.factor.z, expected_terms]
        if self.prior.kind is PriorKind.EUCLIDEAN:
            for k in self.heavy:
                expected = self.references[k].parameters
                scale = np.sqrt(self.prior.weight) / inertia.sizes(expected)
                rows.append(scale[:, None] * C[self.columns(k)])
                targets.append(scale * expected)
        return np.concatenate(rows), np.concatenate(targets)

    def _expectations_of_terms(self) -> tuple[Array, Array]:
        """Rows that keep terms near the file's values, where it has any, and small where nothing else decides."""
        C, expected = self.to_parameters, self.base.model.reference[self.first_term :]
        rows = np.zeros((len(expected), C.shape[1]))
        rows[:, C.shape[1] - len(expected) :] = np.sqrt(RIDGE) * np.eye(len(expected))
        target = np.zeros(len(expected))
        if self.prior.kind is not PriorKind.NONE:
            for k in np.flatnonzero(np.nan_to_num(expected)):
                rows[k] = np.sqrt(self.prior.weight) * C[self.first_term + k] / abs(expected[k])
                target[k] = np.sqrt(self.prior.weight) * np.sign(expected[k])
        return rows, target


def _unit_matrices() -> Array:
    """Symmetric matrices whose stacked forms are unit vectors, shape (10, 4, 4)."""
    units = np.zeros((inertia.SIZE, 4, 4))
    for k, (i, j) in enumerate(stack_order(4)):
        units[k, i, j] = units[k, j, i] = 1.0 if i == j else np.sqrt(0.5)
    return units
