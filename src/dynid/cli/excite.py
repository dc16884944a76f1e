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
            metavar="ROBOT", help="A robot, as for inspect, or an experiment (.toml), whose [excitation] says the rest."
        ),
    ],
    time_limit: Annotated[float, typer.Option("--time-limit", help="When to stop [s], with the best so far.")] = 20.0,
    criterion: Annotated[
        str, typer.Option(help="condition, determinant, trace or smallest, or a sum: condition + 0.5*trace.")
    ] = "",
    out: Annotated[Path | None, typer.Option("--out", help="Folder to write the trajectory to.")] = None,
    terms: Annotated[list[str], typer.Option(help="What a robot's joints add, as for inspect.")] = [],  # noqa: B006
    harmonics: Annotated[int | None, typer.Option(min=1, help="Number of harmonics.")] = None,
    period: Annotated[float | None, typer.Option(help="Time after which the motion repeats [s].")] = None,
    rate: Annotated[float | None, typer.Option(help="Samples a second of the experiment and of the files.")] = None,
    noise: Annotated[float | None, typer.Option(help="Standard deviation of the torques to be measured [N m].")] = None,
    known: Annotated[
        list[Path],
        typer.Option(
            help="What is known already: a saved result, or a file of factors. Moves for what it cannot tell."
        ),
    ] = [],  # noqa: B006
    segments: Annotated[
        int, typer.Option(min=1, help="Motions at most, each for what those before it cannot tell.")
    ] = 1,
    block_triangular: Annotated[
        bool, typer.Option("--block-triangular", help="One motion a joint: all move, then all but the first, ...")
    ] = False,
    starts: Annotated[
        int | None, typer.Option(min=1, help="Starts at most; the same ones give the same motion.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a trajectory that is there, and write one that breaks limits.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Design a motion that tells as much as can be, within limits."""
    with errors_in_words():
        from dynid.excitation.recipe import excite as run
        from dynid.excitation.recipe import experiment_of, known_factors
        from dynid.excitation.trajectory_output import check_free, excitation_data, save_excitation

        settings = {
            "criterion": criterion or None,
            "harmonics": harmonics,
            "period": period,
            "rate": rate,
            "noise": noise,
        }
        experiment = experiment_of(source, words(*terms), settings)
        if out is not None:
            check_free(out, overwrite=force)
        factors = [part for path in known for part in known_factors(path, experiment)]
        with steps_shown() as step:
            step("Looking for what can be known")
            found = run(
                experiment,
                known=factors,
                time_limit=time_limit,
                starts=starts,
                segments=segments,
                block_triangular=block_triangular,
                seed=seed,
                progress=lambda best: step(best.in_words(experiment.excitation.criterion)),
            )
        if out is not None:
            save_excitation(found, out, force=force)
        data = excitation_data(found, out)
    if json_output:
        echo_json(data)
    else:
        from dynid.cli.terminal.excitation import show_excitation

        show_excitation(data, source, out)
