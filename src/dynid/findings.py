"""Findings: what users should know about their robot, data or result, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """One thing that was noticed.

    Attributes:
        severity: `ERROR` is wrong for sure, `WARNING` is probably wrong or will hurt, `NOTE` is good to know.
        subject: What it is about, such as "link 'forearm'".
        text: The evidence and what to do, in a sentence or two.
    """

    severity: Severity
    subject: str
    text: str

    def to_dict(self) -> dict[str, str]:
        """Give the finding as plain data for JSON."""
        return {"severity": self.severity.value, "subject": self.subject, "text": self.text}
