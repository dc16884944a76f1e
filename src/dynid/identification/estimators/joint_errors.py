"""Rows of one joint's errors: one channel after the other, or together and made white.

Where a controller sees noisy positions, errors of positions and torques go together (a torque has `-kp` times the error
of its position), and what reaches torques through velocities lasts. Weights for each channel alone then take one noise
for two, and miss where torques are far better than their noise. A vector autoregression of both is right whatever the
controller and the sensors are. It describes means of as many samples as motion is slow for: otherwise it would spend
its order on frequencies far above all motion, and miss what errors are like at those of the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.autoregression import (
    ORDERS,
    Autoregression,
    autocovariances,
    autoregression,
    lost_autocovariances,
)

FEWEST_ROWS = 0.5
"""Part of the rows that must be left where each needs those before it, or both channels; with fewer it does not."""

KEPT = 0.995
"""Part of the squares of slopes that means over samples must keep. On simulated arms (ten draws of a two-link arm with
torques of 0.005 N m), means of 4 to 16 samples at 1 kHz had errors of 0.9 in units where those of positions alone had
1.3, and single samples 1.2."""

MEANS = (8, 4, 2)
"""Over how many samples means may be."""

FEWEST_MEANS = 200
"""Fewest means: with fewer, not enough is known of errors."""


@dataclass(frozen=True, eq=False)
class JointErrors:
    """How rows of a joint are made.

    Attributes:
        channels: Its channels that were measured.
        noise: What its errors are like; None takes channels one by one.
        samples: Over how many samples rows are means.
    """

    channels: tuple[int, ...]
    noise: Autoregression | None = None
    samples: int = 1

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
        white = _finite(self.noise.whitened(means(own, self.samples)))
        return [white.reshape(-1, *white.shape[2:])]


def means(rows: Array, samples: int) -> Array:
    """Means over so many samples, shape (rows / samples, ...)."""
    count = len(rows) // samples
    return rows[: count * samples].reshape(count, samples, *rows.shape[1:]).mean(axis=1)


def _slow(slopes: Sequence[Array]) -> int:
    """Over how many samples means keep what slopes of a joint say; each of shape (samples, channels, unknowns)."""
    parts = [np.where(np.isfinite(S), S, 0.0) for S in slopes]
    squares = np.sum([np.sum(S**2, axis=0) for S in parts], axis=0)
    for samples in MEANS if squares.any() else ():
        if sum(len(S) // samples for S in parts) < FEWEST_MEANS:
            continue
        kept = samples * np.sum([np.sum(means(S, samples) ** 2, axis=0) for S in parts], axis=0)
        if float(np.median(kept[squares > 0.0] / squares[squares > 0.0])) >= KEPT:  # starts last for some samples only
            return samples
    return 1


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
    good = [np.asarray(np.isfinite(e[:, own]).all(axis=1)) for e in errors]
    together = sum(int(each.sum()) for each in good)
    if together < FEWEST_ROWS * np.isfinite(np.concatenate(errors)[:, own]).sum(axis=0).max():
        return JointErrors(channels)  # channels were measured at other times
    pairs = [
        (e[:, own], np.where(g[:, None, None], S[:, own], np.nan)) for e, S, g in zip(errors, slopes, good, strict=True)
    ]
    for samples in (_slow([S for _, S in pairs]), 1):
        found = _described(channels, samples, pairs, unknowns)
        if sum(len(found.rows(e)[0]) for e in errors) * samples >= FEWEST_ROWS * together * len(own):
            return found
    return _described(channels, 1, pairs, unknowns, (0,))


def _described(
    channels: tuple[int, ...],
    samples: int,
    pairs: Sequence[tuple[Array, Array]],
    unknowns: Sequence[tuple[Array, Array]],
    orders: Sequence[int] = ORDERS,
) -> JointErrors:
    """A joint with what means over samples are like."""
    parts = [(means(e, samples), means(S, samples)) for e, S in pairs]
    left = [e - S @ x for (e, S), (x, _) in zip(parts, unknowns, strict=True)]
    lost = [(S, root) for (_, S), (_, root) in zip(parts, unknowns, strict=True)]
    count = sum(int(np.isfinite(e).all(axis=1).sum()) for e in left)
    covariances = autocovariances(left) + lost_autocovariances(lost)
    return JointErrors(channels, autoregression(covariances, count, orders), samples)
