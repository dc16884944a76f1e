"""Torques with signs again, and how sure they are."""

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Flags
from dynid.errors import DynidError
from dynid.estimation.signs.confidence import Word
from dynid.estimation.signs.decision import Mirror


class SignsError(DynidError):
    """The signs of torques are not determined.

    Attributes:
        problem: What is lacking.
    """

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"the signs of torques are not determined: {problem}")


@dataclass(frozen=True)
class SegmentSign:
    """The sign of one segment.

    Attributes:
        log: Which log, counted from 0.
        channel: Which logged column, counted from 0.
        start: When it begins [s].
        stop: When it ends [s].
        sign: +1 or -1, of what was logged.
        margin: How sure the sign is, in standard deviations of the noise.
        word: The same in a word.
    """

    log: int
    channel: int
    start: float
    stop: float
    sign: int
    margin: float
    word: Word


@dataclass(frozen=True, eq=False)
class Curves:
    """What pictures of the signs of a track need, at the rate of the search.

    Attributes:
        log: Which log, counted from 0.
        time: Shape (samples,) [s].
        magnitudes: What was logged, shape (samples, channels).
        torques: The same with signs, shape (samples, channels).
        predicted: What the last fit predicts, shape (samples, channels).
    """

    log: int
    time: Array
    magnitudes: Array
    torques: Array
    predicted: Array


@dataclass(frozen=True, eq=False)
class Recovered:
    """Torques with signs again.

    Attributes:
        segments: The signs, joint by joint.
        torques: For each track what was logged with signs, shape (samples, channels).
        doubtful: For each track the samples to be left out, shape (samples, channels).
        values: Base parameters of the last fit of the search, shape (base,).
        curves: Each track at the rate of the search, for pictures.
        thresholds: Magnitudes of each channel below which samples count as near zero, shape (channels,).
        mirror: How physics decided between the signs and their mirror.
        proven: Whether no other signs fit better, and none come nearer than the margins say.
        seconds: How long it took [s].
    """

    segments: tuple[SegmentSign, ...]
    torques: tuple[Array, ...]
    doubtful: tuple[Flags, ...]
    values: Array
    curves: tuple[Curves, ...]
    thresholds: Array
    mirror: Mirror
    proven: bool
    seconds: float

    def share(self, word: Word) -> float:
        """Share of segments of which a word holds."""
        return float(np.mean([segment.word is word for segment in self.segments]))
