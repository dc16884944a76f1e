"""What the commands that write robots show: `convert`, `export`, `repair`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynid.cli.terminal.parts import plain_console, plain_table

if TYPE_CHECKING:
    from dynid.identification.robot_output import Exported
    from dynid.robot.loading import Converted
    from dynid.robot.repair import Change, FileRepair


def show_conversion(done: Converted) -> None:
    """Show what was written as URDF, and what was not."""
    output = plain_console()
    output.print(f"Wrote {done.path}: {len(done.robot.joints)} joints, {len(done.robot.links)} moving links.")
    for item in done.left_out:
        output.print(f"Left out: {item}.")
    output.print(f"Next: dynid inspect {done.path}")


def show_export(exported: Exported) -> None:
    """Show which files hold the identified robot."""
    output = plain_console()
    how = "your file, with identified numbers" if exported.edited else "a new file"
    output.print(f"Wrote {exported.path} ({how}).")
    if exported.beside is not None:
        output.print(f"Wrote {exported.beside}: what the format has no place for.")
    for item in exported.left_out:
        output.print(f"Left out: {item}.")
    for item in exported.kept:
        output.print(f"Kept from your file, as the model has no such term: {item}.")
    if exported.impossible:
        names = ", ".join(exported.impossible)
        output.print(f"Still impossible, as in your file: {names}; see dynid repair.")
    if exported.format.value != "json":
        output.print(f"\nNext: dynid inspect {exported.path}")


def show_repair(done: FileRepair) -> None:
    """Show which bodies were impossible, and what was changed."""
    output = plain_console()
    if done.output is None:
        output.print(f"All bodies of {done.source} are possible; nothing to repair.")
        output.print(f"Next: dynid inspect {done.source}")
        return
    count = f"{len(done.bodies)} impossible {'body' if len(done.bodies) == 1 else 'bodies'}"
    output.print(f"{done.source}: {count}, repaired in {done.output}.")
    table = plain_table(("body", "what was wrong", "what changed"))
    for body in done.bodies:
        wrong = "; ".join(map(str, body.violations))
        table.add_row(f"{body.body} (line {body.line})", wrong, "; ".join(map(_change, body.changes)))
    output.print(table)
    if any(change.what == "mass" for body in done.bodies for change in body.changes):
        output.print("A mass that was changed is now a milligram, as a stand-in; write the real one.")
    output.print(f"Next: dynid inspect {done.output}")


def _change(change: Change) -> str:
    before, after = (", ".join(f"{value:.3g}" for value in values) for values in (change.before, change.after))
    size = "" if change.relative is None else f" ({100 * change.relative:.3g} %)"
    return f"{change.what} {before} -> {after} {change.unit}{size}"
