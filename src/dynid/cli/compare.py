"""`dynid compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, steps_shown, words

if TYPE_CHECKING:
    from dynid.identification.estimator_comparison import Comparison


def compare(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT", help="Experiment file (.toml).")],
    estimators: Annotated[
        str,
        typer.Option(
            "--estimators",
            metavar="NAMES",
            help="Which to compare, comma-separated (default: ols, wls, tls, iv, didim, ml, clie, cloe, clioe).",
        ),
    ] = "",
    report: Annotated[Path | None, typer.Option("--report", help="Also write an HTML page with a figure.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing page.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Compare estimators on the same logs, and recommend one.

    The last log, or the last 30 % of a single one, is held out to judge them.
    """
    with errors_in_words(), steps_shown() as step:
        import dynid
        from dynid.errors import OutputExistsError
        from dynid.identification.estimator_comparison import ESTIMATORS

        names = words(estimators) or ESTIMATORS
        if report is not None and report.exists() and not force:
            raise OutputExistsError(report)  # before the estimators, which take long
        found = dynid.compare_estimators(experiment, estimators=names, progress=step)
        if report is not None:
            from dynid.report import write_estimator_page

            write_estimator_page(found, report, overwrite=force)
    if json_output:
        echo_json(found.to_dict())
    else:
        show_comparison(found, experiment)


def show_comparison(found: Comparison, experiment: Path) -> None:
    """Print estimators side by side, those that could not be used, and the recommendation."""
    from dynid.cli.console import plain_console, plain_table, show_next
    from dynid.identification.estimator_comparison import HEADER

    output = plain_console()
    output.print(f"{found.robot}: estimators judged by {found.held_out}.")
    table = plain_table(HEADER[:1], HEADER[1:])
    for row in found.rows():
        table.add_row(*row)
    output.print(table)
    if found.judged_by == "simulated":
        output.print(
            "error: of torques along the measured motion, whose noise favours least squares; simulated: along the "
            "motion of the simulated robot, which decides."
        )
    for one in found.estimators:
        if one.problem:
            output.print(f"{one.name}: {one.problem}.")
    if found.recommendation is None:
        output.print(f"No recommendation: {found.reason}.")
        return
    output.print(f"Recommended: {found.recommendation}; {found.reason}.")
    line = f'[estimation] estimator = "{found.recommendation}"'
    plain = found.recommendation == "wls"
    show_next(output, f"dynid identify {experiment}, with {'least squares (the default)' if plain else line}")
