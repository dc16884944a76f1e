"""What `dynid report` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from dynid.report import ReportFile


def show_report(done: ReportFile) -> None:
    """Show the verdict of a report, and where it is."""
    output = Console()
    for subject in done.subjects:
        if len(done.subjects) > 1:
            output.print(f"{subject.name}:", highlight=False, markup=False, style="bold")
        output.print(subject.verdict.headline, highlight=False, markup=False)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in ("use", "trust it?", "why"):
            table.add_column(name, overflow="fold")
        for use in subject.verdict.uses:
            table.add_row(use.purpose, use.answer.value, Text(use.reason))
        output.print(table)
        if subject.missing:
            output.print(f"Without signals: {subject.missing}.", highlight=False, markup=False)
    output.print(f"Wrote {done.path} ({done.size / 1e6:.1f} MB).", highlight=False, markup=False)
    output.print("\nNext: open it in a browser; it needs no network.", highlight=False)
