"""`dynid repair`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words


def repair(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="A URDF (.urdf) or MJCF (.xml) file.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The file to write; NAME_repaired beside the robot's when left out.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Make impossible inertias possible, with little change."""
    with errors_in_words():
        from dynid.robot.repair import repair as repair_robot

        done = repair_robot(robot, out, overwrite=force)
    if json_output:
        echo_json(done.to_dict())
    else:
        from dynid.cli.terminal.robot_files import show_repair

        show_repair(done)
