"""How certain estimates by output error are: what blocks of time of each log say, and a jackknife over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dynid.arrays import Array, Flags


@dataclass(frozen=True)
class BlockSettings:
    """How errors that are correlated in time are counted."""

    blocks: int = 10
    """Fewest blocks of time in a log that show how errors are correlated."""

    most_blocks: int = 40
    """Most blocks of a log: encoders at rest show the same error for long, whatever their errors' correlation."""

    correlation: float = 5.0
    """Length of a block in correlation times of the errors."""

    widening: float = 1.08
    """Factor on standard deviations by which those of the jackknife are too small. Calibrated on 80 draws of
    `benchmarks/commanded_truth.py`, whose errors were 1.04 to 1.16 times as large."""

    several: int = 5
    """Logs from which their differences show errors that last longer than a log's blocks."""


BLOCKS = BlockSettings()


@dataclass(frozen=True, eq=False)
class Unknowns:
    """What is estimated.

    Attributes:
        names: Names.
        values: Values to start from, shape (unknowns,).
        lower: Lower bounds, shape (unknowns,).
        upper: Upper bounds, shape (unknowns,).
        sizes: Changes that are large for each, shape (unknowns,): what is less certain than that is not identified.
        rows: The joint that each belongs to, counted from 0; -1 for what belongs to all.
    """

    names: tuple[str, ...]
    values: Array
    lower: Array
    upper: Array
    sizes: Array
    rows: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LogErrors:
    """The rollout of one log beside what was measured.

    Attributes:
        errors: Measured less simulated positions [rad or m], shape (samples, joints).
        slopes: Derivatives of simulated positions, shape (samples, joints, unknowns); None where not asked for.
        weight: Weight of the log.
        shares: What each sample is of a reading that repeats, shape (samples, joints); all are new when None.
    """

    errors: Array
    slopes: Array | None
    weight: float = 1.0
    shares: Array | None = None

    @property
    def counted(self) -> Array:
        """Errors as much as they count, shape (samples, joints)."""
        return self.errors if self.shares is None else self.errors * np.sqrt(self.shares)


@dataclass(frozen=True, eq=False)
class LogScore:
    """What a log says at the estimate.

    Attributes:
        H: Its part of the normal matrix, shape (unknowns, unknowns).
        g: Its part of the gradient, shape (unknowns,).
        block_normals: The same of each block of time, shape (blocks, unknowns, unknowns).
        block_gradients: The same of gradients, shape (blocks, unknowns).
    """

    H: Array
    g: Array
    block_normals: Array
    block_gradients: Array

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.block_gradients)


def scores_of(found: Sequence[LogErrors], weights: Array) -> list[LogScore]:
    """What each log says, with a weight of each joint's squared errors, shape (joints,)."""
    return [_score(one, weights) for one in found]


def _score(one: LogErrors, weights: Array) -> LogScore:
    """What a log says: sums over its samples, and over blocks of time for how errors are correlated."""
    J = one.slopes
    assert J is not None  # it was asked for
    samples, joints, size = J.shape
    root = one.weight * np.sqrt(weights)
    if one.shares is not None:
        J = J * np.sqrt(one.shares)[..., None]
    flat, error = (J * root[:, None]).reshape(samples * joints, size), (one.counted * root).ravel()
    length = max(1, min(samples // BLOCKS.blocks, max(_block(one.counted), samples // BLOCKS.most_blocks)))
    edges = joints * np.linspace(0, samples, max(1, samples // length) + 1).astype(int)
    parts = [slice(start, stop) for start, stop in pairwise(edges)]
    normals = np.array([flat[part].T @ flat[part] for part in parts])
    gradients = np.array([flat[part].T @ error[part] for part in parts])
    return LogScore(normals.sum(axis=0), gradients.sum(axis=0), normals, gradients)


def _block(errors: Array) -> int:
    """Samples after which errors of the joint with the longest memory are no longer correlated, times some."""
    centred = errors - errors.mean(axis=0)
    size = 1 << (2 * len(centred) - 1).bit_length()
    power = np.abs(np.fft.rfft(centred, size, axis=0)) ** 2
    rho = np.fft.irfft(power, size, axis=0)[: len(centred) // 4]
    rho = rho / np.maximum(rho[:1], 1e-300)
    first = [int(np.argmax(column < 0.05)) or len(column) for column in rho.T]
    times = [float(1.0 + 2.0 * column[1:stop].sum()) for column, stop in zip(rho.T, first, strict=True)]
    return math.ceil(BLOCKS.correlation * max(times))


def damped_inverse(H: Array, sizes: Array, free: Flags) -> Array:
    """Inverse of a normal matrix over free unknowns, and zeros; a slight prior holds what the logs do not determine."""
    found = np.zeros_like(H)
    at = np.flatnonzero(free)
    if len(at):
        scaled = H[np.ix_(at, at)] * np.outer(sizes[at], sizes[at])
        found[np.ix_(at, at)] = np.linalg.inv(scaled + np.eye(len(at))) * np.outer(sizes[at], sizes[at])
    return found


def at_bound(unknowns: Unknowns, theta: Array) -> Flags:
    """Which values are at a bound, shape (unknowns,)."""
    return (theta <= unknowns.lower) | (theta >= unknowns.upper)


def covariances(scores: Sequence[LogScore], unknowns: Unknowns, theta: Array) -> tuple[Array, Array]:
    """Inverse of the normal matrix, and covariance of the estimates; zero for those at a bound."""
    free = ~at_bound(unknowns, theta)
    A = damped_inverse(np.sum([score.H for score in scores], axis=0), unknowns.sizes, free)
    return A, block_covariance(A, scores, unknowns.sizes, free)


def block_covariance(A: Array, scores: Sequence[LogScore], sizes: Array, free: Flags) -> Array:
    """Covariance of the estimates: errors correlated within blocks of time, or within logs where that is more.

    A jackknife: estimates without each block, by one step. Few places of a log (turns, stretches of fast motion) may
    determine a parameter, and errors there look smaller than they are, as the parameter follows them.
    """
    at = np.flatnonzero(free)
    scale = np.outer(sizes[at], sizes[at])
    H = np.concatenate([score.block_normals[:, at[:, None], at] for score in scores]) * scale
    g = np.concatenate([score.block_gradients[:, at] for score in scores]) * sizes[at]
    changes = np.zeros((len(g), len(free)))
    changes[:, at] = np.linalg.solve(H.sum(axis=0) + np.eye(len(at)) - H, g[..., None])[..., 0] * sizes[at]
    covariance = BLOCKS.widening**2 * (changes.T @ changes) * ((len(g) - 1) / len(g))
    if len(scores) < BLOCKS.several:
        return covariance
    g = np.array([score.g for score in scores])
    between = A @ (g.T @ g) @ A * (len(scores) / (len(scores) - 1))
    ratio = np.sqrt(np.maximum(np.diag(between) / np.maximum(np.diag(covariance), 1e-300), 1.0))
    return covariance * np.outer(ratio, ratio)
