"""`dynid simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, steps_shown
from dynid.cli.values import numbers, values, words
from dynid.errors import InvalidRequestError


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
    """Let a simulated robot follow a trajectory, and log it.

    It moves under a controller, with friction and sensors, and is logged as a real one would be.
    """
    with errors_in_words(), steps_shown() as step:
        step("Loading")
        from dynid.simulation.output_files import check_outputs, save_simulation, simulation_data
        from dynid.simulation.simulated_log import experiment_of, simulate_experiment

        load = numbers("--payload", payload)
        if len(load) not in (0, 1, 4):
            raise InvalidRequestError(f"--payload takes MASS or MASS,X,Y,Z, not {len(load)} numbers")
        settings = {
            "trajectory": None if trajectory is None else str(trajectory),
            "parameters": values("--set", *parameter),
            "payload": {"mass": load[0], "com": tuple(load[1:]) or (0.0, 0.0, 0.0)} if load else None,
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
        experiment = experiment_of(source, words(*terms), settings)
        check_outputs(out, source, experiment, overwrite=force)
        found = simulate_experiment(experiment, step)
        save_simulation(found, out, overwrite=force)
        data = simulation_data(found, out)
    if json_output:
        echo_json(data)
    else:
        from dynid.cli.terminal.simulation import show_simulation

        show_simulation(data)
