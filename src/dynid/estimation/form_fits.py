"""Estimates from rows of power, energy or momentum: how well they fit, and what they cannot determine."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.row_forms import UNITS, RowForm
from dynid.estimation.least_squares import (
    Estimate,
    JointFit,
    NotIdentifiableError,
    joint_fits,
    merge_logs,
    weighted_least_squares,
)
from dynid.estimation.physical.physical_estimate import PhysicalEstimate
from dynid.findings import Finding
from dynid.logs import PreparedLog
from dynid.model import BaseParameters


@dataclass(frozen=True)
class FormThresholds:
    """Which parameters are said to be lost by rows of power or energy."""

    larger_std: float = 5.0
    """How many times larger than by rows of torques a standard deviation must be to count as lost by the form of rows.
    Shown by `tests/estimation/test_form_fits.py` on the cases of the power-model paper (`benchmarks/seed_001.py`)."""

    largest_std: float = 20.0
    """Relative standard deviation [%] from which such a parameter is named: twice the usual limit. By judgement; not
    calibrated."""

    moving_speed: float = 0.01
    """Part of a joint's highest speed in all logs that it must reach in a log to count as moving there. By judgement;
    not calibrated."""


THRESHOLDS = FormThresholds()


@dataclass(frozen=True)
class FormFit:
    """How well the rows that were estimated from are fitted, where they are not rows of torques.

    Attributes:
        form: What the rows are.
        window: Length of their windows [s] in the first log; None for rows of power.
        fits: Each row, by name, in the unit of the form.
        relative_error: Norm of all errors over the norm of all rows' right-hand sides, unweighted.
    """

    form: RowForm
    window: float | None
    fits: Mapping[str, JointFit]
    relative_error: float

    def to_dict(self) -> dict[str, object]:
        """As plain data for JSON."""
        return {
            "name": self.form.name,
            "window": self.window,
            "unit": UNITS[self.form.name],
            "relative_error": self.relative_error,
            "rows": [{"name": name, **vars(fit)} for name, fit in self.fits.items()],
        }


def form_fit(form: RowForm, estimate: Estimate, logs: Sequence[PreparedLog]) -> FormFit | None:
    """How well the rows of an estimate are fitted; None for rows of torques, whose fit the estimate itself has."""
    if form.name == "torque":
        return None
    window = None
    if form.name != "power" and logs:
        window = form.samples_a_row(logs[0].processing, logs[0].sampling) / logs[0].sampling
    return FormFit(form, window, estimate.joints, estimate.relative_error)


def with_torque_fits(found: Estimate, torques: Sequence[Factors], base: BaseParameters) -> Estimate:
    """An estimate from rows of another form, with how well it reconstructs the torques of each joint."""
    values = dict(zip(found.names, found.values.tolist(), strict=True)) | dict(base.known)
    joints, relative_error = joint_fits(merge_logs(torques), values)
    return replace(found, joints=joints, relative_error=relative_error)


def links_with_torque_fits(found: PhysicalEstimate, torques: Sequence[Factors]) -> PhysicalEstimate:
    """The same for physically consistent links."""
    joints, relative_error = joint_fits(merge_logs(torques), found.values)
    return replace(found, joints=joints, relative_error=relative_error)


def findings_on_form(
    form: RowForm, estimate: Estimate, torques: Sequence[Factors], base: BaseParameters, logs: Sequence[PreparedLog]
) -> tuple[Finding, ...]:
    """Parameters that one equation for all joints hardly determines, where torques of the same logs do."""
    if form.name not in ("power", "energy"):
        return ()
    try:
        by_torques = weighted_least_squares(torques, base)
    except NotIdentifiableError:
        return ()
    lost = (estimate.stds > THRESHOLDS.larger_std * by_torques.stds) & (estimate.relative_stds > THRESHOLDS.largest_std)
    if not lost.any():
        return ()
    worst = sorted(np.flatnonzero(lost), key=lambda k: -estimate.relative_stds[k])
    values = {
        "form": form.name,
        "parameters": {estimate.names[k]: estimate.relative_stds[k] / 100 for k in worst},
        "relative_error": estimate.relative_error,
        "by_torques": by_torques.relative_error,
    }
    code = "parameters-lost-by-form" if _have_resting_joints(logs) else "parameters-lost-by-form-and-motion"
    return (Finding.of(code, "estimation.estimator", **values),)


CONSEQUENCES = ("fit-poor", "parameter-negative", "parameter-negative-beside-positive")
"""Codes of findings that only follow where a form of rows has lost parameters."""


def without_consequences(findings: Iterable[Finding], lost: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings without those on fits and residuals of single joints, where they only follow from lost parameters."""
    return tuple(finding for finding in findings if not lost or finding.code not in CONSEQUENCES)


def _have_resting_joints(logs: Sequence[PreparedLog]) -> bool:
    """Whether the first joint rests in one of the logs."""
    speeds = np.array([log.motion.everywhere.fastest[0] for log in logs])
    return bool(len(speeds)) and bool((speeds < THRESHOLDS.moving_speed * speeds.max()).any())
