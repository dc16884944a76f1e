"""Tracking errors of simulated controllers, in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynid.identification import in_thousandths

if TYPE_CHECKING:
    from rich.console import Console

    from dynid.identification import Tracking

HEADS = {"identified": "identified", "robot_file": "robot file", "feedback": "feedback alone"}
"""What controllers are called."""

PLANTS = {
    "truth": "the true robot is simulated",
    "held-out log": "simulated is the identified model with the torques that it leaves unexplained in this log",
    "held-out stretches": "simulated is the identified model with the torques that fits without each stretch leave "
    "unexplained there",
}
"""What is simulated, in words."""


def show_tracking(output: Console, tracking: Tracking) -> None:
    """Print RMS tracking errors of each joint under each controller."""
    from dynid.cli.console import plain_table

    used = tracking.controller
    output.print(
        f"Simulated computed torque on {tracking.seconds:.3g} s of {tracking.log} (errors decay with "
        f"{used.bandwidth:g} Hz, {used.rate:g} Hz control); RMS tracking errors; {PLANTS[tracking.plant]}:"
    )
    shown = [one for one in tracking.controllers if not one.lost]
    table = plain_table(("joint",), (*(f"{HEADS[one.name]}" for one in shown), "unit"))
    for k, (joint, unit) in enumerate(zip(tracking.joints, tracking.units, strict=True)):
        table.add_row(joint, *(in_thousandths(float(one.rms[k])) for one in shown), f"m{unit}")
    output.print(table)
    ratio, feedback = tracking.ratio("robot_file"), tracking.ratio("feedback")
    if ratio is not None:
        output.print(f"The robot file's model leaves {ratio:.3g} times the tracking error of the identified one.")
    if feedback is not None:
        output.print(f"Feedback without a model leaves {feedback:.3g} times as much.")
