"""What residuals are like: noise, errors that follow the motion, errors at reversals."""

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.decimation import counted_rows, kept_around
from dynid.logs import PreparedLog, decimated, power_density
from dynid.model import DynamicModel

LONGEST = 8192
"""Rows of the longest stretch that is looked at."""


@dataclass(frozen=True)
class ResidualNoiseThresholds:
    """When a residual is noise."""

    motion_power: float = 0.999
    """Share of the power of positions that counts as motion. By judgement."""

    above_motion: float = 3.0
    """Frequencies above so many times those of the motion are noise only. By judgement: products of sines and squares
    of velocities reach twice the frequencies of the motion."""

    noise_ratio: float = 3.0
    """Ratio of power densities, at the frequencies of the motion and above, below which the residual is noise. By
    judgement; shown by the last of the ten cases in docs/verdict.md."""


RESIDUAL_NOISE_THRESHOLDS = ResidualNoiseThresholds()


@dataclass(frozen=True)
class Rest:
    """What a model leaves of one row's torques.

    Attributes:
        joint: Name of the row.
        relative: Root mean square of it over that of the torque.
        ratio: Power density at the frequencies of the motion over that at higher ones: 1 for noise, more where errors
            follow the motion; NaN where the log leaves no such frequencies.
        slow: Share of its squares in the slowest tenth of the samples.
    """

    joint: str
    relative: float
    ratio: float
    slow: float

    @property
    def is_noise(self) -> bool:
        """Whether it is as strong where there is no motion."""
        return self.ratio < RESIDUAL_NOISE_THRESHOLDS.noise_ratio

    @property
    def is_no_noise(self) -> bool:
        """Whether it is clearly stronger where there is motion."""
        return self.ratio >= RESIDUAL_NOISE_THRESHOLDS.noise_ratio


def residual_nature(model: DynamicModel, log: PreparedLog, parameters: Array) -> tuple[Rest, ...]:
    """Look at the residuals of the longest even part of a log, or of the middle of it.

    Args:
        model: The model.
        log: The log.
        parameters: Standard parameters, shape (parameters,).
    """
    used = log.processing
    factors = tuple(used.decimate or ())
    step = int(np.prod(factors or (1,)))
    chunk = max(log.segments, key=len)
    first = max(len(chunk) - LONGEST * step, 0) // 2
    chunk = chunk[first : first + LONGEST * step]
    q, v = chunk.q, chunk.v
    predicted = model.inverse_dynamics(q, v, chunk.a, parameters)
    torque = chunk.torque_beside(predicted)
    error = torque - predicted
    keep = chunk.keep
    if step > 1:
        q, v, torque, error = (decimated(x, factors) for x in (q, v, torque, error))
        keep = None if keep is None else kept_around(keep, step)
    v, rate = v[:, model.rows], log.sampling / step
    keep = counted_rows(model.row_names, used, v, keep)
    return rests(model.row_names, q, v, torque, np.where(keep, error, 0.0), rate, used.torque_lowpass)


def rests(
    names: tuple[str, ...], q: Array, v: Array, torque: Array, residual: Array, rate: float, cutoff: float | None
) -> tuple[Rest, ...]:
    """Look at the residuals of a segment.

    Args:
        names: Names of the rows.
        q: Positions, shape (samples, rows).
        v: Velocities, of the same shape.
        torque: Measured torques, shape (samples, rows).
        residual: Their residual, zero where rows do not count, of the same shape.
        rate: Sampling rate [Hz].
        cutoff: Cut-off of the torques' filter [Hz], above which there is no noise either.
    """
    length = min(len(q), 4096)
    frequency, of_motion = power_density(q, rate, length)
    _, of_rest = power_density(residual, rate, length, with_slope=False)
    total = np.cumsum(of_motion.sum(axis=1) / max(float(of_motion.sum()), 1e-300))
    edge = float(frequency[int(np.searchsorted(total, RESIDUAL_NOISE_THRESHOLDS.motion_power))]) + frequency[1]
    top = 0.7 * min(cutoff or np.inf, rate / 2)
    inside, outside = (
        frequency <= edge,
        (frequency >= RESIDUAL_NOISE_THRESHOLDS.above_motion * edge) & (frequency <= top),
    )
    found = []
    for row, name in enumerate(names):
        size = float(np.sqrt((torque[:, row] ** 2).mean()))
        relative = float(np.sqrt((residual[:, row] ** 2).mean())) / size if size else 0.0
        quiet = float(of_rest[outside, row].mean()) if outside.sum() >= 5 else 0.0
        ratio = float(of_rest[inside, row].mean()) / quiet if quiet > 0.0 else float("nan")
        speed, squares = np.abs(v[:, row]), residual[:, row] ** 2
        slow = float(squares[speed <= np.quantile(speed, 0.1)].sum() / max(float(squares.sum()), 1e-300))
        found.append(Rest(name, relative, ratio, slow))
    return tuple(found)
