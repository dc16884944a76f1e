"""Signs of drives that a log shows, and how clear they are."""

from dataclasses import replace

import numpy as np

from dynid.estimation.drive_signs import SIGNS, DriveSigns, drive_signs
from dynid.estimation.factors.accumulation import factorise
from dynid.findings import Finding
from dynid.logs import Drive, Log, PreparedLog, Processing, Transmission, averaged, prepare, processed, transmission_of
from dynid.model import BaseParameters, Chunk

SAMPLES = 3000
"""Samples that suffice to find signs."""


def find_drive_signs(
    log: Log, base: BaseParameters, drive: Drive, processing: Processing
) -> tuple[Drive, tuple[Finding, ...]]:
    """A drive with the signs that a log shows, and how clear they are.

    Args:
        log: The log.
        base: The base parameters.
        drive: The drive, whose signs are not stated.
        processing: What is done to the signals.
    """
    ready = prepare(log, base.model, drive, processing)
    raw = log if processing.period is None else averaged(log, processing.period).log
    found = signs_in(raw, transmission_of(drive, base.model.robot), ready, base)
    signs = tuple(int(sign) for sign in found.signs)
    return drive.model_copy(update={"signs": signs}), findings_on_signs(found, ready, base)


def signs_in(log: Log, transmission: Transmission, ready: PreparedLog, base: BaseParameters) -> DriveSigns:
    """Find the signs of drives in a log.

    Args:
        log: The log.
        transmission: The drives, with signs that need not be right.
        ready: The same log, ready for the model: how its signals are processed.
        base: The base parameters.
    """
    plain = ready.processing.but(decimate=(), torque_lowpass=ready.processing.lowpass)
    factors, step = [], 1
    for k in range(log.torque.shape[1]):
        alone = np.zeros_like(log.torque)
        alone[:, k] = log.torque[:, k]
        segments = processed(replace(log, torque=alone), transmission, plain, ready.delay)
        step = max(1, sum(map(len, segments)) // SAMPLES)
        factors.append(factorise(base.model, [_counted(segment[::step], ready, base) for segment in segments]))
    rate = ready.sampling / step
    return drive_signs(factors, base, max(1.0, rate / (2.0 * plain.lowpass)) if plain.lowpass else 1.0)


def _counted(segment: Chunk, ready: PreparedLog, base: BaseParameters) -> Chunk:
    """A segment without the rows of unmeasured joints."""
    measured = np.array([name not in ready.processing.unmeasured for name in base.model.row_names])
    keep = np.broadcast_to(measured, segment.torque.shape)
    return replace(segment, keep=keep if segment.keep is None else keep & segment.keep)


def findings_on_signs(found: DriveSigns, ready: PreparedLog, base: BaseParameters) -> tuple[Finding, ...]:
    """Which signs were found, and which of them are not clear."""
    names = base.model.row_names
    silent = [name in ready.processing.unmeasured for name in names]
    unclear = [name for k, name in enumerate(names) if not found.clear[k] or silent[k]]
    smallest = min((found.margins[k] for k, name in enumerate(names) if name not in unclear), default=0.0)
    signs = [int(sign) for sign in found.signs]
    notes = [Finding.of("drive-signs-found", "drive.signs", signs=signs, smallest=float(smallest))]
    if not found.brakes:
        notes.append(Finding.of("drive-signs-undecided", "drive.signs"))
    if found.effective < SIGNS.per_parameter:
        notes.append(Finding.of("drive-signs-short", "drive.signs", effective=found.effective))
    if unclear:
        notes.append(Finding.of("drive-signs-unclear", "drive.signs", joints=unclear))
    if not found.mirror_clear:
        notes.append(Finding.of("drive-signs-mirrored", "drive.signs"))
    return tuple(notes)
