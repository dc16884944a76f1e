"""Findings as data: codes that exist and are used, values that fill their texts, and the texts themselves."""

from __future__ import annotations

import ast
import json
import os
import re
import string
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynid.findings import NAMED, UNCODED, Entry, Finding, Range, Severity, catalogue, grouped, has
from tests.source_trees import nodes

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).parent / "data" / "findings.txt"
REGENERATE = "DYNID_WRITE_GOLDEN=1 python -m pytest tests/test_findings.py"


def placeholders(entry: Entry) -> dict[str, str]:
    """Values that the texts of an entry name, with their formats."""
    fields = [field for part in (entry.evidence, entry.advice) for field in string.Formatter().parse(part)]
    return {name: spec or "" for _, name, spec, _ in fields if name is not None}


def sample(name: str, spec: str) -> Any:
    """An example of a value: a number where it is formatted as one, else its name."""
    if spec.endswith("d"):
        return 3
    return 0.25 if re.search(r"[%efg]$", spec) else name.upper()


def rendered(code: str) -> str:
    values = {name: sample(name, spec) for name, spec in placeholders(catalogue()[code]).items()}
    return str(Finding.of(code, "SUBJECT", **values))


def test_the_texts_of_all_findings_are_those_of_the_golden_file() -> None:
    text = "".join(f"{code}\n    {rendered(code)}\n" for code in sorted(catalogue()))
    if "DYNID_WRITE_GOLDEN" in os.environ:
        GOLDEN.write_text(text, encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == text, f"if the change is meant: {REGENERATE}"


@pytest.mark.parametrize("key", ["meaning", "evidence", "advice"])
def test_entries_are_plain_sentences(key: str) -> None:
    for code, entry in catalogue().items():
        text = getattr(entry, key)
        assert text == text.strip(), code
        assert key != "meaning" or text.endswith((".", "?")), code
        assert key == "meaning" or not text.endswith("."), code
        assert key == "advice" or text, code


def test_codes_are_in_kebab_case() -> None:
    assert [code for code in catalogue() if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)] == []


# --------------------------------------------------------------------------------------------- codes in the source code


@cache
def calls() -> tuple[tuple[str, ast.Call], ...]:
    """Calls of `Finding.of` in the package, with where they are."""
    found = []
    for path, parts in nodes().items():
        for node in parts:
            if isinstance(node, ast.Call) and dotted(node.func) == "Finding.of":
                found.append((f"{path.relative_to(ROOT)}:{node.lineno}", node))
    return tuple(found)


def dotted(node: ast.AST) -> str:
    """A name, or a name of a name, as it is written; empty for anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def constants(node: ast.AST) -> Iterator[str]:
    """Strings in an expression that can be its value: not those that are compared or looked up."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from constants(node.body)
        yield from constants(node.orelse)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from constants(value)


def stated_codes() -> Iterator[tuple[str, str]]:
    """Codes that are written out in the package: in calls, in `code = ...` and in tables of codes."""
    for where, call in calls():
        yield from ((where, code) for code in constants(call.args[0]))
    for path, parts in nodes().items():
        for node in parts:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                name = dotted(node.targets[0])
                if name == "code" or name.lower() == "codes":
                    yield from ((f"{path.relative_to(ROOT)}:{node.lineno}", code) for code in constants(node.value))
            if isinstance(node, ast.Call) and dotted(node.func) in ("has", "findings.has"):
                for argument in node.args[1:]:
                    yield from ((f"{path.relative_to(ROOT)}:{node.lineno}", code) for code in constants(argument))


def test_every_code_that_is_stated_is_in_the_catalogue() -> None:
    stated = list(stated_codes())
    assert len(stated) > 50
    assert [(where, code) for where, code in stated if code not in catalogue()] == []


