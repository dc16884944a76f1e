"""The commands for loads: `dynid payload` identifies one, `dynid load` adds a known one or takes it off."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, numbers, steps_shown
from dynid.errors import InvalidRequestError

if TYPE_CHECKING:
    from rich.console import Console

    from dynid.identification.identified_load import Payload
    from dynid.robot import Load

CenterOption = Annotated[
    str, typer.Option("--center-of-mass", metavar="X,Y,Z", help="Its centre of mass in the frame of the body [m].")
]
InertiaOption = Annotated[
    str,
    typer.Option(
        "--inertia",
        metavar="IXX,IXY,IYY,IXZ,IYZ,IZZ",
        help="Its inertia about the centre of mass, along the axes of the body [kg m^2] (default: a point mass).",
    ),
]
BodyOption = Annotated[
    str, typer.Option("--body", help="Body of the robot file that carries it (default: the last link).")
]


def payload(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Result of the robot without the load, or an experiment (.toml) with [[load]].",
        ),
    ],
    logs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LOG]...", help="With a result: logs that carry the load, or an experiment (.toml)."),
    ] = None,
    name: Annotated[str, typer.Option("--load", help="Load to identify, where logs carry several.")] = "",
    body: BodyOption = "",
    known: Annotated[
        str, typer.Option("--known", metavar="MASS", help="Known mass [kg] to compare with; see also the next two.")
    ] = "",
    center: CenterOption = "",
    inertia: InertiaOption = "",
    gain_std: Annotated[
        float | None,
        typer.Option("--gain-std", help="Relative standard deviation of torque constants (0.05), for the intervals."),
    ] = None,
    torques: Annotated[
        bool, typer.Option("--torques", help="Use joint torques where logs have a force-torque sensor, too.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Identify a load: mass, centre of mass and inertia.

    From logs with the load, beside a saved result or logs without it, or from a force-torque sensor at the wrist.
    """
    with errors_in_words(), steps_shown() as step:
        step("Loading")
        import dynid

        if (center or inertia) and not known:
            raise InvalidRequestError("--center-of-mass and --inertia are compared with a known load; add --known MASS")
        stated = _load(known, center, inertia, body, "--known") if known else None
        if stated is not None and not center:
            stated = stated.mass
        found = dynid.identify_payload(
            source,
            logs or None,
            load=name or None,
            body=body or None,
            known=stated,
            sensor=False if torques else None,
            gain_std=gain_std,
            progress=step,
        )
    if json_output:
        echo_json(found.to_dict())
    else:
        show_payload(found, source)


