"""`dynid report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, steps_shown
from dynid.errors import InvalidRequestError

if TYPE_CHECKING:
    from dynid.report import ReportFile


def report(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT [RESULT2]", help="Folder saved by dynid identify; two to compare."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Output file (default: report.html in the result folder).")
    ] = None,
    validate_on: Annotated[
        list[str],
        typer.Option("--validate", help="Held-out log (pattern, folder, URL) or experiment file; may be repeated."),
    ] = [],  # noqa: B006
    control: Annotated[
        bool,
        typer.Option(
            "--control",
            help="Also simulate controllers with the identified model and with the robot file's: what the model gains.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Write an HTML report on a result, or compare two.

    States whether the model can be trusted, for what, and what to improve.
    """
    with errors_in_words(), steps_shown() as step:
        import dynid

        if len(results) > 2:
            raise InvalidRequestError(f"a report is on one result, or compares two, not {len(results)}")
        second = results[1] if len(results) > 1 else None
        path = out or results[0] / ("report.html" if second is None else "comparison.html")
        done = dynid.write_report(
            results[0],
            path,
            compare=second,
            validate=validate_on,
            control=control,
            overwrite=force,
            progress=step,
        )
    if json_output:
        echo_json(done.to_dict())
    else:
        show_report(done)


def show_report(done: ReportFile) -> None:
    """Print the verdict of a report, and where it is."""
    from dynid.cli.console import plain_console, plain_table, show_next

    output = plain_console()
    for subject in done.subjects:
        if len(done.subjects) > 1:
            output.print(f"{subject.name}:", style="bold")
        output.print(subject.verdict.headline)
        table = plain_table(("fit for", "trusted", "reason"))
        for use in subject.verdict.uses:
            table.add_row(use.purpose, use.answer.value, use.reason)
        output.print(table)
        if subject.missing:
            output.print(f"Without signals: {subject.missing}.")
    output.print(f"Wrote {done.path} ({done.size / 1e6:.1f} MB).")
    show_next(output, "open it in a browser; it works offline.")
