"""`dynid excite`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynid.cli.app import (
    ExactFramesOption,
    FullOption,
    JsonOption,
    assignments,
    echo_json,
    errors_in_words,
    per_joint,
    ranges_per_joint,
    steps_shown,
    words,
)
from dynid.cli.servo_option import ReplayUnitOption, ServoOption, stated_servo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console
    from rich.text import Text

    from dynid.experiment import Experiment

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT", help="Robot, as for inspect, or experiment file (.toml) with an [excitation] table."
    ),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        "--time-limit", help="Stop after this time [s], with the best so far. Default: 20; with --stands-on 300."
    ),
]
CriterionOption = Annotated[
    str, typer.Option(help="Criterion: condition, determinant, trace, smallest, or a sum: condition + 0.5*trace.")
]
FormatOption = Annotated[
    list[str],
    typer.Option(
        "--format", help="Formats to write: csv, json, ros, urscript, lerobot, lerobot2, actions. Default: csv,json."
    ),
]
FamilyOption = Annotated[
    str,
    typer.Option(
        "--family",
        metavar="NAME",
        help="Trajectories: fourier, spline, b-spline, polynomial, trapezoid, double-s, multisine, chirp.",
    ),
]
WaypointsOption = Annotated[
    int | None, typer.Option(min=2, help="Number of waypoints, or control points, of splines and profiles.")
]
TermsOption = Annotated[list[str], typer.Option(help="Friction and actuator terms of a robot, as for inspect.")]
RateOption = Annotated[float | None, typer.Option(help="Sampling rate of the experiment and of the files [Hz].")]
NoiseOption = Annotated[
    list[str],
    typer.Option(
        metavar="VALUE", help="Standard deviation of measured torques [N m or N]. Default: 1 % of each joint's range."
    ),
]
PositionOption = Annotated[
    list[str],
    typer.Option(metavar="RANGE", help="Range of positions LOWER:UPPER [rad or m]: -1.5:1.5, or elbow=0:2."),
]
VelocityOption = Annotated[
    list[str],
    typer.Option(metavar="VALUE", help="Largest speed [rad/s or m/s]: 1.5 for all joints, or elbow=1,wrist=2."),
]
AccelerationOption = Annotated[
    list[str], typer.Option(metavar="VALUE", help="Largest acceleration [rad/s^2 or m/s^2]; as --velocity.")
]
EffortOption = Annotated[list[str], typer.Option(metavar="VALUE", help="Largest torque [N m or N]; as --velocity.")]
StartOption = Annotated[
    list[str],
    typer.Option(metavar="POSTURE", help="Posture at start and end [rad or m]: one number per joint, or elbow=1.2."),
]
LockOption = Annotated[
    list[str],
    typer.Option(
        metavar="JOINT", help="Joints to hold still: elbow,4 (at 0, or the nearest limit) or elbow=1.2 [rad or m]."
    ),
]
MoveOption = Annotated[
    list[str], typer.Option(metavar="JOINT", help="Joints of a gripper to move; grippers are held still otherwise.")
]
KnownOption = Annotated[
    list[Path],
    typer.Option(help="Result folder or file of factors; design for the parameters that it leaves uncertain."),
]
SegmentsOption = Annotated[
    int, typer.Option(min=1, help="Maximum number of trajectories, each for what the others leave uncertain.")
]
BlockTriangularOption = Annotated[
    bool, typer.Option("--block-triangular", help="One trajectory per joint: all move, then all but the first, ...")
]
StartsOption = Annotated[
    int | None, typer.Option(min=1, help="Maximum number of starts; makes the result reproducible.")
]
PosturesOption = Annotated[
    int | None,
    typer.Option("--postures", min=2, metavar="N", help="Static postures instead, for gravity parameters: how many."),
]
HoldOption = Annotated[
    float | None, typer.Option(help="How long the robot stands still at each posture [s]. Default: 1.")
]
BothSidesOption = Annotated[
    bool, typer.Option("--both-sides", help="Approach each posture from both sides: static friction cancels out.")
]
FrictionRunsOption = Annotated[
    bool, typer.Option("--friction-runs", help="Constant speeds instead, to and fro, joint by joint, for friction.")
]
PayloadOption = Annotated[
    str | None,
    typer.Option(
        "--payload", metavar="BODY", help="A motion of 5 s for a load that the known robot carries on BODY, or 'last'."
    ),
]
PayloadMassOption = Annotated[
    float | None, typer.Option("--payload-mass", help="Mass of that load, about [kg]: torques stay within limits.")
]
CommandsOption = Annotated[
    bool,
    typer.Option(
        "--commands",
        help="Commanded positions instead, for robots without torque sensors: needs --kp and --kd, or --servo.",
    ),
]
GainOption = Annotated[
    list[str], typer.Option(metavar="VALUE", help="Gain of the control law, for --commands: 20, or one per joint.")
]
DurationOption = Annotated[float | None, typer.Option(help="How long --commands last [s]. Default: 20.")]
CommandRateOption = Annotated[
    float | None, typer.Option(help="How often --commands change [Hz]; held between. Default: 50.")
]
PositionNoiseOption = Annotated[
    list[str],
    typer.Option(metavar="VALUE", help="Standard deviation of measured positions [rad or m], for --commands."),
]
AmplitudeOption = Annotated[
    list[str], typer.Option(metavar="VALUE", help="Largest distance of --commands from the start [rad or m].")
]
StandsOnOption = Annotated[
    list[str],
    typer.Option(
        "--stands-on",
        metavar="BODY",
        help="Postures and motions in balance instead, for the ground's wrench: the feet, or the base.",
    ),
]
IdentifyOption = Annotated[
    list[str],
    typer.Option(metavar="JOINT", help="With --stands-on: joints to identify with. Default: all."),
]
BalanceOption = Annotated[
    list[str], typer.Option(metavar="JOINT", help="With --stands-on: joints that may move to keep the balance.")
]
MarginOption = Annotated[
    float | None,
    typer.Option(help="With --stands-on: distance of the zero-moment point from the edges of the polygon [m]."),
]
HalfSizeOption = Annotated[
    str, typer.Option("--half-size", metavar="X,Y", help="With --stands-on: half length and width of each sole [m].")
]
BoltedOption = Annotated[bool, typer.Option("--bolted", help="With --stands-on: the feet are bolted to the ground.")]
CollisionsOption = Annotated[
    bool,
    typer.Option("--no-collisions", help="Ignore collisions of the robot with itself, the floor, walls and boxes."),
]
ClearanceOption = Annotated[
    float | None, typer.Option(help="Smallest distance from itself, floor, walls and boxes [m]. Default: 0.02.")
]
FloorOption = Annotated[
    float | None, typer.Option("--floor", metavar="Z", help="Height of the floor [m]. Default: through the base.")
]
NoFloorOption = Annotated[bool, typer.Option("--no-floor", help="There is no floor.")]
WallOption = Annotated[
    list[str],
    typer.Option(metavar="PLANE", help="Walls that the base is in front of: x=0.6,y=-0.4 [m]; z for ceilings."),
]
SrdfOption = Annotated[
    str | None, typer.Option("--srdf", help="SRDF file of pairs that may touch. Default: that beside the URDF file.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a trajectory that is in the folder.")]
AllowOption = Annotated[
    bool,
    typer.Option(
        "--allow-broken-limits", help="DANGEROUS: write a trajectory that violates limits. Every file is marked."
    ),
]


def excite(
    source: SourceArgument,
    time_limit: TimeLimitOption = None,
    criterion: CriterionOption = "",
    out: Annotated[Path | None, typer.Option("--out", help="Folder to write the trajectory to.")] = None,
    formats: FormatOption = [],  # noqa: B006 (Typer copies it)
    terms: TermsOption = [],  # noqa: B006
    family: FamilyOption = "",
    harmonics: Annotated[int | None, typer.Option(min=1, help="Number of harmonics of a Fourier series.")] = None,
    waypoints: WaypointsOption = None,
    degree: Annotated[int | None, typer.Option(min=1, help="Degree of splines and polynomials.")] = None,
    period: Annotated[float | None, typer.Option(help="Period of the trajectory [s].")] = None,
    rate: RateOption = None,
    noise: NoiseOption = [],  # noqa: B006
    position: PositionOption = [],  # noqa: B006
    velocity: VelocityOption = [],  # noqa: B006
    acceleration: AccelerationOption = [],  # noqa: B006
    effort: EffortOption = [],  # noqa: B006
    start: StartOption = [],  # noqa: B006
    lock: LockOption = [],  # noqa: B006
    move: MoveOption = [],  # noqa: B006
    known: KnownOption = [],  # noqa: B006
    segments: SegmentsOption = 1,
    block_triangular: BlockTriangularOption = False,
    postures: PosturesOption = None,
    hold: HoldOption = None,
    both_sides: BothSidesOption = False,
    friction_runs: FrictionRunsOption = False,
    payload: PayloadOption = None,
    payload_mass: PayloadMassOption = None,
    servo: ServoOption = [],  # noqa: B006
    replay_unit: ReplayUnitOption = "",
    commands: CommandsOption = False,
    kp: GainOption = [],  # noqa: B006
    kd: GainOption = [],  # noqa: B006
    duration: DurationOption = None,
    command_rate: CommandRateOption = None,
    position_noise: PositionNoiseOption = [],  # noqa: B006
    amplitude: AmplitudeOption = [],  # noqa: B006
    stands_on: StandsOnOption = [],  # noqa: B006
    identify: IdentifyOption = [],  # noqa: B006
    balance: BalanceOption = [],  # noqa: B006
    margin: MarginOption = None,
    half_size: HalfSizeOption = "",
    bolted: BoltedOption = False,
    no_collisions: CollisionsOption = False,
    clearance: ClearanceOption = None,
    floor: FloorOption = None,
    no_floor: NoFloorOption = False,
    wall: WallOption = [],  # noqa: B006
    srdf: SrdfOption = None,
    starts: StartsOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    force: ForceOption = False,
    allow_broken_limits: AllowOption = False,
    exact_frames: ExactFramesOption = False,
    full: FullOption = False,
    json_output: JsonOption = False,
) -> None:
    """Design an exciting trajectory within the robot's limits.

    Or static postures (--postures), runs for friction (--friction-runs), postures and motions of a standing robot in
    balance (--stands-on), or commanded positions that separate delay, armature and damping of a robot without torque
    sensors (--commands). Limits that neither the robot's file nor an
    option states are assumed, and named. The robot is kept away from itself, the floor, walls and boxes.
    """
    given = dict(locals())
    with errors_in_words(), steps_shown() as step:
        step("Finding the identifiable parameters")
        from dynid.cli.excite_balance import asks_to_stand, designed_balance, show_balance
        from dynid.cli.excite_commands import asks_for_commands, designed_commands, show_commands

        if asks_to_stand(given):
            data, shown = designed_balance(given, _settings(given), step), show_balance
        else:
            given["time_limit"] = _TIME_LIMIT if time_limit is None else time_limit
            _require_one_kind(given)
            if asks_for_commands(given):
                data, shown = designed_commands(given, _settings(given), step), show_commands
            else:
                data, shown = _designed(given, step), show_excitation
    if json_output:
        echo_json(data)
    else:
        shown(data, out, full=full)


def _designed(given: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Design a trajectory as options state, and write it where they say."""
    from dynid.excitation.trajectory_formats import DEFAULT
    from dynid.identification.requests import excite_experiment, experiment_to_excite
    from dynid.report.trajectory_page import PAGE, trajectory_page

    out, move = given["out"], words(*given["move"])
    held = assignments("--lock", *given["lock"])
    frames = {"exact_frames": given["exact_frames"]}
    servo = stated_servo(*given["servo"])
    experiment = experiment_to_excite(
        given["source"], words(*given["terms"]), lock=held, servo=servo, **frames, **_settings(given)
    )
    chosen = words(*given["formats"]) or DEFAULT
    _require_output(experiment, move, chosen, out, given["force"])  # before the design, which takes long
    found = excite_experiment(
        experiment,
        given["known"],
        move=move,
        progress=lambda best: step(best.in_words(_criterion(experiment))),
        **{key: given[key] for key in _OF_DESIGN},
    )
    if out is None:
        return found.to_dict()
    options = {"overwrite": given["force"], "allow_broken_limits": given["allow_broken_limits"]}
    return found.save(out, chosen, beside={PAGE: trajectory_page(found)}, **options)


