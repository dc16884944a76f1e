"""Samples where friction turns round: there the sign of a torque follows the velocity's only after a while.

Coulomb friction in a model jumps with the velocity's sign; that of a drive takes some hundredths of a second, and so do
filters. Short as it is, this is the largest error of many models, always at the same place, just where torques change
their signs. Signs are told better without these samples; the estimate of parameters that follows has them again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation.signs.segments import reversals
from dynid.estimation.signs.tracks import Track
from dynid.model.dynamic_model import DynamicModel

TURNING = 0.05
"""Time [s] before and after a velocity's change of sign in which Coulomb friction is not trusted."""

MOST = 0.5
"""Where more than this part of a channel's samples would go, none does."""


def jumping(model: DynamicModel, mixing: Array) -> NDArray[np.bool_]:
    """Which channel's torque jumps when which joint turns round, shape (channels, joints).

    Args:
        model: The model.
        mixing: From joint torques to channels, shape (channels, joints).
    """
    robot = model.robot
    tiny = 1e-9 * np.eye(robot.nv)
    q = np.tile(robot.neutral, (2 * robot.nv, 1))
    W = model.regressor(q, np.concatenate([tiny, -tiny]))
    jumps = np.abs(W[:, : robot.nv] - W[:, robot.nv :]).max(axis=2) > 1e-3  # rows by joints
    return (np.abs(mixing) > 0.0).astype(int) @ jumps.astype(int) > 0


def without_turns(track: Track, jumps: NDArray[np.bool_]) -> Track:
    """The track with weight zero for samples around velocities' changes of sign, where torques jump."""
    samples = track.samples
    around = max(1, round(TURNING * track.rate))
    weight = np.ones(track.magnitudes.shape)
    for channel, turns in enumerate(reversals([track], jumps)[0]):
        for k in turns:
            weight[max(k - around, 0) : k + around, channel] = 0.0
        if np.mean(weight[:, channel] == 0.0) > MOST:
            weight[:, channel] = 1.0
    return replace(track, samples=replace(samples, weight=weight))
