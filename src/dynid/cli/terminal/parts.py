"""What all that the command shows has in common: a console, tables and findings."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text


def plain_console() -> Console:
    """Where things are shown as they are: names from files are never markup."""
    return Console(markup=False)


def plain_table(words: Sequence[str], numbers: Sequence[str] = (), more: Sequence[str] = ()) -> Table:
    """A table with a line below its head.

    Args:
        words: Columns of words, which are folded where they are too long.
        numbers: Columns of numbers, aligned at the right.
        more: Further columns of words.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in words:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right")
    for name in more:
        table.add_column(name, overflow="fold")
    return table


def show_findings(output: Console, findings: list[dict[str, str]]) -> None:
    """Show findings, worst words in colour; none without findings."""
    if not findings:
        return
    colours = {"error": "bold red", "warning": "yellow", "note": "cyan"}
    table = Table.grid(padding=(0, 1))
    for finding in findings:
        severity = finding["severity"]
        stop = "" if finding["text"].endswith(("?", ".")) else "."
        table.add_row("", Text(severity, style=colours[severity]), f"{finding['subject']}: {finding['text']}{stop}")
    output.print("\nFindings:")
    output.print(table)