def test_every_code_of_the_catalogue_is_used() -> None:
    strings = {
        node.value
        for parts in nodes().values()
        for node in parts
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    patterns = []
    for every in nodes().values():
        for node in every:
            if isinstance(node, ast.JoinedStr):
                parts = [
                    re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"[a-z-]+" for part in node.values
                ]
                if any(isinstance(part, ast.Constant) and "-" in str(part.value) for part in node.values):
                    patterns.append("".join(parts))
    made = [re.compile(pattern) for pattern in patterns if re.fullmatch(r"[\\a-z\[\]+-]+", pattern)]
    unused = [
        code for code in catalogue() if code not in strings and not any(pattern.fullmatch(code) for pattern in made)
    ]
    assert unused == []


def test_every_call_gives_the_values_that_the_text_names() -> None:
    wrong = []
    for where, call in calls():
        codes = [code for code in constants(call.args[0]) if code in catalogue()]
        given = {keyword.arg for keyword in call.keywords}
        if None in given:  # **values
            continue
        for code in codes:
            missing = set(placeholders(catalogue()[code])) - given
            wrong += [(where, code, missing)] if missing else []
    assert wrong == []


# ----------------------------------------------------------------------------------------------------- findings as data


def test_a_finding_goes_to_json_and_back() -> None:
    finding = Finding.of(
        "torque-saturated", "joint 'elbow'", share=np.float64(0.25), torque=4.0, numbers=[1, 2], nothing=None
    )
    data = json.loads(json.dumps(finding.to_dict(), allow_nan=False))
    assert data["text"] == finding.text
    again = Finding.from_dict(data)
    assert (again.code, again.severity, again.subject) == (finding.code, finding.severity, finding.subject)
    assert again.text == finding.text
    assert again.to_dict() == data


def test_a_number_that_json_does_not_have_reads_the_same_again() -> None:
    finding = Finding.of("parameters-not-excited", "excitation", parameters=["mx1"], condition=np.inf)
    assert Finding.from_dict(json.loads(json.dumps(finding.to_dict()))).text == finding.text


def test_values_that_json_does_not_have_are_left_out() -> None:
    data = Finding.of("torque-saturated", "x", share=float("nan"), torque=float("inf")).to_dict()
    assert (data["values"]["share"], data["values"]["torque"]) == (None, None)
    json.dumps(data, allow_nan=False)


def test_a_finding_of_another_version_keeps_its_words() -> None:
    old = {"severity": "warning", "subject": "fit", "text": "the model explains little; check columns"}
    for data in (old, {**old, "code": "a-code-of-tomorrow", "values": {"x": 1}}):
        finding = Finding.from_dict(data)
        assert (finding.code, finding.severity, finding.text) == (UNCODED, Severity.WARNING, old["text"])


def test_severity_is_that_of_the_catalogue_unless_stated() -> None:
    assert Finding.of("torque-saturated", "x").severity is catalogue()["torque-saturated"].severity
    assert Finding.of("torque-saturated", "x", Severity.NOTE).severity is Severity.NOTE


def test_lists_and_mappings_are_written_out() -> None:
    text = Finding.of("fit-poor", "fit", joints={"a": 0.5, "b": 0.25}).text
    assert "a (50%), b (25%)" in text
    many = Finding.of("fit-poor", "fit", joints={f"j{k}": 0.5 for k in range(NAMED + 3)}).text
    assert "and 3 more" in many
    assert f"j{NAMED}" not in many


def test_findings_are_asked_for_by_code() -> None:
    findings = [Finding.of("fit-poor", "fit", joints={})]
    assert has(findings, "fit-poor")
    assert has(findings, "other", "fit-poor")
    assert not has(findings, "other")


def test_findings_that_say_the_same_of_several_logs_are_one_with_the_range_of_their_numbers() -> None:
    of_logs = [
        Finding.of("torque-saturated", "joint 'elbow'", share=share, torque=12.0) for share in (0.02, 0.11, 0.05, 0.03)
    ]
    named = [replace(finding, logs=(f"run{k}.csv",)) for k, finding in enumerate(of_logs)]
    other = Finding.of("joint-never-moves", "joint 'wrist'")
    first, last = grouped([*named, other])
    assert first.about(20) == "joint 'elbow', in 4 of 20 logs (run0.csv, run1.csv, run2.csv, ...)"
    assert first.values["share"] == Range(0.02, 0.11)
    assert "2 % to 11 %" in first.text or "2% to 11%" in first.text
    assert last is other
    assert Finding.from_dict(named[0].to_dict()) == named[0]


@pytest.mark.parametrize(
    ("others", "shown"), [([0.2, 0.5], "0.1 to 0.2, 0.5 rad/s"), ([0.2, 0.5, 0.7], "0.1, 0.5, 0.2, 0.7 rad/s")]
)
def test_numbers_of_joints_of_several_logs_stay_numbers(others: list[float], shown: str) -> None:
    code, thresholds = "processing-velocity-threshold", ([0.1, 0.5], others)
    found = [
        replace(Finding.of(code, "logs", thresholds=each, share=0.01), logs=(f"{k}.csv",))
        for k, each in enumerate(thresholds)
    ]
    (one,) = grouped(found)
    assert one.text.startswith(shown)
