"""Replicas of a log: the same samples with the noise of rounded positions added once more.

What the noise of rounding does to velocities and accelerations, and through them to every column of the observation
matrix, shows when it is added a second time: the difference is as large as what is in the log already, and is known
exactly.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import Array, frozen
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing.states import even_segments, segment_of
from dynid.logs.quantisation import step_in
from dynid.logs.settings import Processing
from dynid.model import Chunk, Segment

REPLICAS = 4
"""How often the noise is drawn: its second moments are then known to some per cent in logs of a minute."""


def replicas_of(
    log: Log, transmission: Transmission, processing: Processing, segments: Sequence[Segment], seed: int = 0
) -> tuple[tuple[Segment, ...], ...]:
    """The samples of a log with the noise of rounding added to its positions, some times over.

    Args:
        log: The log, with its positions as logged.
        transmission: The drives between what was logged and the joints.
        processing: What was done to its signals.
        segments: Its samples after that; torques and rows that count are theirs.
        seed: Of the noise.
    """
    steps = np.array([step_in(column) or 0.0 for column in log.position.T])
    rng = np.random.default_rng(seed)
    return tuple(
        _replica(log, steps * rng.uniform(-0.5, 0.5, log.position.shape), transmission, processing, segments)
        for _ in range(REPLICAS)
    )


def _replica(
    log: Log, noise: Array, transmission: Transmission, processing: Processing, segments: Sequence[Segment]
) -> tuple[Segment, ...]:
    noisy = replace(log, position=frozen(log.position + noise))
    pieces, rate = even_segments(noisy, processing)
    chunks = [segment_of(piece, transmission, processing, rate, 0.0) for piece in pieces]
    return tuple(_moved(chunk, own) for chunk, own in zip(chunks, segments, strict=True))


def _moved(replica: Chunk, own: Segment) -> Chunk:
    """Samples with the motion of a replica, and all else their own."""
    assert isinstance(own, Chunk)
    return replace(own, q=replica.q, v=replica.v, a=replica.a)
