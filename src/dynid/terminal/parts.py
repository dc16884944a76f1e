"""What all that the command shows has in common: findings."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text


def show_findings(output: Console, findings: list[dict[str, str]]) -> None:
    """Show findings, worst words in colour; none without findings."""
    if not findings:
        return
    colours = {"error": "bold red", "warning": "yellow", "note": "cyan"}
    table = Table.grid(padding=(0, 1))
    for finding in findings:
        severity = finding["severity"]
        stop = "" if finding["text"].endswith(("?", ".")) else "."
        table.add_row(
            "", Text(severity, style=colours[severity]), Text(f"{finding['subject']}: {finding['text']}{stop}")
        )
    output.print("\nFindings:", highlight=False)
    output.print(table)
