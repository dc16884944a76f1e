"""What uncertain drive gains do to a load that is identified with them.

A load is linear in the torques, p = sum of p_j over joints, with the part p_j that the torques of joint j make. A gain
that is wrong by a share e_j scales that part, so that p is wrong by p_j e_j, and its covariance has P S P' more: P has
the parts as columns, and S is the covariance of the shares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array
from dynid.errors import ShapeError
from dynid.estimation.payloads.load_problem import Lasting, LogRows, weighed
from dynid.robot import SIZE


def parts_of_joints(
    logs: LogRows, lasting: Lasting, stds: Sequence, names: Sequence[str], joints: Sequence[str]
) -> Array:
    """The part of a load's ten parameters that the torques of each joint make, shape (10, joints); their sum is all.

    Args:
        logs: The factors of all unknowns, of which those of the load are the last ten.
        lasting: How long errors last.
        stds: Standard deviation of each log's rows, by joint, that rows are divided by.
        names: All unknowns.
        joints: The joints.
    """
    whole = weighed(logs, lasting, stds, names)
    lengths = np.linalg.norm(whole.R, axis=0)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    inverse = np.linalg.pinv(whole.R / lengths, rcond=1e-10)
    found = np.zeros((SIZE, len(joints)))
    for k, joint in enumerate(joints):
        floor = 1e-12 * max((std for each in stds for std in each.values()), default=1.0) or 1.0
        moments = np.zeros(len(names))
        for at, each in enumerate(logs):
            if joint in each:
                weight = 1.0 / (max(stds[at][joint], floor) * np.sqrt(max(lasting[at].get(joint, 1.0), 1.0)))
                order = [each[joint].names.index(name) for name in names]
                moments += weight**2 * (each[joint].R[:, order].T @ each[joint].z)
        found[:, k] = (inverse @ (inverse.T @ (moments / lengths)) / lengths)[-SIZE:]
    return found


def with_gain_uncertainty(covariance: Array, parts: Array, gains: Array) -> Array:
    """The covariance of a load's parameters with that of uncertain gains.

    Args:
        covariance: The covariance for exact gains, shape (10, 10).
        parts: What `parts_of_joints` gives, shape (10, joints).
        gains: Standard deviations of the gains relative to them, shape (joints,), or their covariance, shape
            (joints, joints).

    >>> parts = np.zeros((10, 2))
    >>> parts[0] = 2.0, 1.0
    >>> with_gain_uncertainty(np.zeros((10, 10)), parts, np.array([0.1, 0.0]))[0, 0]
    0.04000000000000001
    """
    S = np.diag(gains**2) if gains.ndim == 1 else gains
    if S.shape != (parts.shape[1],) * 2:
        raise ShapeError("uncertainties of gains", f"({parts.shape[1]},)", gains.shape)
    return covariance + parts @ S @ parts.T
