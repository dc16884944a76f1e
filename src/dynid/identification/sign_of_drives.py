"""Signs of drives for an experiment that says `signs = "auto"`: found in its first log, and said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynid.estimation.drive_signs import CLEAR, DriveSigns, drive_signs
from dynid.estimation.factors.accumulation import factorise
from dynid.experiment.experiment import Experiment
from dynid.findings import Finding, Severity, prose
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing.automatic import PreparedLog
from dynid.logs.processing.states import processed
from dynid.model.base_parameters import BaseParameters
from dynid.model.chunks import Chunk

SAMPLES = 3000
"""Samples that are enough to tell signs."""


def signs_in(recording: Log, drive: Transmission, ready: PreparedLog, base: BaseParameters) -> DriveSigns:
    """Find the signs of drives in a recording.

    Args:
        recording: What was logged.
        drive: The drives, with signs that need not be right.
        ready: The same recording, made ready for the model: how its signals are processed.
        base: The base parameters.
    """
    plain = ready.processing.but(decimate=(), torque_lowpass=ready.processing.lowpass)
    factors = []
    for k in range(recording.torque.shape[1]):
        alone = np.zeros_like(recording.torque)
        alone[:, k] = recording.torque[:, k]
        segments = processed(replace(recording, torque=alone), drive, plain, ready.delay)
        step = max(1, sum(map(len, segments)) // SAMPLES)
        factors.append(factorise(base.model, [_counted(segment[::step], ready, base) for segment in segments]))
    return drive_signs(factors, base)


def _counted(segment: Chunk, ready: PreparedLog, base: BaseParameters) -> Chunk:
    """A segment without the rows of unmeasured joints."""
    measured = np.array([name not in ready.processing.unmeasured for name in base.model.row_names])
    keep = np.broadcast_to(measured, segment.torque.shape)
    return replace(segment, keep=keep if segment.keep is None else keep & segment.keep)


def with_drive_signs(experiment: Experiment, signs: tuple[int, ...]) -> Experiment:
    """The same experiment, with signs of drives that were found."""
    return experiment.model_copy(update={"drive": experiment.drive.model_copy(update={"signs": signs})})


def findings_on_signs(found: DriveSigns, ready: PreparedLog, base: BaseParameters) -> tuple[Finding, ...]:
    """Which signs were found, and which of them are not clear."""
    names = base.model.row_names
    silent = [name in ready.processing.unmeasured for name in names]
    unclear = [name for k, name in enumerate(names) if found.margins[k] < CLEAR or silent[k]]
    listed = ", ".join(f"{int(sign):+d}" for sign in found.signs)
    smallest = min((found.margins[k] for k, name in enumerate(names) if name not in unclear), default=0.0)
    text = f"the drives' signs are [{listed}]; turning any clear one over leaves {smallest:.0%} more unexplained"
    notes = [prose(Severity.NOTE, "drive.signs", text)]
    if unclear:
        text = f"only their own friction, or nothing at all, tells the signs of {', '.join(unclear)}"
        notes.append(prose(Severity.WARNING, "drive.signs", f"{text}; state drive.signs if you know them"))
    if not found.mirror_clear:
        text = "all signs turned over fit as well, and physics does not tell them apart; state drive.signs"
        notes.append(prose(Severity.WARNING, "drive.signs", text))
    return tuple(notes)
