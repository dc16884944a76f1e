"""`dynid convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynid.cli.app import JsonOption, RobotArgument, echo_json, errors_in_words
from dynid.errors import InvalidRequestError


def convert(
    robot: RobotArgument,
    output: Annotated[Path, typer.Argument(metavar="URDF", help="The URDF file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Write a robot, such as a DH table, as a URDF file."""
    with errors_in_words():
        from dynid.files import write_text
        from dynid.robot.formats.urdf_writer import left_out, urdf_text
        from dynid.robot.loading import load_robot

        if output.suffix != ".urdf":
            raise InvalidRequestError(f"the output '{output}' must end in .urdf; other formats cannot be written yet")
        if output.exists() and Path(robot).exists() and output.samefile(robot):
            raise InvalidRequestError(
                f"'{output}' is the robot's own file, and shapes would be lost; name another output"
            )
        loaded = load_robot(robot)
        write_text(output, urdf_text(loaded), overwrite=force)
    missing = left_out(loaded)
    if json_output:
        echo_json({"urdf": str(output), "left_out": missing})
    else:
        from dynid.cli.terminal.robot_files import show_conversion

        show_conversion(output, loaded, missing)
