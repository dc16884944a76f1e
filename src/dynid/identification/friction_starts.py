"""Where output error starts for friction that is higher near rest: at several Stribeck velocities, from plain guesses.

Regressions on derivatives see little of speeds near zero, and Gauss-Newton steps from where they put Stribeck's
friction often end in local minima, with one of its parts at zero. From parts that are all there, few steps are enough.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynid.identification.commanded_robot import CommandedRobot, LawPoint
from dynid.model.terms import GearFriction, Stribeck, TermOfJoints

SPEEDS = (0.1, 0.4, 0.04)
"""Stribeck velocities to start from [rad/s]."""

SHARE = 0.3
"""Friction that is added near rest, over that at speed, to start from."""

LEAST = 0.03
"""Gain of a loaded gear near rest to start from at least."""


def friction_starts(robot: CommandedRobot, point: LawPoint) -> list[LawPoint]:
    """Points to start from, one for each of the velocities; none where all are known, or no friction has one."""
    if not robot.estimated_speeds:
        return []
    guess = np.array(point.p)
    for term in robot.model.terms:
        if isinstance(term, Stribeck | GearFriction) and term.nonlinear_symbols:
            _guess(robot, term, guess)
    guess[[*robot.known]] = [*robot.known.values()]
    known = np.array([one.value for one in robot.model.nonlinear])
    starts = []
    for speed in SPEEDS:
        speeds = known.copy()
        speeds[[*robot.estimated_speeds]] = speed
        starts.append(replace(point, p=guess, speeds=speeds))
    return starts


def _guess(robot: CommandedRobot, term: TermOfJoints, p: np.ndarray) -> None:
    """Write plain values of what a term adds near rest, and leave those at speed as the regression has them."""
    names = list(robot.model.names)
    for joint in term.joints_of(robot.model.robot):
        at = {symbol: names.index(f"{symbol}{joint.number}") for symbol in term.symbols}
        p[at["fst"]] = SHARE * p[at["fs"]]
        if isinstance(term, GearFriction):
            gain = 0.5 * (p[at[term.gains[0]]] + p[at[term.gains[1]]])
            for symbol in dict.fromkeys(term.gains[2:4]):
                p[at[symbol]] = max(LEAST, SHARE * gain)
            for symbol in filter(None, term.gains[4:]):
                p[at[symbol]] = 0.0
