"""Logs of two joints with nonlinear friction, whose parameters are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dynid import DynamicModel, Log, Result, identify, load_robot
from dynid.robot.robot import Robot

ROBOT = load_robot("builtin:two_link")
VALUES = {"fv": 0.6, "fs": 1.0, "fst": 0.8, "vs": 0.1, "fsig": 2.0, "ksig": 9.0, "vsig": 0.06, "kT": 0.03, "off": 0.2}
"""True friction parameters of both joints."""

PLAIN = {"processing": {"automatic": False}, "estimation": {"bootstrap": False}, "physical": {"fit": False}}
"""Settings that leave out what has nothing to do with friction."""


def true_value(name: str, values: Mapping[str, float] = VALUES) -> float:
    """The true value of a friction parameter."""
    return values[name.rstrip("0123456789")]


def friction_log(
    terms: Sequence[str],
    *,
    seed: int = 0,
    one_way: bool = False,
    robot: Robot = ROBOT,
    values: Mapping[str, float] = VALUES,
) -> Log:
    """A log of smooth motions with exact velocities, and a temperature that rises."""
    rng = np.random.default_rng(seed)
    model = DynamicModel(robot, terms)
    model = model.at_nonlinear({s.name: true_value(s.name, values) for s in model.nonlinear})
    t = np.arange(0.0, 20.0, 0.01)[:, None]
    w, size = rng.uniform(1.0, 3.0, (4, 2)), rng.uniform(0.2, 0.4, (4, 2))
    q = np.sum(size * np.sin(w * t[:, None]), axis=1)
    v, a = (np.sum(size * x, axis=1) for x in (w * np.cos(w * t[:, None]), -(w**2) * np.sin(w * t[:, None])))
    if one_way:
        q, v = q + 4.0 * t, v + 4.0
    temperature = 20.0 + t[:, 0]
    known = [term.with_temperature(np.column_stack([temperature] * 2)) for term in model.terms]
    links = len(robot.parameters)
    p = np.concatenate([robot.parameters, [true_value(name, values) for name in model.names[links:]]])
    torque = DynamicModel(robot, known).inverse_dynamics(q, v, a, p) + 0.01 * rng.normal(size=q.shape)
    return Log(time=t[:, 0], position=q, torque=torque, velocity=v, temperature=temperature)


def identified(log: Log, terms: Sequence[str], *, robot: Robot = ROBOT, **settings: Any) -> Result:
    """What is identified from a log; settings are added to the plain ones."""
    merged = {key: {**table, **settings.pop(key, {})} for key, table in PLAIN.items()}
    return identify(robot, log, terms, **merged, **settings)
