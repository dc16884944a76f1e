"""What the commands print: a console, tables and findings. Names from files are never markup."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    from dynid.findings import Finding
    from dynid.identification import Verdict

COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}

ANSWERS = {"yes": "green", "fits; not validated": "cyan", "with care": "yellow", "no": "bold red"}
"""Colours of the answers of a verdict."""


class PlainConsole(Console):
    """A console that prints text as it is: no markup, and nothing cut where a line is longer than the terminal."""

    def __init__(self) -> None:
        super().__init__(markup=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects; see `rich.console.Console.print`."""
        super().print(*objects, **{"crop": False, **options})


class PlainTable(Table):
    """A table with a line below its head, whose numbers are never cut: it is rather wider than the terminal."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render it as wide as its numbers need."""
        numbers = [column for column in self.columns if column.no_wrap]
        words = [column for column in self.columns if not column.no_wrap]
        needed = sum(_width(column) for column in numbers) + sum(min(_width(column), NARROWEST) for column in words)
        needed += len(self.columns) + 1  # spaces beside columns
        yield from super().__rich_console__(console, options.update(width=max(options.max_width, needed)))


NARROWEST = 12
"""Characters that a column of words is folded to at least, where numbers need the room."""


def _width(column: Column) -> int:
    """Characters of the longest line of a column."""
    cells = [str(cell) for cell in (column.header, *column.cells)]
    return max(len(line) for cell in cells for line in cell.splitlines() or [""])


def plain_console() -> Console:
    """A console that prints text as it is, without markup."""
    return PlainConsole()


def plain_table(words: Sequence[str], numbers: Sequence[str] = (), more: Sequence[str] = ()) -> Table:
    """A table with a line below its head.

    Args:
        words: Columns of text, which are folded where they are too long.
        numbers: Columns of numbers, aligned at the right and never cut off.
        more: Further columns of text.
    """
    table = PlainTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in words:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for name in more:
        table.add_column(name, overflow="fold")
    return table


def show_facts(output: Console, facts: Mapping[str, str]) -> None:
    """Print facts, each on a line with what it is of, folded below itself."""
    shown = Table.grid(padding=(0, 2))
    shown.add_column(no_wrap=True, style="dim")
    shown.add_column(overflow="fold")
    for name, text in facts.items():
        shown.add_row(f" {name}", text)
    output.print(shown)


def show_findings(output: Console, findings: Iterable[Finding], logs: int = 0) -> None:
    """Print findings, with their severity in colour; nothing where there are none.

    Args:
        output: The console.
        findings: The findings.
        logs: Number of all logs, where findings are about some of them.
    """
    shown = Table.grid(padding=(0, 1))
    for finding in findings:
        stop = "" if finding.text.endswith(("?", ".")) else "."
        severity = Text(finding.severity.value, style=COLOURS[finding.severity.value])
        shown.add_row("", severity, f"{finding.about(logs)}: {finding.text}{stop}")
    if shown.row_count:
        output.print("\nFindings:")
        output.print(shown)


def show_verdict(output: Console, verdict: Verdict, *, improvements: bool = False) -> None:
    """Print whether a result can be trusted and why, and what to improve where that is asked for."""
    answer = verdict.answer.value
    listed = verdict.improvements[:IMPROVEMENTS] if improvements else ()
    repeated = any(text.startswith(verdict.reason.rstrip(".")) for text in listed)
    shown = Text(f"\nVerdict: {answer}" + ("." if repeated else f": {verdict.reason}"))
    shown.stylize(ANSWERS[answer], 1, 1 + len(f"Verdict: {answer}"))
    output.print(shown)
    grid = Table.grid(padding=(0, 1))
    for text in listed:
        grid.add_row(" -", text)
    if listed:
        output.print(grid)
    if len(verdict.improvements) > len(listed) and improvements:
        output.print(f" - and {len(verdict.improvements) - len(listed)} more in the report")


IMPROVEMENTS = 3
"""Improvements that are printed; `--json` and the report have all."""


def show_next(output: Console, step: str, more: str = "") -> None:
    """Print the last lines: what to do next, and where more is to be seen."""
    output.print(f"\nNext: {step}")
    if more:
        output.print(more, style="dim")
