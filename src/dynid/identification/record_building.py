"""From the steps of an identification to its record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid import __version__
from dynid.estimation.nonlinear.nonlinear_fit import NonlinearFit
from dynid.estimation.physical.physical_estimate import PhysicalEstimate
from dynid.estimation.residuals import JointDiagnostics
from dynid.estimation.result_rows import (
    fit_rows,
    nonlinear_row,
    parameter_rows,
    physical_rows,
    recovery_row,
    sign_curves,
    sign_rows,
)
from dynid.estimation.solution import Solution
from dynid.findings import Finding
from dynid.identification.log_reading import PreparedLogs
from dynid.identification.records import SCHEMA, Record
from dynid.logs.processing.automatic import PreparedLog
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
    model, estimate = base.model, solution.estimate
    bootstrap, signs = solution.bootstrap, read.signs
    stated = read.drive.signs
    return Record.model_validate(
        {
            "schema": SCHEMA,
            "version": __version__,
            "robot": model.robot.name,
            "kinematics": model.robot.kinematics(),
            "parameters": parameter_rows(base, estimate, confidence, bootstrap),
            "shapes": [nonlinear_row(found) for found in solution.nonlinear],
            "shape_passes": 0 if outcome.nonlinear.fit is None else outcome.nonlinear.fit.passes,
            "essential": parameter_rows(base, solution.essential, confidence),
            "essential_relative_error": solution.essential.relative_error,
            "confidence": confidence,
            "condition_number": estimate.condition_number,
            "relative_error": estimate.relative_error,
            "estimator": "torque" if solution.form is None else solution.form.form.name,
            "form": None if solution.form is None else solution.form.to_dict(),
            "joints": fit_rows(estimate),
            "physical": None if outcome.physical is None else physical_rows(outcome.physical),
            "signs": [] if signs is None else sign_rows(signs, model.row_names),
            "sign_recovery": None if signs is None else recovery_row(signs),
            "known": dict(base.known),
            "unidentifiable": list(base.no_effect),
            "logs": len(solution.torques),
            "bootstrap": None
            if bootstrap is None
            else {
                "blocks": bootstrap.blocks,
                "seconds": bootstrap.seconds,
                "correlation_time": bootstrap.correlation_time,
            },
            "residuals": [one.to_dict() for one in outcome.residuals],
            "drive_signs": stated if isinstance(stated, tuple) else None,
            "processing": [_applied(log) for log in read.logs],
            "samples": read.samples,
            "seconds": outcome.seconds,
            "findings": [finding.to_dict() for finding in outcome.findings],
        }
    )


def _applied(log: PreparedLog) -> dict[str, Any]:
    """What was done to a log, with lists as JSON has them: a record is the same in memory and in its file."""
    used = {key: list(value) if isinstance(value, tuple) else value for key, value in log.processing.applied().items()}
    return {**used, "sampling_rate": log.sampling}
