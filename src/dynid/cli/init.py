"""`dynid init`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynid.cli.app import (
    ExactFramesOption,
    JsonOption,
    RobotArgument,
    assignments,
    echo_json,
    errors_in_words,
    steps_shown,
    words,
)

if TYPE_CHECKING:
    from rich.console import Console

    from dynid.experiment.first.first_experiment import FirstExperiment


VelocityOption = Annotated[str | None, typer.Option(metavar="COLUMNS", help="Columns of velocities, likewise.")]
TorqueOption = Annotated[
    str | None, typer.Option(metavar="COLUMNS", help="Columns of torques, forces or currents, likewise.")
]
CommandOption = Annotated[
    str | None,
    typer.Option(metavar="COLUMNS", help="Columns of commanded positions, where no torque was measured."),
]
OtherCommandOption = Annotated[str | None, typer.Option(metavar="COLUMNS", help="Columns of a command, likewise.")]
GainOption = Annotated[
    str | None, typer.Option(metavar="GAIN", help="Gain of the controller: one number, or columns; SI units.")
]
TimeOption = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of time stamps.")]
LogArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="LOG...",
        help="Logs (CSV, text, Parquet, NPZ, JSON, MAT, PyTorch, ROS bags, C3D, TRC); or several files of one log, one "
        "per quantity, such as markers and forces; patterns, folders and URLs stand for their files.",
    ),
]
PositionOption = Annotated[
    str | None,
    typer.Option(metavar="COLUMNS", help="Columns of positions: a pattern 'q_*', names, or a range q1..q6 or 1..6."),
]
NamesOption = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Names of columns of files without: t,q1..q6,tau1..tau6; _ skips one."),
]
UnitOption = Annotated[list[str] | None, typer.Option(metavar="QUANTITY=UNIT", help="Units: torque=mA,position=deg.")]
UpOption = Annotated[
    str | None, typer.Option("--up", metavar="AXIS", help="Of captures: the axis that points upward, such as y or -z.")
]
SubjectOption = Annotated[
    str | None, typer.Option("--subject", metavar="NAME", help="Of captures with several persons: whose markers.")
]
LockOption = Annotated[
    list[str] | None,
    typer.Option(metavar="JOINT[=AT]", help="Joints to lock [rad or m]: finger_joint=0.02, 'right_*'."),
]


def init(
    robot: RobotArgument,
    log: LogArgument,
    out: Annotated[Path, typer.Option("--out", help="Experiment file to write.")] = Path("experiment.toml"),
    position: PositionOption = None,
    velocity: VelocityOption = None,
    torque: TorqueOption = None,
    time: TimeOption = None,
    position_command: CommandOption = None,
    velocity_command: OtherCommandOption = None,
    torque_command: OtherCommandOption = None,
    kp: GainOption = None,
    kd: GainOption = None,
    columns: NamesOption = None,
    unit: UnitOption = None,
    lock: LockOption = None,
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="HZ", help="Sampling rate, where the log has no time stamps.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    up: UpOption = None,
    subject: SubjectOption = None,
    exact_frames: ExactFramesOption = False,
    json_output: JsonOption = False,
) -> None:
    """Write a first experiment file from a robot and its logs."""
    with errors_in_words(), steps_shown() as step:
        step("Reading the log")
        import dynid

        made = dynid.init(
            robot,
            *log,
            position=position,
            velocity=velocity,
            torque=torque,
            time=time,
            position_command=position_command,
            velocity_command=velocity_command,
            torque_command=torque_command,
            kp=_gain(kp),
            kd=_gain(kd),
            columns=columns,
            unit=_units(unit or []),
            lock=assignments("--lock", *(lock or [])),
            rate=rate,
            folder=out.parent,
            exact_frames=exact_frames,
            up=up,
            subject=subject,
            progress=step,
        )
        made.save(out, overwrite=force)
    if json_output:
        echo_json(_as_json(out, made))
    else:
        show_first_experiment(out, made)


def _as_json(path: Path, made: FirstExperiment) -> dict[str, Any]:
    asked = [
        {"code": one.code, "key": one.key, "candidates": one.candidates, "guess": one.guess, "option": one.option}
        | {"line": made.line_of(one), "text": one.text}
        for one in made.questions
    ]
    data = {"experiment": str(path), "joints": made.joints, "locked": made.locked, "guesses": made.guesses}
    findings = [finding.to_dict() for finding in made.findings]
    return {**data, "needed": made.needed, "questions": asked, "findings": findings}


def _gain(text: str | None) -> str | float | None:
    """A gain: a number, or columns."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _units(texts: list[str]) -> dict[str, str]:
    from dynid.errors import InvalidRequestError

    found: dict[str, str] = {}
    for word in words(*texts):
        role, equals, stated = word.partition("=")
        if not equals or not stated.strip():
            raise InvalidRequestError(f"--unit: '{word}' is no unit of a quantity; write it as torque=mA")
        found[role.strip()] = stated.strip()
    return found


def show_first_experiment(path: Path, made: FirstExperiment) -> None:
    """Print what a first experiment assumes, what it needs, and what is open."""
    from dynid.cli.console import plain_console, show_next

    output = plain_console()
    logs = f" and {made.count} logs" if made.count > 1 else ""
    output.print(f"Wrote {path} for {len(made.joints)} joints{logs}: {', '.join(made.joints)}.")
    for guess in made.guesses:
        output.print(f"- {guess}")
    for what in made.needed:
        output.print(f"- NEEDED: {what}")
    _show_questions(output, made)
    if made.series is not None:
        part = "name a part of them by a pattern in file = ..., and run dynid validate result with the others"
        output.print(f"\nTo validate on logs that were not used: {part}")
    elif made.count > 1:
        files, line = made.held_out
        alone = f"remove the last [[log]] (line {line}), and after identify run dynid validate result {files[0]}"
        several = f"move the last [[log]] (line {line}) to held_out.toml, and run dynid validate result held_out.toml"
        output.print(f"\nTo validate on a log that was not used: {alone if len(files) == 1 else several}")
    show_next(output, _next(path, made))


def _show_questions(output: Console, made: FirstExperiment) -> None:
    from dynid.cli.console import plain_table

    if not made.questions:
        return
    output.print("\nOpen questions:")
    table = plain_table(["line", "question", "taken", "or state"])
    for question in made.questions:
        taken = "nothing yet" if question.guess is None else question.guess
        table.add_row(str(made.line_of(question)), question.text, taken, question.option)
    output.print(table)


def _next(path: Path, made: FirstExperiment) -> str:
    """What to do next: answer the first question that is open, fill in what is needed, or go on."""
    run = f"dynid identify {path}"
    unanswered = [question for question in made.questions if question.is_open]
    if unanswered:
        first = unanswered[0]
        return f"edit line {made.line_of(first)} of {path}, or repeat with {first.option} --force; then {run}"
    if made.needed:
        return f"fill in what is needed, then {run}"
    if made.questions:
        first = made.questions[0]
        return f"check line {made.line_of(first)} of {path} (or repeat with {first.option} --force), then {run}"
    return f"{run} --out result"
