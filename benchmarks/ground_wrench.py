"""The simplest estimate from the ground's wrench: one filter, least squares with the file as the prior, nothing else.

It is the baseline of `benchmarks/humanoids.py`, and shows what logs hold: it shares the rows of the base with dynid,
and none of its processing, weights and physics. Its links need not be physically consistent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.signal import butter, sosfiltfilt
from scipy.spatial.transform import Rotation
from tests.floating_kinematics import base_velocity, on_base
from tests.floating_motions import StandingMotion, based
from tests.floating_robots import LeggedRobot
from tests.floating_sensors import FORCE_NOISE, TORQUE_NOISE
from tests.floating_simulation import LOG_RATE
from tests.floating_truth import OFF

from dynid import DynamicModel, Log
from dynid.arrays import Array
from dynid.model.dynamic_model import Observed
from dynid.robot import inertia

CUT_OFF = 3.0
"""Cut-off frequency [Hz]: at 5 Hz and above, counts of encoders shake the accelerations of the whole body."""

KEPT = 20
"""Every so many-th sample of a log is a row."""


def rows(legged: LeggedRobot, motion: StandingMotion, log: Log) -> tuple[Array, Array]:
    """Rows of the base and their right-hand sides, each in units of its standard deviation.

    States are low-passed, forwards and backwards, and the base rests on the first foot. Torques are about the middle
    of the feet, where noise of forces hardly acts.
    """
    sos = butter(4, CUT_OFF, fs=LOG_RATE, output="sos")
    robot, foot = legged.robot, next(iter(motion.feet))
    joints, kept = sosfiltfilt(sos, log.position, axis=0), slice(500, -500, KEPT)
    v = np.gradient(joints, log.time, axis=0)
    q = based(legged, joints, foot, motion.feet[foot])
    v = np.hstack([base_velocity(robot, q, v, foot), v])
    a = np.gradient(v, log.time, axis=0)
    q, v, a = q[kept], v[kept], a[kept]
    W = np.moveaxis(DynamicModel(robot, (), Observed.WRENCH_MOVING).regressor(q, v, a), 0, 1)
    measured = {one.body: one.wrench for one in log.contacts or () if one.wrench is not None}
    y = on_base(robot, q, {body: sosfiltfilt(sos, wrench, axis=0)[kept] for body, wrench in measured.items()})
    middle = np.mean([T[:3, 3] for T in motion.feet.values()], axis=0)
    turn = Rotation.from_quat(q[:, 3:7]).as_matrix()
    move = np.zeros((len(q), 6, 6))
    move[:, :3, :3] = move[:, 3:, 3:] = turn
    move[:, 3:, :3] = inertia.skew(q[:, :3] - middle) @ turn
    apart = np.mean([np.linalg.norm(T[:3, 3] - middle) for T in motion.feet.values()])
    noise = np.repeat([FORCE_NOISE, np.hypot(TORQUE_NOISE, apart * FORCE_NOISE)], 3) * np.sqrt(len(motion.feet))
    noise = noise * np.sqrt(2.0 * CUT_OFF / LOG_RATE * max(1.0, LOG_RATE / KEPT / (2.0 * CUT_OFF)))
    return (move @ W / noise[:, None]).reshape(-1, W.shape[-1]), ((move @ y[..., None])[..., 0] / noise).ravel()


def direct(legged: LeggedRobot, motions: Sequence[StandingMotion], logs: Sequence[Log]) -> Array:
    """Links, shape (10 * solid links,), by least squares with the file as the prior.

    The prior has a standard deviation of 15 % of each link's sizes.
    """
    p0 = legged.robot.parameters
    sizes = np.concatenate([inertia.sizes(link) for link in p0.reshape(-1, 10)]) * OFF
    R = np.empty((0, len(p0) + 1))
    for motion, log in zip(motions, logs, strict=True):
        W, y = rows(legged, motion, log)
        R = np.linalg.qr(np.vstack([R, np.column_stack([W * sizes, y - W @ p0])]), mode="r")
    prior = np.column_stack([np.eye(len(p0)), np.zeros(len(p0))])
    stacked = np.vstack([R, prior])
    z, *_ = np.linalg.lstsq(stacked[:, :-1], stacked[:, -1], rcond=None)
    return p0 + sizes * z
