"""Where feet stand by what logs show: bodies that rest close loops, whose placement decides what is identifiable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import Array
from dynid.identification.task import Task
from dynid.logs import PreparedLog
from dynid.logs.floating_checks import THRESHOLDS
from dynid.model import DynamicModel, link_pose, loaded
from dynid.robot import Robot, place_of_body

ARM = 0.1
"""Distance [m] of points that show how a body is turned: about half a sole."""

TILT = 0.01
"""Change [rad] of the direction of gravity in a body from which on it does not rest alike in all logs."""

LOOKED_AT = 200
"""Samples of each segment that are looked at."""


def with_standing_as_logged(task: Task, logs: Sequence[PreparedLog]) -> Task:
    """The task with bodies that rest where the logs have them.

    Where the bodies are elsewhere in some of the logs, only the first of them counts as resting: the others stand
    anywhere then, as far as base parameters go. Where gravity has another direction in the first of them, none does.

    Args:
        task: The task.
        logs: Its logs, ready for its model.
    """
    observed = task.model.observed
    if not observed.stands_on:
        return task
    robot, postures = task.model.robot, _postures(logs)
    tilts = _tilts(robot, observed.stands_on[0], postures)
    if np.abs(tilts - tilts[0]).max() > TILT:
        observed = replace(observed, stands_on=())
        return replace(task, model=DynamicModel(robot, task.model.terms, observed))
    if len(observed.stands_on) < 2:
        observed = replace(observed, posture=tuple(postures[0].tolist()))
        return replace(task, model=DynamicModel(robot, task.model.terms, observed))
    places = np.concatenate(
        [_place(robot, observed.stands_on[0], body, postures) for body in observed.stands_on[1:]], 1
    )
    middle = np.median(places, axis=0)
    if np.abs(places - middle).max() > THRESHOLDS.slip:
        observed = replace(observed, stands_on=observed.stands_on[:1], posture=tuple(postures[0].tolist()))
    else:
        nearest = int(np.argmin(np.abs(places - middle).max(axis=1)))
        observed = replace(observed, posture=tuple(postures[nearest].tolist()))
    return replace(task, model=DynamicModel(robot, task.model.terms, observed))


def _tilts(robot: Robot, body: str, q: Array) -> Array:
    """The direction of gravity in a body, shape (samples, 3)."""
    link, placement = place_of_body(robot, body)
    R, _ = link_pose(robot, link, q)
    return robot.gravity / np.linalg.norm(robot.gravity) @ R @ placement[:3, :3]


def _postures(logs: Sequence[PreparedLog]) -> Array:
    """Some positions of all logs, shape (samples, nq)."""
    chunks = [loaded(segment) for log in logs for segment in log.segments]
    return np.concatenate([chunk.q[:: max(1, len(chunk) // LOOKED_AT)] for chunk in chunks])


def _place(robot: Robot, first: str, other: str, q: Array) -> Array:
    """Where a body is beside another [m], along its axes: three of its points, shape (samples, 9)."""
    (link, placement), (own, at) = place_of_body(robot, first), place_of_body(robot, other)
    (R, p), (R_own, p_own) = link_pose(robot, link, q), link_pose(robot, own, q)
    R, p = R @ placement[:3, :3], p + R @ placement[:3, 3]
    points = at[:3, 3] + at[:3, :3].T * ARM  # its origin, moved along its axes
    world = p_own[:, None] + np.einsum("sij,kj->ski", R_own, points)
    return np.einsum("sji,skj->ski", R, world - p[:, None]).reshape(len(q), -1)
