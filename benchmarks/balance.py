"""Designs in balance beside random ones: `python -m benchmarks.balance [CASE ...]`.

The baseline of each case: as many random postures in balance, with moves between them in the order that excites
most. Robots are those of the wheel example-robot-data.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from dynid.excitation import ExcitationSettings
from dynid.excitation.balance import balance_recipe, standing_choice
from dynid.excitation.balance.balanced_excitation import BalancedExcitation

ROBOTS = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "talos": ("talos_data/robots/talos_reduced.urdf", {"stands_on": ("left_sole_link", "right_sole_link")}),
    "talos-left": ("talos_data/robots/talos_reduced.urdf", {"stands_on": ("left_sole_link",)}),
    "icub": (
        "icub_description/robots/icub_reduced.urdf",
        {"stands_on": ("l_sole", "r_sole"), "half_size": (0.05, 0.025)},
    ),
    "go1": ("go1_description/urdf/go1.urdf", {"stands_on": ("FL_foot", "FR_foot", "RL_foot", "RR_foot")}),
}


def designed(name: str, *, is_random: bool) -> BalancedExcitation:
    """The design of a case, or that of random postures."""
    robot, balance = CASES[name]
    usual, rounds = standing_choice.exchanged, standing_choice._STEP_SIZES
    if is_random:
        standing_choice.exchanged = lambda _rows, count: np.arange(count)
        standing_choice._STEP_SIZES = ()
        balance = {**balance, "candidates": 250}
    try:
        return balance_recipe.excite_balanced(ROBOTS / robot, balance, settings=ExcitationSettings())
    finally:
        standing_choice.exchanged, standing_choice._STEP_SIZES = usual, rounds


def main() -> None:
    """Print one line for each case and baseline."""
    print(
        "case         postures  seconds  motion [s]  information  centre [mm]  force [N]  moment [N m]  margin [m]",
        end="",
    )
    print("  kept")
    for name in sys.argv[1:] or CASES:
        for is_random in (False, True):
            begin = time.monotonic()
            found = designed(name, is_random=is_random)
            seconds, left = time.monotonic() - begin, found.expected.motion
            nearest = min((check.reached[0] for check in found.checks if "zero-moment" in check.name), default=np.nan)
            print(
                f"{name:12} {'random' if is_random else 'chosen':8}  {seconds:7.0f}  {found.duration:10.1f}  "
                f"{left.information:11.1f}  {1e3 * left.centre:11.3f}  {left.force:9.4f}  {left.moment:12.4f}  "
                f"{nearest:10.4f}  {not found.broken}",
                flush=True,
            )


if __name__ == "__main__":
    main()
