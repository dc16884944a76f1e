"""What was measured: chunks of samples, and the triangular factors that they leave behind."""

from dynid.data.accumulation import factorise
from dynid.data.chunks import Chunk, Samples
from dynid.data.factors import Factor, Factors, merged
from dynid.data.residuals import Reweighted, residuals

__all__ = ["Chunk", "Factor", "Factors", "Reweighted", "Samples", "factorise", "merged", "residuals"]
