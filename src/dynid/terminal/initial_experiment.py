"""What `dynid init` shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from dynid.init.experiment import InitialExperiment


def show_initial_experiment(path: Path, made: InitialExperiment) -> None:
    """Show what a first experiment guesses."""
    output = Console()
    output.print(
        f"Wrote {path} for {len(made.joints)} joints: {', '.join(made.joints)}.", highlight=False, markup=False
    )
    for guess in made.guesses:
        output.print(f"- {guess}", highlight=False, markup=False)
    for what in made.needed:
        output.print(f"- NEEDED: {what}", highlight=False, markup=False)
    first = "write what is needed" if made.needed else "check it"
    output.print(f"\nNext: {first}, then dynid identify {path}", highlight=False, markup=False)
