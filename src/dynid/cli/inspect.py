"""`dynid inspect`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dynid.cli.app import JsonOption, RobotArgument, echo_json, errors_in_words, steps_shown
from dynid.cli.values import assignments, numbers, words


class Selection(StrEnum):
    """Which parameters name the groups."""

    NATURAL = "natural"
    PIVOTED = "pivoted"


def inspect(
    robot: RobotArgument,
    terms: Annotated[
        list[str],
        typer.Option(
            help="What the joints add, separated by commas: viscous, coulomb, asymmetric_coulomb, stribeck, sigmoid, "
            "load_coulomb, viscous_temperature, offset, armature, spring, coupling. For some joints only: viscous:1:2. "
            "A coupling of two: coupling:5:6."
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
    """Tell what can be known of a robot, and what its file gets wrong."""
    with errors_in_words(), steps_shown() as step:
        step("Looking for what can be known")
        from dynid.model.inspection import inspect as inspect_robot

        inspection = inspect_robot(
            robot,
            words(*terms),
            gravity_only=gravity_only,
            wrench=wrench,
            moving=moving,
            floating_base=floating,
            lock={name: value or 0.0 for name, value in assignments("--lock", *lock).items()},
            gravity=numbers("--gravity", gravity) or None,
            known=assignments("--known", *known),
            selection=selection.value,
            order=words(*order),
            tolerance=tolerance,
            seed=seed,
        )
    if json_output:
        echo_json(inspection.to_dict())
    else:
        from dynid.cli.terminal.inspection import show_inspection

        show_inspection(inspection)
