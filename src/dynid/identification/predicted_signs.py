"""Held-out logs of magnitudes: each torque takes the sign that the model predicts.

Errors are then the differences between the magnitudes that were measured and those that are predicted. They are lower
bounds: a torque that is predicted with the wrong sign counts with the difference of the magnitudes, and not with their
sum. What they say is little where most torques are smaller than the errors.
"""

from dataclasses import replace

import numpy as np

from dynid.arrays import Array, frozen
from dynid.findings import Finding
from dynid.identification.result import Result
from dynid.logs import Drive, Log, Processing
from dynid.logs.drive import transmission_of
from dynid.logs.processing.states import even_segments, segment_of


def has_no_signs(log: Log) -> bool:
    """Whether no torque of a log is negative."""
    return log.has_torques and not bool((log.torque < 0.0).any())


def with_predicted_signs(result: Result, log: Log, drive: Drive, processing: Processing) -> Log:
    """A log of magnitudes with the signs that a result predicts; a finding says so.

    Args:
        result: The result.
        log: The log; its torques are magnitudes, as logged.
        drive: From motors to joints.
        processing: What is done to the signals.
    """
    predicted = _predicted(result, log, drive, processing)
    errors = np.abs(predicted) - log.torque
    size = np.sqrt(np.mean(errors**2, axis=0))
    shares = np.mean(np.abs(predicted) < size, axis=0)
    # With no prediction, as at the ends of some filters, a magnitude is as good as unknown; plus is one of two.
    torque = np.where(predicted < 0.0, -log.torque, log.torque)
    names = result.model.row_names
    values = {name: float(share) for name, share in zip(names, shares, strict=True)}
    note = Finding.of("signs-by-prediction", "torques", joints=values, share=float(shares.mean()))
    return replace(log, torque=frozen(torque), findings=(*log.findings, note))


def _predicted(result: Result, log: Log, drive: Drive, processing: Processing) -> Array:
    """What a result predicts to be logged, with signs, shape (samples, channels)."""
    transmission = transmission_of(drive, result.robot)
    every = processing.but(torque_lowpass=None, trim=0, decimate=(), rate=None, velocity_threshold=None)
    pieces, rate = even_segments(log, every)
    to_joints = transmission.joint_torques(np.eye(log.torque.shape[1]))
    times, values = [], []
    for piece in pieces:
        states = segment_of(piece, transmission, every, rate, 0.0)
        times.append(piece.time)
        values.append(result.predict(states.q, states.v, states.a) @ np.linalg.inv(to_joints))
    at, known = np.concatenate(times), np.concatenate(values)
    return np.column_stack([np.interp(log.time, at, column) for column in known.T])
