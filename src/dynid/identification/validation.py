"""How well parameters predict torques that were not used to find them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.estimation.factors.decimation import processed_rows
from dynid.logs.settings import Processing
from dynid.model.base_parameters import BaseParameters
from dynid.model.chunks import Chunk
from dynid.model.formulations.torque_rows import TorqueRows


@dataclass(frozen=True)
class JointPrediction:
    """How well one row's torques are predicted.

    Attributes:
        rows: Number of rows.
        rmse: Root of the mean squared error [N m or N].
        nrmse: The same in parts of the range of the measured torque.
        r2: Share of the torque's variance that is explained; 1 is all, below 0 is worse than the mean.
        relative_error: Norm of the error over the norm of the measured torque.
    """

    rows: int
    rmse: float
    nrmse: float
    r2: float
    relative_error: float


@dataclass(frozen=True)
class Validation:
    """How well torques are predicted.

    Attributes:
        joints: Each row of the dynamics.
        relative_error: Norm of all errors over the norm of all measured torques.
    """

    joints: Mapping[str, JointPrediction]
    relative_error: float


def validate(
    base: BaseParameters,
    values: Mapping[str, float],
    segments: Sequence[Chunk],
    processing: Processing | None = None,
    others: Sequence[tuple[Sequence[Chunk], Processing]] = (),
) -> Validation:
    """Predict the torques of samples and compare.

    Args:
        base: The base parameters of the model.
        values: Values of base parameters by name; those that are not given are zero.
        segments: Samples that were not used to find the values; rows that `keep` leaves out do not count.
        processing: How the samples are decimated, as the training data were; not at all when None.
        others: Further samples, each with how they are decimated.
    """
    rows = TorqueRows(base.model)
    b = np.array([values.get(name, 0.0) for name in base.names])
    predictors = rows.predictors(base.to_standard(b))
    sums = np.zeros((4, len(predictors)))  # number, torque, torque squared, error squared
    lowest, highest = np.full(len(predictors), np.inf), np.full(len(predictors), -np.inf)
    logs = [(segments, processing or Processing()), *others]
    for matrices in (part for of_log, how in logs for part in processed_rows(rows, of_log, how)):
        for row, matrix in enumerate(matrices):
            y = matrix[:, -1]
            error = y - matrix[:, :-1] @ predictors[row]
            sums[:, row] += np.array([len(y), y.sum(), y @ y, error @ error])
            lowest[row] = min(lowest[row], y.min(initial=np.inf))
            highest[row] = max(highest[row], y.max(initial=-np.inf))
    joints = {}
    for row, joint in enumerate(base.model.row_names):
        count, total, squares, errors = sums[:, row].tolist()
        joints[joint] = _prediction(count, total, squares, errors, float(highest[row] - lowest[row]))
    return Validation(joints, _ratio(float(sums[3].sum()), float(sums[2].sum())))


def _prediction(count: float, total: float, squares: float, errors: float, span: float) -> JointPrediction:
    rmse = float(np.sqrt(errors / count)) if count else 0.0
    spread = squares - total**2 / count if count else 0.0
    return JointPrediction(
        rows=int(count),
        rmse=rmse,
        nrmse=rmse / span if span > 0.0 else 0.0,
        r2=1.0 - errors / spread if spread > 0.0 else 0.0,
        relative_error=_ratio(errors, squares),
    )


def _ratio(errors: float, squares: float) -> float:
    return float(np.sqrt(errors / squares)) if squares > 0.0 else 0.0
