"""How often residuals without contact exceed a level: peaks over a threshold, and their generalised Pareto tail.

Exceedances that lie closer together than a contact's quiet time are one peak, as they are one alarm. Peaks beyond a
high level u come at a rate, and their squares exceed that of u by amounts with a generalised Pareto distribution, whose
shape is not taken below zero: no upper end is assumed. Of squares, because shape zero is then the tail of Gaussian
noise; of the values themselves it would be an exponential tail, and levels for rare alarms up to a fifth too high. The
level for a rate is that at which the rate is right on average over a bootstrap of the peaks, so that few peaks give a
higher level (S. Coles, "An Introduction to Statistical Modeling of Extreme Values", 2001, chapter 4).
"""

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array

QUANTILES = (0.9995, 0.999, 0.998, 0.995, 0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5)
"""Quantiles of the residual that are tried as u, highest first."""

WANTED_PEAKS = 30
"""Peaks beyond u that suffice for a tail; lower u are tried where there are fewer."""

FEWEST_PEAKS = 8
"""Peaks below which nothing is said of a tail."""

HEAVIEST_SHAPE = 0.6
"""Largest shape of a tail of squares: estimates from tens of peaks are not better than that."""

BOOTSTRAPS = 200
"""Draws of the peaks."""

FARTHEST_LEVEL = 1e3
"""Levels that are looked for, in multiples of u."""


@dataclass(frozen=True, eq=False)
class Tails:
    """Tails of bootstrapped peaks.

    Attributes:
        above: The level u.
        rates: Peaks beyond u [1/s], shape (draws,).
        scales: Scale of each tail of squares, shape (draws,).
        shapes: Shape of each tail of squares, shape (draws,).
        peaks: Number of peaks that were seen.
    """

    above: float
    rates: Array
    scales: Array
    shapes: Array
    peaks: int

    def exceeded(self, level: float) -> Array:
        """Rates [1/s] at which a level is exceeded, one of each draw, shape (draws,)."""
        y = max(level**2 - self.above**2, 0.0) / self.scales
        light = self.shapes < 1e-6
        bent = np.where(light, 1.0, self.shapes)
        return self.rates * np.where(light, np.exp(-y), (1.0 + bent * y) ** (-1.0 / bent))

    def level(self, rate: float) -> float:
        """The level [same unit as u] that is exceeded at a rate [1/s] on average over the draws."""
        low, high = self.above, FARTHEST_LEVEL * max(self.above, 1e-300)
        for _ in range(80):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.exceeded(middle).mean() > rate else (low, middle)
        return high


def peak_heights(values: Array, time: Array, above: float, quiet: float) -> Array:
    """Largest values of groups beyond a level that lie further apart than a time.

    Args:
        values: Positive values, shape (samples,).
        time: Time [s], of the same shape.
        above: The level.
        quiet: Groups closer than this [s] are one.
    """
    places = np.flatnonzero(values > above)
    if not len(places):
        return np.zeros(0)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(time[places]) > quiet) + 1])
    return np.maximum.reduceat(values[places], starts)


def fitted_tails(values: Array, time: Array, seconds: float, quiet: float, seed: int = 0) -> Tails | None:
    """The tails of values without contact; None where there are too few peaks.

    Args:
        values: Positive values, shape (samples,).
        time: Time [s], increasing, of the same shape.
        seconds: Time that they cover [s].
        quiet: Exceedances closer than this [s] are one alarm.
        seed: Of the bootstrap.
    """
    best, above = np.zeros(0), 0.0
    for quantile in QUANTILES:
        level = float(np.quantile(values, quantile))
        found = peak_heights(values, time, level, quiet)
        if len(found) > len(best):
            best, above = found, level
        if len(best) >= WANTED_PEAKS:
            break
    if len(best) < FEWEST_PEAKS or above <= 0.0:
        return None
    rng, excess = np.random.default_rng(seed), best**2 - above**2
    counts = rng.poisson(len(best), BOOTSTRAPS)
    draws = [_pareto(rng.choice(excess, max(count, 2))) for count in counts]
    scales, shapes = np.array(draws).T
    return Tails(above, np.maximum(counts, 1) / seconds, scales, shapes, len(best))


def _pareto(excess: Array) -> tuple[float, float]:
    """Scale and shape of a generalised Pareto tail by probability-weighted moments (Hosking and Wallis, 1987)."""
    x = np.sort(excess)
    n, mean = len(x), float(x.mean())
    if mean <= 0.0:
        return np.finfo(float).tiny, 0.0
    weighted = float(np.mean(x * (n - np.arange(1, n + 1)) / max(n - 1, 1)))
    gap = mean - 2.0 * weighted
    shape = 2.0 - mean / gap if gap > 0.0 else HEAVIEST_SHAPE
    shape = min(max(shape, 0.0), HEAVIEST_SHAPE)
    return mean * (1.0 - shape), shape
