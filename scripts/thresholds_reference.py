"""The page of thresholds: every `*Thresholds` class of the package, from its source."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[1] / "src" / "dynid"

CALIBRATION = re.compile(r"(?:^|(?<=\. ))(?=(?:Calibrated|Shown|By judgement)\b)")
"""Where the sentence begins that says what shows a value to be right; it is the last of a docstring."""


@dataclass(frozen=True)
class Threshold:
    """A field of a settings object: its value as text, what it means and why, and what it was calibrated on."""

    name: str
    value: str
    meaning: str
    calibration: str


@dataclass(frozen=True)
class Decision:
    """A settings object: the numbers of one decision, and what all of them were calibrated on."""

    name: str
    module: Path
    meaning: str
    calibration: str
    thresholds: tuple[Threshold, ...]


def decisions() -> list[Decision]:
    """Every settings object of the package, by the path of its module."""
    return [decision for path in sorted(SOURCE.rglob("*.py")) for decision in _of_module(path)]


def _of_module(path: Path) -> Iterator[Decision]:
    text = path.read_text(encoding="utf-8")
    module = path.relative_to(SOURCE)
    for node in ast.parse(text).body if "Thresholds:" in text else ():
        if isinstance(node, ast.ClassDef) and node.name.endswith("Thresholds"):
            found = importlib.import_module(".".join(("dynid", *module.with_suffix("").parts)))
            meaning, calibration = _parts(ast.get_docstring(node) or "")
            fields = tuple(_fields(node, text, getattr(found, node.name)))
            yield Decision(node.name, module, meaning, calibration, fields)


def _fields(node: ast.ClassDef, text: str, kind: type) -> Iterator[Threshold]:
    for k, field in enumerate(node.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.value is not None:
            meaning, calibration = _parts(_text(node.body[k + 1]) if k + 1 < len(node.body) else "")
            is_plain = not any(isinstance(part, ast.Name | ast.Call) for part in ast.walk(field.value))
            stated = ast.get_source_segment(text, field.value) if is_plain else None
            yield Threshold(field.target.id, stated or _shown(getattr(kind, field.target.id)), meaning, calibration)


def _text(node: ast.stmt) -> str:
    """The docstring that a statement is; nothing for others."""
    match node:
        case ast.Expr(value=ast.Constant(value=str(words))):
            return words
    return ""


def _shown(value: Any) -> str:
    return ", ".join(sorted(map(str, value))) if isinstance(value, frozenset) else str(value)


def _parts(docstring: str) -> tuple[str, str]:
    """What a docstring means, and the sentence on calibration."""
    text = " ".join(docstring.split())
    meaning, *calibration = CALIBRATION.split(text, maxsplit=1)
    return meaning.strip(), "".join(calibration)


def thresholds_markdown(rooms: dict[str, str]) -> str:
    """All settings objects in tables, grouped by room; titles of the rooms by name."""
    found = decisions()
    parts: list[str] = []
    for room, title in rooms.items():
        own = [decision for decision in found if decision.module.parts[0] == room]
        parts += [f"## {title}"] * bool(own) + [_table(decision) for decision in own]
    return "\n\n".join(parts)


def _table(decision: Decision) -> str:
    above = f" *{decision.calibration}*" if decision.calibration else ""
    rows = [
        f"| `{one.name}` | {one.value} | {_cell(one.meaning)} | "
        f"{_cell(one.calibration) or ('see above' if above else 'not stated')} |"
        for one in decision.thresholds
    ]
    head = f"### {decision.name}\n\n`{decision.module.as_posix()}` · {decision.meaning}{above}\n\n"
    return (
        head + "| threshold | value | meaning and reason | calibration |\n| --- | --- | --- | --- |\n" + "\n".join(rows)
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
