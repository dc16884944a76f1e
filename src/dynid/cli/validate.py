"""`dynid validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynid.cli.app import FullOption, JsonOption, echo_json, errors_in_words, steps_shown

if TYPE_CHECKING:
    from rich.console import Console

    from dynid.identification.validation import Validation


def validate(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder saved by dynid identify.")],
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="Held-out logs: files laid out as the result's own (patterns, folders, URLs), or experiment files "
            "(.toml); [[log]] suffices.",
        ),
    ],
    simulated: Annotated[
        bool,
        typer.Option(
            "--simulate",
            help="Also simulate the result in closed loop and compare positions; "
            "needs experiment files with [simulation].",
        ),
    ] = False,
    control: Annotated[
        bool,
        typer.Option(
            "--control",
            help="Also simulate controllers with the identified model and with the robot file's on the motion of the "
            "longest log, and compare tracking errors.",
        ),
    ] = False,
    full: FullOption = False,
    json_output: JsonOption = False,
) -> None:
    """Validate a result on held-out logs.

    Gives errors of moving joints and of all rows, and the verdict again.
    """
    with errors_in_words(), steps_shown() as step:
        step("Loading the result")
        import dynid

        validation = dynid.validate(result, *logs, simulate=simulated, control=control, progress=step)
    if json_output:
        echo_json(validation.to_dict())
    else:
        show_validation(validation, result, full=full)


def show_validation(validation: Validation, result: Path, *, full: bool = False) -> None:
    """Print how well held-out torques are predicted."""
    from dynid.cli.console import plain_console, plain_table, show_findings, show_next, show_verdict
    from dynid.findings import Severity, grouped

    output, rollout = plain_console(), validation.rollout
    if rollout is not None:
        from dynid.cli.commanded_screens import rollout_line, show_rollouts

        output.print(rollout_line(rollout, validation.samples, validation.logs))
        show_rollouts(output, rollout)
    else:
        output.print(f"Relative error on {validation.samples} held-out samples: {_errors(validation)}.")
        _show_torques(output, validation, full=full)
    if validation.simulation is not None:
        output.print("Closed-loop simulation on the same reference [rad or m]:")
        table = plain_table(("joint",), ("RMS of simulated - measured", "RMS of reference - measured"))
        for joint in validation.simulation["joints"]:
            table.add_row(joint["name"], f"{joint['rms_position']:.3g}", f"{joint['rms_tracking']:.3g}")
        output.print(table)
    if validation.tracking is not None:
        from dynid.cli.tracking_table import show_tracking

        show_tracking(output, validation.tracking)
    notes = [finding for finding in grouped(validation.findings) if finding.severity is Severity.NOTE]
    warnings = [finding for finding in validation.findings if finding.severity is not Severity.NOTE]
    show_findings(output, validation.findings if full else grouped(warnings), validation.logs)
    show_verdict(output, validation.verdict, improvements=True)
    trusted = validation.verdict.answer.value != "no"
    target = "urdf" if rollout is None else "mjcf (or isaaclab, mjlab)"
    export = f"write your robot: dynid export {result} --to {target}"
    report = f"look at the causes: dynid report {result}"
    drops = rollout is None and validation.rows != validation.all_rows.rows
    hidden = "Errors of all rows, slow joints included" if rollout is None else "All findings"
    hidden += f", and {len(notes)} notes" if len(notes) > 1 and rollout is None else ""
    show_next(output, export if trusted else report, "" if full or not (drops or notes) else f"{hidden}: --full")


def _show_torques(output: Console, validation: Validation, *, full: bool) -> None:
    """Print how well the torques of each joint are predicted."""
    from dynid.cli.console import plain_table

    every = validation.all_rows
    more = ("rows\n(all)", "error\n(all)") if validation.rows != every.rows and full else ()
    table = plain_table(("joint",), ("rows", "RMSE", "NRMSE", "R2", "relative\nerror", *more))
    for joint, of_all in zip(validation.joints, every.joints, strict=True):
        if not of_all.rows:  # nothing was measured of it
            continue
        numbers = (f"{joint.rmse:.4g}", f"{joint.nrmse:.4f}", f"{joint.r2:.4f}", f"{joint.relative_error:.4f}")
        all_numbers = (str(of_all.rows), f"{of_all.relative_error:.4f}") if more else ()
        table.add_row(joint.name, str(joint.rows), *numbers, *all_numbers)
    output.print(table)
    if full:
        output.print(f"Errors are of {validation.row_selection}.")


def _errors(validation: Validation) -> str:
    """Errors of base parameters and links, of rows that count and of all."""
    physical, slow = validation.physical, validation.physical_all_rows
    links = "" if physical is None else f" (physically consistent links {physical.relative_error:.2%})"
    shown = f"{validation.relative_error:.2%}{links}"
    if validation.rows == validation.all_rows.rows:
        return shown
    links = "" if slow is None else f" (links {slow.relative_error:.2%})"
    return f"{shown}; over all rows {validation.all_rows.relative_error:.2%}{links}"
