"""From the steps of an identification to its record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid import __version__
from dynid.estimation.nonlinear.nonlinear_fit import NonlinearFit
from dynid.estimation.physical.physical_estimate import PhysicalEstimate
from dynid.estimation.residuals import JointDiagnostics
from dynid.estimation.result_rows import estimate_record, sign_curves
from dynid.estimation.solution import Solution
from dynid.findings import Finding
from dynid.identification.log_reading import PreparedLogs
from dynid.identification.records import SCHEMA, Record
from dynid.model.base_parameters import BaseParameters


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the steps of an identification gave.

    Attributes:
        base: The base parameters, with their model and robot.
        solution: Their estimate.
        physical: Physically consistent links and joints; None where they were not fitted, or there are none.
        residuals: Residual analysis of the longest log.
        read: The logs.
        nonlinear: How nonlinear parameters were found.
        findings: What users should know about the logs and the estimate.
        seconds: How long it took [s].
    """

    base: BaseParameters
    solution: Solution
    physical: PhysicalEstimate | None
    residuals: tuple[JointDiagnostics, ...]
    read: PreparedLogs
    nonlinear: NonlinearFit
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def sign_curves(self) -> dict[str, np.ndarray] | None:
        """Arrays for figures of signs, where torques were logged without."""
        return None if self.read.signs is None else sign_curves(self.read.signs)


def record_of(outcome: Outcome, confidence: float) -> Record:
    """The record of an identification.

    Args:
        outcome: What its steps gave.
        confidence: Of the intervals.
    """
    base, solution, read = outcome.base, outcome.solution, outcome.read
    robot, stated = base.model.robot, read.drive.signs
    return Record.model_validate(
        {
            "schema": SCHEMA,
            "version": __version__,
            "robot": robot.name,
            "kinematics": robot.kinematics(),
            "shape_passes": 0 if outcome.nonlinear.fit is None else outcome.nonlinear.fit.passes,
            "drive_signs": stated if isinstance(stated, tuple) else None,
            "processing": [log.applied() for log in read.logs],
            "samples": read.samples,
            "seconds": outcome.seconds,
            "findings": [finding.to_dict() for finding in outcome.findings],
            **estimate_record(base, solution, outcome.physical, outcome.residuals, read.signs, confidence),
        }
    )