def load(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="Robot (URDF, MJCF, DH table, builtin:NAME) or RESULT.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Output: a robot file (.urdf, .xml), or a folder for a result.")],
    mass: Annotated[str, typer.Option("--mass", help="Mass of the load [kg].")],
    center: CenterOption = "",
    inertia: InertiaOption = "",
    body: BodyOption = "",
    remove: Annotated[bool, typer.Option("--remove", help="Take the load off instead of adding it.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Add a known load to a robot file or a result, or take it off."""
    with errors_in_words():
        import dynid
        from dynid.cli.console import plain_console, show_next

        known = _load(mass, center, inertia, body, "--mass")
        done = dynid.change_load(source, known, out, remove=remove, overwrite=force)
    if json_output:
        echo_json(done.to_dict())
        return
    output, what = plain_console(), "without" if remove else "with"
    masses = "" if done.before is None or done.after is None else f": {done.before:.4g} -> {done.after:.4g} kg"
    output.print(
        f"Wrote {done.path} {what} a load of {known.mass:.4g} kg on '{done.body}' (link '{done.link}'{masses})."
    )
    is_result = done.path.is_dir()
    show_next(output, f"dynid validate {done.path} LOG" if is_result else f"dynid inspect {done.path}")


def _load(mass: str, center: str, inertia: str, body: str, option: str) -> Load:
    """The load of options."""
    from dynid.robot import Load

    masses, place, six = numbers(option, mass), numbers("--center-of-mass", center), numbers("--inertia", inertia)
    if len(masses) != 1 or not 0.0 < masses[0] <= 1e6:
        raise InvalidRequestError(f"{option}: '{mass}' is no mass; give one positive number in kg, such as 2.5")
    if len(place) not in (0, 3):
        raise InvalidRequestError(f"--center-of-mass takes X,Y,Z, not {len(place)} numbers")
    if len(six) not in (0, 6):
        raise InvalidRequestError(f"--inertia takes IXX,IXY,IYY,IXZ,IYZ,IZZ, not {len(six)} numbers")
    return Load.of_numbers(masses[0], place or (0.0, 0.0, 0.0), six or None, body or None)


def show_payload(found: Payload, source: str) -> None:
    """Print a load with its uncertainty, and what to do with it."""
    from dynid.cli.console import plain_console, plain_table, show_findings, show_next
    from dynid.findings import Severity
    from dynid.identification.identified_load import ROBOT_WORDS

    output = plain_console()
    name = f" '{found.name}'" if found.name else ""
    output.print(
        f"Load{name} on '{found.body}', from {found.samples} samples; the robot from {ROBOT_WORDS[found.robot]}."
    )
    moved = found.estimate.is_moved
    table = plain_table(
        ("number", "unit"), ("value", "std", f"{found.confidence:.0%} interval", *(["by data"] * moved))
    )
    for row in found.rows():
        interval = "open" if row["lower"] is None else f"{row['lower']:.5g} to {row['upper']:.5g}"
        std = "open" if row["std"] is None else f"{row['std']:.2g}"
        more = (f"{row['by_data']:.5g}",) if moved else ()
        table.add_row(row["name"], row["unit"], f"{row['value']:.5g}", std, interval, *more)
    output.print(table)
    output.print("x, y, z: centre of mass; Ixx to Izz: inertia about it, along the axes of the body.")
    _show_known(output, found)
    show_findings(output, [each for each in found.findings if each.severity is not Severity.NOTE])
    for each in found.findings:
        if each.severity is Severity.NOTE and each.code.startswith("payload-"):
            output.print(f"Note: {each.text}.")
    show_next(output, _next(found, source))


def _next(found: Payload, source: str) -> str:
    """What to do with a load: add it to the robot, unless it is doubtful."""
    codes = {finding.code for finding in found.findings}
    if codes & {"payload-negative", "payload-not-seen"}:
        return "check which logs carry the load, and signs and units of torques"
    if "payload-other-link" in codes:
        return "check what carries the load, and run again with --body"
    if "payload-not-as-stated" in codes:
        return "check what was stated of the load, its body, and torque constants (--gain-std)"
    if "payload-undetermined" in codes:
        return "record a motion that suffices: dynid excite ROBOT --payload; or state what is known of the load"
    center = ",".join(f"{x:.5g}" for x in found.center_of_mass)
    six = ",".join(f"{x:.5g}" for x in found.estimate.numbers[4:])
    where = "ROBOT" if source.endswith(".toml") else source
    numbers_ = f"--mass {found.mass:.5g} --center-of-mass={center} --inertia={six} --body {found.body}"
    return f"add it to the robot: dynid load {where} {numbers_} --out FILE"


def _show_known(output: Console, found: Payload) -> None:
    """Print a load beside what it is known to be."""
    from dynid.cli.console import plain_table

    known = found.known
    if known is None:
        return
    verdict = "the difference is the load" if known.agrees else "the difference is NOT the load"
    output.print(
        f"Validation by a known load: {verdict} (mass {known.mass_error:+.2%}, "
        f"distance {known.distance:.1f}, limit {known.limit:.1f})."
    )
    table = plain_table(("number",), ("stated", "identified", "std", "z"))
    for name, stated, value, std, z in zip(
        known.names, known.stated, known.found, known.stds, known.scores, strict=True
    ):
        table.add_row(name, f"{stated:.5g}", f"{value:.5g}", f"{std:.2g}", f"{z:+.2f}")
    output.print(table)
