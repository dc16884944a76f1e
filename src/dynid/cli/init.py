"""`dynid init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynid.cli.app import JsonOption, RobotArgument, echo_json, errors_in_words, steps_shown


def init(
    robot: RobotArgument,
    log: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            help="A log: CSV, text, Parquet, NPZ, MAT or a ROS bag; or several files, one for each quantity.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The experiment file to write.")] = Path("experiment.toml"),
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="HZ", help="Sampling rate, where the log has no time stamps.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Write a first experiment by looking at a robot and a log."""
    with errors_in_words(), steps_shown() as step:
        step("Looking at the log")
        from dynid.experiment.first.first_experiment import init as first_experiment

        made = first_experiment(robot, *log, rate=rate, folder=out.parent, progress=step)
        made.save(out, overwrite=force)
    if json_output:
        data = {"experiment": str(out), "joints": made.joints, "locked": made.locked, "guesses": made.guesses}
        echo_json({**data, "needed": made.needed, "findings": [finding.to_dict() for finding in made.findings]})
    else:
        from dynid.cli.terminal.initial_experiment import show_initial_experiment

        show_initial_experiment(out, made)
