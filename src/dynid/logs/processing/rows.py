"""The band of rows: up to which frequency torques and the columns of the model are used.

A filter on both sides of `W b = torque` leaves b alone. Where errors are white, it neither helps nor harms; where they
lie above the motion, as vibrations of torque sensors and currents do, a lower band takes them off. So the band is the
widest one beyond which the density of the errors does not rise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing import signals
from dynid.logs.processing.cutoff import Equations
from dynid.logs.processing.power_density import power_density
from dynid.logs.processing.states import segment_of
from dynid.logs.settings import Processing
from dynid.machine import single_threaded_blas
from dynid.model import DynamicModel


@dataclass(frozen=True)
class RowBandThresholds:
    """Which band of the rows is used.

    Shown by `benchmarks/regret.py` (table in `docs/accuracy.md`).
    """

    bands: tuple[float, ...] = (7.0, 3.5, 1.75)
    """Bands that are compared, in bandwidths of the motion; the first is enough for the steps of dry friction."""

    worth_halving: float = 0.25
    """How much the logarithm of the density of errors must fall with half the band: 22 % less density, which half the
    rows must be worth."""


THRESHOLDS = RowBandThresholds()

DENSITY_SAMPLES = 4000
"""Samples that are enough to see the density of errors."""

FEWEST_SAMPLES = 256
"""Samples that it takes."""


def row_band(
    pieces: Sequence[Log],
    transmission: Transmission,
    processing: Processing,
    model: DynamicModel,
    rate: float,
    bandwidth: float,
    widest: float,
) -> float:
    """Choose the band of rows [Hz].

    Args:
        pieces: Pieces of the log with even samples.
        transmission: The drives between what was logged and the joints.
        processing: What is done to the log, but for decimation.
        model: The model.
        rate: Sampling rate [Hz].
        bandwidth: Of the motion [Hz].
        widest: Band [Hz] of as many samples as there should be; wider than any other where a log is short.
    """
    bands = [ratio * bandwidth for ratio in THRESHOLDS.bands]
    bands = [widest, *bands] if widest > bands[0] else bands
    factors = factors_below(rate / (4.0 * bands[0]))
    step = int(np.prod(factors or (1,)))
    longest = max(pieces, key=len)
    first = max(0, len(longest) - step * DENSITY_SAMPLES) // 2
    piece = longest[first : first + step * DENSITY_SAMPLES]
    if len(piece) // step < FEWEST_SAMPLES:
        return bands[0]
    trim = min(processing.trim, len(piece) // 8)
    plain = processing.but(trim=trim, rate=None, decimate=(), velocity_threshold=None)
    chunk = segment_of(piece, transmission, plain, rate, 0.0)
    coarse = replace(chunk[::step], torque=signals.decimated(chunk.torque, factors))
    measured = [name not in processing.unmeasured for name in model.row_names]
    with single_threaded_blas():
        errors = Equations(model).left([coarse], np.ones(coarse.torque.shape, dtype=bool) & measured)
    if not errors.any():  # nothing was measured, or all is explained
        return bands[0]
    costs = np.mean([_levels(x, rate / step, bands) for x in errors.T if x.any()], axis=0)
    costs += THRESHOLDS.worth_halving * np.arange(len(bands))
    return bands[int(np.argmin(costs))] if np.isfinite(costs).all() else bands[0]


def _levels(errors: Array, rate: float, bands: Sequence[float]) -> Array:
    """Logarithms of the mean density of errors up to each frequency [Hz], shape (bands,)."""
    frequency, density = power_density(errors[:, None], rate, min(len(errors), 256), with_slope=False)
    return np.log([density[1:][frequency[1:] <= max(band, 2 * frequency[1])].mean() for band in bands])


def factors_below(total: float) -> tuple[int, ...]:
    """Factors of 2 to 10 whose product is the largest one not above a number; as few as can be."""
    best: tuple[int, ...] = ()
    for one in range(1, 11):
        for two in range(one, 11):
            for three in range(two, 11):
                product = one * two * three
                factors = tuple(k for k in (three, two, one) if k > 1)
                if product <= total and (product, -len(factors)) > (int(np.prod(best or (1,))), -len(best)):
                    best = factors
    return best
