"""`dynid validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, steps_shown

if TYPE_CHECKING:
    from dynid.identification.validation import Validation


def validate(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder saved by dynid identify.")],
    logs: Annotated[
        list[Path],
        typer.Argument(metavar="LOG...", help="Held-out logs: experiment files, or logs laid out as the result's."),
    ],
    simulated: Annotated[
        bool,
        typer.Option(
            "--simulate",
            help="Also simulate the result in closed loop and compare positions; "
            "needs experiment files with [simulation].",
        ),
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Validate a result on held-out logs."""
    with errors_in_words(), steps_shown() as step:
        step("Loading the result")
        import dynid

        validation = dynid.validate(result, *logs, simulate=simulated, progress=step)
    if json_output:
        echo_json(validation.to_dict())
    else:
        show_validation(validation, result)


def show_validation(validation: Validation, result: Path) -> None:
    """Print how well held-out torques are predicted."""
    from dynid.cli.console import plain_console, plain_table, show_findings, show_next

    output = plain_console()
    physical = validation.physical
    with_links = "" if physical is None else f" ({physical.relative_error:.4f} with physically consistent links)"
    output.print(f"Relative error on {validation.samples} samples: {validation.relative_error:.4f}{with_links}.")
    table = plain_table(("joint",), ("rows", "RMSE", "NRMSE", "R2", "relative error"))
    for joint in validation.joints:
        numbers = (f"{joint.rmse:.4g}", f"{joint.nrmse:.4f}", f"{joint.r2:.4f}", f"{joint.relative_error:.4f}")
        table.add_row(joint.name, str(joint.rows), *numbers)
    output.print(table)
    if validation.simulation is not None:
        output.print("Closed-loop simulation on the same reference [rad or m]:")
        table = plain_table(("joint",), ("RMS of simulated - measured", "RMS of reference - measured"))
        for joint in validation.simulation["joints"]:
            table.add_row(joint["name"], f"{joint['rms_position']:.3g}", f"{joint['rms_tracking']:.3g}")
        output.print(table)
    show_findings(output, validation.findings)
    show_next(output, f"write your robot: dynid export {result} --to urdf")
