"""Sensors: what a log shows of a simulated run, with quantisation, noise, delay, jitter and dropped samples.

Sensors act on a finished run, so one run can be measured as often as an estimator wants. Everything random comes from
two seeds: that of the log (noise, jitter, dropped samples), and that of the specimen, which keeps its torque constants
from log to log.
"""

import math

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.logs import Log, Transmission
from dynid.simulation.closed_loop import Run
from dynid.simulation.settings import Sensors


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
    limit = math.inf if sensors.saturation is None else sensors.saturation
    torque = np.clip(torque, -limit, limit)
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
