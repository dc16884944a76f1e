"""The `dynid` command: parse, call, print."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dynid.errors import DynidError, InvalidRequestError

app = typer.Typer(
    name="dynid",
    help="Dynamic parameters of robots: what can be known, how to excite it, what it is and how sure we are.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

RobotArgument = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        help="A URDF (.urdf), MJCF (.xml) or table (.toml) file, or builtin:NAME "
        "(pendulum, two_link, spatial_3r, ur5, tx40, panda, lwr4).",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of tables.")]


class Selection(StrEnum):
    """Which parameters name the groups."""

    NATURAL = "natural"
    PIVOTED = "pivoted"


class ExportFormat(StrEnum):
    """Formats of identified robots."""

    URDF = "urdf"
    MJCF = "mjcf"
    JSON = "json"


def _print_version(wanted: bool) -> None:
    if wanted:
        from dynid import __version__

        typer.echo(f"dynid {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    """Dynamic parameters of robots."""


@app.command()
def inspect(
    robot: RobotArgument,
    terms: Annotated[
        list[str],
        typer.Option(
            help="What the joints add, separated by commas: viscous, coulomb, asymmetric_coulomb, offset, armature, "
            "spring, coupling. For some joints only: viscous:1:2. A coupling of two: coupling:5:6."
        ),
    ] = [],  # noqa: B006 (Typer copies it)
    gravity_only: Annotated[
        bool, typer.Option("--gravity-only", help="What the robot at rest can tell: only gravity acts.")
    ] = False,
    floating: Annotated[bool, typer.Option("--floating", help="The base is free in space.")] = False,
    wrench: Annotated[
        bool,
        typer.Option("--wrench", help="Only the wrench on the base is measured, and the base stands still."),
    ] = False,
    moving: Annotated[bool, typer.Option("--moving", help="With --wrench: the base moves.")] = False,
    lock: Annotated[
        list[str],
        typer.Option(help="Joints to hold still, by name or number: elbow,4 or elbow=1.2 (rad or m)."),
    ] = [],  # noqa: B006
    known: Annotated[
        list[str],
        typer.Option(help="Parameters fixed before the reduction: m1=3.7,Ixy2=0, or I??1 for the file's values."),
    ] = [],  # noqa: B006
    order: Annotated[
        list[str], typer.Option(help="Parameters to keep first, where there is a choice: m2,my0,mx0.")
    ] = [],  # noqa: B006
    selection: Annotated[
        Selection,
        typer.Option(help="Which parameters name the groups: the first ones (readable), or those of QR with pivoting."),
    ] = Selection.NATURAL,
    gravity: Annotated[str, typer.Option(help="Gravity in the base frame: 0,0,9.81 for a robot on the ceiling.")] = "",
    tolerance: Annotated[
        float, typer.Option(help="Own part, relative to the largest column of its unit, above which a column is kept.")
    ] = 1e-10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random states.")] = 0,
    json_output: JsonOption = False,
) -> None:
    """Tell what can be identified, what cannot, and what is wrong with the file."""
    with _errors(), _steps() as step:
        step("Looking for what can be known")
        from dynid.inspection import inspect_robot

        inspection = inspect_robot(
            robot,
            terms=_words(*terms),
            observed=_observed(gravity_only, wrench, moving),
            floating_base=floating,
            lock={name: value or 0.0 for name, value in _assignments("--lock", *lock).items()},
            gravity=_numbers("--gravity", gravity) or None,
            known=_assignments("--known", *known),
            selection=selection.value,
            order=_words(*order),
            tolerance=tolerance,
            seed=seed,
        )
    if json_output:
        typer.echo(json.dumps(inspection.to_dict(), indent=2, allow_nan=False))
    else:
        from dynid.terminal import show_inspection

        show_inspection(inspection)


@app.command()
def excite(
    source: Annotated[
        str,
        typer.Argument(
            metavar="ROBOT", help="A robot, as for inspect, or an experiment (.toml), whose [excitation] says the rest."
        ),
    ],
    time_limit: Annotated[float, typer.Option("--time-limit", help="When to stop [s], with the best so far.")] = 20.0,
    criterion: Annotated[
        str, typer.Option(help="condition, determinant, trace or smallest, or a sum: condition + 0.5*trace.")
    ] = "",
    out: Annotated[Path | None, typer.Option("--out", help="Folder to write the trajectory to.")] = None,
    terms: Annotated[list[str], typer.Option(help="What a robot's joints add, as for inspect.")] = [],  # noqa: B006
    harmonics: Annotated[int | None, typer.Option(min=1, help="Number of harmonics.")] = None,
    period: Annotated[float | None, typer.Option(help="Time after which the motion repeats [s].")] = None,
    rate: Annotated[float | None, typer.Option(help="Samples a second of the experiment and of the files.")] = None,
    noise: Annotated[float | None, typer.Option(help="Standard deviation of the torques to be measured [N m].")] = None,
    known: Annotated[
        list[Path],
        typer.Option(
            help="What is known already: a saved result, or a file of factors. Moves for what it cannot tell."
        ),
    ] = [],  # noqa: B006
    segments: Annotated[
        int, typer.Option(min=1, help="Motions at most, each for what those before it cannot tell.")
    ] = 1,
    block_triangular: Annotated[
        bool, typer.Option("--block-triangular", help="One motion a joint: all move, then all but the first, ...")
    ] = False,
    starts: Annotated[
        int | None, typer.Option(min=1, help="Starts at most; the same ones give the same motion.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a trajectory that is there, and write one that breaks limits.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Design a motion that tells as much as possible, within the robot's limits."""
    with _errors():
        from dynid.excitation_output import check_free, excitation_data, save_excitation
        from dynid.excite import excite as run
        from dynid.excite import experiment_of, known_factors

        settings = {
            "criterion": criterion or None,
            "harmonics": harmonics,
            "period": period,
            "rate": rate,
            "noise": noise,
        }
        experiment = experiment_of(source, _words(*terms), settings)
        if out is not None:
            check_free(out, overwrite=force)
        factors = [part for path in known for part in known_factors(path, experiment)]
        with _steps() as step:
            step("Looking for what can be known")
            found = run(
                experiment,
                known=factors,
                time_limit=time_limit,
                starts=starts,
                segments=segments,
                block_triangular=block_triangular,
                seed=seed,
                progress=lambda best: step(best.in_words(experiment.excitation.criterion)),
            )
        if out is not None:
            save_excitation(found, out, force=force)
        data = excitation_data(found, out)
    if json_output:
        typer.echo(json.dumps(data, indent=2, allow_nan=False))
    else:
        from dynid.terminal import show_excitation

        show_excitation(data, source, out)


