"""What stated filters do to the equations, where that is worth knowing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.processing import choices
from dynid.logs.processing.spectra import Spectra
from dynid.logs.settings import Processing
from dynid.model import DynamicModel


@dataclass(frozen=True)
class FilterThresholds:
    """Which stated filters are said to bias an estimate."""

    noisy_acceleration: float = 0.05
    """Mean square of noise in accelerations, relative to the motion's, from which a stated cut-off is too high:
    inertias come out too small by about so much. Shown by `tests/logs/test_cutoff.py`, with the figure."""

    quiet_acceleration: float = 0.01
    """The same that the cut-off leaves which is advised. By judgement; not calibrated."""

    worth_lowering: float = 0.8
    """Part of the stated cut-off below which that one must lie to be advised. By judgement; not calibrated."""

    reversing_share: float = 0.05
    """Share of samples nearer to a reversal than a filter's memory from which dry friction is visibly biased. Shown on
    a simulated UR5, where a low-pass on torques alone makes the error eight times larger (`docs/processing.md`)."""

    standing_speed: float = 0.02
    """Share of a joint's top speed up to which it counts as standing, so that noise makes no reversals. By judgement;
    not calibrated."""


THRESHOLDS = FilterThresholds()


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
    # What decimation leaves of both sides.
    rows = choices.THRESHOLDS.highest_cutoff * rate / float(np.prod(processing.decimate or (1,)))
    noise = spectra.acceleration_noise()
    within = int(np.searchsorted(spectra.frequency, min(cutoff, rows), side="right")) - 1
    if within < 0 or noise[within].max() < THRESHOLDS.noisy_acceleration:
        return
    calm = spectra.frequency[np.flatnonzero(noise.max(axis=1) <= THRESHOLDS.quiet_acceleration)]
    better = max(float(calm[-1]) if len(calm) else 0.0, choices.THRESHOLDS.lowest_cutoff * spectra.core)
    of_rows = zip(model.row_names, noise[within], strict=True)
    shares = {name: float(x) for name, x in of_rows if x >= THRESHOLDS.noisy_acceleration}
    found: dict[str, Any] = {"cutoff": cutoff, "joints": shares, "better": float(f"{better:.2g}")}
    if better < THRESHOLDS.worth_lowering * cutoff:
        yield Finding.of("processing-accelerations-noisy", "processing.lowpass", **found)


def _on_torques(cutoff: float, velocity: Array, model: DynamicModel, rate: float) -> Iterator[Finding]:
    """A low-pass on torques alone smooths the steps of dry friction, which the model has at once."""
    dry = {parameter.joint for parameter in model.parameters if parameter.role.is_dry}
    shares = {}
    for name, v in zip(model.row_names, velocity[:, model.rows].T, strict=True):
        if name in dry:
            moving = np.abs(v) > THRESHOLDS.standing_speed * np.abs(v).max()
            turns = np.count_nonzero(np.diff(np.signbit(v[moving])))
            shares[name] = turns * rate / cutoff / len(v)
    worst = {name: share for name, share in shares.items() if share >= THRESHOLDS.reversing_share}
    if worst:
        yield Finding.of("processing-torques-alone", "processing.torque_lowpass", cutoff=cutoff, joints=worst)
