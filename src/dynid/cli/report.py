"""`dynid report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, steps_shown
from dynid.errors import InvalidRequestError


def report(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT [RESULT2]", help="A folder that dynid identify saved, or two to compare."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The HTML file to write; report.html in the result when left out.")
    ] = None,
    validate_on: Annotated[
        list[Path], typer.Option("--validate", help="A log that was not used, or an experiment file; may be repeated.")
    ] = [],  # noqa: B006
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Write a report on a result, or on two, for any browser.

    It says whether the model can be trusted, for what, and what to improve; of two results, how they differ.
    """
    with errors_in_words(), steps_shown() as step:
        import dynid

        if len(results) > 2:
            raise InvalidRequestError(f"a report is on one result, or compares two, not {len(results)}")
        name = "report.html" if len(results) == 1 else "comparison.html"
        path = results[0] / name if out is None else out
        compare = results[1] if len(results) > 1 else None
        done = dynid.write_report(
            results[0], path, compare=compare, validate=validate_on, overwrite=force, progress=step
        )
    if json_output:
        echo_json(done.to_dict())
    else:
        from dynid.cli.terminal.report import show_report

        show_report(done)
