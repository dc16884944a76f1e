"""Predicted torques beside measured ones: errors of every joint, of rows that count and of all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.estimation import processed_rows
from dynid.logs import Processing
from dynid.model import BaseParameters, DynamicModel, Segment, TorqueRows

Logs = Sequence[tuple[Sequence[Segment], Processing]]
"""For each log its samples, of which rows that `keep` leaves out do not count, and how they are decimated."""


@dataclass(frozen=True)
class JointPrediction:
    """How well the torque of one joint is predicted.

    Attributes:
        name: The joint.
        rows: Number of rows.
        rmse: Root mean square error [N m or N].
        nrmse: The same relative to the range of the measured torque.
        r2: Coefficient of determination: 1 is perfect, below 0 is worse than the mean.
        relative_error: Norm of the error over the norm of the measured torque.
    """

    name: str
    rows: int
    rmse: float
    nrmse: float
    r2: float
    relative_error: float


@dataclass(frozen=True)
class Prediction:
    """How well torques are predicted by one set of parameters.

    Attributes:
        joints: Each joint.
        relative_error: Norm of all errors over the norm of all measured torques.
    """

    joints: tuple[JointPrediction, ...]
    relative_error: float

    @property
    def rows(self) -> int:
        """Number of rows of all joints."""
        return sum(joint.rows for joint in self.joints)

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        joints = [vars(joint) for joint in self.joints]
        return {"relative_error": self.relative_error, "rows": self.rows, "joints": joints}


def predict(base: BaseParameters, values: Array, logs: Logs) -> Prediction:
    """Predict the torques of samples with base parameters, shape (base,), and compare."""
    return predictions(base.model, [base.to_standard(values)], logs)[0]


def predictions(model: DynamicModel, sets: Sequence[Array], logs: Logs) -> list[Prediction]:
    """Predict the torques of samples with several sets of parameters in one pass, and compare.

    Args:
        model: The model; the samples are of states that it can be observed in.
        sets: Standard parameters, each of shape (parameters,).
        logs: The samples.
    """
    rows = TorqueRows(model)
    predictors = [rows.predictors(parameters) for parameters in sets]
    count = len(rows.row_names)
    measured = np.zeros((3, count))  # number, torque, torque squared
    errors = np.zeros((len(sets), count))
    lowest, highest = np.full(count, np.inf), np.full(count, -np.inf)
    for matrices in (part for segments, processing in logs for part in processed_rows(rows, segments, processing)):
        for row, matrix in enumerate(matrices):
            y = matrix[:, -1]
            measured[:, row] += np.array([len(y), y.sum(), y @ y])
            lowest[row] = min(lowest[row], y.min(initial=np.inf))
            highest[row] = max(highest[row], y.max(initial=-np.inf))
            for k, values in enumerate(predictors):
                left = y - matrix[:, :-1] @ values[row]
                errors[k, row] += left @ left
    spans, names = (highest - lowest).tolist(), rows.row_names
    return [
        Prediction(
            tuple(
                _prediction(names[row], *measured[:, row].tolist(), errors=squares, span=spans[row])
                for row, squares in enumerate(of_set.tolist())
            ),
            _ratio(float(of_set.sum()), float(measured[2].sum())),
        )
        for of_set in errors
    ]


def with_slow_rows(logs: Logs) -> Logs | None:
    """The same logs with the rows that a velocity threshold drops; None where none has a threshold."""
    if all(processing.velocity_threshold is None for _, processing in logs):
        return None
    found = []
    for segments, processing in logs:
        if processing.velocity_threshold is not None:
            if not processing.decimate:  # else the threshold is not in `keep`, which drops ends only
                segments = [segment.without_keep() for segment in segments]
            processing = processing.but(velocity_threshold=None)
        found.append((segments, processing))
    return found


def _prediction(name: str, count: float, total: float, squares: float, errors: float, span: float) -> JointPrediction:
    rmse = float(np.sqrt(errors / count)) if count else 0.0
    spread = squares - total**2 / count if count else 0.0
    return JointPrediction(
        name=name,
        rows=int(count),
        rmse=rmse,
        nrmse=rmse / span if span > 0.0 else 0.0,
        r2=1.0 - errors / spread if spread > 0.0 else 0.0,
        relative_error=_ratio(errors, squares),
    )


def _ratio(errors: float, squares: float) -> float:
    return float(np.sqrt(errors / squares)) if squares > 0.0 else 0.0
