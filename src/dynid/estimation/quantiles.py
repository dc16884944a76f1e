"""Quantiles of Student's and the chi-square distribution.

`scipy.special` has them, too, but takes as long to import as a short log takes to reduce.
"""

import math
from functools import cache
from statistics import NormalDist

MANY_DEGREES = 500
"""Degrees of freedom above which an expansion about the normal distribution has ten digits."""


@cache
def student_quantile(freedom: int, probability: float) -> float:
    """The value below which Student's distribution has a probability.

    Args:
        freedom: Degrees of freedom.
        probability: Between 0 and 1.
    """
    if freedom <= MANY_DEGREES:
        from scipy.special import stdtrit

        return float(stdtrit(freedom, probability))
    z = NormalDist().inv_cdf(probability)
    s = z * z
    corrections = (  # Abramowitz and Stegun 26.7.5
        1.0,
        (s + 1.0) / 4.0,
        ((5.0 * s + 16.0) * s + 3.0) / 96.0,
        (((3.0 * s + 19.0) * s + 17.0) * s - 15.0) / 384.0,
        ((((79.0 * s + 776.0) * s + 1482.0) * s - 1920.0) * s - 945.0) / 92160.0,
    )
    return z * sum(each / freedom**k for k, each in enumerate(corrections))


@cache
def chi_square_quantile(freedom: int, chance: float) -> float:
    """The value that a chi-square variable exceeds with a chance below one half; freedom is at least 1."""
    cube = 1.0 - 2.0 / (9.0 * freedom) + NormalDist().inv_cdf(1.0 - chance) * math.sqrt(2.0 / (9.0 * freedom))
    x = freedom * cube**3  # Wilson and Hilferty: two digits, which Newton's method doubles each time
    for _ in range(50):
        above, density = _chi_square(x, freedom)
        step = above * math.log(above / chance) / density  # on a logarithmic scale, where tails are straight
        x += step
        if abs(step) <= 1e-14 * x:
            break
    return x


def _chi_square(x: float, freedom: int) -> tuple[float, float]:
    """The chance that a chi-square variable exceeds x, and its density there."""
    half = 0.5 * x
    above = math.exp(-half) if freedom % 2 == 0 else math.erfc(math.sqrt(half))
    for k in range(2 - freedom % 2, freedom, 2):
        above += math.exp(0.5 * k * math.log(half) - half - math.lgamma(0.5 * k + 1.0))
    density = 0.5 * math.exp((0.5 * freedom - 1.0) * math.log(half) - half - math.lgamma(0.5 * freedom))
    return above, density
