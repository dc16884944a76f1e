"""Filters for logs whose torques have no sign, where nobody states them.

Torques without sign cannot decide which accelerations are real, as they do for other logs. The spectra of positions
can: the cut-off is the highest up to which noise adds little to the accelerations of the motion. Logs whose positions
need no filter are left as they are.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dynid.findings import Finding
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing import choices
from dynid.logs.processing.automatic import slides_of
from dynid.logs.processing.coarse_positions import THRESHOLDS, finding_on_steps, turning_speeds
from dynid.logs.processing.spectra import Spectra, spectra_of
from dynid.logs.processing.states import even_segments, positions_of, segment_of
from dynid.logs.settings import Processing
from dynid.logs.timing import check_time
from dynid.model import DynamicModel, Role


def chosen_without_signs(
    log: Log, transmission: Transmission, processing: Processing, free: frozenset[str], model: DynamicModel
) -> tuple[Processing, list[Finding]]:
    """The processing of one log with what is free chosen from its positions, and findings on the choices.

    Args:
        log: The log.
        transmission: The drives between what was logged and the joints.
        processing: What was stated.
        free: Which keys are to be chosen.
        model: The model.
    """
    notes: list[Finding] = []
    timing = check_time(log.time)
    if processing.resample is None and not timing.is_even_between_gaps:
        return processing, notes  # it is refused, with what to state
    pieces, rate = even_segments(log, processing)
    spectra = spectra_of([positions_of(piece, transmission) for piece in pieces], rate, slides_of(model.robot))
    if spectra is None:
        return processing, notes
    if "lowpass" in free and (cutoff := _cutoff(spectra, rate)) is not None:
        processing, notes = _with_cutoff(pieces, transmission, processing, free, spectra, cutoff, rate)
    q = positions_of(max(pieces, key=len), transmission)
    has_motor_inertia = any(parameter.role is Role.ARMATURE for parameter in model.parameters)
    names = tuple(model.row_names)
    steps = finding_on_steps(names, q, spectra, processing.lowpass, rate, has_motor_inertia=has_motor_inertia)
    return processing, [*notes, *([] if steps is None else [steps])]


def _cutoff(spectra: Spectra, rate: float) -> float | None:
    """Highest cut-off [Hz] up to which accelerations are the motion's; None where that is all of the band."""
    shares = spectra.acceleration_noise().max(axis=1)
    noisy = np.flatnonzero(shares > THRESHOLDS.allowed_acceleration)
    if not len(noisy):
        return None
    cutoff = max(float(spectra.frequency[noisy[0]]), choices.THRESHOLDS.lowest_cutoff * spectra.core)
    return float(f"{cutoff:.2g}") if cutoff < choices.THRESHOLDS.highest_cutoff * rate else None


def _with_cutoff(
    pieces: Sequence[Log],
    transmission: Transmission,
    processing: Processing,
    free: frozenset[str],
    spectra: Spectra,
    cutoff: float,
    rate: float,
) -> tuple[Processing, list[Finding]]:
    """The processing with a cut-off, and with what follows from it."""
    samples = sum(map(len, pieces))
    found: dict[str, Any] = {"cutoff": cutoff, "bandwidth": spectra.bandwidth, "ratio": cutoff / spectra.bandwidth}
    found["share"] = THRESHOLDS.allowed_acceleration
    notes = [Finding.of("processing-lowpass-unsigned", "processing.lowpass", **found)]
    changes = {"lowpass": cutoff, "derivative": "eighth_order", "velocity": "derived"}
    processing = processing.but(**{key: value for key, value in changes.items() if key in free})
    if "trim" in free:
        trim = min(math.ceil(choices.THRESHOLDS.transient * rate / cutoff) + 4, samples // 8)
        processing = processing.but(trim=trim)
        notes.append(Finding.of("processing-trim", "processing.trim", samples=trim))
    if "velocity_threshold" in free:
        every = processing.but(decimate=(), rate=None, velocity_threshold=None, torque_lowpass=None)
        v = np.concatenate([segment_of(piece, transmission, every, rate, 0.0).v for piece in pieces])
        slow = choices.THRESHOLDS.slow_speed * np.quantile(np.abs(v), 0.999, axis=0)
        noise = choices.THRESHOLDS.noisy_speed * spectra.speed_noise(cutoff)
        values = np.maximum(np.maximum(slow, np.minimum(noise, 3.0 * slow)), turning_speeds(v, rate, cutoff)).tolist()
        share = choices.THRESHOLDS.slow_speed
        notes.append(
            Finding.of("processing-velocity-threshold", "processing.velocity_threshold", thresholds=values, share=share)
        )
        processing = processing.but(velocity_threshold=tuple(values))
    return processing, notes
