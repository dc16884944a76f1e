"""How a log moves: the speeds and temperatures of its joints, in numbers that do not grow with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.model import Segment, pieces


@dataclass(frozen=True, eq=False)
class Speeds:
    """Velocities of each joint in some rows.

    Attributes:
        rows: Number of rows, shape (joints,).
        lowest: Lowest velocity [rad/s or m/s], infinite where there is no row; shape (joints,).
        highest: Highest velocity, minus infinite where there is no row.
        slowest: Lowest absolute value, infinite where there is no row.
    """

    rows: NDArray[np.int64]
    lowest: Array
    highest: Array
    slowest: Array

    @staticmethod
    def of(v: Array, counts: NDArray[np.bool_] | None) -> Speeds:
        """Those of samples, shape (samples, joints), of which some count."""
        if counts is None:
            lowest, highest = v.min(axis=0), v.max(axis=0)
            return Speeds(np.full(v.shape[1], len(v)), lowest, highest, np.abs(v).min(axis=0))
        everywhere, nowhere = np.where(counts, v, np.inf), np.where(counts, v, -np.inf)
        return Speeds(
            counts.sum(axis=0),
            everywhere.min(axis=0, initial=np.inf),
            nowhere.max(axis=0, initial=-np.inf),
            np.abs(everywhere).min(axis=0, initial=np.inf),
        )

    @staticmethod
    def joined(parts: Sequence[Speeds]) -> Speeds:
        """Those of several logs together."""
        return Speeds(
            np.sum([part.rows for part in parts], axis=0),
            np.min([part.lowest for part in parts], axis=0),
            np.max([part.highest for part in parts], axis=0),
            np.min([part.slowest for part in parts], axis=0),
        )

    @property
    def fastest(self) -> Array:
        """Highest absolute value, zero where there is no row; shape (joints,)."""
        return np.where(self.rows > 0, np.maximum(np.abs(self.lowest), np.abs(self.highest)), 0.0)


@dataclass(frozen=True, eq=False)
class Motion:
    """How a log moves.

    Attributes:
        kept: Velocities in rows that `keep` does not leave out.
        counted: The same without rows below the threshold of velocity, too.
        everywhere: Velocities at all samples.
        temperatures: Lowest and highest temperature of each joint [degrees Celsius], shape (2, joints); None where
            samples have none.
    """

    kept: Speeds
    counted: Speeds
    everywhere: Speeds
    temperatures: Array | None

    @staticmethod
    def of(segments: Iterable[Segment], thresholds: Sequence[float] | None) -> Motion:
        """How samples move.

        Args:
            segments: The samples.
            thresholds: Speeds [rad/s or m/s] of each joint below which rows do not count; none when None.
        """
        found, warmth = [], []
        for chunk in (piece for segment in segments for piece in pieces(segment)):
            of_rows = thresholds is not None and len(thresholds) not in (1, chunk.v.shape[1])  # of some joints alone
            fast = None if thresholds is None or of_rows else np.abs(chunk.v) >= np.asarray(thresholds)
            keep = chunk.keep
            if keep is not None and keep.shape != chunk.v.shape:  # rows of a base alone, for all joints
                keep = np.broadcast_to(keep.any(axis=1, keepdims=True), chunk.v.shape)
            both = fast if keep is None else keep if fast is None else keep & fast
            everywhere = Speeds.of(chunk.v, None)
            kept = everywhere if keep is None else Speeds.of(chunk.v, keep)
            found.append([kept, kept if both is keep else Speeds.of(chunk.v, both), everywhere])
            if chunk.temperature is not None:
                warmth.append([chunk.temperature.min(axis=0), chunk.temperature.max(axis=0)])
        kept, counted, everywhere = (Speeds.joined(parts) for parts in zip(*found, strict=True))
        return Motion(kept, counted, everywhere, _ends(warmth))

    @staticmethod
    def joined(parts: Sequence[Motion]) -> Motion:
        """How several logs move together."""
        warmth = [(part.temperatures[0], part.temperatures[1]) for part in parts if part.temperatures is not None]
        return Motion(
            Speeds.joined([part.kept for part in parts]),
            Speeds.joined([part.counted for part in parts]),
            Speeds.joined([part.everywhere for part in parts]),
            _ends(warmth),
        )


def _ends(found: Sequence[Sequence[Array]]) -> Array | None:
    """Lowest and highest of pairs of such, shape (2, joints); None where there are none."""
    if not found:
        return None
    return np.stack([np.min([pair[0] for pair in found], axis=0), np.max([pair[1] for pair in found], axis=0)])
