"""`dynid simulate`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dynid.cli.app import ExactFramesOption, JsonOption, echo_json, errors_in_words, numbers, steps_shown, values, words
from dynid.errors import InvalidRequestError

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT", help="Robot, as for inspect, or experiment file (.toml) with a [simulation] table."
    ),
]
TrajectoryOption = Annotated[
    Path | None,
    typer.Option(help="Trajectory file: columns t, q_JOINT, v_JOINT, a_JOINT, or JSON that excite wrote."),
]
OutOption = Annotated[
    Path,
    typer.Option("--out", help="Log to write: .csv, .parquet or .npz; an experiment file and the truth go beside it."),
]
TermsOption = Annotated[
    list[str], typer.Option(help="Friction and actuator terms, as for inspect. Default: those in the robot's file.")
]
SetOption = Annotated[
    list[str], typer.Option("--set", help="True parameters where they differ from the file: fs1=3,fv*=0.5,m6=1.2.")
]
PayloadOption = Annotated[
    str, typer.Option(help="Payload on the last link, mass [kg] and center of mass [m]: 2.5 or 2.5,0,0,0.1.")
]
SmoothingOption = Annotated[
    float | None, typer.Option(help="Coulomb friction as tanh(v / SMOOTHING) [rad/s]; 0, as sign(v).")
]
PeriodsOption = Annotated[int | None, typer.Option(min=1, help="Number of times to follow the trajectory.")]
StartOption = Annotated[str, typer.Option(help="Start posture [rad or m]: 0,0.5. Default: that of the trajectory.")]
LeadInOption = Annotated[
    float | None, typer.Option(help="Time from rest to the start of the trajectory [s]; not logged.")
]
NoiseOption = Annotated[float | None, typer.Option(help="Standard deviation of white noise on torques [N m, or A].")]
SeedOption = Annotated[
    int | None, typer.Option(min=0, help="Random seed of this log: noise, jitter and dropped samples.")
]
SpecimenOption = Annotated[
    int | None, typer.Option(min=0, help="Random seed of this robot: errors of its torque constants.")
]


def simulate(
    source: SourceArgument,
    trajectory: TrajectoryOption = None,
    out: OutOption = Path("simulated.csv"),
    terms: TermsOption = [],  # noqa: B006 (Typer copies it)
    parameter: SetOption = [],  # noqa: B006
    payload: PayloadOption = "",
    smoothing: SmoothingOption = None,
    controller: Annotated[str, typer.Option(help="Control law: pd, pd_gravity or computed_torque.")] = "",
    bandwidth: Annotated[float | None, typer.Option(help="Bandwidth of the controller [Hz].")] = None,
    rate: Annotated[float | None, typer.Option(help="Rate of the controller [Hz]. Default: 1000.")] = None,
    log_rate: Annotated[float | None, typer.Option(help="Sampling rate of the log [Hz]. Default: --rate.")] = None,
    periods: PeriodsOption = None,
    start: StartOption = "",
    lead_in: LeadInOption = None,
    noise: NoiseOption = None,
    encoder: Annotated[float | None, typer.Option(help="Encoder resolution [rad or m].")] = None,
    seed: SeedOption = None,
    specimen: SpecimenOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files, except inputs.")] = False,
    exact_frames: ExactFramesOption = False,
    json_output: JsonOption = False,
) -> None:
    """Simulate the robot on a trajectory and write a log.

    It moves under a controller, with friction and sensors, and is logged as a real one would be.
    """
    with errors_in_words(), steps_shown() as step:
        step("Loading")
        from dynid.experiment.simulated import check_outputs, save_simulation, simulation_data
        from dynid.identification.requests import experiment_to_simulate, simulate_experiment

        settings = {
            "trajectory": None if trajectory is None else str(trajectory),
            "parameters": values("--set", *parameter),
            "payload": _payload(payload),
            "smoothing": smoothing,
            "controller": controller or None,
            "bandwidth": bandwidth,
            "rate": rate,
            "log_rate": log_rate,
            "periods": periods,
            "start": tuple(numbers("--start", start)) or None,
            "lead_in": lead_in,
            "seed": seed,
            "specimen": specimen,
            "sensors": {"noise": noise, "encoder": encoder},
        }
        experiment = experiment_to_simulate(source, words(*terms), settings, exact_frames=exact_frames)
        check_outputs(out, source, experiment, overwrite=force)
        found = simulate_experiment(experiment, step)
        save_simulation(experiment, found, out, overwrite=force)
        data = simulation_data(found, out)
    if json_output:
        echo_json(data)
    else:
        show_simulation(data)


def _payload(text: str) -> dict[str, Any] | None:
    load = numbers("--payload", text)
    if len(load) not in (0, 1, 4):
        raise InvalidRequestError(f"--payload takes MASS or MASS,X,Y,Z, not {len(load)} numbers")
    return {"mass": load[0], "com": tuple(load[1:]) or (0.0, 0.0, 0.0)} if load else None


def show_simulation(data: dict[str, Any]) -> None:
    """Print what a simulated robot did; `data` is that of `experiment.simulated.simulation_data`."""
    from dynid.cli.console import plain_console, plain_table, show_findings, show_next
    from dynid.findings import Finding

    output = plain_console()
    output.print(
        f"{data['robot']}: {data['duration']:.4g} s, {data['samples']} samples; tracking error "
        f"{data['rmse_tracking']:.3g} rad or m."
    )
    table = plain_table(("joint",), ("tracking error", "largest torque", "stuck"))
    for joint in data["joints"]:
        shown = (f"{joint['rmse_tracking']:.3g}", f"{joint['largest_torque']:.4g}", f"{joint['rests']:.1%}")
        table.add_row(joint["name"], *shown)
    output.print(table)
    output.print(f"Wrote {data['log']}, {data['experiment']}, and the true parameters: {data['truth']}.")
    show_findings(output, map(Finding.from_dict, data["findings"]))
    show_next(output, f"dynid identify {data['experiment']}")
