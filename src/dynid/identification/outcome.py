"""What an experiment told, and what logs that were read before bring into it."""

from __future__ import annotations

from dataclasses import dataclass

from dynid.estimation.bootstrap import Bootstrap
from dynid.estimation.estimate import Estimate
from dynid.estimation.factors.factors import Factors
from dynid.estimation.physical.physical_estimate import PhysicalEstimate
from dynid.findings import Finding
from dynid.identification.forms import FormFit
from dynid.identification.nonlinear_terms import FoundNonlinear
from dynid.identification.residuals import JointDiagnostics
from dynid.identification.unsigned import SignedLogs
from dynid.logs.settings import Processing
from dynid.model.base_parameters import BaseParameters
from dynid.model.dynamic_model import DynamicModel


@dataclass(frozen=True, eq=False)
class EarlierLogs:
    """Logs that were read before, and count, too.

    Attributes:
        model: The model that they were reduced with, whose shapes are held.
        torques: The factors of each log's torques.
        rows: The factors of each log that are estimated from: the same, or those of another form of rows.
    """

    model: DynamicModel
    torques: tuple[Factors, ...]
    rows: tuple[Factors, ...]


@dataclass(frozen=True, eq=False)
class Identification:
    """What an experiment told.

    Attributes:
        base: The base parameters, with their model and robot.
        logs: The factors of each log's torques.
        form_logs: The factors of each log that were estimated from: the same, or those of another form of rows.
        estimate: Values with uncertainties.
        essential: The same for the essential ones of the parameters only.
        physical: Links and joints that can exist; None where the experiment does without.
        bootstrap: Deviations that do not assume white errors; None where there are too few blocks of time.
        diagnostics: What the residuals of the longest log are like.
        processing: What was done to each log that was read, as stated or chosen.
        sampling: Samples a second [Hz] of each log that was read, before rows are thinned out.
        drive_signs: Signs of the drives, as stated or found; None where they are all +1.
        findings: What users should know about the logs and the estimate.
        samples: Number of samples after processing.
        seconds: How long it took [s].
        signs: The signs of torques that were logged without; None where they had them.
        form: How well rows of power, energy or momentum are fitted; None where torques were.
        nonlinear: What is told of the shapes of terms.
        passes: Passes over the logs that it took to find them.
    """

    base: BaseParameters
    logs: tuple[Factors, ...]
    form_logs: tuple[Factors, ...]
    estimate: Estimate
    essential: Estimate
    physical: PhysicalEstimate | None
    bootstrap: Bootstrap | None
    diagnostics: tuple[JointDiagnostics, ...]
    processing: tuple[Processing, ...]
    sampling: tuple[float, ...]
    drive_signs: tuple[int, ...] | None
    findings: tuple[Finding, ...]
    samples: int
    seconds: float
    signs: SignedLogs | None = None
    form: FormFit | None = None
    nonlinear: tuple[FoundNonlinear, ...] = ()
    passes: int = 0
