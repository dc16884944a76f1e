"""Noise or model error: whether what is left of torques follows the motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array

POWER = 0.999
"""Share of the power of positions that counts as motion."""

ABOVE = 3.0
"""Frequencies above so many times those of the motion are noise only."""

QUIET = 3.0
"""Ratio of power densities below which what is left is noise."""


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
        return self.ratio < QUIET


def rests(
    names: tuple[str, ...], q: Array, v: Array, torque: Array, residual: Array, rate: float, cutoff: float | None
) -> tuple[Rest, ...]:
    """Look at the residuals of a segment.

    Args:
        names: Names of the rows.
        q: Positions, shape (samples, rows).
        v: Velocities, of the same shape.
        torque: Measured torques, shape (samples, rows).
        residual: What is left of them, zero where rows do not count, of the same shape.
        rate: Samples a second [Hz].
        cutoff: Cut-off of the torques' filter [Hz], above which there is no noise either.
    """
    from scipy.signal import welch

    length = min(len(q), 4096)
    frequency, of_motion = welch(q, rate, nperseg=length, axis=0, detrend="linear")
    _, of_rest = welch(residual, rate, nperseg=length, axis=0)
    total = np.cumsum(of_motion.sum(axis=1) / max(float(of_motion.sum()), 1e-300))
    edge = float(frequency[int(np.searchsorted(total, POWER))]) + frequency[1]
    top = 0.7 * min(cutoff or np.inf, rate / 2)
    inside, outside = frequency <= edge, (frequency >= ABOVE * edge) & (frequency <= top)
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
