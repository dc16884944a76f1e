"""What uncertain drive gains do to a load that is identified with them.

A load is linear in the torques, p = sum of p_j over joints, with the part p_j that the torques of joint j make. A gain
that is wrong by a share e_j scales that part, so that p is wrong by p_j e_j, and its covariance has P S P' more: P has
the parts as columns, and S is the covariance of the shares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import Array
from dynid.errors import ShapeError
from dynid.estimation.factors.factors import Factor
from dynid.estimation.payloads.load_problem import Lasting, LoadFit, LoadProblem, LogRows, weighed
from dynid.robot import SIZE


def parts_of_joints(
    logs: LogRows,
    lasting: Lasting,
    stds: Sequence[Mapping[str, float]],
    names: Sequence[str],
    joints: Sequence[str],
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
        silent = [{name: _silenced(factor, name == joint) for name, factor in each.items()} for each in logs]
        own = weighed(silent, lasting, stds, names)
        moments = own.R.T @ own.z
        found[:, k] = (inverse @ (inverse.T @ (moments / lengths)) / lengths)[-SIZE:]
    return found


def _silenced(factor: Factor, own: bool) -> Factor:
    return factor if own else replace(factor, z=0.0 * factor.z, squares=0.0)


def with_gain_uncertainty(covariance: Array, parts: Array, gains: Array) -> Array:
    """The covariance of a load's parameters with that of uncertain gains.

    Args:
        covariance: The covariance for exact gains, shape (10, 10).
        parts: What `parts_of_joints` gives, shape (10, joints).
        gains: Standard deviations of the gains relative to them, shape (joints,), or their covariance, shape
            (joints, joints).

    >>> parts = np.zeros((10, 2))
    >>> parts[0] = 2.0, 1.0
    >>> with_gain_uncertainty(np.zeros((10, 10)), parts, np.array([0.5, 0.0]))[0, 0]
    np.float64(1.0)
    """
    return covariance + parts @ _covariance(gains, parts.shape[1]) @ parts.T


def with_uncertain_gains(problem: LoadProblem, fit: LoadFit, gains: Array) -> LoadFit:
    """A fit of a load whose triangle, and so its covariance, includes that of uncertain gains.

    Args:
        problem: The problem.
        fit: Its fit.
        gains: As for `with_gain_uncertainty`.
    """
    joints = problem.base.model.row_names
    S = _covariance(gains, len(joints))
    logs, lasting = problem.log_rows
    P = parts_of_joints(logs, lasting, fit.stds, problem.names, joints)
    roots, axes = np.linalg.eigh(S)
    P = P @ (axes * np.sqrt(np.maximum(roots, 0.0)))  # now of independent shares of one
    half = fit.R @ P
    information = fit.R.T @ np.linalg.solve(np.eye(len(fit.R)) + half @ half.T, fit.R)
    values, vectors = np.linalg.eigh(information)
    R = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return replace(fit, R=R, z=R @ fit.parameters)


def _covariance(gains: Array, joints: int) -> Array:
    S = np.diag(gains**2) if gains.ndim == 1 else gains
    if S.shape != (joints, joints):
        raise ShapeError("uncertainties of gains", f"({joints},) or ({joints}, {joints})", gains.shape)
    return S
