"""Logs of the built-in two-link arm with friction, whose parameters are known: columns, arrays, experiment files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from dynid import DynamicModel, Log, find_base_parameters, load_robot
from dynid.arrays import Array
from dynid.logs.processing.automatic import PreparedLog
from dynid.logs.settings import Processing
from dynid.model.chunks import Chunk
from dynid.model.terms import Coulomb, Viscous

RATE = 200.0
"""Sampling rate of logs [Hz]."""

SLOW_RATE = 100.0
"""Sampling rate of prepared logs [Hz]."""

FREQUENCIES = (0.31, 0.57, 0.83)
"""Of the sines that joints move along [Hz]."""

MODEL = DynamicModel(load_robot("builtin:two_link"), [Viscous(), Coulomb()])
BASE = find_base_parameters(MODEL)
TRUTH = dict(zip(BASE.names, BASE.to_base(MODEL.reference).tolist(), strict=True))

EXPERIMENT = """
robot = "builtin:two_link"
terms = ["viscous", "coulomb"]

[[log]]
position = { file = "log.csv", columns = "q_*" }
torque = { file = "log.csv", columns = "tau_*" }
time = { file = "log.csv", columns = "t" }

[processing]
trim = 5
velocity_threshold = 0.05
"""

LOGS = EXPERIMENT[EXPERIMENT.index("[[log]]") : EXPERIMENT.index("[processing]")]
"""The logs of the experiment."""

PROCESSING = {"trim": 5, "velocity_threshold": 0.05}
"""The processing of the experiment."""

Columns = dict[str, np.ndarray]


def sines(rng: np.random.Generator, t: Array, joints: int = 2) -> tuple[Array, Array, Array]:
    """Exact positions, velocities and accelerations along sums of sines, each of shape (samples, joints)."""
    w = 2 * np.pi * np.array(FREQUENCIES)
    sizes, phases = rng.uniform(0.2, 0.8, (joints, 3)), rng.uniform(0, 6, (joints, 3))
    angle = np.multiply.outer(t, w)[:, None] + phases
    return (sizes * np.sin(angle)).sum(2), (sizes * w * np.cos(angle)).sum(2), -(sizes * w**2 * np.sin(angle)).sum(2)


def log(seed: int = 0, seconds: float = 20.0, noise: float = 0.01) -> Columns:
    """The columns of a log along a sum of sines, with exact states and noise on torques."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / RATE)
    q, v, a = sines(rng, t)
    torque = MODEL.inverse_dynamics(q, v, a) + noise * rng.normal(size=q.shape)
    return {"t": t} | {f"q_{k + 1}": q[:, k] for k in range(2)} | {f"tau_{k + 1}": torque[:, k] for k in range(2)}


def in_memory(columns: Mapping[str, np.ndarray], **more: Any) -> Log:
    """Columns as a log in memory."""
    position, torque = (np.column_stack([columns[f"{of}_{k}"] for k in (1, 2)]) for of in ("q", "tau"))
    return Log(time=columns["t"], position=position, torque=torque, **more)


def spoiled(**changes: Callable[[np.ndarray], np.ndarray]) -> Columns:
    """The columns of the log with some of them changed."""
    columns = log()
    for name, change in changes.items():
        columns[name] = change(columns[name].copy())
    return columns


def with_value(index: int, value: float) -> Callable[[np.ndarray], np.ndarray]:
    """A change of a single number."""

    def change(x: np.ndarray) -> np.ndarray:
        x[index] = value
        return x

    return change


def magnitudes(columns: Columns) -> Columns:
    """The same with torques without signs."""
    return {name: np.abs(values) if name.startswith("tau") else values for name, values in columns.items()}


@cache
def motion(seconds: float = 30.0) -> tuple[Array, Array, Array, Array, Array]:
    """Time, exact states and exact torques of prepared logs."""
    t = np.arange(0.0, seconds, 1.0 / SLOW_RATE)
    q, v, a = sines(np.random.default_rng(5), t)
    return t, q, v, a, MODEL.inverse_dynamics(q, v, a)


def prepared_log(errors: np.ndarray, processing: Processing | None = None) -> PreparedLog:
    """A log that is ready for the model, with errors on its torques."""
    t, q, v, a, torque = motion()
    return PreparedLog((Chunk(q, v, a, torque + errors),), (t,), processing or Processing(), SLOW_RATE, 0.0, ())
