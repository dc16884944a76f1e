"""`dynid inspect`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dynid.cli.app import (
    ExactFramesOption,
    FullOption,
    JsonOption,
    RobotArgument,
    assignments,
    echo_json,
    errors_in_words,
    numbers,
    steps_shown,
    values,
    words,
)

if TYPE_CHECKING:
    from rich.table import Table

    from dynid.model.inspection import Inspection
    from dynid.robot import Robot


class Selection(StrEnum):
    """Which parameters name the groups."""

    NATURAL = "natural"
    PIVOTED = "pivoted"


TermsOption = Annotated[
    list[str],
    typer.Option(
        help="Friction and actuator terms, comma-separated: viscous, coulomb, asymmetric_coulomb, stribeck, "
        "sigmoid, load_coulomb, viscous_temperature, offset, armature, spring, coupling, motor_*, link_spring. "
        "For some joints only: viscous:1:2. Coupling of two joints: coupling:5:6. auto: the usual ones."
    ),
]
KnownOption = Annotated[
    list[str], typer.Option(help="Parameters known beforehand: m1=3.7,Ixy2=0; I??1 for the values of the file.")
]

LockOption = Annotated[
    list[str], typer.Option(help="Joints to lock, by name or number: elbow,4 or elbow=1.2 [rad or m].")
]
GravityOnlyOption = Annotated[bool, typer.Option("--gravity-only", help="Measurements at rest: only gravity acts.")]
WrenchOption = Annotated[
    bool,
    typer.Option("--wrench", help="The wrench of the ground on the robot is measured, and no joint torques."),
]
MovingOption = Annotated[
    bool, typer.Option("--moving", help="With --wrench or --measured: the base moves. Otherwise it stands still.")
]
StandsOnOption = Annotated[
    list[str],
    typer.Option(help="Bodies that stand still instead of the base: left_sole_link or left_sole_link,right_sole_link."),
]
PostureOption = Annotated[
    list[str], typer.Option(help="Where these bodies stand, as positions of joints [rad or m]: hip=0.4,knee=-0.8.")
]
CentreOfPressureOption = Annotated[
    bool, typer.Option("--centre-of-pressure", help="Only the centre of pressure is measured, at rest.")
]
TotalMassOption = Annotated[
    bool, typer.Option("--total-mass-known", help="With --centre-of-pressure: the total mass is known.")
]
MountingOption = Annotated[
    str,
    typer.Option(
        help="Only the direction of gravity is measured (IMU), at rest on a free pivot: at the origin of a body, BODY, "
        "or at a point in its frame [m], BODY:0,0,0.1."
    ),
]
MeasuredOption = Annotated[
    list[str],
    typer.Option(help="All that is measured: wrench, torques, centre_of_pressure, names of joints; comma-separated."),
]


def inspect(
    robot: RobotArgument,
    terms: TermsOption = [],  # noqa: B006 (Typer copies it)
    gravity_only: GravityOnlyOption = False,
    floating: Annotated[bool, typer.Option("--floating", help="Floating base.")] = False,
    wrench: WrenchOption = False,
    moving: MovingOption = False,
    stands_on: StandsOnOption = [],  # noqa: B006
    posture: PostureOption = [],  # noqa: B006
    centre_of_pressure: CentreOfPressureOption = False,
    total_mass_known: TotalMassOption = False,
    mounting: MountingOption = "",
    measured: MeasuredOption = [],  # noqa: B006
    lock: LockOption = [],  # noqa: B006
    known: KnownOption = [],  # noqa: B006
    order: Annotated[
        list[str], typer.Option(help="Parameters to prefer as names of base parameters: m2,my0,mx0.")
    ] = [],  # noqa: B006
    selection: Annotated[
        Selection, typer.Option(help="Choice of base parameters: in natural order, or by QR with column pivoting.")
    ] = Selection.NATURAL,
    gravity: Annotated[str, typer.Option(help="Gravity in the base frame: 0,0,9.81 if mounted on the ceiling.")] = "",
    tolerance: Annotated[
        float, typer.Option(help="Rank tolerance, relative to the largest column of the same unit.")
    ] = 1e-10,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    exact_frames: ExactFramesOption = False,
    full: FullOption = False,
    json_output: JsonOption = False,
) -> None:
    """Show identifiable parameters and check the robot file.

    --full prints base parameters with their expressions and the values of the file.
    """
    with errors_in_words(), steps_shown() as step:
        step("Finding base parameters")
        import dynid

        inspection = dynid.inspect(
            robot,
            words(*terms),
            gravity_only=gravity_only,
            wrench=wrench,
            moving=moving,
            measured=words(*measured),
            stands_on=words(*stands_on),
            posture=values("--posture", *posture),
            centre_of_pressure=centre_of_pressure,
            mounting=_pivot(mounting),
            has_total_mass=total_mass_known,
            floating_base=floating,
            lock={name: value or 0.0 for name, value in assignments("--lock", *lock).items()},
            gravity=numbers("--gravity", gravity) or None,
            exact_frames=exact_frames,
            known=assignments("--known", *known),
            selection=selection.value,
            order=words(*order),
            tolerance=tolerance,
            seed=seed,
        )
    if json_output:
        echo_json(inspection.to_dict())
    else:
        show_inspection(inspection, full=full)


def _pivot(text: str) -> str | tuple[str, list[float]] | None:
    """BODY or BODY:X,Y,Z."""
    body, colon, point = text.rpartition(":")
    return (body, numbers("--mounting", point)) if colon else (text or None)


def show_inspection(inspection: Inspection, *, full: bool = False) -> None:
    """Print which parameters of a robot are identifiable, joint by joint, or as base parameters with expressions."""
    from rich.text import Text

    from dynid.cli.console import plain_console, show_findings, show_next

    output = plain_console()
    base, model, robot = inspection.base_parameters, inspection.model, inspection.robot
    output.print(
        Text(f"{robot.name}: {len(robot.joints)} moving joints, {len(model.names)} standard parameters, ")
        + Text(f"{len(base)} base parameters", style="bold")
        + Text(f" ({model.observed.text}).")
    )
    output.print(_base_parameters(inspection) if full else _by_joint(inspection))
    if full:
        for line in inspection.remarks():
            output.print(line)
    elif base.known:
        output.print(f"Known beforehand: {', '.join(f'{name} = {value:g}' for name, value in base.known.items())}.")
    if full or any(joint.leader is not None for joint in robot.joints):
        output.print(numbered_joints(robot))
    if not len(base):
        output.print("No parameter is identifiable from these measurements.")
    show_findings(output, inspection.findings)
    more = "" if full else "Base parameters with expressions: --full"
    show_next(output, _next_step(inspection), more)


def _base_parameters(inspection: Inspection) -> Table:
    """Base parameters with their expressions and the file's values."""
    from dynid.cli.console import plain_table

    table = plain_table(("#", "base parameter"), ("robot file",), ("unit", "link or joint"))
    table.columns[0].justify = "right"
    for row in inspection.rows():
        table.add_row(*row)
    return table


