"""What `dynid demo` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from dynid.cli.terminal.parts import plain_console

if TYPE_CHECKING:
    from dynid.cli.demonstration import Step


def show_step(step: Step) -> None:
    """Show a step of the demo that is done."""
    plain_console().print(Text(f"{step.title:<9}", style="bold") + Text(f" {step.text}"))


def show_demo(data: dict[str, Any]) -> None:
    """Show how near the demo came to the truth, and what to try next; `data` is that of `demo.run_demo`."""
    output = plain_console()
    output.print(
        f"\nThe simulated robot's links and friction were not those of its file. Identification came within "
        f"{data['true_parameter_error']:.2%} of its true base parameters, and predicts a motion that it had not seen "
        f"to {data['validation_relative_error']:.2%}."
    )
    output.print(f"\nReport: {data['report']}")
    output.print("Next: open it in a browser; then try your own robot: dynid demo --robot my_robot.urdf --out my_demo")
