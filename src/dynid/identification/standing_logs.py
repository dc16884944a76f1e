"""Where feet stand by what logs show: bodies that rest close loops, whose placement decides what is identifiable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import Array
from dynid.identification.task import Task
from dynid.logs import PreparedLog
from dynid.logs.floating_checks import THRESHOLDS
from dynid.model import DynamicModel, Observed, body_pose, loaded
from dynid.robot import Robot

ARM = 0.1
"""Distance [m] of points that show how a body is turned: about half a sole."""

TILT = 0.01
"""Change [rad] of the direction of gravity in a body from which on it does not rest alike in all logs."""

SAME = 1e-6
"""Difference of gravity's direction from that in the file's neutral posture up to which this one stands for it."""

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
    first, *others = observed.stands_on
    tilts = _tilts(robot, first, postures)
    if np.abs(tilts - tilts[0]).max() > TILT:
        return _observing(task, replace(observed, stands_on=()))
    nearest = 0
    if others:
        places = np.hstack([_place(robot, first, body, postures) for body in others])
        apart = np.abs(places - np.median(places, axis=0)).max(axis=1)
        nearest = int(np.argmin(apart))
        if apart.max() > THRESHOLDS.slip:
            observed, others = replace(observed, stands_on=(first,)), []
    if not others and np.abs(tilts[0] - _tilts(robot, first, robot.neutral[None])).max() < SAME:
        return _observing(task, observed)
    return _observing(task, replace(observed, posture=tuple(postures[nearest].tolist())))


def _observing(task: Task, observed: Observed) -> Task:
    """The task of a model with other measured equations; itself where they are the same."""
    model = task.model
    return task if observed == model.observed else replace(task, model=DynamicModel(model.robot, model.terms, observed))


def _tilts(robot: Robot, body: str, q: Array) -> Array:
    """The direction of gravity in a body, shape (samples, 3)."""
    R, _ = body_pose(robot, body, q)
    strength = float(np.linalg.norm(robot.gravity))
    return robot.gravity / (strength or 1.0) @ R


def _postures(logs: Sequence[PreparedLog]) -> Array:
    """Some positions of all logs, shape (samples, nq)."""
    chunks = [loaded(segment) for log in logs for segment in log.segments]
    return np.concatenate([chunk.q[:: max(1, len(chunk) // LOOKED_AT)] for chunk in chunks])


def _place(robot: Robot, first: str, other: str, q: Array) -> Array:
    """Where a body is beside another [m], along its axes: three of its points, shape (samples, 9)."""
    (R, p), (R_own, p_own) = body_pose(robot, first, q), body_pose(robot, other, q)
    points = p_own[:, None] + ARM * R_own.transpose(0, 2, 1)  # its origin, moved along its axes
    return np.einsum("sji,skj->ski", R, points - p[:, None]).reshape(len(q), -1)
