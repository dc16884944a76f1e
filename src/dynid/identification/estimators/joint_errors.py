"""Rows of one joint's errors: one channel after the other, or together and made white.

Where a controller sees noisy positions, errors of positions and torques go together (a torque has `-kp` times the error
of its position), and what reaches torques through velocities lasts. Weights for each channel alone then take one noise
for two, and miss where torques are far better than their noise. A vector autoregression of both is right whatever the
controller and the sensors are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.autoregression import (
    Autoregression,
    autocovariances,
    autoregression,
    lost_autocovariances,
)

FEWEST_ROWS = 0.5
"""Part of the rows that must be left where each needs those before it, or both channels; with fewer it does not."""


@dataclass(frozen=True, eq=False)
class JointErrors:
    """How rows of a joint are made.

    Attributes:
        channels: Its channels that were measured.
        noise: What its errors are like; None takes channels one by one.
    """

    channels: tuple[int, ...]
    noise: Autoregression | None = None

    @property
    def groups(self) -> int:
        """Number of groups of rows."""
        return len(self.channels) if self.noise is None else 1

    def rows(self, values: Array) -> list[Array]:
        """Rows of each group, each of shape (rows, ...).

        Args:
            values: Errors or their slopes, shape (samples, channels, ...); NaN where nothing was measured.
        """
        own = values[:, list(self.channels)]
        if self.noise is None:
            return [_finite(own[:, k]) for k in range(len(self.channels))]
        white = _finite(self.noise.whitened(own))
        return [white.reshape(-1, *white.shape[2:])]


def _finite(rows: Array) -> Array:
    """Rows without NaN; of shape (rows, ...)."""
    return rows[np.isfinite(rows.reshape(len(rows), -1)).all(axis=1)]


def white_joint(
    channels: tuple[int, ...], errors: Sequence[Array], slopes: Sequence[Array], unknowns: Sequence[tuple[Array, Array]]
) -> JointErrors:
    """A joint whose rows are white.

    Args:
        channels: Its channels that were measured.
        errors: Errors of each stretch, shape (samples, channels); NaN where nothing was measured.
        slopes: Their derivatives, shape (samples, channels, unknowns).
        unknowns: Changes of the unknowns in each stretch that are taken off, and a root of their covariance.
    """
    own = list(channels)
    pairs = [(e[:, own], S[:, own]) for e, S in zip(errors, slopes, strict=True)]
    left = [e - S @ x for (e, S), (x, _) in zip(pairs, unknowns, strict=True)]
    lost = [(np.where(np.isfinite(e)[..., None], S, np.nan), L) for (e, S), (_, L) in zip(pairs, unknowns, strict=True)]
    samples = sum(int(np.isfinite(e).all(axis=1).sum()) for e in left)
    if samples < FEWEST_ROWS * max(sum(np.isfinite(e).sum(axis=0) for e in left)):
        return JointErrors(channels)  # channels were measured at other times
    covariances = autocovariances(left) + lost_autocovariances(lost)
    found = JointErrors(channels, autoregression(covariances, samples))
    kept = sum(len(found.rows(e)[0]) for e in errors) / len(own)
    if kept < FEWEST_ROWS * samples:
        return JointErrors(channels, autoregression(covariances, samples, (0,)))
    return found
