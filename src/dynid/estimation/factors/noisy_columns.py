"""Columns with known noise: least squares without the bias that it makes.

Rounded positions make every column noisy, accelerations most of all, and least squares then finds inertias too small,
and what goes with them wrong. The noise is known: replicas of the log have it twice. With G = W'W of the rows as logged
and C the second moments of the noise in them, the best linear prediction of the columns without noise from those with
noise is W (I - G^-1 C). Least squares of the torques on these is consistent, and its standard deviations hold, because
what is left is uncorrelated with them (regression calibration: Carroll, Ruppert, Stefanski and Crainiceanu,
Measurement Error in Nonlinear Models, 2006, chapter 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, frozen
from dynid.estimation.factors.accumulation import Blocks
from dynid.estimation.factors.row_forms import RowForm
from dynid.logs import PreparedLog

EXCITED_FROM = 1e-12
"""Squared length, relative to the longest direction of unit columns, below which a direction is not excited at all."""

_Block = tuple[Array, float, int]
"""A triangle `[R | z]`, the squares that are left, and the number of rows."""

LARGEST_NOISE_SHARE = 0.95
"""Share of noise in a direction beyond which it is not taken as larger: such a direction says nothing. By judgement."""


@dataclass(frozen=True, eq=False)
class ColumnNoise:
    """The noise of columns, in directions in which it is independent of them.

    Attributes:
        directions: D with D' G D = 1 and D' C D diagonal, shape (columns, directions).
        across: The pseudo-inverse of D, transposed, of the same shape.
        shares: Share of noise in the squared length of each direction, shape (directions,).
    """

    directions: Array
    across: Array
    shares: Array

    @staticmethod
    def of(G: Array, C: Array) -> ColumnNoise:
        """The noise of columns.

        Args:
            G: Second moments W'W of columns with noise, shape (columns, columns).
            C: Those of the noise, of the same shape.
        """
        lengths = np.sqrt(np.diag(G))
        lengths[lengths == 0.0] = 1.0
        values, Q = np.linalg.eigh(G / np.outer(lengths, lengths))
        excited = values > EXCITED_FROM * values.max(initial=0.0)
        Q, roots = Q[:, excited], np.sqrt(values[excited])
        whitener = Q / roots / lengths[:, None]
        shares, P = np.linalg.eigh(whitener.T @ C @ whitener)
        return ColumnNoise(whitener @ P, (Q * roots * lengths[:, None]) @ P, np.clip(shares, 0.0, LARGEST_NOISE_SHARE))

    @property
    def prediction(self) -> Array:
        """The matrix I - G^-1 C that predicts columns without noise from those with it, shape (columns, columns)."""
        return np.eye(len(self.across)) - self.directions @ (self.shares[:, None] * self.across.T)

    def unexplained(self, moments: Array) -> float:
        """Squares that predicted columns seem to explain, and that are noise of the columns.

        Args:
            moments: W'y, shape (columns,).
        """
        return float(np.sum((self.shares / (1.0 - self.shares) * (self.directions.T @ moments)) ** 2))


def without_column_noise(blocks: Blocks, log: PreparedLog, form: RowForm) -> Blocks:
    """Blocks of a log, with the columns that are predicted of them without noise.

    Args:
        blocks: The blocks.
        log: The log, with its replicas.
        form: What the blocks are rows of.
    """
    moments = _noise_moments(log, blocks, form)
    return Blocks(blocks.rows, tuple(_of_row(*pair) for pair in zip(blocks.joints, moments, strict=True)))


def _of_row(row: Sequence[_Block], C: Array) -> tuple[_Block, ...]:
    """The blocks of one row of the equations."""
    whole = np.concatenate([np.zeros((0, len(C) + 1)), *(triangle for triangle, _, _ in row)])
    noise = ColumnNoise.of(whole[:, :-1].T @ whole[:, :-1], C)
    cleaner = noise.prediction
    more = noise.unexplained(whole[:, :-1].T @ whole[:, -1]) / max(sum(count for *_, count in row), 1)
    return tuple((_applied(triangle, cleaner), left + count * more, count) for triangle, left, count in row)


def _noise_moments(log: PreparedLog, blocks: Blocks, form: RowForm) -> list[Array]:
    """Second moments of what the replicas add to the columns of each row, shape (columns, columns)."""
    sums = [np.zeros((len(basis.columns),) * 2) for basis in blocks.rows.bases]
    for replica in log.replicas:
        own, other = (
            form.rows(blocks.rows, segments, log.processing, log.sampling) for segments in (log.segments, replica)
        )
        for matrices, noisy in zip(own, other, strict=True):
            _add(sums, matrices, noisy)
    return [total / len(log.replicas) for total in sums]


def _add(sums: Sequence[Array], matrices: Sequence[Array], noisy: Sequence[Array]) -> None:
    for total, W, V in zip(sums, matrices, noisy, strict=True):
        difference = (V - W)[:, :-1]
        total += difference.T @ difference


def _applied(triangle: Array, cleaner: Array) -> Array:
    return frozen(np.column_stack([triangle[:, :-1] @ cleaner, triangle[:, -1]]))
