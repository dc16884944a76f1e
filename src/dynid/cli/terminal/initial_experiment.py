"""What `dynid init` shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dynid.cli.terminal.parts import plain_console

if TYPE_CHECKING:
    from dynid.experiment.first.first_experiment import FirstExperiment


def show_initial_experiment(path: Path, made: FirstExperiment) -> None:
    """Show what a first experiment guesses."""
    output = plain_console()
    output.print(f"Wrote {path} for {len(made.joints)} joints: {', '.join(made.joints)}.")
    for guess in made.guesses:
        output.print(f"- {guess}")
    for what in made.needed:
        output.print(f"- NEEDED: {what}")
    first = "write what is needed" if made.needed else "check it"
    output.print(f"\nNext: {first}, then dynid identify {path}")
