"""Findings: what users should know about their robot, data or result, as plain data.

A finding is a code with values; its words come from the catalogue `findings.toml` beside this file, and nothing but
people reads them. `docs/findings.md` is generated from the same catalogue.
"""

from __future__ import annotations

import math
import string
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

from dynid.errors import as_written

NAMED = 8
"""How many items of a list are named before the rest is counted."""

NAMED_LOGS = 3
"""How many logs are named before the rest is counted."""

UNCODED = "uncoded"
"""Code of findings in results that were saved before findings had codes."""


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Entry:
    """What the catalogue says of a code.

    Attributes:
        severity: How much it matters, where the finding itself does not say otherwise.
        meaning: What it means, for the page of all findings.
        evidence: What was found, with `{values}` of the finding.
        advice: What to do, likewise; empty where there is nothing to do.
    """

    severity: Severity
    meaning: str
    evidence: str
    advice: str = ""


@dataclass(frozen=True)
class Finding:
    """One thing that was noticed.

    Attributes:
        code: What it is: a key of the catalogue, such as "torque-saturated".
        severity: `ERROR` is certainly wrong, `WARNING` is probably wrong or will hurt, `NOTE` is good to know.
        subject: What it is about, such as "joint 'elbow'".
        values: The evidence: numbers, names, lists of either, or mappings from names to numbers.
        logs: Names of the logs that it is about, where there are several; empty where it is about all.
    """

    code: str
    severity: Severity
    subject: str
    values: Mapping[str, Any] = field(default_factory=dict)
    logs: tuple[str, ...] = ()

    @staticmethod
    def of(code: str, subject: str, severity: Severity | None = None, **values: Any) -> Finding:
        """A finding with the severity that the catalogue gives its code, unless another is stated.

        >>> finding = Finding.of("joint-never-moves", "joint 'elbow'")
        >>> finding.severity.value
        'warning'
        """
        shown = {name: _as_written(value) for name, value in values.items()}
        return Finding(code, severity or catalogue()[code].severity, as_written(subject), shown)

    @property
    def evidence(self) -> str:
        """What was found, without what to do."""
        return _FORMATTER.vformat(catalogue()[self.code].evidence, (), self.values)

    @property
    def text(self) -> str:
        """The evidence and what to do, in a sentence or two."""
        evidence, advice = self.evidence, _FORMATTER.vformat(catalogue()[self.code].advice, (), self.values)
        if not advice:
            return evidence
        return f"{evidence} {advice[0].upper()}{advice[1:]}" if evidence.endswith("?") else f"{evidence}; {advice}"

    def __str__(self) -> str:
        return f"{self.severity.value}: {self.subject}: {self.text}"

    def about(self, of: int = 0) -> str:
        """What it is about, with the logs where they are several: "joint 'elbow', in 3 of 20 logs (a, b, c)".

        Args:
            of: Number of all logs; not said where it is zero.
        """
        if not self.logs:
            return self.subject
        named = ", ".join(self.logs[:NAMED_LOGS]) + (", ..." if len(self.logs) > NAMED_LOGS else "")
        if len(self.logs) == 1:
            return dict.fromkeys(self.logs, named).get(self.subject) or f"{self.subject}, in {named}"
        count = f"{len(self.logs)} of {of}" if of else f"{len(self.logs)}"
        return f"{self.subject}, in {count} logs ({named})"

    def to_dict(self) -> dict[str, Any]:
        """Give the finding as plain data for JSON."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "subject": self.subject,
            "text": self.text,
            "values": {key: _plain(value) for key, value in self.values.items()},
            **({"logs": list(self.logs)} if self.logs else {}),
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Finding:
        """The finding that `to_dict` gave, now or in an earlier version."""
        code = data.get("code", UNCODED)
        values = data.get("values", {})
        if code == UNCODED or code not in catalogue():  # of another version, or without a code: words are all there is
            code, values = UNCODED, {"text": data["text"]}
        return Finding(code, Severity(data["severity"]), data["subject"], values, tuple(map(str, data.get("logs", ()))))


def has(findings: Iterable[Finding], *codes: str) -> bool:
    """Whether any finding has one of some codes."""
    return any(finding.code in codes for finding in findings)


@dataclass(frozen=True)
class Range:
    """Numbers of several logs, from the smallest to the largest."""

    low: float
    high: float

    def __format__(self, spec: str) -> str:
        low, high = format(self.low, spec), format(self.high, spec)
        return low if low == high else f"{low} to {high}"


def grouped(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings that say the same of several logs as one each, with the range of their numbers; in the same order.

    >>> one, other = (Finding("log-end-damaged", Severity.NOTE, "log", {"row": k}, (f"{k}.csv",)) for k in (3, 9))
    >>> [finding.about(20) for finding in grouped([one, other])]
    ['log, in 2 of 20 logs (3.csv, 9.csv)']
    """
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for k, finding in enumerate(findings):
        key = (finding.code, finding.severity, _common_subject(finding)) if finding.logs else (k,)
        groups.setdefault(key, []).append(finding)
    return tuple(_joined(group) if len(group) > 1 else group[0] for group in groups.values())


