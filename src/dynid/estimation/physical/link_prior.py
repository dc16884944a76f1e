"""How far a link is from what it is expected to be, and how much that counts."""

from dataclasses import dataclass
from enum import StrEnum


class PriorKind(StrEnum):
    """How far a link is from its reference."""

    NONE = "none"
    EUCLIDEAN = "euclidean"
    """Squared differences of the ten parameters, in units of the reference's mass and size, or in stated ones."""
    PULLBACK = "pullback"
    """Half the squared Frobenius norm of X - 1, with X the pseudo-inertia whitened by the reference: the metric of
    positive definite matrices, held constant at the reference."""
    LOG_DET = "logdet"
    """tr X - log det X - 4: the divergence of which the former is the second-order expansion."""

    @property
    def is_square(self) -> bool:
        """Whether the distance is a sum of squares."""
        return self in (PriorKind.EUCLIDEAN, PriorKind.PULLBACK)


@dataclass(frozen=True)
class LinkPrior:
    """How much links should be like their references.

    Attributes:
        kind: Which distance counts.
        weight: Of the distance, in squared standard deviations; at 1, a link of twice its reference's inertia costs as
            much as one independent measurement that is off by 1.1 standard deviations, and the inertias of references
            are taken as known to about 70 %; at 10 to about 20 %.
    """

    kind: PriorKind = PriorKind.LOG_DET
    weight: float = 1.0
