"""What the commands print: a console, tables and findings. Names from files are never markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from dynid.findings import Finding
    from dynid.identification import Verdict

COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}

ANSWERS = {"yes": "green", "fits; not validated": "cyan", "with care": "yellow", "no": "bold red"}
"""Colours of the answers of a verdict."""


def plain_console() -> Console:
    """A console that prints text as it is, without markup."""
    return Console(markup=False)


def plain_table(words: Sequence[str], numbers: Sequence[str] = (), more: Sequence[str] = ()) -> Table:
    """A table with a line below its head.

    Args:
        words: Columns of text, which are folded where they are too long.
        numbers: Columns of numbers, aligned at the right and never cut off.
        more: Further columns of text.
    """
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in words:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for name in more:
        table.add_column(name, overflow="fold")
    return table


def show_findings(output: Console, findings: Iterable[Finding]) -> None:
    """Print findings, with their severity in colour; nothing where there are none."""
    shown = Table.grid(padding=(0, 1))
    for finding in findings:
        stop = "" if finding.text.endswith(("?", ".")) else "."
        severity = Text(finding.severity.value, style=COLOURS[finding.severity.value])
        shown.add_row("", severity, f"{finding.subject}: {finding.text}{stop}")
    if shown.row_count:
        output.print("\nFindings:")
        output.print(shown)


def show_verdict(output: Console, verdict: Verdict) -> None:
    """Print whether a result can be trusted, and why, in two lines at most; the findings say more."""
    answer, width = verdict.answer.value, max(output.width, 40)
    lines = wrap(f"Verdict: {answer}: {verdict.reason}", width, max_lines=2, placeholder=" ...")
    shown = Text("\n" + "\n".join(lines))
    shown.stylize(ANSWERS[answer], 1, 1 + len(f"Verdict: {answer}"))
    output.print(shown)


def show_next(output: Console, step: str) -> None:
    """Print the last line: what to do next."""
    output.print(f"\nNext: {step}")
