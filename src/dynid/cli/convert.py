"""`dynid convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynid.cli.app import JsonOption, RobotArgument, echo_json, errors_in_words


def convert(
    robot: RobotArgument,
    output: Annotated[Path, typer.Argument(metavar="URDF", help="The URDF file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Write a robot, such as a DH table, as a URDF file."""
    with errors_in_words():
        from dynid.robot.loading import convert as convert_robot

        done = convert_robot(robot, output, overwrite=force)
    if json_output:
        echo_json(done.to_dict())
    else:
        from dynid.cli.terminal.robot_files import show_conversion

        show_conversion(done)
