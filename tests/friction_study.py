"""Stribeck and sigmoid friction of a simulated UR5, found again at the noise of seed 002.

The robot, its trajectory, its controller and its sensors are those of `tests/thesis_study.py`, case D; only friction
differs. Torque constants are off by about 1 %, so what is linear in torques is off by as much; nonlinear parameters are
not. `benchmarks/friction_nonlinear.py` prints all numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.estimation.factors.accumulation import factorise
from dynid.estimation.nonlinear.variable_projection import NonlinearSearch, fit_nonlinear
from dynid.logs.drive import Transmission
from dynid.logs.processing.states import processed
from dynid.model.chunks import Chunk
from dynid.model.terms import Armature, Sigmoid, Stribeck, Term, Viscous
from dynid.simulation.closed_loop import SimulatedRobot, follow
from dynid.simulation.sensors import measure
from dynid.simulation.settings import Sensors
from tests.thesis_study import CONTROLLER, PROCESSING, RATE, SENSORS, VISCOUS, training

COULOMB = np.array([12.0, 12.0, 9.0, 2.5, 2.5, 2.5])
"""Friction [N m] at speed; the extra at rest is 60 % of it, and a sigmoid rises by twice as much."""

STRIBECK = np.array([0.06, 0.08, 0.1, 0.1, 0.12, 0.15])
"""Stribeck velocities [rad/s]."""

STEEPNESS = np.array([20.0, 15.0, 25.0, 12.0, 18.0, 14.0])
SHIFT = np.array([0.02, -0.02, 0.03, 0.05, -0.04, 0.04])
"""Steepness [s/rad] and shift [rad/s] of sigmoids."""

SLOW = 0.02
"""Rows below this speed [rad/s] are left out, as in `seed_002`: at a jump of friction derivatives are smeared."""


@dataclass(frozen=True, eq=False)
class Recovery:
    """Friction that was found beside the true one.

    Attributes:
        truth: True values of friction by name.
        found: Those that were found.
        fit: How nonlinear parameters were found.
    """

    truth: dict[str, float]
    found: dict[str, float]
    fit: NonlinearSearch

    def error(self, symbol: str) -> float:
        """The largest relative error of the values of a symbol."""
        names = [name for name in self.truth if name.rstrip("0123456789") == symbol]
        return max(abs(self.found[name] / self.truth[name] - 1.0) for name in names)


def stribeck() -> tuple[list[Term], dict[str, float]]:
    """The terms of a robot with Stribeck friction, and their true values."""
    truth = _numbered("fv", VISCOUS) | _numbered("fs", COULOMB) | _numbered("fst", 0.6 * COULOMB)
    return [Viscous(), Stribeck(), Armature()], truth | _numbered("vs", STRIBECK)


def sigmoid() -> tuple[list[Term], dict[str, float]]:
    """The same with sigmoid friction."""
    truth = _numbered("fv", VISCOUS) | _numbered("fsig", 2.0 * COULOMB)
    return [Viscous(), Sigmoid(), Armature()], truth | _numbered("ksig", STEEPNESS) | _numbered("vsig", SHIFT)


def recover(terms: list[Term], truth: dict[str, float], *, noisy: bool = True, periods: int = 3) -> Recovery:
    """Simulate a robot in closed loop, and find its friction in the log."""
    model = DynamicModel(load_robot("builtin:ur5"), terms)
    nonlinear = {shape.name: truth[shape.name] for shape in model.nonlinear}
    p = np.nan_to_num(model.reference)
    for k, name in enumerate(model.names):
        p[k] = truth.get(name, p[k])
    robot = SimulatedRobot.of(model.at_nonlinear(nonlinear), p)
    run = follow(robot, training(periods), CONTROLLER, nominal=robot, log_rate=RATE, lead_in=3.0)
    log = measure(run, SENSORS if noisy else Sensors(), seed=1)
    drive = Transmission.of([1.0] * 6, positions_at_motor=False)
    segments = processed(log, drive, PROCESSING, -0.5 / CONTROLLER.rate)
    moving = [Chunk(s.q, s.v, s.a, s.torque, np.abs(s.v) > SLOW) for s in segments]
    fit = fit_nonlinear(find_base_parameters(model), lambda trial: [factorise(trial, moving)])
    return Recovery(truth, {**fit.parameters, **fit.nonlinear}, fit)


def _numbered(symbol: str, values: np.ndarray) -> dict[str, float]:
    return {f"{symbol}{k + 1}": float(value) for k, value in enumerate(values)}
