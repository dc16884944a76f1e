"""The delay between torques and positions, from the model itself.

Torques that were logged later by d obey `torque(t + d) = W b`, to first order `torque + d * rate of torque = W b`. What
the columns of W leave of both sides gives d by least squares, joint by joint and together. No value of b is needed.
The columns are low-passed as torques are: where a joint turns round, dry friction steps, and shows most of a delay.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.logs.processing.signals import central_difference, delayed, lowpass
from dynid.machine import single_threaded_blas
from dynid.model import Chunk, DynamicModel, TorqueRows

SAMPLES = 20_000
"""Samples that are enough to estimate a delay: those in the middle of a segment."""

FINE_SAMPLING = 25.0
"""Sampling rate, in multiples of the cut-off, that is enough: steps of friction are resolved to that."""

COMPARED_BLOCKS = 8
"""Parts of the log whose delays are compared, to estimate its standard deviation."""


@dataclass(frozen=True)
class Delay:
    """A delay and how sure it is.

    Attributes:
        seconds: By how much torques were logged later than positions [s].
        std: Its standard deviation [s], from the scatter between parts of the log.
        gain: Share of the squared residual that it explains.
    """

    seconds: float
    std: float
    gain: float


def estimated_delay(
    model: DynamicModel, segments: Sequence[Chunk], rate: float, cutoff: float | None = None, steps: int = 10
) -> Delay:
    """Estimate by how much torques were logged later than positions.

    Args:
        model: The model.
        segments: Samples whose positions and torques went through the same low-pass; even, at full rate.
        rate: Sampling rate [Hz].
        cutoff: Of that low-pass [Hz]; None where there was none.
        steps: Number of corrections.
    """
    rows = TorqueRows(model)
    step = 1 if cutoff is None else max(1, int(rate / (FINE_SAMPLING * cutoff)))
    every = max(1, sum(map(len, segments)) // (2 * step * SAMPLES)) if len(segments) > 1 else 1
    segments = [_middle(segment, step * SAMPLES) for segment in segments[::every]]
    seconds, std, gain = 0.0, np.inf, 0.0
    with single_threaded_blas():
        bases = [
            [_basis(_alike(W, rate / step, cutoff)) for W in rows.matrices(segment[::step])] for segment in segments
        ]
        for k in range(steps):
            shifted = [delayed(segment.torque, rate, -seconds) for segment in segments]
            left = [_left(Q, segment, y, rate, step) for Q, segment, y in zip(bases, segments, shifted, strict=True)]
            correction, std, share = _solved(left)
            gain = share if k == 0 else gain
            seconds += correction
    return Delay(float(seconds), float(std), float(gain))


def _middle(segment: Chunk, samples: int) -> Chunk:
    first = max(0, len(segment) - samples) // 2
    return segment[first : first + samples]


def _alike(W: Array, rate: float, cutoff: float | None) -> Array:
    """Columns low-passed as torques are."""
    return W if cutoff is None or cutoff >= 0.5 * rate else lowpass(W, rate, cutoff)


def _basis(W: Array) -> Array:
    """Orthonormal basis of the columns of `[W | torque]` but the last."""
    Q, R = np.linalg.qr(W[:, :-1] / (np.linalg.norm(W[:, :-1], axis=0) + 1e-300))
    return Q[:, np.abs(np.diag(R)) > 1e-9]


def _left(bases: list[Array], segment: Chunk, torque: Array, rate: float, step: int) -> tuple[Array, Array]:
    """What the columns leave of torques and of their rates, both (samples, rows); zero where rows do not count."""
    sides = [torque[::step], central_difference(torque, rate)[::step]]
    left = [np.stack([y[:, j] - Q @ (Q.T @ y[:, j]) for j, Q in enumerate(bases)], axis=1) for y in sides]
    if segment.keep is not None:
        left = [np.where(segment.keep[::step], y, 0.0) for y in left]
    return left[0], left[1]


def _solved(left: list[tuple[Array, Array]]) -> tuple[float, float, float]:
    """Delay, its standard deviation between blocks, and the share of the squared residual that it explains."""
    e, d = (np.concatenate([pair[k] for pair in left]) for k in range(2))
    size = np.sqrt(np.mean(e**2, axis=0))
    weight = np.where(size > 0.0, 1.0 / np.maximum(size, 1e-300), 0.0)
    e, d = e * weight, d * weight
    moments = np.array([[np.sum(x * y) for x, y in ((e, d), (d, d), (e, e))] for e, d in _blocks(e, d)])
    cross, squares, total = moments.sum(axis=0)
    if squares == 0.0 or total == 0.0:
        return 0.0, np.inf, 0.0
    delay = -cross / squares
    scatter = (moments[:, 0] + delay * moments[:, 1]) / squares  # influence of each block
    return delay, float(np.sqrt(len(scatter) / (len(scatter) - 1) * np.sum(scatter**2))), cross**2 / squares / total


def _blocks(e: Array, d: Array) -> list[tuple[Array, Array]]:
    return list(zip(np.array_split(e, COMPARED_BLOCKS), np.array_split(d, COMPARED_BLOCKS), strict=True))
