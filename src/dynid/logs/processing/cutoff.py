"""The cut-off frequency of positions and the source of velocities, decided by the equations that they go into.

A spectrum of positions does not show which part of it is motion: slow jitter of an encoder looks like it, and what is
small in positions is large in accelerations. Torques show it, because a real acceleration takes torque. So each
candidate gives its own velocities and accelerations, and is judged by the torques that the columns of the model leave
unexplained, all on the same rows: too low a cut-off lacks accelerations that torques have, too high a one has noise
that torques lack. Differences that are not significant between blocks of time do not count.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing.states import segment_of
from dynid.logs.settings import Processing
from dynid.machine import single_threaded_blas
from dynid.model import Chunk, DynamicModel, find_base_parameters

Source = Literal["logged", "derived"]
"""Where velocities come from: the log, or derivatives of positions."""

TRIED_SAMPLES = 60_000
"""Samples that candidates are tried on, in stretches spread over the log."""

STRETCHES = 3
"""Number of these stretches, where the log is longer."""

TRIED_ROWS = 2000
"""Samples of these whose equations are looked at."""

COMPARED_BLOCKS = 16
"""Parts of the rows that candidates are compared in."""

RIDGE = 1e-12
"""Added to normal equations of columns of unit norm, so that combinations which nothing excites stay small."""


@dataclass(frozen=True)
class CutoffThresholds:
    """Which cut-off frequency and which source of velocities are taken.

    Shown by `benchmarks/regret.py` (table in `docs/accuracy.md`).
    """

    significant_difference: float = 2.5
    """Standard errors of the difference between two candidates beyond which it counts: with 16 blocks, chance exceeds
    it in one comparison of a hundred."""

    harmless_share: float = 0.04
    """Share of squared residuals and accelerations by which a candidate may be worse all the same: it hardly moves an
    estimate."""

    slow_speed: float = 0.1
    """Share of a joint's top speed below which its rows do not count here: friction rules them."""

    added_acceleration: float = 1.0
    """Mean square of accelerations, relative to the motion's, that a cut-off may add without being needed: it must not
    double it."""

    ruled_by_noise: float = 1.5
    """Residuals of all other candidates, in those of the lowest cut-off frequency, from which noise rules them all: it
    grows by 3.2 from one to the next, and what torques have besides does not grow. Shown by `benchmarks/human_body.py`,
    where it is 1.9 to 2.8."""

    quieter_velocities: float = 0.05
    """The same by which logged velocities must be less noisy to be preferred to derivatives of positions that explain
    torques as well."""


THRESHOLDS = CutoffThresholds()


@dataclass(frozen=True, eq=False)
class Trial:
    """What a candidate leaves of the torques.

    Attributes:
        cutoff: Cut-off frequency of positions [Hz]; infinite where they are not filtered.
        velocity: Where velocities come from.
        squares: Mean squared residuals in blocks of time, relative to the least of any candidate, shape (blocks,).
        acceleration: Mean squared accelerations of each joint that moves.
    """

    cutoff: float
    velocity: Source
    squares: Array
    acceleration: Array

    @property
    def error(self) -> float:
        """Root mean square of what is left of the torques, relative to the least for each joint."""
        return float(np.sqrt(self.squares.mean()))

    def is_worse_than(self, other: "Trial") -> bool:
        """Whether it leaves significantly more of the torques."""
        more = self.squares - other.squares
        spread = float(np.std(more, ddof=1)) / np.sqrt(len(more))
        return float(more.mean()) > THRESHOLDS.significant_difference * spread

    def is_harmless_beside(self, other: "Trial") -> bool:
        """Whether it leaves little more of the torques, and adds little to the accelerations of any joint."""
        factor = 1.0 + THRESHOLDS.harmless_share
        is_alike = bool((self.acceleration <= factor * other.acceleration).all())
        return is_alike and float(self.squares.mean()) <= factor * float(other.squares.mean())


