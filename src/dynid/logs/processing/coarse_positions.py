"""Positions in coarse steps: how much of the accelerations is rounding, and where friction is not seen any more.

Rounding to steps of s is noise of variance s^2/12. Differentiated twice at 50 Hz it is often larger than the motion's
accelerations, so that positions are low-passed near the motion. Dry friction turns round at once, and what is
low-passed does so over about a period of the cut-off: rows that near to a reversal show neither friction nor inertia.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.findings import Finding, Severity
from dynid.logs.processing.spectra import Spectra
from dynid.logs.quantisation import rounding_noise, step_in


@dataclass(frozen=True)
class CoarsePositionThresholds:
    """Which positions are coarse, and which rows they spoil.

    Shown by `benchmarks/servo_arm.py` (table in `docs/low_cost_arms.md`).
    """

    of_noise: float = 0.5
    """Share of a position's noise (standard deviations) that rounding must be to be its cause. By judgement; the public
    logs of the SO-101 have 0.5 to 1.1."""

    allowed_acceleration: float = 0.05
    """Mean square of the noise in accelerations, relative to the motion's, up to which a cut-off is taken where no
    torque with a sign can decide. Shown by `benchmarks/servo_arm.py`."""

    turning: float = 1.0
    """Time around a reversal, in periods of the cut-off, within which low-passed positions do not show when friction
    turned round. Calibrated on the arms of `benchmarks/servo_arm.py`, on draws that its table does not have: with none,
    friction comes out 10 to 20 % wrong; with half of it, Coulomb friction is off by 1.4 to 2 standard deviations."""

    most_turning: float = 1.0 / 3.0
    """Share of the rows of a joint in motion that may be left out as near to a reversal: fast motions of small reach
    are near one all the time. By judgement; more would leave the public logs of the SO-101 without most of their
    motion, and the simulated arms of `benchmarks/servo_arm.py` have a fifth at most."""


THRESHOLDS = CoarsePositionThresholds()


def are_coarse(positions: Array, spectra: Spectra) -> NDArray[np.bool_]:
    """Which joints' positions have the noise of rounding, shape (joints,).

    Args:
        positions: Of an even piece of a log, as logged, shape (samples, joints).
        spectra: Their spectra.
    """
    rounding = rounding_noise(positions)
    return (rounding > 0.0) & (rounding >= THRESHOLDS.of_noise * spectra.noise) & spectra.moves


def turning_speeds(velocity: Array, rate: float, cutoff: float) -> Array:
    """Speeds up to which a reversal may be nearer than low-passed positions show, shape (joints,).

    Args:
        velocity: Of the joints after the low-pass [rad/s or m/s], shape (samples, joints).
        rate: Sampling rate [Hz].
        cutoff: Of the low-pass [Hz].
    """
    size = np.abs(velocity)
    moving = size > 0.1 * np.quantile(size, 0.999, axis=0)
    squares = np.where(moving, (np.gradient(velocity, axis=0) * rate) ** 2, 0.0).sum(axis=0)
    acceleration = np.sqrt(squares / np.maximum(moving.sum(axis=0), 1))
    slowest = [
        np.quantile(column[own], THRESHOLDS.most_turning) if own.any() else 0.0
        for column, own in zip(size.T, moving.T, strict=True)
    ]
    return np.minimum(acceleration * THRESHOLDS.turning / cutoff, slowest)


def finding_on_steps(
    names: tuple[str, ...],
    positions: Array,
    spectra: Spectra,
    cutoff: float | None,
    rate: float,
    *,
    has_motor_inertia: bool = False,
) -> Finding | None:
    """A finding on positions that are coarse: their steps, and what these do to accelerations.

    It is a warning where rounding exceeds the motion, and the model has motor inertia, which is only in these.

    Args:
        names: Names of the joints.
        positions: As logged, shape (samples, joints).
        spectra: Their spectra.
        cutoff: Of the low-pass of positions [Hz]; None for none.
        rate: Sampling rate [Hz].
        has_motor_inertia: Whether motor inertia is a parameter of the model.
    """
    coarse = are_coarse(positions, spectra)
    shares = spectra.acceleration_noise()
    if not coarse.any() or shares[-1][coarse].max() < THRESHOLDS.allowed_acceleration:
        return None
    within = int(np.searchsorted(spectra.frequency, cutoff or 0.5 * rate, side="right")) - 1
    steps = [step_in(column) or 0.0 for column in positions.T]
    values: dict[str, Any] = {
        "steps": {name: step for name, step, is_so in zip(names, steps, coarse, strict=True) if is_so},
        "step": max(step for step, is_so in zip(steps, coarse, strict=True) if is_so),
        "raw": float(np.median(shares[-1][coarse])),
        "left": float(np.median(shares[max(within, 0)][coarse])),
        "cutoff": cutoff or 0.5 * rate,
        "rate": rate,
    }
    severity = Severity.WARNING if has_motor_inertia and values["raw"] > 1.0 else None
    return Finding.of("positions-quantised", "positions", severity, **values)
