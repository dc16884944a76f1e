"""What `dynid validate` shows."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from dynid.cli.terminal.parts import plain_console, plain_table, show_findings


def show_validation(data: dict[str, Any]) -> None:
    """Show how well torques are predicted; `data` is that of `results.prediction.validate_result`."""
    output = plain_console()
    physical = data["physical_relative_error"]
    with_links = "" if physical is None else f" ({physical:.4f} with physical links)"
    output.print(f"Relative error on {data['samples']} samples: {data['relative_error']:.4f}{with_links}.")
    table = plain_table(("joint",), ("rows", "RMSE", "NRMSE", "R2", "relative error"))
    for joint in data["joints"]:
        numbers = (
            f"{joint['rmse']:.4g}",
            f"{joint['nrmse']:.4f}",
            f"{joint['r2']:.4f}",
            f"{joint['relative_error']:.4f}",
        )
        table.add_row(joint["name"], str(joint["rows"]), *numbers)
    output.print(table)
    if "simulation" in data:
        _show_positions(output, data["simulation"])
    show_findings(output, data["findings"])
    output.print("\nNext: for programs: add --json")


def _show_positions(output: Console, data: dict[str, Any]) -> None:
    """Show how well the simulated result moves as the robot did."""
    output.print("Simulated in closed loop on the same reference [rad or m]:")
    table = plain_table(("joint",), ("RMS of simulated - measured", "RMS of reference - measured"))
    for joint in data["joints"]:
        table.add_row(joint["name"], f"{joint['rms_position']:.3g}", f"{joint['rms_tracking']:.3g}")
    output.print(table)
