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
            metavar="ROBOT", help="Robot, as for inspect, or experiment file (.toml) with a [simulation] table."
        ),
    ],
    trajectory: Annotated[
        Path | None,
        typer.Option(help="Trajectory file: columns t, q_JOINT, v_JOINT, a_JOINT, or JSON that excite wrote."),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out", help="Log to write: .csv, .parquet or .npz; an experiment file and the truth go beside it."
        ),
    ] = Path("simulated.csv"),
    terms: Annotated[
        list[str],
        typer.Option(help="Friction and actuator terms, as for inspect. Default: those in the robot's file."),
    ] = [],  # noqa: B006
    parameter: Annotated[
        list[str],
        typer.Option("--set", help="True parameters where they differ from the file: fs1=3,fv*=0.5,m6=1.2."),
    ] = [],  # noqa: B006
    payload: Annotated[
        str, typer.Option(help="Payload on the last link, mass [kg] and center of mass [m]: 2.5 or 2.5,0,0,0.1.")
    ] = "",
    smoothing: Annotated[
        float | None, typer.Option(help="Coulomb friction as tanh(v / SMOOTHING) [rad/s]; 0, as sign(v).")
    ] = None,
    controller: Annotated[str, typer.Option(help="Control law: pd, pd_gravity or computed_torque.")] = "",
    bandwidth: Annotated[float | None, typer.Option(help="Bandwidth of the controller [Hz].")] = None,
    rate: Annotated[float | None, typer.Option(help="Rate of the controller [Hz]. Default: 1000.")] = None,
    log_rate: Annotated[float | None, typer.Option(help="Sampling rate of the log [Hz]. Default: --rate.")] = None,
    periods: Annotated[int | None, typer.Option(min=1, help="Number of times to follow the trajectory.")] = None,
    start: Annotated[str, typer.Option(help="Start posture [rad or m]: 0,0.5. Default: that of the trajectory.")] = "",
    lead_in: Annotated[
        float | None, typer.Option(help="Time from rest to the start of the trajectory [s]; not logged.")
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Standard deviation of white noise on torques [N m, or A].")
    ] = None,
    encoder: Annotated[float | None, typer.Option(help="Encoder resolution [rad or m].")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Random seed of this log: noise, jitter and dropped samples.")
    ] = None,
    specimen: Annotated[
        int | None, typer.Option(min=0, help="Random seed of this robot: errors of its torque constants.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files, except inputs.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Simulate the robot on a trajectory and write a log.

    It moves under a controller, with friction and sensors, and is logged as a real one would be.
    """
    with errors_in_words(), steps_shown() as step:
        step("Loading")
        from dynid.experiment.requests import experiment_to_simulate
        from dynid.experiment.simulated import check_outputs, save_simulation, simulation_data
        from dynid.identification.simulated_experiment import simulate_experiment

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
        experiment = experiment_to_simulate(source, words(*terms), settings)
        check_outputs(out, source, experiment, overwrite=force)
        found = simulate_experiment(experiment, step)
        save_simulation(experiment, found, out, overwrite=force)
        data = simulation_data(found, out)
    if json_output:
        echo_json(data)
    else:
        from dynid.cli.terminal.simulation import show_simulation

        show_simulation(data)
