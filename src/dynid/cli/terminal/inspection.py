"""What `dynid inspect` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from dynid.cli.terminal.parts import plain_console, plain_table, show_findings

if TYPE_CHECKING:
    from dynid.model.inspection import Inspection


def show_inspection(inspection: Inspection) -> None:
    """Show what can be known about a robot."""
    output = plain_console()
    base, model, robot = inspection.base_parameters, inspection.model, inspection.robot
    output.print(
        Text(f"{robot.name}: {len(robot.joints)} moving joints, {len(model.names)} standard parameters, ")
        + Text(f"{len(base)} base parameters", style="bold")
        + Text(f" ({_words_for(model.observed.value)}).")
    )
    table = plain_table(("#", "base parameter"), ("file's value",), ("unit", "of"))
    table.columns[0].justify = "right"
    owners = [model.parameters[column].owner for column in base.columns]
    rows = zip(base.expressions, inspection.base_values(), base.units, owners, strict=True)
    for k, (expression, value, unit, owner) in enumerate(rows, start=1):
        table.add_row(str(k), expression, "-" if value is None else f"{value:.6g}", unit, owner)
    output.print(table)
    _show_names(output, "No effect on what is measured", base.no_effect)
    _show_names(output, "Only in combinations", base.only_in_groups)
    if base.known:
        known = ", ".join(f"{name} = {value:g}" for name, value in base.known.items())
        output.print(f"Known beforehand: {known}")
    if not len(base):
        output.print("Nothing of the robot shows in what is measured.")
    clarity = "doubtful" if base.gap.is_doubtful else "clear"
    output.print(
        f"The count is {clarity}: the smallest kept column is {base.gap.kept:.1e}, the largest dropped one "
        f"{base.gap.dropped:.1e} of the largest of its unit."
    )
    show_findings(output, [finding.to_dict() for finding in inspection.findings])
    output.print(f"\nNext: {_next_step(inspection)}")


def _show_names(output: Console, title: str, names: tuple[str, ...]) -> None:
    if names:
        output.print(f"{title} ({len(names)}): {', '.join(names)}")


def _words_for(observed: str) -> str:
    return {
        "torques": "from joint torques in motion",
        "gravity": "from joint torques at rest",
        "wrench_stationary": "from the wrench on a standing base",
        "wrench_moving": "from the wrench on a moving base",
    }[observed]


def _next_step(inspection: Inspection) -> str:
    if any(finding.severity.value == "error" for finding in inspection.findings):
        return "correct the errors above in the robot's file, then inspect it again"
    source = inspection.robot.description.source
    if not inspection.model.terms:
        return f"add what the joints do: dynid inspect {source} --terms viscous,coulomb,armature"
    return f"for programs: dynid inspect {source} --json"