LONGEST_NAME = 30
"""Characters of a joint's or link's name that is not folded."""


def _by_joint(inspection: Inspection) -> Table:
    """What is identifiable at each joint, and of the link that it moves."""
    from dynid.cli.console import plain_table

    table = plain_table(("joint\nlink that it moves", "identifiable alone", "in combination", "unidentifiable"))
    moved = {parameter.joint: parameter.link for parameter in inspection.model.parameters if parameter.link}
    for joint, *parts in inspection.by_joint():
        link = f"\n{moved[joint]}" if moved.get(joint, joint) != joint else ""
        table.add_row(f"{joint}{link}", *(" ".join(names) or "-" for names in parts))
    longest = max(len(name) for pair in moved.items() for name in pair if name)
    table.columns[0].no_wrap = longest <= LONGEST_NAME
    return table


def numbered_joints(robot: Robot) -> str:
    """Which joint each number in parameter names is: all moving joints count, also those that follow another.

    >>> from dynid import load_robot
    >>> numbered_joints(load_robot("builtin:two_link"))
    'Numbers: 1 joint_1, 2 joint_2.'
    """
    joints = [
        f"{joint.number} {joint.name}"
        + ("" if joint.leader is None else f" (follows {robot.joints[joint.leader].number})")
        for joint in robot.joints
    ]
    return f"Numbers: {', '.join(joints)}."


def _next_step(inspection: Inspection) -> str:
    from dynid.model.observed import BASE

    if any(finding.severity.value == "error" for finding in inspection.findings):
        return "correct the errors above in the robot file, then inspect it again"
    source = inspection.robot.description.source
    observed = inspection.model.observed
    if observed.is_homogeneous or observed.is_wrench:
        stance = "" if observed.stands_on in ((), (BASE,)) else f" --stands-on {','.join(observed.stands_on)}"
        return f"see what joint torques would add: dynid inspect {source} --measured wrench,torques{stance}"
    if not inspection.model.terms:
        return f"add friction and actuator terms: dynid inspect {source} --terms viscous,coulomb,armature"
    return f"design an exciting trajectory: dynid excite {source}"
