"""What a controller would have given the observer, from a log: the drives' torques, a clock, and causal velocities."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dynid.arrays import Array, Flags
from dynid.errors import InvalidRequestError
from dynid.estimation.contacts.momentum_observer import ObserverSignals
from dynid.estimation.streams.causal_filter import StateFilter
from dynid.logs import LONGEST_GAP, ControllerClock, Drive, Log, check_time, controller_clock, transmission_of
from dynid.robot import Robot

NYQUIST_SHARE = 0.2
"""Largest cut-off of the filter for velocities, in sampling rates: beyond it differences of single samples are left."""

CUTOFF_OF_GAIN = 1.6
"""Cut-off of that filter [Hz] in gains [1/s]: its delay is then a quarter of the observer's lag."""


@dataclass(frozen=True, eq=False)
class LoggedSignals:
    """A log at the joints, before velocities are chosen.

    Attributes:
        time: Time [s], shape (samples,): of the controller where it could be restored, else of the stamps.
        q: Positions, shape (samples, nq).
        v: Logged velocities, shape (samples, nv); None where there are none.
        tau: Torques, shape (samples, nv).
        begins: Where the observer begins anew, shape (samples,).
        clock: The restored clock; None where stamps are kept.
    """

    time: Array
    q: Array
    v: Array | None
    tau: Array
    begins: Flags
    clock: ControllerClock | None

    @staticmethod
    def of(log: Log, robot: Robot, drive: Drive) -> LoggedSignals:
        """The signals of a log.

        Args:
            log: The log, with torques.
            robot: A robot with a fixed base and joints of one axis.
            drive: From motors to joints.

        Raises:
            InvalidRequestError: If the log has no measured torques, other joints, or time that does not advance.
        """
        name = f"'{log.name}'" if log.name else "the log"
        if log.is_commanded or not log.torque.any():
            raise InvalidRequestError(
                f"{name} has no measured torques, which the observer compares the motion with; log torques or currents"
            )
        if log.position.shape[1] != robot.nq or log.torque.shape[1] != robot.nv:
            raise InvalidRequestError(
                f"{name} has {log.position.shape[1]} joints, and '{robot.name}' has {robot.nq} "
                f"({', '.join(joint.name for joint in robot.independent_joints)}); give a log of this robot"
            )
        if not check_time(log.time).is_ordered:
            raise InvalidRequestError(f"{name} has time stamps that stand still or go backwards; split or mend the log")
        at_joints = transmission_of(drive, robot)
        q, tau = at_joints.joint_positions(log.position), at_joints.joint_torques(log.torque)
        v = None if log.velocity is None else at_joints.joint_velocities(log.velocity)
        clock = controller_clock(log.time, q, v)
        time = log.time if clock is None else clock.time
        if clock is not None:
            q, tau, v = q[clock.keep], tau[clock.keep], None if v is None else v[clock.keep]
        steps = np.diff(time)
        gaps = steps > LONGEST_GAP * float(np.median(steps))
        return LoggedSignals(time - log.time[0], q, v, tau, np.concatenate([[True], gaps]), clock)

    @property
    def rate(self) -> float:
        """Sampling rate [Hz]."""
        return 1.0 / float(np.median(np.diff(self.time)))

    def cutoff(self, gain: float) -> float:
        """Cut-off frequency [Hz] of the filter for velocities that goes with a gain [1/s]."""
        return min(CUTOFF_OF_GAIN * gain, NYQUIST_SHARE * self.rate)

    def with_velocities(self, cutoff: float | None) -> ObserverSignals:
        """Signals with logged velocities, or with those of a causal filter of the positions.

        Args:
            cutoff: Cut-off frequency of the filter [Hz]; None for logged velocities.

        Raises:
            InvalidRequestError: If velocities were not logged, or the cut-off is beyond what the samples hold.
        """
        if cutoff is None:
            if self.v is None:
                raise InvalidRequestError(
                    "the thresholds are for logged velocities, and the log has none; log them, or find thresholds of "
                    "logs without them"
                )
            return ObserverSignals(self.time, self.q, self.v, self.tau, self.begins)
        if cutoff > 0.5 * self.rate:
            raise InvalidRequestError(
                f"velocities are to be filtered at {cutoff:g} Hz, and the log has {self.rate:.4g} samples per second; "
                "find thresholds of logs with this sampling rate"
            )
        return self._filtered(cutoff)

    def _filtered(self, cutoff: float) -> ObserverSignals:
        """Signals with velocities of positions; stretches begin once the filter has forgotten their beginnings."""
        state, v = StateFilter(cutoff, derivatives=1), np.zeros(self.tau.shape)
        begins, keep = self.begins.copy(), np.ones(len(self.time), dtype=bool)
        edges = [*np.flatnonzero(self.begins).tolist(), len(self.time)]
        for first, last in pairwise(edges):
            own = slice(first, last)
            steps = np.diff(self.time[own], prepend=self.time[first])
            state.begin(self.q[first])
            v[own] = state.advance(steps, self.q[own])[1]
            ready = first + int(np.searchsorted(self.time[own] - self.time[first], state.settled))
            keep[first:ready] = False
            if ready < last:
                begins[ready] = True
        if not keep.any():
            raise InvalidRequestError(
                f"the log has no stretch longer than {state.settled:.2g} s, in which the filter for velocities settles"
            )
        return ObserverSignals(self.time[keep], self.q[keep], v[keep], self.tau[keep], begins[keep])
