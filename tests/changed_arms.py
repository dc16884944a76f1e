"""Recordings of arms that pick something up, or whose friction rises, with white and lasting errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array
from dynid.model import DynamicModel
from dynid.robot import inertia

RATE = 100.0
"""Sampling rate [Hz]."""


def parameters(model: DynamicModel) -> Array:
    p = np.nan_to_num(model.reference).copy()
    p[len(model.robot.parameters) :] = np.tile([1.5, 2.0, 0.3], model.row_count)
    return p


def with_payload(model: DynamicModel, mass: float) -> Array:
    p, last = parameters(model), inertia.SIZE * len(model.robot.solid_links)
    p[last - inertia.SIZE : last] += inertia.from_mass_com_inertia(mass, np.array([0.1, 0.0, 0.05]), 1e-3 * np.eye(3))
    return p


def with_friction(model: DynamicModel, joint: int, factor: float) -> Array:
    p = parameters(model)
    for k, one in enumerate(model.parameters):
        p[k] *= factor if one.joint == model.robot.axes[joint].name and one.name[:2] in ("fv", "fs") else 1.0
    return p


def recording(model: DynamicModel, parts: Sequence[tuple[float, Array]], seed: int = 0) -> tuple[Array, ...]:
    """Time, states and torques with white and lasting errors; of each part its length [s] and parameters."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(RATE * sum(length for length, _ in parts))) / RATE
    n = model.row_count
    omega, phase = 2.0 * np.pi * rng.uniform(0.08, 0.5, (4, n, 1)), rng.uniform(0.0, 6.0, (4, n, 1))
    waves = 0.5 * np.sin(omega * t + phase), 0.5 * omega * np.cos(omega * t + phase)
    q, v, a = waves[0].sum(0).T, waves[1].sum(0).T, -(omega**2 * waves[0]).sum(0).T
    tau, first = np.zeros((len(t), n)), 0
    for length, p in parts:
        at = slice(first, first + int(RATE * length))
        tau[at], first = model.inverse_dynamics(q[at], v[at], a[at], p), at.stop
    size = 0.02 * np.std(tau, axis=0)
    slow = np.cumsum(rng.normal(size=tau.shape), axis=0)
    slow -= np.array([np.convolve(one, np.ones(400) / 400, mode="same") for one in slow.T]).T
    return t, q, v, a, tau + size * rng.normal(size=tau.shape) + size * slow / np.std(slow, axis=0)
