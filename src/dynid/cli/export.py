"""The command `dynid export`: robot files, files for simulators, and code for controllers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, steps_shown
from dynid.cli.robot_files import ForceOption
from dynid.errors import InvalidRequestError
from dynid.robot import Format

if TYPE_CHECKING:
    from dynid.identification import Verdict
    from dynid.identification.generated_code import GeneratedCode
    from dynid.identification.robot_output import Exported


class ActuatorsChoice(StrEnum):
    """What becomes of the actuators of an MJCF file."""

    KEEP = "keep"
    POSITION = "position"
    GENERAL = "general"


class ExportTarget(StrEnum):
    """What a model is written as: the formats of robots and simulators, and code."""

    URDF = "urdf"
    MJCF = "mjcf"
    ISAACLAB = "isaaclab"
    MJLAB = "mjlab"
    JSON = "json"
    YAML = "yaml"
    C = "c"
    ROS2 = "ros2"


ActuatorsOption = Annotated[
    ActuatorsChoice | None,
    typer.Option(
        "--actuators",
        help="mjcf: position makes position actuators of motors, with the gains of the control law, and adds "
        "missing ones; general makes general actuators, which hold torque offsets, too; keep (default) changes "
        "gains of position actuators only.",
    ),
]
TargetOption = Annotated[
    ExportTarget,
    typer.Option(
        "--to",
        help="urdf or mjcf: your own robot file with identified values; isaaclab or mjlab: actuators in Python; "
        "json or yaml: all parameters; c: C99 for controllers; ros2: a package with a plugin around it.",
    ),
]
StepOption = Annotated[
    float | None,
    typer.Option("--step", help="isaaclab, mjlab: physics step [s] that delays are counted in (default: 0.005)."),
]
FunctionsOption = Annotated[
    str | None, typer.Option("--functions", help="c: names of functions, with commas (default: all that can be).")
]
ThresholdsOption = Annotated[
    Path | None,
    typer.Option(
        "--thresholds", help="c, ros2: contact thresholds for the header: thresholds.json or folder of dynid observe."
    ),
]
TermsOption = Annotated[
    str | None, typer.Option("--terms", help="c, ros2, of a robot file: its terms (default: those that it states).")
]

Written = tuple[dict[str, Any], Callable[[], None]]
"""What was written, for JSON, and what prints it."""


def export(
    result: Annotated[
        Path,
        typer.Argument(metavar="RESULT", help="Folder saved by dynid identify; for c and ros2 also a robot file."),
    ],
    to: TargetOption,
    out: Annotated[
        Path | None, typer.Option("--out", help="Output file, or folder of code (default: in the result folder).")
    ] = None,
    anyway: Annotated[
        bool,
        typer.Option("--anyway", help="Also write a result that should not be trusted; the file then says why."),
    ] = False,
    step: StepOption = None,
    actuators: ActuatorsOption = None,
    scalar: Annotated[
        str | None, typer.Option("--scalar", help="c: type of numbers, double (default) or float.")
    ] = None,
    functions: FunctionsOption = None,
    parameters: Annotated[
        str | None, typer.Option("--parameters", help="c, ros2: physical (default where there are such links) or base.")
    ] = None,
    terms: TermsOption = None,
    name: Annotated[
        str | None, typer.Option("--name", help="c, ros2: what names in the code begin with (default: the robot's).")
    ] = None,
    thresholds: ThresholdsOption = None,
    force: ForceOption = False,
    json_output: JsonOption = False,
) -> None:
    """Write the identified model as a robot file or as code.

    Robot files are yours with identified numbers: only inertial and friction parameters, and gains of position
    actuators, change. Settings are for Isaac Lab, mjlab or other programs, and code is for controllers. A result whose
    verdict is "no" is refused.
    """
    of_code = {"scalar": scalar, "functions": functions, "parameters": parameters, "terms": terms, "name": name}
    of_code |= {"thresholds": thresholds}
    of_files = {"step": step, "actuators": None if actuators is None else actuators.value}
    is_code = to in (ExportTarget.C, ExportTarget.ROS2)
    with errors_in_words(), steps_shown() as shown:
        _refuse_options(to, of_files if is_code else of_code)
        shown("Generating code" if is_code else "Writing the identified robot")
        write, options = (_write_code, of_code) if is_code else (_write_robot, of_files)
        record, show = write(result, to, out, options, anyway=anyway, force=force)
    if json_output:
        echo_json(record)
    else:
        show()


def _refuse_options(to: ExportTarget, others: Mapping[str, Any]) -> None:
    """Refuse options that are of other targets."""
    stated = next((name for name, value in others.items() if value is not None), None)
    if stated is not None:
        raise InvalidRequestError(f"--{stated} has no meaning for --to {to.value}; leave it out")


def _write_robot(
    result: Path, to: ExportTarget, out: Path | None, options: dict[str, Any], *, anyway: bool, force: bool
) -> Written:
    """Write a robot file, or a file for a simulator."""
    import dynid
    from dynid.identification.robot_output import default_path

    loaded = dynid.load_result(result)
    path = out or default_path(loaded, result, Format(to.value))
    done = loaded.export(path, to.value, overwrite=force, anyway=anyway, **options)
    verdict = loaded.verdict
    return {**done.to_dict(), "verdict": verdict.to_dict()}, lambda: show_export(done, verdict)


def _write_code(
    source: Path, to: ExportTarget, out: Path | None, options: dict[str, Any], *, anyway: bool, force: bool
) -> Written:
    """Write a folder of code."""
    from dynid.identification.generated_code import generate_code

    stated: Any = {key: value for key, value in options.items() if value is not None}
    if "functions" in stated:
        stated["functions"] = [name.strip() for name in stated["functions"].split(",")]
    code = generate_code(source, "c" if to is ExportTarget.C else "ros2", anyway=anyway, **stated)
    folder = out or (source if source.is_dir() else Path()) / f"{code.name}_{to.value}"
    code.write(folder, overwrite=force)
    return {**code.to_dict(), "folder": str(folder)}, lambda: show_code(code, folder)


def show_code(code: GeneratedCode, folder: Path) -> None:
    """Print what was generated, what was not, and how to build it."""
    from dynid.cli.console import plain_console, show_next

    output = plain_console()
    output.print(f"Wrote {folder}: {len(code.files)} files, {sum(map(len, code.files.values())) / 1e3:.0f} kB.")
    output.print(f"Functions: {', '.join(code.functions)}.")
    for item in code.left_out:
        output.print(f"Left out: {item}.")
    for warning in code.warnings:
        output.print(f"The files say: {warning}")
    source, made = quote(str(folder)), quote(str(folder / "build"))
    build = f"cmake -S {source} -B {made} && cmake --build {made} && ctest --test-dir {made}"
    show_next(
        output, build if code.target == "c" else f"colcon build --packages-up-to {code.name}_inverse_dynamics_solver"
    )


def show_export(done: Exported, verdict: Verdict) -> None:
    """Print which files hold the identified robot, and whether it can be trusted."""
    from dynid.cli.console import plain_console, show_next, show_verdict

    output = plain_console()
    output.print(f"Wrote {done.path} ({'your file with identified values' if done.edited else 'a new file'}).")
    if done.beside is not None:
        output.print(f"Wrote {done.beside}: parameters that the format cannot hold.")
    for item in done.left_out:
        output.print(f"Left out: {item}.")
    for item in done.kept:
        output.print(f"Kept from your file (the model has no such term): {item}.")
    if done.impossible:
        names = ", ".join(done.impossible)
        output.print(f"Still physically inconsistent, as in your file: {names}; see dynid repair.")
    show_verdict(output, verdict)
    if done.warning:
        output.print("The file says in a comment that it should not be trusted.")
    if done.format.is_robot:
        show_next(output, f"dynid inspect {done.path}")
