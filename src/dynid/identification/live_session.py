"""A stream with what is needed to look at it: the estimate at moments, where the robot is, and what to do next."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.estimation.streams.alarms import Alarm
from dynid.estimation.streams.stream_estimate import StreamEstimate
from dynid.excitation import Movement, NextMotion, Proposals, own_collisions
from dynid.identification.live_samples import LiveSamples
from dynid.identification.live_state import MOST_SHOWN, ChangeState, Course, LiveState, NextStep, RowState
from dynid.identification.proposal_words import no_proposal, words_of_proposals
from dynid.identification.stream import Stream
from dynid.logs.streams import Counts, Sample

RATE_SECONDS = 2.0
"""Time [s] over which the rate is counted."""

RESTART_PAUSE = 1.0
"""Time [s] that is taken to pass between two runs of a sender whose clock begins anew."""

USUAL_RATE = 100.0
"""Sampling rate [Hz] of proposals before the first samples came."""


class LiveSession:
    """A stream that is looked at.

    Its samples and its state belong to one thread; `propose` may run in another.

    Args:
        stream: The stream.
        samples: What turns samples into what the stream takes.
        checks_collisions: Whether proposals that would touch the robot itself or the floor are left out.
    """

    def __init__(self, stream: Stream, samples: LiveSamples, *, checks_collisions: bool = True) -> None:
        self.stream, self.samples = stream, samples
        self.robot = stream.model.robot
        self.posture = _within_limits(samples)
        self.proposals: Proposals | None = None
        self._next = NextMotion(stream.base, own_collisions(self.robot) if checks_collisions else None)
        self._lock = threading.Lock()
        self._course, self._evidence = Course(), Course(keeps_peaks=True)
        self._arrived: deque[tuple[float, int]] = deque()
        self._last: Array | None = None
        self._time = -math.inf
        self._shift = 0.0

    def include(self, samples: Sequence[tuple[Sample, bool]]) -> None:
        """Use samples, each with whether a stretch of time begins with it.

        Raises:
            InvalidRequestError: If they lie too far apart for the stream's filter.
        """
        for part in self._stretches(samples):
            q = np.array(self._postures(part))
            contacts, torques = self.samples.contacts_of(part), self.samples.torques(part)
            times = np.array([sample.time for sample in part]) + self._shift
            with self._lock:
                self.stream.update_positions(times, q, torques, contacts=contacts)
            self._last, self._time = q[-1], float(times[-1])
            self.posture = q[-1]

    def _stretches(self, samples: Sequence[tuple[Sample, bool]]) -> Iterator[list[Sample]]:
        """Samples whose time advances; where a sender began anew, its time goes on from the last one."""
        part: list[Sample] = []
        for sample, begins in samples:
            if begins and sample.time + self._shift <= (part[-1].time + self._shift if part else self._time):
                if part:
                    yield part
                    part = []
                self._shift = self._time + RESTART_PAUSE - sample.time
                self._last = None
            part.append(sample)
        if part:
            yield part

    def _postures(self, samples: Sequence[Sample]) -> list[Array]:
        found, before = [], self._last
        for sample in samples:
            before = self.samples.posture(sample, before)
            found.append(before)
        return found

    def count(self, samples: int) -> None:
        """Note that so many samples were used, for the rate."""
        now = time.monotonic()
        self._arrived.append((now, samples))
        while self._arrived and now - self._arrived[0][0] > RATE_SECONDS:
            self._arrived.popleft()

    @property
    def rate(self) -> float | None:
        """Samples each second of the last seconds [Hz]."""
        now = time.monotonic()
        recent = [(at, count) for at, count in self._arrived if now - at <= RATE_SECONDS]
        if len(recent) < 2 or recent[-1][0] - recent[0][0] < 0.2:
            return None
        return sum(count for _, count in recent[1:]) / (recent[-1][0] - recent[0][0])

    def information(self) -> tuple[Array, Array]:
        """`W'W` of the base parameters so far, shape (base, base), and mean squares of what was measured, (rows,)."""
        base, factors = self.stream.base, self.stream.factors
        position = {name: k for k, name in enumerate(base.names)}
        S, squares = np.zeros((len(base), len(base))), np.zeros(len(factors.joints))
        for row, factor in enumerate(factors.joints.values()):
            kept = [(k, position[name]) for k, name in enumerate(factor.names) if name in position]
            own, place = np.array(kept, dtype=int).reshape(-1, 2).T
            R = factor.R[:, own]
            S[np.ix_(place, place)] += R.T @ R
            squares[row] = (float(factor.z @ factor.z) + factor.squares) / max(factor.rows, 1)
        return S, squares

    def state(self, counts: Counts) -> LiveState:
        """What is determined at this moment; some milliseconds of work."""
        with self._lock:
            found, squares = self.stream.estimate, self.information()[1]
            changes = self._changes()
        is_full = found.rank == len(found.names) and math.isfinite(found.condition_number)
        seconds = found.seconds if math.isfinite(found.seconds) else 0.0
        if found.samples:
            self._course.add(seconds, found.condition_number if is_full else math.inf)
        information = found.link_information
        names = [self.robot.links[i].name for i in self.robot.solid_links]
        rows = [
            RowState(name, rmse, rmse / math.sqrt(square) if square > 0.0 and found.samples else None)
            for (name, rmse), square in zip(found.joint_rmse.items(), squares.tolist(), strict=True)
        ]
        return LiveState(
            samples=found.samples,
            seconds=seconds,
            rate=self.rate,
            condition_number=found.condition_number if is_full else None,
            rank=found.rank if found.samples else 0,
            parameters=len(found.names),
            segments={name: information.get(name) for name in names},
            rows=rows,
            course=list(self._course.points),
            next_step=self.next_step(),
            changes=changes,
            counts=counts.to_dict(),
        )

    def _changes(self) -> ChangeState:
        """Whether something has changed."""
        stream = self.stream
        place, level = max(stream.levels.items(), key=lambda item: item[1], default=("", None))
        last = self._evidence.points[-1][0] if self._evidence.points else -math.inf
        for alarm in stream.alarms:
            if alarm.seconds > last:
                self._evidence.add(alarm.seconds, alarm.level)
        if level is not None:
            self._evidence.add(stream.seconds, float(level))
        return ChangeState(stream.learned, level, place, stream.alarms[-MOST_SHOWN:], list(self._evidence.points))

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """The changes that were noticed so far."""
        return self.stream.alarms

    @property
    def estimate(self) -> StreamEstimate:
        """The estimate at this moment."""
        with self._lock:
            return self.stream.estimate

    def propose(self, is_over: Callable[[], bool] = lambda: False) -> Proposals:
        """Look for the next movement, from where the robot is; up to some seconds of work, beside the stream."""
        with self._lock:
            S, posture = self.information()[0], self.posture.copy()
        kept = None if self.proposals is None or not self.proposals.proposals else self.proposals.proposals[0].movement
        found = self._next.propose(S, posture, self.rate or USUAL_RATE, kept=kept, is_over=is_over)
        if not is_over():
            self.proposals = found
        return found

    @property
    def movement(self) -> Movement | None:
        """The movement that is proposed."""
        found = self.proposals
        return found.proposals[0].movement if found is not None and found.proposals else None

    def next_step(self) -> NextStep:
        """The proposal in words."""
        found = self.proposals
        return no_proposal() if found is None else words_of_proposals(found, self.robot)

    def way_of(self, movement: Movement, frames: int) -> tuple[Array, float]:
        """Positions along a movement from where the robot is, shape (frames, nq), and its time [s]."""
        seconds = 2.0 * movement.period
        q = movement.positions(self.robot, self.posture, np.linspace(0.0, seconds, frames))
        return q, seconds


def _within_limits(samples: LiveSamples) -> Array:
    """The neutral posture, where it is within the joints' ranges; else as near as they allow."""
    robot = samples.robot
    q = robot.neutral
    for joint in robot.axes:
        q[joint.q] = np.clip(q[joint.q], joint.limits.lower, joint.limits.upper)
    if samples.stance is not None:
        q = samples.posture(Sample(0.0, q[7:]))
    return q
