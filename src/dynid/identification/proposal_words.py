"""Proposals of movements in words: what to do, what it promises, and why."""

from __future__ import annotations

import math

import numpy as np

from dynid.excitation import Proposal, Proposals
from dynid.identification.live_state import NextStep
from dynid.robot import Robot

SHORTEST_GAIN = 1.02
"""Factors below this promise nothing."""


def no_proposal() -> NextStep:
    """What is said before the first proposal."""
    return NextStep("Looking for a motion ...")


def words_of_proposals(found: Proposals, robot: Robot) -> NextStep:
    """The best proposal in words, with the next best.

    Args:
        found: The proposals.
        robot: The robot.
    """
    if not found.proposals:
        return NextStep(
            "No single movement from here is free of collisions",
            why="Move the robot to a more open posture; proposals follow it.",
        )
    best, *others = found.proposals
    why = f"Least determined: {found.weakest} of {found.weakest_owner}."
    note = "Collisions with the robot itself and the floor were looked at, others not."
    if robot.has_floating_base:
        note = "Balance and collisions are not looked at: do only what is safe."
    elif not found.is_checked:
        note = "Collisions are not looked at."
    return NextStep(
        best.movement.text,
        best.movement.detail,
        _gain(best, found),
        why,
        tuple((other.movement.text, _gain(other, found, short=True)) for other in others),
        note,
    )


def _gain(one: Proposal, found: Proposals, *, short: bool = False) -> str:
    """What a movement promises."""
    time = "" if short else f" after {found.seconds:.0f} s"
    if math.isfinite(one.condition_number):
        better = f", least determined direction {one.factor:.1f} times better" if one.factor >= SHORTEST_GAIN else ""
        return f"condition number about {_rounded(one.condition_number)}{time}{'' if short else better}"
    more = one.excited - found.excited
    return f"excites {more} more direction{'' if more == 1 else 's'}{time}" if more > 0 else f"{one.excited} excited"


def _rounded(value: float) -> str:
    digits = 1 - int(np.floor(np.log10(value)))
    return f"{round(value, digits):g}" if value < 1e5 else f"{value:.1e}"
