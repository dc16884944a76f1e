"""What was noticed about a result, each thing said once."""

from collections.abc import Sequence

from dynid.estimation import CAUSES
from dynid.findings import Finding, Severity, has

FAULTS = ("torque-constant", "torque-saturated", *CAUSES)
"""Causes that spoil the estimate of a joint and of its neighbours, where they are errors."""

EXPLANATIONS = (*FAULTS, "friction-missing", "residual-is-noise", "residual-at-reversals", "residual-unexplained")
"""Findings that say more than that the fit is poor."""

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


ON_MOTION = ("joint-never-moves", "positions-beyond-limits", "torque-saturated", "time-gaps", "time-jitter")
"""Codes of findings on processed logs that matter where rollouts are compared, not torques."""


def each_once(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings, most severe first, without those that are only consequences of others: each cause is said once."""
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    dropped: set[str] = set()
    if has(findings, *EXPLANATIONS):
        dropped.add("fit-poor")
    if has(findings, "friction-missing-by-residual"):
        dropped.add("friction-missing")  # the same, looked for in all rows instead of the whole log
    if has(findings, "torque-without-gravity"):
        dropped.add("gravity-missing-by-residual")  # the same, with less certainty
    if has(findings, *CAUSES):
        dropped |= {"parameter-negative", "parameter-negative-beside-positive"}
    if has(errors, *FAULTS):  # weaker causes would be fitted to spoiled data
        dropped |= CONSEQUENCES
        dropped |= set(CAUSES).difference(finding.code for finding in errors)
    kept = [finding for finding in findings if finding.code not in dropped]
    return tuple(sorted(kept, key=_rank))


def _rank(finding: Finding) -> tuple[int, bool]:
    """Errors, warnings, notes; among errors those that are certain from the logs first, then causes of residuals."""
    return list(Severity).index(finding.severity), finding.severity is Severity.ERROR and finding.code in CAUSES
