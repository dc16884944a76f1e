"""Results from logs of robots that are heavier than their files say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dynid import DynamicModel, Log, Result, identify, load_robot
from dynid.model.terms import parse_terms
from tests.practice_logs import PROCESSING

TERMS = ("viscous", "coulomb", "armature", "offset")


def logged(robot_file: str | Path, terms: tuple[str, ...], sign: float) -> Log:
    """A log of a robot whose bodies are 20 % heavier than its file says, with friction, from exact states."""
    robot = load_robot(robot_file)
    model = DynamicModel(robot, parse_terms(terms, robot))
    rng = np.random.default_rng(0)
    p = np.where(np.isnan(model.reference), rng.uniform(0.1, 0.5, len(model.names)), 1.2 * model.reference)
    t = np.arange(0.0, 10.0, 0.005)
    w = 2 * np.pi * np.array([0.31, 0.57, 0.83])
    sizes, phases = rng.uniform(0.2, 0.8, (2, robot.nv, 3))
    angle = np.multiply.outer(t, w)[:, None] + 6.0 * phases
    q, v, a = (sizes * np.sin(angle)).sum(2), (sizes * w * np.cos(angle)).sum(2), -(sizes * w**2 * np.sin(angle)).sum(2)
    torque = model.inverse_dynamics(q, v, a, p) + 1e-3 * rng.normal(size=q.shape)
    return Log(time=t, position=q, torque=sign * torque)


def made(
    robot_file: str | Path, physical: dict[str, Any] | None = None, terms: tuple[str, ...] = TERMS, sign: float = 1.0
) -> Result:
    """What is identified from such a log."""
    return identify(robot_file, logged(robot_file, terms, sign), terms, processing=PROCESSING, physical=physical)
