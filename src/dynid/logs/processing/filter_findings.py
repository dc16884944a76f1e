"""What stated filters do to the equations, where that is worth knowing."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.processing.spectra import Spectra
from dynid.logs.settings import Processing
from dynid.model import DynamicModel

NOISY = 0.05
"""Mean square of noise in accelerations, relative to the motion's, from which a stated cut-off is too high."""

QUIET = 0.01
"""The same that a better cut-off leaves."""

REVERSING = 0.05
"""Share of samples nearer to a reversal than a filter's memory from which dry friction is visibly biased."""


def findings_on_filters(
    spectra: Spectra, processing: Processing, velocity: Array, model: DynamicModel, rate: float
) -> Iterator[Finding]:
    """Findings on filters that a user stated.

    Args:
        spectra: Spectra of positions.
        processing: What is done to the log.
        velocity: Velocities of the joints [rad/s or m/s], shape (samples, joints).
        model: The model.
        rate: Sampling rate [Hz].
    """
    yield from _on_noise(spectra, processing, model, rate)
    if processing.torque_lowpass is not None:
        yield from _on_torques(processing.torque_lowpass, velocity, model, processing.rate or rate)


def _on_noise(spectra: Spectra, processing: Processing, model: DynamicModel, rate: float) -> Iterator[Finding]:
    """A cut-off far above what positions allow: their noise, differentiated twice, becomes accelerations."""
    cutoff = processing.lowpass or 0.5 * rate
    rows = 0.4 * rate / float(np.prod(processing.decimate or (1,)))  # what decimation leaves of both sides
    noise = spectra.acceleration_noise()
    within = int(np.searchsorted(spectra.frequency, min(cutoff, rows), side="right")) - 1
    if within < 0 or noise[within].max() < NOISY:
        return
    calm = spectra.frequency[np.flatnonzero(noise.max(axis=1) <= QUIET)]
    better = max(float(calm[-1]) if len(calm) else 0.0, 2.5 * spectra.core)
    shares = {name: float(x) for name, x in zip(model.row_names, noise[within], strict=True) if x >= NOISY}
    found: dict[str, Any] = {"cutoff": cutoff, "joints": shares, "better": float(f"{better:.2g}")}
    if better < 0.8 * cutoff:
        yield Finding.of("processing-accelerations-noisy", "processing.lowpass", **found)


def _on_torques(cutoff: float, velocity: Array, model: DynamicModel, rate: float) -> Iterator[Finding]:
    """A low-pass on torques alone smooths the steps of dry friction, which the model has at once."""
    dry = {parameter.joint for parameter in model.parameters if parameter.role.is_dry}
    shares = {}
    for name, v in zip(model.row_names, velocity[:, model.rows].T, strict=True):
        if name in dry:
            turns = np.count_nonzero(np.diff(np.signbit(v[np.abs(v) > 0.02 * np.abs(v).max()])))
            shares[name] = turns * rate / cutoff / len(v)
    worst = {name: share for name, share in shares.items() if share >= REVERSING}
    if worst:
        yield Finding.of("processing-torques-alone", "processing.torque_lowpass", cutoff=cutoff, joints=worst)