def _require_output(
    experiment: Experiment, move: list[str], formats: Sequence[str], out: Path | None, overwrite: bool
) -> None:
    """Refuse formats that are unknown or do not suit the robot, and a folder that cannot take the trajectory."""
    from dynid.excitation.recipe import with_rate_of
    from dynid.excitation.trajectory_formats import require_formats, require_free
    from dynid.identification.requests import robot_to_excite

    robot = None if out is None else robot_to_excite(experiment, move)
    settings = with_rate_of(experiment.control.servo, experiment.excitation)
    sampled = settings.postures is not None or settings.friction_runs
    replay = {"rate": settings.rate, "replay": settings.replay}
    require_formats(formats, robot, settings.family, holds_samples=sampled, **replay)
    if out is not None:
        require_free(out, overwrite=overwrite)


def _require_one_kind(given: dict[str, Any]) -> None:
    """Refuse options of one kind of motion beside those of another."""
    from dynid.errors import InvalidRequestError
    from dynid.experiment import is_experiment

    of_postures = next((key for key in ("hold", "both_sides") if given[key]), None)
    of_others = next((key for key in ("family", "waypoints", "degree", "harmonics", "period") if given[key]), None)
    if given["postures"] and of_others:
        raise InvalidRequestError(f"--{of_others} is of designed trajectories, and --postures are none; leave one out")
    if of_postures and not (given["postures"] or is_experiment(given["source"])):
        name = of_postures.replace("_", "-")
        raise InvalidRequestError(f"--{name} is of static postures; add --postures N, or leave it out")


