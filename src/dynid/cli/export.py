"""`dynid export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, steps_shown
from dynid.identification.formats import Format


def export(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A folder that dynid identify saved.")],
    to: Annotated[
        Format,
        typer.Option(
            "--to", help="urdf or mjcf: your own file with identified numbers, or a new one; json: all numbers."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The file to write; in the result's folder when left out.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Write the identified robot as a robot file.

    That is your own file, in which only inertias and friction are other numbers.
    """
    with errors_in_words(), steps_shown() as step:
        step("Writing the identified robot")
        from dynid.identification.result import load_result
        from dynid.identification.robot_output import default_path, export_result

        loaded = load_result(result)
        exported = export_result(loaded, to, out or default_path(loaded, result, to), overwrite=force)
    if json_output:
        echo_json(exported.to_dict())
    else:
        from dynid.cli.terminal.robot_files import show_export

        show_export(exported)
