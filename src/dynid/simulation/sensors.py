"""What a log shows of a simulated run: encoders, current sensors, and time stamps with all their faults.

Sensors act on a finished run, so one run can be measured as often as an estimator wants. Everything random comes from
two seeds: that of the log (noise, jitter, dropped samples), and that of the specimen, which keeps its torque constants
from log to log.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.simulation.closed_loop import Run

MOST_DROPPED = 0.9
"""Largest share of samples that may be dropped."""

LARGEST_ERROR = 0.5
"""Relative deviation that torque constants must stay below."""


@dataclass(frozen=True)
class Sensors:
    """How a run is measured. All defaults are perfect; units are those of the log, on the side that it is logged on.

    Attributes:
        encoder: Step of the encoders [rad or m]; zero for none.
        noise: Standard deviation of white noise on torques or currents [N m or A]; one for all, or one a joint.
        signal_to_noise: The same as a ratio of powers [dB] for each joint, such as 50; none when None.
        torque_constant_error: Relative standard deviation of each motor's torque constant around the stated one.
        delay: Time [s] by which torques are logged later than positions.
        jitter: Standard deviation of sampling times, in parts of the period; they are stamped truly.
        dropped: Share of samples that are missing.
        saturation: Largest torque or current that is shown [N m or A].
    """

    encoder: float = 0.0
    noise: float | tuple[float, ...] = 0.0
    signal_to_noise: float | None = None
    torque_constant_error: float = 0.0
    delay: float = 0.0
    jitter: float = 0.0
    dropped: float = 0.0
    saturation: float = math.inf

    def __post_init__(self) -> None:
        for what in ("encoder", "noise", "torque_constant_error", "delay", "jitter", "dropped", "saturation"):
            value = getattr(self, what)
            if not all(number >= 0.0 for number in np.atleast_1d(value)):
                raise InvalidRequestError(f"the sensors' {what} must be zero or positive, not {value}")
        if self.jitter > 0.2 or self.dropped > MOST_DROPPED:
            raise InvalidRequestError(
                f"a jitter of {self.jitter:g} periods or {self.dropped:.0%} dropped samples leave no log; at most 0.2 "
                f"and {MOST_DROPPED:.0%}"
            )
        if self.torque_constant_error >= LARGEST_ERROR:
            raise InvalidRequestError(
                f"a torque_constant_error of {self.torque_constant_error:g} would turn some motors around; it must be "
                f"below {LARGEST_ERROR:g}, such as 0.01"
            )
        if self.signal_to_noise is not None and np.any(self.noise):
            raise InvalidRequestError("give the noise or the signal-to-noise ratio of the sensors, not both")


def torque_constants(sensors: Sensors, joints: int, specimen: int = 0) -> Array:
    """True torque constants in parts of the stated ones, shape (joints,); the same in all logs of one specimen."""
    return 1.0 + sensors.torque_constant_error * np.random.default_rng([1, specimen]).standard_normal(joints)


def measure(
    run: Run,
    sensors: Sensors,
    drive: Transmission | None = None,
    *,
    seed: int = 0,
    specimen: int = 0,
    known_delay: float = 0.0,
) -> Log:
    """Log a run.

    Args:
        run: What the robot did.
        sensors: How it is measured.
        drive: The drives between joints and what is logged, as the experimenter states them; one to one when None.
        seed: Seed of noise, jitter and dropped samples.
        specimen: Seed of what belongs to the robot: the errors of its torque constants.
        known_delay: Time [s] by which torques are logged later, besides the sensors' delay, as the experimenter knows.
    """
    n = run.q.shape[1]
    drive = drive or Transmission.of([1.0] * n)
    rng = np.random.default_rng([0, seed])
    time = _times(run.time, sensors, rng)
    q = logged_positions(drive, _positions_at(run, time))
    if sensors.encoder > 0.0:
        q = sensors.encoder * np.round(q / sensors.encoder)
    torque = logged_torques(drive, _torques_at(run, time - sensors.delay - known_delay))
    # The current that a torque takes goes with one over the true constant, and is read with the stated one.
    torque = torque / torque_constants(sensors, n, specimen)
    torque = torque + _noise(torque, sensors) * rng.standard_normal(torque.shape)
    torque = np.clip(torque, -sensors.saturation, sensors.saturation)
    return Log(time, q, torque)


def logged_positions(drive: Transmission, q: Array) -> Array:
    """What encoders show of joint positions: the inverse of `Transmission.joint_positions`."""
    shown = q + drive.offsets
    return shown @ drive.matrix.T if drive.positions_at_motor else shown


def logged_torques(drive: Transmission, torque: Array) -> Array:
    """Torques or currents that are logged of joint torques: the inverse of `Transmission.joint_torques`."""
    at_motor = np.linalg.solve(drive.matrix.T, torque.T).T if drive.torques_at_motor else torque
    return np.asarray(at_motor / drive.torque_constants)


def _times(time: Array, sensors: Sensors, rng: np.random.Generator) -> Array:
    period = time[1] - time[0] if len(time) > 1 else 1.0
    spread = np.clip(rng.standard_normal(len(time)), -2.4, 2.4)  # stamps stay in order
    stamps = np.clip(time + sensors.jitter * period * spread, time[0], time[-1])
    kept = rng.random(len(time)) >= sensors.dropped
    kept[[0, -1]] = True
    return stamps[kept]


def _positions_at(run: Run, time: Array) -> Array:
    if len(time) == len(run.time) and np.array_equal(time, run.time):
        return run.q
    from scipy.interpolate import CubicHermiteSpline

    return np.asarray(CubicHermiteSpline(run.time, run.q, run.v)(time))


def _torques_at(run: Run, time: Array) -> Array:
    if len(time) == len(run.time) and np.array_equal(time, run.time):
        return run.torque
    return np.column_stack([np.interp(time, run.time, column) for column in run.torque.T])


def _noise(torque: Array, sensors: Sensors) -> Array:
    """Standard deviation of each column's noise, shape (n,)."""
    if sensors.signal_to_noise is not None:
        return np.sqrt(np.mean(torque**2, axis=0)) * 10.0 ** (-sensors.signal_to_noise / 20.0)
    noise = np.atleast_1d(sensors.noise)
    if len(noise) not in (1, torque.shape[1]):
        raise InvalidRequestError(f"{len(noise)} noises are given for {torque.shape[1]} joints; give one, or one each")
    return np.broadcast_to(noise, torque.shape[1])
