"""`dynid demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, steps_shown


def demo(
    robot: Annotated[str, typer.Option("--robot", help="The robot, as for inspect.")] = "builtin:ur5",
    out: Annotated[Path, typer.Option("--out", help="Folder for everything that is written.")] = Path("dynid_demo"),
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier demo.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Do the whole day on a simulated robot.

    Inspect, excite, measure, identify, prove, write files and a report.
    """
    with errors_in_words():
        from dynid.cli.demonstration import run_demo
        from dynid.cli.terminal.demo import show_demo, show_step

        with steps_shown() as step:
            data = run_demo(
                robot, out, overwrite=force, begin=step, done=(lambda _: None) if json_output else show_step
            )
    if json_output:
        echo_json(data)
    else:
        show_demo(data)
