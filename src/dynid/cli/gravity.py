"""`dynid gravity`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynid.cli.app import FullOption, JsonOption, echo_json, errors_in_words, steps_shown, values, words
from dynid.cli.inspect import TermsOption

if TYPE_CHECKING:
    from dynid.estimation.static_estimate import StaticEstimate


def gravity(
    source: Annotated[
        str, typer.Argument(metavar="EXPERIMENT|ROBOT", help="Experiment file (.toml); or a robot, with logs after it.")
    ],
    logs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="LOG...", help="With a robot: logs of static postures or slow motion."),
    ] = None,
    terms: TermsOption = [],  # noqa: B006 (Typer copies it)
    known: Annotated[list[str], typer.Option(help="Parameters known beforehand: m1=3.7,mx2=0.")] = [],  # noqa: B006
    rows: Annotated[
        bool, typer.Option("--rows", help="Each row of a log is one posture, such as g(q) tables.")
    ] = False,
    slow: Annotated[
        bool, typer.Option("--slow", help="Slow motion in both directions: friction terms are estimated besides.")
    ] = False,
    full: FullOption = False,
    json_output: JsonOption = False,
) -> None:
    """Identify gravity parameters from postures or slow motion.

    These are masses and first moments. Finds where the robot stands still and takes mean torques there; friction
    cancels out where postures are approached from both sides.
    """
    with errors_in_words(), steps_shown() as step:
        import dynid
        from dynid.errors import InvalidRequestError

        stated: dict[str, Any] = {
            "terms": words(*terms),
            "known": values("--known", *known) or None,
            "slow": slow,
            "progress": step,
        }
        if rows and slow:
            raise InvalidRequestError("--rows are postures at rest, and --slow is of motion; give one of them")
        if logs:
            robot = dynid.load_robot(source)
            found = [dynid.read_log(path, robot, static="rows" if rows else False) for path in logs]
            estimate = dynid.identify_gravity(robot, found, **stated)
        else:
            if rows:
                raise InvalidRequestError("--rows goes with a robot and logs; write static = 'rows' in the experiment")
            estimate = dynid.identify_gravity(source, **stated)
    if json_output:
        echo_json(estimate.to_dict())
    else:
        show_gravity(estimate, full=full)


def show_gravity(estimate: StaticEstimate, *, full: bool = False) -> None:
    """Print gravity parameters."""
    from dynid.cli.console import plain_console, plain_table, show_findings, show_next
    from dynid.estimation.static_estimate import SLOW_MOTION

    output = plain_console()
    output.print(f"{len(estimate.base)} gravity parameters from {estimate.source}.")
    table = plain_table(("parameter",), ("value", "std", "unit", ""))
    for (expression, value, std, note), unit in zip(estimate.table(), estimate.units, strict=True):
        table.add_row(expression, value, std, unit, note)
    output.print(table)
    noise = ", ".join(f"{name} {value:.2g}" for name, value in estimate.noise.items())
    slow = bool(estimate.nuisance) or estimate.source == SLOW_MOTION
    output.print(f"Standard deviation of torques{'' if slow else ' at rest'} [N m or N]: {noise}.")
    if estimate.undetermined:
        shown = estimate.undetermined if full else estimate.undetermined[:8]
        more = "" if len(shown) == len(estimate.undetermined) else ", ..."
        output.print(
            f"{len(estimate.undetermined)} of {len(estimate.base.model.names)} standard parameters have no effect "
            f"{'in slow motion' if slow else 'at rest'}: {', '.join(shown)}{more}."
        )
    show_findings(output, estimate.findings)
    show_next(
        output,
        "identify the rest: dynid identify, with logs of faster motion"
        if slow
        else "identify the rest: add a log of motion, mark these static = true, and run dynid identify",
        "" if full or len(estimate.undetermined) <= 8 else "All parameters without effect: --full",
    )
