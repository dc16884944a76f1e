"""What was measured: chunks of samples, and the triangular factors that they leave behind."""

from dynid.data.accumulation import factorise
from dynid.data.chunks import Chunk, Samples
from dynid.data.decimation import factorise_decimated
from dynid.data.drive import Drive
from dynid.data.factors import Factor, Factors, merged
from dynid.data.residuals import Reweighted, residuals

__all__ = [
    "Chunk",
    "Drive",
    "Factor",
    "Factors",
    "Reweighted",
    "Samples",
    "factorise",
    "factorise_decimated",
    "merged",
    "residuals",
]
