"""What the commands that write robots show: `convert`, `export`, `repair`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from dynid.results.export import Exported
    from dynid.robot.repair import Change, FileRepair
    from dynid.robot.robot import Robot


def show_conversion(output_file: Path, robot: Robot, left_out: list[str]) -> None:
    """Show what was written as URDF, and what was not."""
    output = Console()
    wrote = f"Wrote {output_file}: {len(robot.joints)} joints, {len(robot.links)} moving links."
    output.print(wrote, highlight=False, markup=False)
    for item in left_out:
        output.print(f"Left out: {item}.", highlight=False, markup=False)
    output.print(f"Next: dynid inspect {output_file}", highlight=False, markup=False)


def show_export(exported: Exported) -> None:
    """Show which files hold the identified robot."""
    output = Console()
    how = "your file, with identified numbers" if exported.edited else "a new file"
    output.print(f"Wrote {exported.path} ({how}).", highlight=False, markup=False)
    if exported.beside is not None:
        output.print(f"Wrote {exported.beside}: what the format has no place for.", highlight=False, markup=False)
    for item in exported.left_out:
        output.print(f"Left out: {item}.", highlight=False, markup=False)
    for item in exported.kept:
        output.print(f"Kept from your file, as the model has no such term: {item}.", highlight=False, markup=False)
    if exported.impossible:
        names = ", ".join(exported.impossible)
        output.print(f"Still impossible, as in your file: {names}; see dynid repair.", highlight=False, markup=False)
    if exported.format.value != "json":
        output.print(f"\nNext: dynid inspect {exported.path}", highlight=False, markup=False)


def show_repair(done: FileRepair) -> None:
    """Show which bodies were impossible, and what was changed."""
    output = Console()
    if done.output is None:
        output.print(f"All bodies of {done.source} are possible; nothing to repair.", highlight=False, markup=False)
        output.print(f"Next: dynid inspect {done.source}", highlight=False, markup=False)
        return
    count = f"{len(done.bodies)} impossible {'body' if len(done.bodies) == 1 else 'bodies'}"
    output.print(f"{done.source}: {count}, repaired in {done.output}.", highlight=False, markup=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("body", "what was wrong", "what changed"):
        table.add_column(name, overflow="fold")
    for body in done.bodies:
        wrong = "; ".join(map(str, body.violations))
        table.add_row(Text(f"{body.body} (line {body.line})"), Text(wrong), Text("; ".join(map(_change, body.changes))))
    output.print(table)
    if any(change.what == "mass" for body in done.bodies for change in body.changes):
        output.print("A mass that was changed is now a milligram, as a stand-in; write the real one.", highlight=False)
    output.print(f"Next: dynid inspect {done.output}", highlight=False, markup=False)


def _change(change: Change) -> str:
    before, after = (", ".join(f"{value:.3g}" for value in values) for values in (change.before, change.after))
    size = "" if change.relative is None else f" ({100 * change.relative:.3g} %)"
    return f"{change.what} {before} -> {after} {change.unit}{size}"
