"""Why a model leaves what it leaves."""

from __future__ import annotations

from dynid.findings import Finding


def diagnose(base, parameters, replay) -> tuple[Finding, ...]:
    """Nothing yet."""
    return ()
