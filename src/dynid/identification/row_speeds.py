"""How fast joints move in the rows that count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.row_forms import RowForm
from dynid.logs.processing.automatic import PreparedLog
from dynid.model.dynamic_model import DynamicModel
from dynid.robot.robot import Joint


def threshold_of(log: PreparedLog, joint: Joint, form: RowForm) -> float:
    """Speed [rad/s or m/s] below which rows of a joint are dropped; rows of power and energy never are."""
    thresholds = log.processing.thresholds
    return thresholds[joint.v.start] if thresholds and form.name in ("torque", "momentum") else 0.0


def speeds(logs: Sequence[PreparedLog], joint: Joint, form: RowForm) -> Array:
    """Velocities of a joint in all rows that count, shape (rows,)."""
    column, found = joint.v.start, [np.zeros(0)]
    for log in logs:
        threshold = threshold_of(log, joint, form)
        for segment in log.segments:
            v = segment.v[:, column]
            kept = np.abs(v) >= threshold
            found.append(v[kept if segment.keep is None else kept & segment.keep[:, column]])
    return np.concatenate(found)


def slowest_speeds(model: DynamicModel, logs: Sequence[PreparedLog], form: RowForm) -> dict[str, float]:
    """For each shape that is a positive speed, by name, the slowest speed of its joint in all rows that count.

    What happens at slower speeds acts in no row: only what filters smear, or rounding, would tell such a shape.
    """
    found = {}
    for shape in model.nonlinear:
        if shape.unit in ("rad/s", "m/s") and shape.lower > 0.0:
            speed = np.abs(speeds(logs, model.robot.joint(shape.owner), form))
            if len(speed):
                found[shape.name] = float(speed.min())
    return found
