"""What the numbers are: estimates with uncertainties, from triangular factors."""

from dynid.estimation.essential import essential_parameters
from dynid.estimation.estimate import Estimate, JointFit
from dynid.estimation.least_squares import Prior, ordinary_least_squares, weighted_least_squares

__all__ = [
    "Estimate",
    "JointFit",
    "Prior",
    "essential_parameters",
    "ordinary_least_squares",
    "weighted_least_squares",
]
