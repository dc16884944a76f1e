"""Markers on robots by Pinocchio's forward kinematics, beside which ours are checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from dynid import Capture, Robot
from dynid.arrays import Array
from dynid.robot.human.skeleton import marker_rows
from dynid.robot.pinocchio import to_pinocchio

LABELS = tuple(name for name, _, _ in marker_rows())
"""All markers of the human body."""


def pinocchio_markers(robot: Robot, q: Array, names: Sequence[str] = LABELS) -> Array:
    """Where Pinocchio has the origins of bodies [m], shape (samples, bodies, 3), at positions (samples, nq)."""
    model = to_pinocchio(robot)
    data = model.createData()
    where = {body.name: (i, body.placement[:3, 3]) for i, link in enumerate(robot.links) for body in link.bodies}
    found = np.zeros((len(q), len(names), 3))
    for s, posture in enumerate(q):
        pin.forwardKinematics(model, data, posture)
        for m, name in enumerate(names):
            link, place = where[name]
            found[s, m] = data.oMi[link + 1].act(place)
    return found


def captured(time: Array, markers: Array, names: Sequence[str] = LABELS, noise: float = 0.0, seed: int = 0) -> Capture:
    """A capture of markers with noise of a standard deviation [m]."""
    rng = np.random.default_rng(seed)
    return Capture(time, markers + noise * rng.normal(size=markers.shape), names)


def waves(robot: Robot, seconds: float, seed: int = 0, share: float = 0.5, rate: float = 100.0) -> tuple[Array, Array]:
    """Times [s] and positions of a floating robot in which all joints swing within a share of their ranges."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / rate)
    q = np.tile(robot.neutral, (len(t), 1))
    for joint in robot.axes:
        lower, upper = joint.limits.interval(2.0)
        swing = np.sin(2.0 * np.pi * rng.uniform(0.1, 0.6) * t + rng.uniform(0.0, 6.0))
        q[:, joint.q.start] = share * ((lower + upper) / 2 + (upper - lower) / 2 * swing)
    turn = np.array([pin.Quaternion(pin.exp3(v)).coeffs() for v in 0.4 * np.sin(np.outer(t, [0.6, 0.9, 1.7]))])
    q[:, :3], q[:, 3:7] = 0.2 * np.sin(np.outer(t, [1.0, 1.3, 0.7])), turn
    return t, q
