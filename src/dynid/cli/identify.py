"""`dynid identify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, steps_shown


def identify(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT", help="The experiment file (.toml).")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder to save the result as.")] = None,
    add_to: Annotated[
        Path | None, typer.Option("--add-to", help="A saved result whose logs count, too; they are not read again.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a result that is there.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Find base parameters with uncertainties from logs."""
    with errors_in_words():
        from dynid.experiment.reading import read_experiment
        from dynid.identification.earlier import earlier_logs
        from dynid.identification.pipeline import identify as run
        from dynid.identification.result import check_free, load_result, save_result
        from dynid.identification.result_data import identification_data

        settings = read_experiment(experiment)
        if out is not None:
            check_free(out, overwrite=force)
        with steps_shown() as step:
            earlier = None if add_to is None else earlier_logs(load_result(add_to), settings, experiment)
            found = run(settings, step, earlier)
        if out is not None:
            save_result(found, experiment, out, confidence=settings.estimation.confidence, overwrite=force)
        data = identification_data(found, settings.estimation.confidence)
    if json_output:
        echo_json(data)
    else:
        from dynid.cli.terminal.identification import show_identification

        show_identification(data, out, experiment)
