"""`dynid excite`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, steps_shown
from dynid.cli.values import words


def excite(
    source: Annotated[
        str,
        typer.Argument(
            metavar="ROBOT", help="Robot, as for inspect, or experiment file (.toml) with an [excitation] table."
        ),
    ],
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Stop after this time [s], with the best trajectory so far.")
    ] = 20.0,
    criterion: Annotated[
        str,
        typer.Option(help="Criterion: condition, determinant, trace, smallest, or a sum: condition + 0.5*trace."),
    ] = "",
    out: Annotated[Path | None, typer.Option("--out", help="Folder to write the trajectory to.")] = None,
    formats: Annotated[
        list[str], typer.Option("--format", help="Formats to write: csv, json, ros, urscript. Default: csv,json.")
    ] = [],  # noqa: B006
    terms: Annotated[list[str], typer.Option(help="Friction and actuator terms of a robot, as for inspect.")] = [],  # noqa: B006
    harmonics: Annotated[int | None, typer.Option(min=1, help="Number of harmonics.")] = None,
    period: Annotated[float | None, typer.Option(help="Period of the trajectory [s].")] = None,
    rate: Annotated[float | None, typer.Option(help="Sampling rate of the experiment and of the files [Hz].")] = None,
    noise: Annotated[float | None, typer.Option(help="Standard deviation of the torques to be measured [N m].")] = None,
    known: Annotated[
        list[Path],
        typer.Option(help="Result folder or file of factors; design for the parameters that it leaves uncertain."),
    ] = [],  # noqa: B006
    segments: Annotated[
        int, typer.Option(min=1, help="Maximum number of trajectories, each for what the others leave uncertain.")
    ] = 1,
    block_triangular: Annotated[
        bool, typer.Option("--block-triangular", help="One trajectory per joint: all move, then all but the first, ...")
    ] = False,
    starts: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of starts; makes the result reproducible.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a trajectory that is in the folder.")] = False,
    allow_broken_limits: Annotated[
        bool,
        typer.Option(
            "--allow-broken-limits",
            help="DANGEROUS: write a trajectory that violates limits. Every file is marked.",
        ),
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Design an exciting trajectory within the robot's limits."""
    with errors_in_words():
        from dynid.excitation.exciting_motion import require_free
        from dynid.excitation.trajectory_formats import DEFAULT, require_formats
        from dynid.experiment.requests import excite_experiment, experiment_to_excite, robot_of
        from dynid.identification.simulated_experiment import known_factors
        from dynid.report.trajectory_page import PAGE, trajectory_page

        experiment = experiment_to_excite(
            source,
            words(*terms),
            criterion=criterion or None,
            harmonics=harmonics,
            period=period,
            rate=rate,
            noise=noise,
        )
        chosen = require_formats(words(*formats) or DEFAULT, robot_of(experiment) if out is not None else None)
        if out is not None:
            require_free(out, overwrite=overwrite)
        with steps_shown() as step:
            step("Finding the identifiable parameters")
            found = excite_experiment(
                experiment,
                known=[part for path in known for part in known_factors(path, experiment)],
                time_limit=time_limit,
                starts=starts,
                segments=segments,
                block_triangular=block_triangular,
                seed=seed,
                progress=lambda best: step(best.in_words(experiment.excitation.criterion)),
            )
        data = found.to_dict()
        if out is not None:
            data = found.save(
                out,
                chosen,
                overwrite=overwrite,
                allow_broken_limits=allow_broken_limits,
                beside={PAGE: trajectory_page(found)},
            )
    if json_output:
        echo_json(data)
    else:
        from dynid.cli.terminal.trajectory import show_excitation

        show_excitation(data, source, out)
