"""`dynid identify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, steps_shown


def identify(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT", help="Experiment file (.toml).")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder to save the result in.")] = None,
    add_to: Annotated[
        Path | None, typer.Option("--add-to", help="Saved result whose logs count, too; they are not read again.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Identify base parameters and physically consistent links from logs."""
    with errors_in_words():
        import dynid
        from dynid.identification.result_files import check_free

        if out is not None:
            check_free(out, overwrite=force)
        with steps_shown() as step:
            result = dynid.identify(experiment, add_to=add_to, progress=step)
        if out is not None:
            result.save(out, overwrite=force)
    if json_output:
        echo_json(result.to_dict())
    else:
        from dynid.cli.terminal.identification import show_identification

        show_identification(result.to_dict(), out, experiment)