def _criterion(experiment: Experiment) -> str:
    settings = experiment.excitation
    return settings.criterion if settings.postures is None else settings.posture_criterion


_TIME_LIMIT = 20.0
"""When designs stop [s] where nothing else is asked for, those in balance excepted."""

_PLAIN = (
    *("family", "waypoints", "degree", "harmonics", "period", "rate", "criterion"),
    *("postures", "hold", "both_sides", "friction_runs", "clearance", "srdf", "payload", "payload_mass"),
    *("commands", "duration", "command_rate"),
)
"""Options that are keys of `[excitation]`, by their names."""

_BY_JOINT = ("noise", "velocity", "acceleration", "effort", "start", "position_noise", "amplitude")
"""The same with values of joints."""

_OF_DESIGN = ("time_limit", "starts", "segments", "seed", "block_triangular")
"""Options of the design, by their names."""


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Keys of `[excitation]` that the options state; a single position of `--start` is that of the only joint."""
    stated = {key: per_joint(f"--{key.replace('_', '-')}", *given[key]) for key in _BY_JOINT}
    if isinstance(stated["start"], float):
        stated["start"] = (stated["start"],)
    plain = {key: given[key] or None for key in _PLAIN}
    plain |= {"collisions": False if given["no_collisions"] else None, **_surroundings(given)}
    plain["replay"] = {"unit": given["replay_unit"]} if given["replay_unit"] else None
    return {**plain, **stated, "position": ranges_per_joint("--position", *given["position"])}


def _surroundings(given: dict[str, Any]) -> dict[str, Any]:
    """The floor and walls that options state; a wall is seen from the base."""
    from dynid.errors import InvalidRequestError

    if given["no_floor"] and given["floor"] is not None:
        raise InvalidRequestError("--floor states a floor, and --no-floor none; leave one out")
    planes = []
    for axis, place in assignments("--wall", *given["wall"]).items():
        if axis not in ("x", "y", "z") or place is None:
            raise InvalidRequestError(f"--wall: '{axis}' is no plane; write x=0.6, y=-0.4 or z=1.8 [m]")
        unit = [float(axis == other) for other in "xyz"]
        towards = [-part if place > 0.0 else part for part in unit]
        planes.append({"point": [place * part for part in unit], "normal": towards, "name": f"wall {axis}={place:g}"})
    return {"floor": False if given["no_floor"] else given["floor"], "wall": planes or None}


def show_excitation(data: dict[str, Any], out: Path | None, *, full: bool = False) -> None:
    """Print a designed trajectory; `data` is that of `Excitation.to_dict`."""
    from rich.text import Text

    from dynid.cli.console import plain_console, show_facts, show_findings, show_next
    from dynid.cli.study_tables import facts_of_friction_runs, facts_of_postures, show_gains
    from dynid.findings import Finding

    output = plain_console()
    if "warning" in data:
        output.print(Text(f"WARNING: {data['warning']}\n", style="bold white on red"))
    output.print(_headline(data))
    if full:
        _show_limits(output, data["limits"])
        _show_expectations(output, data["parameters"])
    facts = {} if full else {"limits": _limits(data["limits"]), "parameters": _expectations(data["parameters"])}
    show_facts(output, {**facts_of_postures(data), **facts_of_friction_runs(data), **facts})
    if full and "postures" in data:
        output.print("Gravity parameters from the postures alone:")
        _show_expectations(output, data["postures"]["parameters"])
    if "friction_runs" in data:
        show_gains(output, data["friction_runs"])
    show_findings(output, map(Finding.from_dict, data["findings"]))
    more = "" if full else "Every limit, and the standard deviation to expect of every parameter: --full"
    if out is None:
        show_next(output, "write it: repeat the command with --out trajectory", more)
        return
    output.print(f"Wrote {', '.join(_shown(data['files'], out))} to {out}.")
    violated = ": it violates limits; do not run it on a real robot"
    together = "; identify its log together with that of an exciting trajectory" if "friction_runs" in data else ""
    if data["parameters"][0]["name"] == "mass":
        together = "; identify the load from its log with dynid payload"
    slowly = f", then run it slowly first{together}"
    show_next(output, f"look at {out / 'limits.html'}{violated if 'warning' in data else slowly}", more)


def _shown(files: list[str], out: Path) -> list[str]:
    """Names of files and of folders that belong together, such as those of a data set."""
    places = [Path(name).relative_to(out) for name in files]
    return list(dict.fromkeys(f"{place.parents[-2]}/" if len(place.parents) > 1 else str(place) for place in places))


def _headline(data: dict[str, Any]) -> Text:
    """What was designed, in one sentence."""
    from rich.text import Text

    taken = f"{data['seconds']:.1f} s ({data['starts']} start{'' if data['starts'] == 1 else 's'})."
    if "postures" in data:
        return Text(f"{data['robot']}: {data['postures']['count']} static postures, chosen in {taken}")
    if "friction_runs" in data:
        return Text(f"{data['robot']}: friction runs of {data['duration']:.4g} s, designed in {data['seconds']:.1f} s.")
    condition = "infinite" if data["condition_number"] is None else f"{data['condition_number']:.4g}"
    motions = "" if len(data["segments"]) == 1 else f" in {len(data['segments'])} trajectories"
    after = Text(f" for {data['duration']:.4g} s{motions}, designed in {taken}")
    return Text(f"{data['robot']}: condition number ") + Text(condition, style="bold") + after


CLOSEST = 3
"""Limits that are named: those of which most is used."""


def _limits(checks: list[dict[str, Any]]) -> str:
    """Whether limits are kept, and which are closest."""
    broken = [check["name"] for check in checks if not check["kept"]]
    by_use = sorted(checks, key=lambda check: -check["used"])
    closest = [f"{check['name']} {check['used']:.0%}" for check in by_use[:CLOSEST]]
    kept = f"{len(broken)} of {len(checks)} BROKEN: {', '.join(broken)}" if broken else f"all {len(checks)} kept"
    return f"{kept}; closest: {', '.join(closest)}"


def _expectations(parameters: list[dict[str, Any]]) -> str:
    """How many parameters the trajectory is expected to determine, and which it does not excite."""
    if parameters[0]["name"] == "mass":
        return _load_expectations(parameters)
    percents = [row["relative_std_percent"] for row in parameters]
    known = sum(percent is not None and percent <= 10.0 for percent in percents)
    still = [row["name"] for row in parameters if row["std"] is None]
    text = f"{known} of {len(parameters)} expected to 10 % or better at the noise that is assumed"
    return f"{text}; NOT EXCITED: {', '.join(still)}" if still else text


def _load_expectations(parameters: list[dict[str, Any]]) -> str:
    """Standard deviations to expect of a load."""
    stds = {row["name"]: row["std"] for row in parameters}
    if None in stds.values():
        return f"NOT EXCITED: {', '.join(name for name, std in stds.items() if std is None)}"
    percent = parameters[0]["relative_std_percent"]
    share = "" if percent is None else f" ({percent:.2g} %)"
    place = {name: 1e3 * stds[name] for name in ("cx", "cy", "cz") if name in stds}
    center = (
        f"centre of mass {max(place.values()):.2g} mm"
        if place
        else f"first moments {max(stds[name] for name in ('mx', 'my', 'mz')):.2g} kg m"
    )
    largest = max(std for name, std in stds.items() if name.startswith("I"))
    text = f"mass {stds['mass']:.2g} kg{share}, {center}, inertia {largest:.2g} kg m^2"
    return f"standard deviations of the load of {text} or better at the noise that is assumed"


def _show_limits(output: Console, checks: list[dict[str, Any]]) -> None:
    """Print each limit and what the trajectory reaches."""
    from rich.text import Text

    from dynid.cli.console import plain_table

    table = plain_table(("limit",), ("allowed", "reached"), ("unit", "kept"))
    for check in checks:
        numbers = [
            " to ".join("-" if end is None else f"{end:.4g}" for end in (value if isinstance(value, list) else [value]))
            for value in (check["limit"], check["reached"])
        ]
        table.add_row(check["name"], *numbers, check["unit"], "yes" if check["kept"] else Text("no", style="red"))
    output.print(table)


def _show_expectations(output: Console, parameters: list[dict[str, Any]]) -> None:
    """Print the standard deviations that the trajectory promises."""
    from dynid.cli.console import plain_table

    table = plain_table(("parameter", "of"), ("file", "expected std", "std [%]"), ("unit",))
    for row in parameters:
        value = "-" if row["value"] is None else f"{row['value']:.6g}"
        std = "not excited" if row["std"] is None else f"{row['std']:.2g}"
        percent = row["relative_std_percent"]
        shown = "-" if percent is None else "> 100" if percent > 100.0 else f"{percent:.1f}"
        table.add_row(row["expression"], row["owner"], value, std, shown, row["unit"])
    output.print(table)
