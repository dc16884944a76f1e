"""What `dynid demo` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from dynid.demo import Step


def show_step(step: Step) -> None:
    """Show a step of the demo that is done."""
    Console().print(Text(f"{step.title:<9}", style="bold") + Text(f" {step.text}"), highlight=False)


def show_demo(data: dict[str, Any]) -> None:
    """Show how near the demo came to the truth, and what to try next; `data` is that of `demo.run_demo`."""
    output = Console()
    output.print(
        f"\nThe simulated robot's links and friction were not those of its file. Identification came within "
        f"{data['true_parameter_error']:.2%} of its true base parameters, and predicts a motion that it had not seen "
        f"to {data['validation_relative_error']:.2%}.",
        highlight=False,
    )
    output.print(f"\nReport: {data['report']}", highlight=False, markup=False)
    output.print(
        "Next: open it in a browser; then try your own robot: dynid demo --robot my_robot.urdf --out my_demo",
        highlight=False,
        markup=False,
    )
