"""Whether errors on other logs compare with those of a result: only where both were filtered alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dynid.findings import Finding, Severity, prose


def finding_on_filters(processing: Mapping[str, Any], training: Sequence[Mapping[str, Any]], log: str) -> Finding:
    """How a log was filtered, beside the logs of a result.

    Args:
        processing: What was done to the log.
        training: What was done to each of the result's logs.
        log: Name of the log.
    """
    shown = _in_words(processing)
    if training and _in_words(training[0]) != shown:
        text = (
            f"{log} is {shown}, and the result's logs are {_in_words(training[0])}: errors are not to be compared; "
            "state the same [processing], or none, in both experiments"
        )
        return prose(Severity.WARNING, "processing", text)
    return prose(Severity.NOTE, "processing", f"{log} is {shown}, as the result's first log: errors compare")


def _in_words(used: Mapping[str, Any]) -> str:
    """What is done to positions, torques and rows."""
    parts = [
        f"low-passed at {used['lowpass']:g} Hz in positions" if used["lowpass"] else "not filtered in positions",
        f"low-passed at {used['torque_lowpass']:g} Hz in torques" if used["torque_lowpass"] else "",
        f"thinned out by {int(np.prod(used['decimate']))}" if used["decimate"] else "",
        f"thinned out to {used['rate']:g} Hz" if used["rate"] else "",
    ]
    return ", ".join(filter(None, parts))
