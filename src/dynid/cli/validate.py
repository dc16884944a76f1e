"""`dynid validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, steps_shown


def validate(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A folder that dynid identify saved.")],
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...", help="Experiment files, which stand for their logs, or logs like the result's."
        ),
    ],
    simulated: Annotated[
        bool,
        typer.Option(
            "--simulate",
            help="Also simulate the result in closed loop, as [simulation] of the experiments says: compare positions.",
        ),
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Predict torques that were not used, and compare."""
    with errors_in_words():
        from dynid.identification.prediction import validate_result
        from dynid.identification.result import load_result

        with steps_shown() as step:
            step("Loading the result")
            loaded = load_result(result)
            step("Predicting")
            data = validate_result(loaded, logs)
            if simulated:
                step("Simulating")
                from dynid.identification.rollout import simulate_result

                data["simulation"] = simulate_result(loaded, logs)
                data["findings"] += data["simulation"].pop("findings")
    if json_output:
        echo_json(data)
    else:
        from dynid.cli.terminal.validation import show_validation

        show_validation(data)
