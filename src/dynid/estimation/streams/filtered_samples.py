"""Samples of positions, as they come in, to samples of states: filtered, in pieces without gaps, settled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.streams.causal_filter import CausalFilter, StateFilter
from dynid.estimation.streams.filtered_states import states_of, steady_quaternions
from dynid.model import Chunk
from dynid.robot import Robot

MOST_RESTARTS = 20
"""Gaps, without a settled sample between them, after which the sampling is too slow for the filter."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Samples that count, without a gap.

    Attributes:
        at: Where they stand in the block that came in.
        chunk: Their states and right-hand sides, filtered alike.
        steps: Interval before each [s], shape (samples,).
        is_new: Whether a gap was before them, or nothing.
    """

    at: slice
    chunk: Chunk
    steps: Array
    is_new: bool


class FilteredSamples:
    """Makes states of positions by a causal filter.

    Args:
        robot: The robot.
        settings: The filter.

    Attributes:
        restarts: How often gaps made it begin anew.
    """

    def __init__(self, robot: Robot, settings: CausalFilter) -> None:
        self._robot = robot
        self._settings = settings
        self._filter = StateFilter(settings.cutoff, 2)
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self.restarts = 0
        self._age = -1.0  # of the filter [s]; negative before its first sample
        self._time = 0.0
        self._before: Array | None = None
        self._is_new = True
        self._fruitless = 0

    def pieces(self, times: Array, q: Array, torque: Array) -> Iterator[Piece]:
        """States of samples that count.

        Args:
            times: Time of each sample [s], shape (samples,).
            q: Positions, shape (samples, nq).
            torque: Right-hand sides of the rows, shape (samples, rows).

        Raises:
            InvalidRequestError: If samples lie too far apart for the filter.
        """
        q = steady_quaternions(self._robot, q, self._before)
        steps = np.diff(times, prepend=times[:1] if self._age < 0.0 else self._time)
        gaps = steps > self._settings.longest_step
        if self._age < 0.0:
            gaps[:1] = True
        self._time = float(times[-1])
        starts = sorted({0, *np.flatnonzero(gaps).tolist()})
        for first, last in zip(starts, [*starts[1:], len(q)], strict=True):
            yield from self._piece(slice(first, last), bool(gaps[first]), steps[first:last].copy(), q, torque)

    def _piece(self, at: slice, is_begin: bool, steps: Array, q: Array, torque: Array) -> Iterator[Piece]:
        signals = np.concatenate([q[at], torque[at]], axis=1)
        if is_begin:
            self._restart(steps)
            self._filter.begin(signals[0])
            steps[0] = 0.0
        low, first, second = self._filter.advance(steps, signals)
        self._before = q[at.stop - 1]
        ages = self._age + np.cumsum(steps)
        self._age = float(ages[-1])
        settled = int(np.searchsorted(ages, self._filter.settled))
        if settled == len(steps):
            return
        n = q.shape[1]
        states = states_of(self._robot, *(part[settled:, :n] for part in (low, first, second)))
        is_new, self._is_new, self._fruitless = self._is_new, False, 0
        chunk = Chunk(*states, low[settled:, n:])
        yield Piece(slice(at.start + settled, at.stop), chunk, steps[settled:], is_new)

    def _restart(self, steps: Array) -> None:
        if self._age >= 0.0:
            self.restarts += 1
            self._fruitless += 1
            if self._fruitless > MOST_RESTARTS:
                raise InvalidRequestError(
                    f"samples are {steps[0]:.3g} s apart, and a filter with a cut-off of {self._settings.cutoff:g} Hz "
                    f"needs them every {self._settings.longest_step:.3g} s; state a lower cut-off, such as "
                    f"dynid.CausalFilter(cutoff={0.1 / steps[0]:.2g}), or send samples more often"
                )
        self._age, self._is_new = 0.0, True
