"""Where a robot moves: ends at rest that are cut, and speeds below which rows do not count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynid.arrays import Array
from dynid.data import signals
from dynid.data.choices import Choice
from dynid.data.drive import Drive
from dynid.data.processing import Processing
from dynid.data.recording import Recording
from dynid.data.spectra import Spectra

SLOW = 0.01
"""Share of a joint's top speed below which friction is not taken to be what the model says."""

IDLE = 0.5
"""Ends at rest that are longer than this [s] are cut; half of it is kept, for filters."""


def without_rest(
    recording: Recording,
    drive: Drive,
    processing: Processing,
    spectra: Spectra,
    rate: float,
    choices: list[Choice],
) -> Recording:
    """The recording without ends at rest; the choice is added to the others."""
    speed, top = _speeds(recording, drive, processing, rate)
    noise = spectra.speed_noise(_band(processing, spectra))
    going = np.flatnonzero((speed > np.maximum(3.0 * noise, 2.0 * SLOW * top)).any(axis=1))
    if not len(going):
        return recording
    time = recording.time
    first, last = time[going[0]] - 0.5 * IDLE, time[going[-1]] + 0.5 * IDLE
    start = int(np.searchsorted(time, first)) if time[going[0]] - time[0] > IDLE else 0
    stop = int(np.searchsorted(time, last)) if time[-1] - time[going[-1]] > IDLE else len(time)
    if start == 0 and stop == len(time):
        return recording
    text = f"{time[start] - time[0]:.3g} s at the beginning and {time[-1] - time[stop - 1]:.3g} s at the end"
    choices.append(Choice("idle", f"{text}, where no joint moves, were cut"))
    return recording[start:stop]


def with_threshold(
    recording: Recording,
    drive: Drive,
    processing: Processing,
    spectra: Spectra,
    rate: float,
    choices: list[Choice],
) -> Processing:
    """The processing with a velocity threshold for each joint; the choice is added to the others."""
    _, top = _speeds(recording, drive, processing, rate)
    noise = 3.0 * spectra.speed_noise(_band(processing, spectra))
    values = np.maximum(np.minimum(noise, 3.0 * SLOW * top), SLOW * top)
    shown = ", ".join(f"{value:.2g}" for value in values)
    text = (
        f"{shown} rad/s or m/s: rows below are dropped, for there friction is not what the model says; 1 % of the top "
        "speed, or three deviations of the speed's noise where they are more"
    )
    choices.append(Choice("velocity_threshold", text))
    return replace(processing, velocity_threshold=tuple(values.tolist()))


def _band(processing: Processing, spectra: Spectra) -> float:
    return processing.lowpass or float(spectra.frequency[-1])


def _speeds(recording: Recording, drive: Drive, processing: Processing, rate: float) -> tuple[Array, Array]:
    """Speeds of the joints at each sample as logged, and each joint's top speed."""
    q = drive.joint_positions(recording.q)
    if processing.lowpass is not None and processing.lowpass < 0.5 * rate and len(q) > 100:
        q = signals.lowpass(q, rate, processing.lowpass, processing.order)
    steps = np.gradient(recording.time)[:, None]
    speed = np.abs(np.gradient(q, axis=0)) / np.maximum(steps, 0.2 / rate)
    return speed, np.quantile(speed, 0.999, axis=0)
