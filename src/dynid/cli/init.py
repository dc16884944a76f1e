"""`dynid init`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynid.cli.app import ExactFramesOption, JsonOption, RobotArgument, echo_json, errors_in_words, steps_shown

if TYPE_CHECKING:
    from dynid.experiment.first.first_experiment import FirstExperiment


def init(
    robot: RobotArgument,
    log: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...", help="Log (CSV, text, Parquet, NPZ, MAT, ROS bag), or several files, one per quantity."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Experiment file to write.")] = Path("experiment.toml"),
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="HZ", help="Sampling rate, where the log has no time stamps.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    exact_frames: ExactFramesOption = False,
    json_output: JsonOption = False,
) -> None:
    """Write a first experiment file from a robot and a log."""
    with errors_in_words(), steps_shown() as step:
        step("Reading the log")
        import dynid

        made = dynid.init(robot, *log, rate=rate, folder=out.parent, exact_frames=exact_frames, progress=step)
        made.save(out, overwrite=force)
    if json_output:
        data = {"experiment": str(out), "joints": made.joints, "locked": made.locked, "guesses": made.guesses}
        echo_json({**data, "needed": made.needed, "findings": [finding.to_dict() for finding in made.findings]})
    else:
        show_first_experiment(out, made)


def show_first_experiment(path: Path, made: FirstExperiment) -> None:
    """Print what a first experiment assumes, and what it needs."""
    from dynid.cli.console import plain_console, show_next

    output = plain_console()
    output.print(f"Wrote {path} for {len(made.joints)} joints: {', '.join(made.joints)}.")
    for guess in made.guesses:
        output.print(f"- {guess}")
    for what in made.needed:
        output.print(f"- NEEDED: {what}")
    first = "fill in what is needed" if made.needed else "check it"
    show_next(output, f"{first}, then dynid identify {path}")
