"""One yardstick for parameters, however they were found: the same rows, the same states, the same torques.

Positions are low-passed once (zero-phase Butterworth of order 4), with central differences, or are the true ones where
a log is simulated; nothing here depends on the processing that the parameters were found with, nor on dynid's filters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.signal import butter, sosfiltfilt

from dynid import Drive, DynamicModel, Log
from dynid.arrays import Array
from dynid.logs.drive import transmission_of

Mask = NDArray[np.bool_]

CUTOFF = 5.0
"""Cut-off [Hz] of the states and of the filtered torques."""

ENDS = 3.5
"""Periods of the cut-off that are left out at both ends: the transient of the filter."""

MOVING = 0.02
"""Share of a joint's top speed above which its rows count as moving."""

STILL = 0.01
"""Range of positions [rad or m] below which a joint is at rest: its true velocity is zero."""

MOST = 4000
"""Samples that are scored."""

LONGEST = 20.0
"""Gaps of more periods than this are not scored."""


def even_rate(time: Array) -> float:
    """The sampling rate [Hz] of time stamps: one over the median step."""
    return float(1.0 / np.median(np.diff(time)))


def is_even(time: Array) -> bool:
    """Whether filters can take the samples as they are."""
    steps = np.diff(time) * even_rate(time)
    return bool(np.abs(steps - 1.0).max() < 0.05)


def lowpassed(x: Array, rate: float, cutoff: float) -> Array:
    """Signals of shape (samples, joints) after the zero-phase low-pass."""
    return sosfiltfilt(butter(4, cutoff, fs=rate, output="sos"), x, axis=0)


def resting(q: Array) -> Mask:
    """Which joints do not move, shape (joints,); q has the shape (samples, joints)."""
    return np.ptp(q, axis=0) < STILL


@dataclass(frozen=True, eq=False)
class ScoredLog:
    """Rows and torques on which every candidate is scored.

    Attributes:
        q: Positions [rad or m], shape (samples, joints).
        v: Velocities, of the same shape.
        a: Accelerations, of the same shape.
        torques: Torques [N m or N] by how they were filtered, each of the same shape.
        moving: Rows above the velocity threshold, of the same shape.
        thresholds: Velocity threshold of each joint [rad/s or m/s], shape (joints,).
    """

    q: Array
    v: Array
    a: Array
    torques: dict[str, Array]
    moving: Mask
    thresholds: Array

    @staticmethod
    def of(
        log: Log,
        model: DynamicModel,
        drive: Drive | None = None,
        cutoff: float = CUTOFF,
        states: Callable[[Array], tuple[Array, Array, Array]] | None = None,
    ) -> ScoredLog:
        """The scored rows of a log; its ends in which no joint moves are left out.

        Args:
            log: The log.
            model: The model, whose drives it was logged at.
            drive: The drives.
            cutoff: Cut-off [Hz] of the states and of the filtered torques.
            states: True states at times [s], where they are known: then nothing is filtered but torques.
        """
        transmission = transmission_of(Drive() if drive is None else drive, model.robot)
        q, tau = transmission.joint_positions(log.position), transmission.joint_torques(log.torque)
        rate = even_rate(log.time)
        parts = []
        for t, position, torque in _even(log.time, q, tau, rate):
            ends = round(ENDS * rate / cutoff)
            if len(t) < 4 * ends:
                continue
            known = _smoothed(position, rate, cutoff, resting(q)) if states is None else states(t)
            rows = slice(ends, len(t) - ends)
            parts.append([x[rows] for x in (*known, torque, lowpassed(torque, rate, cutoff))])
        signals = [np.concatenate(x) for x in zip(*parts, strict=True)]
        thresholds = MOVING * np.quantile(np.abs(signals[1]), 0.999, axis=0)
        going = np.flatnonzero((np.abs(signals[1]) > thresholds).any(axis=1))
        step = max(1, len(going) // MOST)
        q, v, a, raw, filtered = (x[going[0] : going[-1] + 1 : step] for x in signals)
        torques = {"raw": raw, f"{cutoff:g} Hz": filtered}
        return ScoredLog(q, v, a, torques, np.abs(v) > thresholds, thresholds)

    def errors(
        self, model: DynamicModel, parameters: Array, joints: Sequence[int] | None = None
    ) -> dict[str, tuple[float, Array]]:
        """Relative errors of predictions, overall and by joint, by measure: "raw", "raw moving", "5 Hz" ...

        Args:
            model: The model.
            parameters: Standard parameters p, shape (parameters,).
            joints: Joints that count, from 0; all when None.
        """
        predicted = model.inverse_dynamics(self.q, self.v, self.a, parameters)
        return self.errors_of(predicted, joints)

    def errors_of(self, predicted: Array, joints: Sequence[int] | None = None) -> dict[str, tuple[float, Array]]:
        """The same for predicted torques, shape (samples, joints)."""
        which = list(range(predicted.shape[1]) if joints is None else joints)
        found = {}
        for name, torque in self.torques.items():
            for suffix, rows in (("", np.ones_like(self.moving)), (" moving", self.moving)):
                squares = np.sum(np.where(rows, torque, 0.0) ** 2, axis=0)[which]
                errors = np.sum(np.where(rows, predicted - torque, 0.0) ** 2, axis=0)[which]
                by_joint = np.sqrt(errors / np.where(squares > 0.0, squares, np.inf))
                found[name + suffix] = float(np.sqrt(errors.sum() / squares.sum())), by_joint
        return found


def _smoothed(q: Array, rate: float, cutoff: float, still: Mask) -> tuple[Array, Array, Array]:
    """Positions after the low-pass, and their central differences; joints that are still have no velocity."""
    q = lowpassed(q, rate, cutoff)
    q[:, still] = q[:, still].mean(axis=0)
    v = np.gradient(q, 1.0 / rate, axis=0)
    return q, v, np.gradient(v, 1.0 / rate, axis=0)


def _even(t: Array, q: Array, tau: Array, rate: float) -> list[tuple[Array, Array, Array]]:
    """Even pieces of signals: as they are, or interpolated between gaps."""
    if is_even(t):
        return [(t, q, tau)]
    forward = np.flatnonzero(np.diff(t, prepend=-np.inf) > 0.0)
    t, q, tau = t[forward], q[forward], tau[forward]
    cuts = np.flatnonzero(np.diff(t) > LONGEST / rate) + 1
    pieces = []
    for part in np.split(np.arange(len(t)), cuts):
        if len(part) > 4:
            grid = np.arange(float(t[part][0]), float(t[part][-1]), 1.0 / rate)
            q_even, tau_even = (CubicSpline(t[part], x[part])(grid) for x in (q, tau))
            pieces.append((grid, q_even, tau_even))
    return pieces