def tried(
    pieces: Sequence[Log],
    transmission: Transmission,
    processing: Processing,
    model: DynamicModel,
    rate: float,
    cutoffs: Sequence[float],
    sources: Sequence[Source],
    moves: NDArray[np.bool_],
    known: Array | None = None,
) -> list[Trial]:
    """Try cut-off frequencies and sources of velocities on the equations of a model.

    Args:
        pieces: Pieces of a log with even samples.
        transmission: The drives between what was logged and the joints.
        processing: What was stated about processing.
        model: The model.
        rate: Sampling rate [Hz].
        cutoffs: Candidates [Hz]; infinite for no filter.
        sources: Where velocities may come from.
        moves: Which joints move, shape (joints,); the others do not decide.
        known: Standard parameters p that the equations have, shape (parameters,); their own least squares when None.

    Returns:
        One trial for each pair; none where no joint moves.
    """
    stretches = list(_stretches(pieces))
    longest = max(map(len, stretches), default=0)
    trim = min(round(4.0 * rate / min(cutoffs)) + 4, longest // 8)
    step = max(1, sum(max(0, len(piece) - 2 * trim) for piece in stretches) // TRIED_ROWS)
    plain = processing.but(trim=trim, rate=None, decimate=(), velocity_threshold=None, torque_lowpass=None)
    equations = Equations(model, known)
    measured = np.array([name not in processing.unmeasured for name in model.row_names])
    found: list[tuple[float, Source, Array, Array]] = []
    keep: NDArray[np.bool_] | None = None
    with single_threaded_blas():
        for source in sources:
            for cutoff in cutoffs:
                lowpass = cutoff if np.isfinite(cutoff) else None
                settings = plain.but(lowpass=lowpass, velocity=source)
                chunks = [segment_of(piece, transmission, settings, rate, 0.0)[::step] for piece in stretches]
                if keep is None:
                    keep = _fast(chunks, model) & measured & _deciding(model, moves) & _measured(chunks)
                a = np.concatenate([chunk.a for chunk in chunks])[:, _moving(model, moves)]
                found.append((cutoff, source, equations.left(chunks, keep) ** 2, np.mean(a**2, axis=0)))
    return _compared(found, keep) if keep is not None and keep.any() else []


def _moving(model: DynamicModel, moves: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which accelerations are those of joints that move, shape (nv,), by which positions move, shape (nq,)."""
    found = np.zeros(model.robot.nv, dtype=bool)
    for joint in model.robot.independent_joints:
        found[joint.v] = moves[joint.q].any()
    return found


def _deciding(model: DynamicModel, moves: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which rows decide: those of joints that move; those of a base or spherical joint always, shape (rows,)."""
    return (_moving(model, moves) | model.robot.turning)[model.rows]


def _stretches(pieces: Sequence[Log]) -> Iterator[Log]:
    """Parts of the pieces, spread over all of them, with a bounded number of samples in all."""
    total = sum(map(len, pieces))
    if total <= TRIED_SAMPLES:
        yield from (piece for piece in pieces if len(piece) >= 64)
        return
    size = TRIED_SAMPLES // STRETCHES
    for piece in sorted(pieces, key=len)[-STRETCHES:]:
        count = max(1, round(STRETCHES * len(piece) / total))
        for first in np.linspace(0, max(0, len(piece) - size), count).astype(int).tolist():
            if len(piece) >= 64:
                yield piece[first : first + size]


def _measured(chunks: Sequence[Chunk]) -> NDArray[np.bool_]:
    """Which torques were measured, shape (samples, rows)."""
    every = [np.ones(c.torque.shape, dtype=bool) if c.measured is None else c.measured for c in chunks]
    return np.concatenate(every)


def _fast(chunks: Sequence[Chunk], model: DynamicModel) -> NDArray[np.bool_]:
    """Which rows count: those of joints that are not slow, and all without friction; shape (samples, rows)."""
    speed = np.abs(np.concatenate([chunk.v[:, model.rows] for chunk in chunks]))
    is_fast = speed > THRESHOLDS.slow_speed * np.quantile(speed, 0.999, axis=0)
    return is_fast | model.robot.turning[model.rows]


class Equations:
    """The equations of a model in its base parameters, all joints together, as an estimate takes them.

    Args:
        model: The model.
        known: Standard parameters p, shape (parameters,); those that leave least when None.
    """

    def __init__(self, model: DynamicModel, known: Array | None = None) -> None:
        base = find_base_parameters(model)
        self._layout = model.layout([base.columns] * model.row_count, spare=1)
        self._known = None if known is None else base.to_base(known)
        self._rows = model.rows
        self._weights: Array | None = None

    def left(self, chunks: Sequence[Chunk], keep: NDArray[np.bool_]) -> Array:
        """What the columns leave of the torques, shape (samples, rows); zero where rows do not count.

        Rows of a joint are weighed by its own error, as it was the first time.
        """
        parts = [self._layout.evaluate(c.q, c.v, c.a, c.temperature)[self._rows] for c in chunks]
        torque = np.concatenate([chunk.torque for chunk in chunks])
        matrices = [np.concatenate([part[row] for part in parts])[:, :-1] for row in range(keep.shape[1])]
        if self._known is not None:
            left = [column - W @ self._known for W, column in zip(matrices, torque.T, strict=True)]
            return np.where(keep, np.stack(left, axis=1), 0.0)
        if self._weights is None:
            plain = self._solved(matrices, torque, keep, 1.0 / _sizes(torque, keep))
            self._weights = 1.0 / _sizes(plain, keep)
        return self._solved(matrices, torque, keep, self._weights)

    @staticmethod
    def _solved(matrices: Sequence[Array], torque: Array, keep: NDArray[np.bool_], weights: Array) -> Array:
        used = [(row, W[keep[:, row]], torque[keep[:, row], row]) for row, W in enumerate(matrices)]
        size = np.sqrt(sum(weights[row] ** 2 * (W**2).sum(axis=0) for row, W, _ in used)) + 1e-300
        gram, side = RIDGE * np.eye(len(size)), np.zeros(len(size))
        for row, W, y in used:
            gram += weights[row] ** 2 * (W / size).T @ (W / size)
            side += weights[row] ** 2 * (W / size).T @ y
        b = np.linalg.solve(gram, side) / size
        left = np.zeros(keep.shape)
        for row, W, y in used:
            left[keep[:, row], row] = y - W @ b
        return left


def _sizes(x: Array, keep: NDArray[np.bool_]) -> Array:
    """Root mean square of the samples that count, shape (rows,); one where there is none."""
    size = np.sqrt((np.where(keep, x, 0.0) ** 2).sum(axis=0) / np.maximum(keep.sum(axis=0), 1))
    return np.where(size > 0.0, size, 1.0)


def _compared(found: Sequence[tuple[float, Source, Array, Array]], keep: NDArray[np.bool_]) -> list[Trial]:
    counts = keep.sum(axis=0)
    least = np.min([squares.sum(axis=0) for *_, squares, _ in found], axis=0)
    scale = np.where(least > 0.0, counts / np.where(least > 0.0, least, 1.0), 0.0)
    share = COMPARED_BLOCKS / max(int(counts[least > 0.0].sum()), 1)
    return [
        Trial(
            cutoff,
            source,
            np.array([float((part * scale).sum()) for part in np.array_split(squares, COMPARED_BLOCKS)]) * share,
            acceleration,
        )
        for cutoff, source, squares, acceleration in found
    ]


def chosen(trials: Sequence[Trial], target: float) -> Trial:
    """The trial to go on with.

    Velocities come from where they leave significantly less of the torques, or, where that is alike, from where
    accelerations are less noisy. Of the cut-off frequencies that are not significantly worse than the best, it is the
    highest up to the target that adds no acceleration which torques do not show.

    Args:
        trials: All that was tried.
        target: Cut-off frequency [Hz] that is enough for the motion.
    """
    sources = sorted({trial.velocity for trial in trials})
    best = {
        source: min((trial for trial in trials if trial.velocity == source), key=lambda trial: trial.error)
        for source in sources
    }
    first = best[_quieter(trials) if len(best) > 1 else sources[0]]
    for other in best.values():
        if first.is_worse_than(other):
            first = other
    own = sorted((trial for trial in trials if trial.velocity == first.velocity), key=lambda trial: trial.cutoff)
    lowest = next(trial for trial in own if not trial.is_worse_than(first))
    enough = [trial for trial in own if lowest.cutoff <= trial.cutoff <= 1.05 * target] or [lowest]
    equals = [trial for trial in enough if not trial.is_worse_than(first) or trial.is_harmless_beside(lowest)]
    return [trial for trial in equals if _added(trial, lowest) <= THRESHOLDS.added_acceleration][-1]


def is_ruled_by_noise(trials: Sequence[Trial]) -> bool:
    """Whether noise of accelerations is most of what even low cut-off frequencies leave of the torques.

    The lowest then leaves far less than any other does.
    """
    lowest = min((trial.cutoff for trial in trials), default=np.inf)
    least = min((trial.error for trial in trials if trial.cutoff == lowest), default=np.inf)
    others = [trial.error for trial in trials if trial.cutoff > lowest]
    return bool(others) and min(others) > THRESHOLDS.ruled_by_noise * least


def _added(trial: Trial, lowest: Trial) -> float:
    """Mean square of accelerations that a trial has beyond another, relative to it: the mean of all joints."""
    moves = lowest.acceleration > 0.0
    return float(np.mean(trial.acceleration[moves] / lowest.acceleration[moves])) - 1.0 if moves.any() else 0.0


def _quieter(trials: Sequence[Trial]) -> Source:
    """Where velocities come from whose accelerations grow least from the lowest cut-off frequency to the highest."""
    growth: dict[Source, float] = {}
    for source in ("derived", "logged"):
        own = sorted((trial for trial in trials if trial.velocity == source), key=lambda trial: trial.cutoff)
        growth[source] = _added(own[-1], own[0])
    return "logged" if growth["logged"] < growth["derived"] - THRESHOLDS.quieter_velocities else "derived"