def _joined(group: Sequence[Finding]) -> Finding:
    """What several findings of one code say together."""
    first = group[0]
    logs = tuple(dict.fromkeys(log for finding in group for log in finding.logs))
    said = {key: [finding.values[key] for finding in group if key in finding.values] for key in first.values}
    values = {key: _together(each) for key, each in said.items()}
    return replace(first, subject=_common_subject(first), values=values, logs=logs)


def _common_subject(finding: Finding) -> str:
    """What findings of several logs are about: "logs" for those that are about their log's file."""
    return dict.fromkeys(finding.logs, "logs").get(finding.subject, finding.subject)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _together(values: Sequence[Any]) -> Any:
    """One value for those of several findings: the range of numbers, all names, each entry of mappings."""
    if all(isinstance(value, Mapping) for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return {name: _together([value[name] for value in values if name in value]) for name in names}
    if all(map(_is_number, values)):
        return values[0] if len(set(values)) == 1 else Range(min(values), max(values))
    if all(isinstance(value, Sequence) and not isinstance(value, str) for value in values):
        if len(set(map(len, values))) == 1 and all(_is_number(each) for value in values for each in value):
            return [_together(each) for each in zip(*values, strict=True)]  # one number a joint
        return list(dict.fromkeys(each if _is_number(each) else str(each) for value in values for each in value))
    distinct = list(dict.fromkeys(map(str, values)))
    more = ", ..." if len(distinct) > NAMED_LOGS else ""
    return values[0] if len(distinct) == 1 else ", ".join(distinct[:NAMED_LOGS]) + more


@cache
def catalogue() -> Mapping[str, Entry]:
    """All findings that there are, by code."""
    text = resources.files("dynid").joinpath("findings.toml").read_text(encoding="utf-8")
    entries = {code: entry for room in tomllib.loads(text).values() for code, entry in room.items()}
    return {code: Entry(**{**entry, "severity": Severity(entry["severity"])}) for code, entry in entries.items()}


class _Formatter(string.Formatter):
    """`str.format` that also writes lists ("a, b and 3 more"), mappings ("a (3 %), b (5 %)") and numbers from JSON."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None:  # what `_plain` writes for a number that JSON does not have
            return "inf"
        if isinstance(value, Mapping):
            return _listed([f"{name} ({self.format_field(each, format_spec)})" for name, each in value.items()])
        if isinstance(value, Sequence) and not isinstance(value, str):
            return _listed([self.format_field(each, format_spec) for each in value])
        return super().format_field(value, format_spec)


_FORMATTER = _Formatter()


def _listed(items: Sequence[str]) -> str:
    more = f" and {len(items) - NAMED} more" if len(items) > NAMED else ""
    return ", ".join(items[:NAMED]) + more


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, Range):
        return [_plain(value.low), _plain(value.high)]
    if isinstance(value, str | bool | None):
        return value
    if isinstance(value, Sequence):
        return [_plain(each) for each in value]
    number = float(value)  # also numbers of NumPy
    return None if not math.isfinite(number) else int(number) if isinstance(value, int) else number


def _as_written(value: Any) -> Any:
    """A value of a finding, with paths as they were written in a file."""
    if isinstance(value, str):
        return as_written(value)
    if type(value) in (list, tuple):
        return type(value)(_as_written(part) for part in value)
    return value
