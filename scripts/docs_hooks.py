"""Generated parts of the documentation: findings, thresholds, the experiment file's keys, console output.

`python scripts/docs_hooks.py` rewrites the pages in `docs/`, so that they also read well without the site; mkdocs
calls `on_page_markdown`, so that the site is never out of date. A test checks that the pages in `docs/` are current.
"""

from __future__ import annotations

import importlib.util
import re
import string
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"

ROOMS = {
    "robot": "Robot file",
    "model": "Model and base parameters",
    "logs": "Logs and processing",
    "estimation": "Estimation",
    "excitation": "Exciting trajectories",
    "simulation": "Simulation",
    "experiment": "Experiment file",
    "identification": "Identification and validation",
    "report": "Report",
    "general": "Other",
}


def findings_markdown() -> str:
    """All findings of the catalogue: code, severity, meaning, evidence and what to do, grouped by room."""
    text = resources.files("dynid").joinpath("findings.toml").read_text(encoding="utf-8")
    catalogue = tomllib.loads(text)
    order = sorted(catalogue, key=list(ROOMS).index)
    return "\n\n".join(part for room in order for part in _room(ROOMS[room], catalogue[room]))


def _room(title: str, entries: dict[str, dict[str, str]]) -> Iterator[str]:
    yield f"## {title}"
    for code, entry in sorted(entries.items()):
        advice = f"\n- *What to do:* {_readable(entry['advice'])}." if entry.get("advice") else ""
        evidence = _readable(entry["evidence"])
        yield f"### `{code}`\n\n**{entry['severity']}** · {entry['meaning']}\n\n- *Evidence:* {evidence}{advice}"


def _readable(template: str) -> str:
    """A text of the catalogue with its values as placeholders: `{share:.0%}` becomes ‹share›."""
    parts = string.Formatter().parse(template)
    text = "".join(text + (f"‹{field}›" if field is not None else "") for text, field, _, _ in parts)
    return text.replace("|", "\\|").replace("<", "&lt;")


def reference_markdown() -> str:
    """Every key of the experiment file."""
    return _script("experiment_reference").reference_markdown()


def thresholds_markdown() -> str:
    """Every threshold, grouped by room and decision."""
    return _script("thresholds_reference").thresholds_markdown(ROOMS)


def _script(name: str) -> Any:
    """A module beside this one; neither mkdocs nor `python scripts/docs_hooks.py` has them as a package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


GENERATED: dict[str, Callable[[], str]] = {
    "findings": findings_markdown,
    "experiment": reference_markdown,
    "thresholds": thresholds_markdown,
    "human_tables": lambda: _script("human_tables").human_tables_markdown(),
    "human_joints": lambda: _script("human_tables").human_joints_markdown(),
    "human_markers": lambda: _script("human_tables").human_markers_markdown(),
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put generated parts between their marks, `<!-- generated: NAME -->` and `<!-- end -->`."""

    def filled(match: re.Match[str]) -> str:
        return f"{match[1]}\n\n{GENERATED[match[2]]().strip()}\n\n<!-- end -->"

    return re.sub(r"(<!-- generated: (\w+) -->).*?<!-- end -->", filled, markdown, flags=re.DOTALL)


def with_real_output(markdown: str) -> str:
    """Put what the commands of console examples print now below them."""
    from typer.testing import CliRunner

    from dynid.cli import app

    def printed(match: re.Match[str]) -> str:
        output = CliRunner().invoke(app, match[1].split(), env={"COLUMNS": "100"}).stdout
        lines = "\n".join(line.rstrip() for line in output.strip().splitlines())
        return f"```console\n$ dynid {match[1]}\n{lines}\n```"

    return re.sub(r"```console\n\$ dynid ([^\n]*)\n.*?```", printed, markdown, flags=re.DOTALL)


def main() -> None:
    """Rewrite the generated parts of all pages."""
    for page in (DOCS.parent / "README.md", *DOCS.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        if (after := with_real_output(on_page_markdown(before))) != before:
            page.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
