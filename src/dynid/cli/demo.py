"""`dynid demo`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, steps_shown

if TYPE_CHECKING:
    from dynid.cli.demonstration import Demo, Step


def demo(
    robot: Annotated[str, typer.Option("--robot", help="Robot, as for inspect.")] = "builtin:ur5",
    out: Annotated[Path, typer.Option("--out", help="Output folder.")] = Path("dynid_demo"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an earlier demo.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Run the whole workflow on a simulated robot.

    Inspect, excite, simulate, identify, validate, export and report.
    """
    with errors_in_words(), steps_shown() as step:
        import dynid

        show = (lambda _: None) if json_output else show_step
        made = dynid.demo(out, robot, overwrite=force, progress=step, done=show)
    if json_output:
        echo_json(made.to_dict())
    else:
        show_demo(made)


def show_step(step: Step) -> None:
    """Print a finished step of the demo."""
    from rich.text import Text

    from dynid.cli.console import plain_console

    plain_console().print(Text(f"{step.title:<9}", style="bold") + Text(f" {step.text}"))


def show_demo(made: Demo) -> None:
    """Print how close the estimate is to the true parameters, and what to try next."""
    from dynid.cli.console import plain_console, show_next

    output = plain_console()
    found, unseen = made.comparison, made.validation.relative_error
    output.print(
        "\nThe simulated robot's links and friction differ from its file. Of the true base parameters, "
        f"{found.within_intervals} of {found.parameters} lie within their {found.confidence:.0%} intervals and "
        f"{found.within_tenth} are known to 10 %; no single error changes the torques by more than "
        f"{found.largest_torque_effect:.2%}. The relative error on a held-out trajectory is {unseen:.2%}."
    )
    output.print(f"\nReport: {made.report}")
    show_next(output, "open it in a browser; then try your own robot: dynid demo --robot my_robot.urdf --out my_demo")
