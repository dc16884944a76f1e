"""What was noticed about a result: causes of its residuals, and each thing said once."""

from collections.abc import Sequence

from dynid.arrays import Array
from dynid.estimation import CODES, Factors, diagnose
from dynid.findings import Finding, Severity, has
from dynid.identification.drive_units import is_in_amperes
from dynid.logs import Drive, PreparedLog
from dynid.model import BaseParameters

DIAGNOSED = tuple(CODES.values())
"""Causes that diagnosis names."""

FAULTS = ("torque-constant", "torque-saturated", *DIAGNOSED)
"""Causes that spoil the estimate of a joint and of its neighbours, where they are errors."""

EXPLANATIONS = (*FAULTS, "friction-missing", "residual-is-noise", "residual-at-reversals", "residual-unexplained")
"""Findings that say more than that the fit is poor."""


ON_FILE = ("payload-undeclared", "payload-undeclared-or-elsewhere", "torques-scaled-all")
"""Findings on how the data and the masses of the robot file differ."""

CONSEQUENCES = frozenset(
    (
        "mass-differs",
        "parameter-negative",
        "parameter-negative-beside-positive",
        "physical-fit-worse",
        "prior-weight-small",
    )
)
"""Findings on estimates that such causes spoil."""


def causes_of(
    base: BaseParameters,
    parameters: Array,
    logs: Sequence[PreparedLog],
    factors: Sequence[Factors],
    noticed: Sequence[Finding],
    drive: Drive,
) -> tuple[Finding, ...]:
    """Causes of residuals, as diagnosis names them.

    Args:
        base: The base parameters.
        parameters: Standard parameters of the estimate, shape (parameters,).
        logs: The logs, ready for the model.
        factors: Their factors, and those of earlier logs.
        noticed: Findings so far.
        drive: The drives; currents cannot be compared with the masses of the robot's file.
    """
    found = diagnose(base, parameters, logs, factors, noticed)
    hidden = ON_FILE if is_in_amperes(drive) else ()
    return tuple(finding for finding in found if finding.code not in hidden)


def each_once(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings, most severe first, without those that are only consequences of others: each cause is said once."""
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    dropped: set[str] = set()
    if has(findings, *EXPLANATIONS):
        dropped.add("fit-poor")
    if has(findings, "friction-missing-by-residual"):
        dropped.add("friction-missing")  # the same, looked for in all rows instead of the whole log
    if has(findings, *DIAGNOSED):
        dropped |= {"parameter-negative", "parameter-negative-beside-positive"}
    if has(errors, *FAULTS):  # weaker causes would be fitted to spoiled data
        dropped |= CONSEQUENCES
        dropped |= set(DIAGNOSED).difference(finding.code for finding in errors)
    kept = [finding for finding in findings if finding.code not in dropped]
    return tuple(sorted(kept, key=_rank))


def _rank(finding: Finding) -> tuple[int, bool]:
    """Errors, warnings, notes; among errors those that are certain from the logs first, then causes of residuals."""
    return list(Severity).index(finding.severity), finding.severity is Severity.ERROR and finding.code in DIAGNOSED