@app.command()
def convert(
    robot: RobotArgument,
    output: Annotated[Path, typer.Argument(metavar="URDF", help="The URDF file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Write a robot, such as a DH table, as a URDF file."""
    with _errors():
        from dynid.files import write_text
        from dynid.robot.loading import load_robot
        from dynid.robot.urdf_writer import left_out, urdf_text

        if output.suffix != ".urdf":
            raise InvalidRequestError(f"the output '{output}' must end in .urdf; other formats cannot be written yet")
        if output.exists() and Path(robot).exists() and output.samefile(robot):
            raise InvalidRequestError(
                f"'{output}' is the robot's own file, and shapes would be lost; name another output"
            )
        loaded = load_robot(robot)
        write_text(output, urdf_text(loaded), overwrite=force)
    missing = left_out(loaded)
    if json_output:
        typer.echo(json.dumps({"urdf": str(output), "left_out": missing}, indent=2))
    else:
        from dynid.terminal import show_conversion

        show_conversion(output, loaded, missing)


@app.command()
def repair(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="A URDF (.urdf) or MJCF (.xml) file.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The file to write; NAME_repaired beside the robot's when left out.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Make impossible inertias possible, changing as little as can be."""
    with _errors():
        from dynid.robot.repair import repair_file

        done = repair_file(robot, out, overwrite=force)
    if json_output:
        typer.echo(json.dumps(done.to_dict(), indent=2, allow_nan=False))
    else:
        from dynid.terminal import show_repair

        show_repair(done)


@app.command()
def init(
    robot: RobotArgument,
    log: Annotated[
        Path,
        typer.Argument(metavar="LOG", help="A log: CSV, text, Parquet, NPZ, MAT or a ROS bag."),
    ],
    out: Annotated[Path, typer.Option("--out", help="The experiment file to write.")] = Path("experiment.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Write a first experiment by looking at a robot and a log."""
    with _errors(), _steps() as step:
        step("Looking at the log")
        from dynid.files import write_text
        from dynid.initial_experiment import initial_experiment

        made = initial_experiment(robot, log, out.parent, step)
        write_text(out, made.text, overwrite=force)
    if json_output:
        data = {"experiment": str(out), "joints": made.joints, "locked": made.locked, "guesses": made.guesses}
        typer.echo(json.dumps(data, indent=2))
    else:
        from dynid.terminal import show_initial_experiment

        show_initial_experiment(out, made)


@app.command()
def simulate(
    source: Annotated[
        str,
        typer.Argument(
            metavar="ROBOT", help="A robot, as for inspect, or an experiment (.toml), whose [simulation] says the rest."
        ),
    ],
    trajectory: Annotated[
        Path | None,
        typer.Option(help="What to follow: a table with the columns t, q_JOINT and perhaps v_JOINT, a_JOINT."),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out", help="The log to write: .csv, .parquet or .npz; an experiment and the truth go beside it."
        ),
    ] = Path("simulated.csv"),
    terms: Annotated[
        list[str],
        typer.Option(help="What joints add, as for inspect; what the robot's file gives values for, if left out."),
    ] = [],  # noqa: B006
    parameter: Annotated[
        list[str], typer.Option("--set", help="True parameters that differ from the file's: fs1=3,fv*=0.5,m6=1.2.")
    ] = [],  # noqa: B006
    payload: Annotated[
        str, typer.Option(help="Mass [kg] on the last link, and its centre [m]: 2.5 or 2.5,0,0,0.1.")
    ] = "",
    smoothing: Annotated[
        float | None, typer.Option(help="Coulomb friction as tanh(v / SMOOTHING) [rad/s]; 0, as sign(v).")
    ] = None,
    controller: Annotated[str, typer.Option(help="pd, pd_gravity or computed_torque.")] = "",
    bandwidth: Annotated[float | None, typer.Option(help="Of the controller [Hz].")] = None,
    rate: Annotated[float | None, typer.Option(help="Of the controller [Hz]; 1000 if left out.")] = None,
    log_rate: Annotated[float | None, typer.Option(help="Of the log [Hz]; the controller's if left out.")] = None,
    periods: Annotated[int | None, typer.Option(min=1, help="How many times to follow the trajectory.")] = None,
    start: Annotated[
        str, typer.Option(help="Where the robot starts [rad or m]: 0,0.5; where the trajectory does, if left out.")
    ] = "",
    lead_in: Annotated[
        float | None, typer.Option(help="Seconds to come from rest to the trajectory's beginning; not logged.")
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Standard deviation of white noise on torques [N m, or A].")
    ] = None,
    encoder: Annotated[float | None, typer.Option(help="Step of the encoders [rad or m].")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of this log: of noise, jitter and dropped samples.")
    ] = None,
    specimen: Annotated[
        int | None, typer.Option(min=0, help="Seed of this robot: of the errors of its torque constants.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist, but for inputs.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Let a simulated robot follow a trajectory under a controller, and log it as a real one would be."""
    with _errors(), _steps() as step:
        step("Loading")
        from dynid.simulated_experiment import experiment_of, simulate_experiment
        from dynid.simulated_output import check_outputs, save_simulation, simulation_data

        numbers = _numbers("--payload", payload)
        if len(numbers) not in (0, 1, 4):
            raise InvalidRequestError(f"--payload takes MASS or MASS,X,Y,Z, not {len(numbers)} numbers")
        settings = {
            "trajectory": None if trajectory is None else str(trajectory),
            "parameters": _values("--set", *parameter),
            "payload": {"mass": numbers[0], "com": tuple(numbers[1:]) or (0.0, 0.0, 0.0)} if numbers else None,
            "smoothing": smoothing,
            "controller": controller or None,
            "bandwidth": bandwidth,
            "rate": rate,
            "log_rate": log_rate,
            "periods": periods,
            "start": tuple(_numbers("--start", start)) or None,
            "lead_in": lead_in,
            "seed": seed,
            "specimen": specimen,
            "sensors": {"noise": noise, "encoder": encoder},
        }
        experiment = experiment_of(source, _words(*terms), settings)
        check_outputs(out, source, experiment, overwrite=force)
        found = simulate_experiment(experiment, step)
        save_simulation(found, out, overwrite=force)
        data = simulation_data(found, out)
    if json_output:
        typer.echo(json.dumps(data, indent=2, allow_nan=False))
    else:
        from dynid.terminal import show_simulation

        show_simulation(data)


@app.command()
def identify(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT", help="The experiment file (.toml).")],
    out: Annotated[Path | None, typer.Option("--out", help="Folder to save the result as.")] = None,
    add_to: Annotated[
        Path | None, typer.Option("--add-to", help="A saved result whose logs count, too; they are not read again.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a result that is there.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Find base parameters with uncertainties from logs."""
    with _errors():
        from dynid.config import read_experiment
        from dynid.pipeline import identify as run
        from dynid.result import check_free, earlier_logs, load_result, save_result
        from dynid.result_data import identification_data

        settings = read_experiment(experiment)
        if out is not None:
            check_free(out, overwrite=force)
        with _steps() as step:
            earlier = () if add_to is None else earlier_logs(load_result(add_to), settings, experiment)
            found = run(settings, step, earlier)
        if out is not None:
            save_result(found, experiment, out, confidence=settings.estimation.confidence, overwrite=force)
        data = identification_data(found, settings.estimation.confidence)
    if json_output:
        typer.echo(json.dumps(data, indent=2, allow_nan=False))
    else:
        from dynid.terminal import show_identification

        show_identification(data, out, experiment)


@app.command()
def validate(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A folder that dynid identify saved.")],
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...", help="Experiment files, which stand for their logs, or logs like the result's."
        ),
    ],
    simulated: Annotated[
        bool,
        typer.Option(
            "--simulate",
            help="Also simulate the result in closed loop, as [simulation] of the experiments says: compare positions.",
        ),
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Predict torques that were not used, and compare."""
    with _errors():
        from dynid.result import load_result, validate_result

        with _steps() as step:
            step("Loading the result")
            loaded = load_result(result)
            step("Predicting")
            data = validate_result(loaded, logs)
            if simulated:
                step("Simulating")
                from dynid.simulated_validation import simulate_result

                data["simulation"] = simulate_result(loaded, logs)
                data["findings"] += data["simulation"].pop("findings")
    if json_output:
        typer.echo(json.dumps(data, indent=2, allow_nan=False))
    else:
        from dynid.terminal import show_validation

        show_validation(data)


@app.command()
def export(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A folder that dynid identify saved.")],
    to: Annotated[
        ExportFormat,
        typer.Option(
            "--to", help="urdf or mjcf: your own file with identified numbers, or a new one; json: all numbers."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The file to write; in the result's folder when left out.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Write the identified robot: your own file, in which only inertias and friction are other numbers."""
    with _errors(), _steps() as step:
        step("Writing the identified robot")
        from dynid.result import load_result
        from dynid.result_export import Format, default_path, export_result

        loaded = load_result(result)
        form = Format(to.value)
        exported = export_result(loaded, form, out or default_path(loaded, result, form), overwrite=force)
    if json_output:
        typer.echo(json.dumps(exported.to_dict(), indent=2))
    else:
        from dynid.terminal import show_export

        show_export(exported)


@app.command()
def report(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT [RESULT2]", help="A folder that dynid identify saved, or two to compare."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The HTML file to write; report.html in the result when left out.")
    ] = None,
    validate_on: Annotated[
        list[Path], typer.Option("--validate", help="A log that was not used, or an experiment file; may be repeated.")
    ] = [],  # noqa: B006
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Write a report that opens in any browser: can the model be trusted, for what, what to improve; or compare two."""
    with _errors(), _steps() as step:
        step("Loading")
        from dynid.report import write_report

        if len(results) > 2:
            raise InvalidRequestError(f"a report is on one result, or compares two, not {len(results)}")
        name = "report.html" if len(results) == 1 else "comparison.html"
        path = results[0] / name if out is None else out
        done = write_report(results, path, validate=validate_on, overwrite=force, progress=step)
    if json_output:
        typer.echo(json.dumps(done.to_dict(), indent=2, allow_nan=False))
    else:
        from dynid.terminal import show_report

        show_report(done)


@app.command()
def view(
    motion: Annotated[
        Path, typer.Argument(metavar="TRAJECTORY", help="A trajectory or a log with columns t, q_*, v_*, a_*, tau_*.")
    ],
    robot: Annotated[str, typer.Option("--robot", help="The robot: a file, or builtin:NAME.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the page on this machine.")] = 8080,
) -> None:
    """Show the robot moving along a trajectory or a log, in the browser (pip install 'dynid[view]')."""
    with _errors():
        from dynid.robot.loading import load_robot
        from dynid.view.motion import read_motion
        from dynid.view.server import serve

        loaded = load_robot(robot)
        moves = read_motion(motion, loaded)
        try:
            serve(loaded, moves, port, lambda address: typer.echo(f"Open {address} in a browser; Ctrl-C ends."))
        except KeyboardInterrupt:
            typer.echo("Ended.")


@app.command()
def demo(
    robot: Annotated[str, typer.Option("--robot", help="The robot, as for inspect.")] = "builtin:ur5",
    out: Annotated[Path, typer.Option("--out", help="Folder for everything that is written.")] = Path("dynid_demo"),
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier demo.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Do the whole day on a simulated robot: inspect, excite, measure, identify, prove, write files and a report."""
    with _errors():
        from dynid.demo import run_demo
        from dynid.terminal import show_demo, show_step

        with _steps() as step:
            data = run_demo(
                robot, out, overwrite=force, begin=step, done=(lambda _: None) if json_output else show_step
            )
    if json_output:
        typer.echo(json.dumps(data, indent=2, allow_nan=False))
    else:
        show_demo(data)


def _observed(gravity_only: bool, wrench: bool, moving: bool) -> Any:
    from dynid.model.dynamic_model import Observed

    if moving and not wrench:
        raise InvalidRequestError(
            "--moving goes with --wrench: it says that the base moves while its wrench is measured"
        )
    if wrench and gravity_only:
        raise InvalidRequestError("--wrench and --gravity-only exclude each other; choose one")
    if wrench:
        return Observed.WRENCH_MOVING if moving else Observed.WRENCH_STATIONARY
    return Observed.GRAVITY if gravity_only else Observed.TORQUES


def _words(*texts: str) -> list[str]:
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def _assignments(option: str, *texts: str) -> dict[str, float | None]:
    """NAME or NAME=VALUE, separated by commas."""
    values: dict[str, float | None] = {}
    for word in _words(*texts):
        name, equals, text = word.partition("=")
        value = _number(option, text) if equals else None
        if values.get(name.strip(), value) != value:
            raise InvalidRequestError(f"{option}: '{name.strip()}' has two values; give one")
        values[name.strip()] = value
    return values


def _values(option: str, *texts: str) -> dict[str, float]:
    """NAME=VALUE, separated by commas."""
    found = _assignments(option, *texts)
    bare = next((name for name, value in found.items() if value is None), None)
    if bare is not None:
        raise InvalidRequestError(f"{option}: '{bare}' has no value; write {bare}=VALUE")
    return {name: value for name, value in found.items() if value is not None}


def _numbers(option: str, text: str) -> list[float]:
    return [_number(option, word) for word in _words(text)]


def _number(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) <= 1e30:
        raise InvalidRequestError(f"{option}: '{text.strip()}' is no number; expected one such as 1.57")
    return value


@contextmanager
def _steps() -> Iterator[Callable[[str], None]]:
    """Something to tell steps to, which shows them on standard error while a person watches."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("Working ...") as status:
        yield lambda what: status.update(f"{what} ...")


@contextmanager
def _errors() -> Iterator[None]:
    """Turn errors that users can mend into one sentence and exit status 2."""
    try:
        yield
    except DynidError as error:
        typer.echo(f"dynid: {error}", err=True)
        raise typer.Exit(2) from error


def main() -> None:
    """Run the command."""
    app(prog_name="dynid")


if __name__ == "__main__":
    sys.exit(main())
