"""What `dynid report` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynid.cli.terminal.parts import plain_console, plain_table

if TYPE_CHECKING:
    from dynid.report import ReportFile


def show_report(done: ReportFile) -> None:
    """Show the verdict of a report, and where it is."""
    output = plain_console()
    for subject in done.subjects:
        if len(done.subjects) > 1:
            output.print(f"{subject.name}:", style="bold")
        output.print(subject.verdict.headline)
        table = plain_table(("use", "trust it?", "why"))
        for use in subject.verdict.uses:
            table.add_row(use.purpose, use.answer.value, use.reason)
        output.print(table)
        if subject.missing:
            output.print(f"Without signals: {subject.missing}.")
    output.print(f"Wrote {done.path} ({done.size / 1e6:.1f} MB).")
    output.print("\nNext: open it in a browser; it needs no network.")
