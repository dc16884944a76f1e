"""The commands that write robot files: `dynid convert` and `dynid repair`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynid.cli.app import ExactFramesOption, JsonOption, echo_json, errors_in_words, steps_shown, values
from dynid.errors import InvalidRequestError

if TYPE_CHECKING:
    from dynid.logs.captures.marker_calibration import MarkerCalibration
    from dynid.robot.loading import Converted
    from dynid.robot.repair import Change, FileRepair


ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]


def convert(
    robot: Annotated[
        str,
        typer.Argument(
            metavar="ROBOT",
            help="URDF (.urdf or .xacro), MJCF (.xml) or DH table (.toml), builtin:NAME, or human: the human body.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Argument(metavar="URDF", help="Output file (.urdf; for the human body human.urdf by default)."),
    ] = None,
    xacro_arg: Annotated[
        list[str], typer.Option("--xacro-arg", metavar="NAME:=VALUE", help="Argument of a xacro file; may be repeated.")
    ] = [],  # noqa: B006 (Typer copies it)
    sex: Annotated[str | None, typer.Option("--sex", help="human: female or male, as the tables are.")] = None,
    height: Annotated[float | None, typer.Option("--height", help="human: height [m].")] = None,
    mass: Annotated[float | None, typer.Option("--mass", help="human: mass [kg].")] = None,
    table: Annotated[
        str | None, typer.Option("--table", help="human: dumas (default) or de-leva, the anthropometric table.")
    ] = None,
    length: Annotated[
        list[str],
        typer.Option("--length", metavar="SEGMENT=M", help="human: length [m] of a measured segment; may be repeated."),
    ] = [],  # noqa: B006 (Typer copies it)
    planar: Annotated[
        bool, typer.Option("--planar", help="human: the planar model of shanks, thighs and trunk on standing feet.")
    ] = False,
    calibrate: Annotated[
        Path | None,
        typer.Option(
            "--calibrate",
            metavar="CAPTURE",
            help="human: recording of the person's markers in which all joints move; lengths, joints and markers are "
            "placed as it shows them.",
        ),
    ] = None,
    force: ForceOption = False,
    exact_frames: ExactFramesOption = False,
    json_output: JsonOption = False,
) -> None:
    """Convert a robot, such as a DH table, or the human body to URDF.

    The human body: dynid convert human --sex female --height 1.75 --mass 70
    """
    calibrated = None
    with errors_in_words(), steps_shown() as step:
        import dynid

        body = {"sex": sex, "height": height, "mass": mass, "table": table}
        body["lengths"] = values("--length", *length) or None
        written = {"arguments": dict(_argument(text) for text in xacro_arg), "overwrite": force}
        written |= {"exact_frames": exact_frames}
        if calibrate is None:
            done = dynid.convert(robot, output, **written, **body, planar=planar)
        else:
            calibrated = _calibrated(robot, calibrate, body, planar, step)
            done = dynid.convert(calibrated.robot, output or "human.urdf", **written)
    if json_output:
        echo_json(done.to_dict() if calibrated is None else done.to_dict() | {"calibration": calibrated.to_dict()})
    else:
        if calibrated is not None:
            show_calibration(calibrated)
        show_conversion(done, " --wrench --moving" if robot == "human" and not planar else "")


def _calibrated(
    robot: str, capture: Path, body: dict[str, Any], planar: bool, step: Callable[[str], None]
) -> MarkerCalibration:
    """The human body of a recording of markers."""
    import dynid

    if robot != "human" or planar:
        raise InvalidRequestError("--calibrate is for the whole human body: dynid convert human --calibrate CAPTURE")
    lacking = [f"--{name}" for name in ("sex", "height", "mass") if body[name] is None]
    if lacking:
        raise InvalidRequestError(f"{', '.join(lacking)} must be stated, too: tables are of women and of men")
    seen = dynid.read_capture(capture, progress=step)
    step("Calibrating lengths and markers")
    return dynid.human_of_markers(seen, **{name: value for name, value in body.items() if value is not None})


def _argument(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":=")
    if not colon or not name.strip():
        raise InvalidRequestError(f"--xacro-arg: '{text}' is no argument; write NAME:=VALUE")
    return name.strip(), value


def repair(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="URDF (.urdf) or MJCF (.xml) file.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Output file (default: NAME_repaired beside the robot file).")
    ] = None,
    force: ForceOption = False,
    json_output: JsonOption = False,
) -> None:
    """Repair physically inconsistent inertias in a robot file.

    Each is replaced by the nearest physically consistent one.
    """
    with errors_in_words():
        import dynid

        done = dynid.repair(robot, out, overwrite=force)
    if json_output:
        echo_json(done.to_dict())
    else:
        show_repair(done)


def show_conversion(done: Converted, options: str = "") -> None:
    """Print what was written as URDF, what was not, and the next step, whose inspection may have options."""
    from dynid.cli.console import plain_console, show_next

    output = plain_console()
    output.print(f"Wrote {done.path}: {len(done.robot.joints)} joints, {len(done.robot.solid_links)} moving links.")
    for item in done.left_out:
        output.print(f"Left out: {item}.")
    for finding in done.robot.description.findings:
        output.print(str(finding))
    show_next(output, f"dynid inspect {done.path}{options}")


def show_calibration(calibration: MarkerCalibration) -> None:
    """Print the lengths that a recording of markers shows, and what its residuals are."""
    from dynid.cli.console import plain_console, plain_table, show_findings

    output = plain_console()
    table = plain_table(("segment", "from", "to"), ("length [mm]", "std [mm]"))
    for one in calibration.lengths:
        std = f"{1e3 * one.std:.1f}" if one.is_determined else "not determined"
        names = (name.rpartition("_")[0] for name in one.joints)
        table.add_row(one.link, *names, f"{1e3 * one.length:.0f}", std)
    output.print(table)
    output.print(f"Residuals of markers: {1e3 * calibration.after:.1f} mm (before: {1e3 * calibration.before:.1f} mm).")
    show_findings(output, calibration.findings)


def show_repair(done: FileRepair) -> None:
    """Print which bodies were physically inconsistent, and what was changed."""
    from dynid.cli.console import plain_console, plain_table, show_next

    output = plain_console()
    if done.output is None:
        output.print(f"All bodies of {done.source} are physically consistent; nothing to repair.")
        show_next(output, f"dynid inspect {done.source}")
        return
    count = f"{len(done.bodies)} physically inconsistent {'body' if len(done.bodies) == 1 else 'bodies'}"
    output.print(f"{done.source}: {count}, repaired in {done.output}.")
    table = plain_table(("body", "violation", "change"))
    for body in done.bodies:
        wrong = "; ".join(map(str, body.violations))
        table.add_row(f"{body.body} (line {body.line})", wrong, "; ".join(map(_change, body.changes)))
    output.print(table)
    if any(change.what == "mass" for body in done.bodies for change in body.changes):
        output.print("Changed masses are placeholders of one milligram; write the real ones.")
    show_next(output, f"dynid inspect {done.output}")


def _change(change: Change) -> str:
    before, after = (", ".join(f"{value:.3g}" for value in values) for values in (change.before, change.after))
    size = "" if change.relative is None else f" ({100 * change.relative:.3g} %)"
    return f"{change.what} {before} -> {after} {change.unit}{size}"
