"""What the numbers are: estimates with uncertainties, from triangular factors."""

from dynid.estimation.essential import essential_parameters
from dynid.estimation.estimate import Estimate, JointFit
from dynid.estimation.least_squares import Prior, ordinary_least_squares, weighted_least_squares
from dynid.estimation.physical import PhysicalEstimate, Physics, Source, cross_validated, physical_estimate

__all__ = [
    "Estimate",
    "JointFit",
    "PhysicalEstimate",
    "Physics",
    "Prior",
    "Source",
    "cross_validated",
    "essential_parameters",
    "ordinary_least_squares",
    "physical_estimate",
    "weighted_least_squares",
]
