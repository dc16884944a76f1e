"""Logs of static postures beside logs of motion: two stages, merged as information or one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dynid.errors import InvalidRequestError
from dynid.estimation import Factors
from dynid.estimation.factors.accumulation import factorise
from dynid.estimation.factors.reduced_logs import EarlierLogs
from dynid.estimation.physical.physical_estimate import weighed
from dynid.estimation.static_estimate import StaticEstimate
from dynid.identification.drive_units import is_in_amperes
from dynid.identification.log_reading import read
from dynid.identification.result import Result
from dynid.identification.task import Task
from dynid.logs import Drive, Log, find_rests, transmission_of
from dynid.logs.processing.carried_loads import LoadColumns
from dynid.model import Chunk, DynamicModel
from dynid.robot import Robot


def with_static_logs(
    task: Task, earlier: EarlierLogs | None, progress: Callable[[str], None] = lambda _: None
) -> tuple[Task, EarlierLogs | None]:
    """Reduce the static logs of a task to factors, so that they count as logs that were reduced before.

    Each rest is one row of every joint, without velocity and acceleration: it says nothing of friction, nor of inertia.
    Rows of static logs are weighed by their own residuals, as those of every log.

    Args:
        task: The task.
        earlier: Logs that were reduced before.
        progress: Callback; receives a short description of each step.

    Raises:
        InvalidRequestError: If there are no logs of motion, or rows of static logs do not go with the task.
    """
    static = tuple(log for log in task.logs if log.static)
    if not static:
        return task, earlier
    moving = tuple(log for log in task.logs if not log.static)
    if not moving and earlier is None:
        raise InvalidRequestError(
            "all logs are static, and determine only gravity parameters; use dynid gravity (dynid.identify_gravity), "
            "or add a log of motion"
        )
    if task.chooses_terms or task.is_commanded or task.torque == "magnitude" or task.estimation.estimator != "torque":
        raise InvalidRequestError(
            "static logs go with stated terms, torques with signs and estimator = 'torque'; state these, or leave "
            "static logs out"
        )
    before = EarlierLogs(task.model) if earlier is None else earlier
    found = list[Factors]()
    for k, source in enumerate(static, start=1):
        progress(f"Reading static log {k} of {len(static)}")
        log = read(source, task.model.robot, progress, task.drive, task.processing)
        factors = static_factors(at_joints(log, task.drive, task.model.robot), before.model)
        found.append(factors.weighted(source.weight))
    torques, rows = (*before.torques, *found), (*before.rows, *found)
    task = replace(task, logs=moving, earlier=(*task.earlier, *static))
    return task, EarlierLogs(before.model, torques, torques if before.rows is before.torques else rows)


def at_joints(log: Log, drive: Drive, robot: Robot) -> Log:
    """A log with positions and torques of the joints."""
    if is_in_amperes(drive):
        raise InvalidRequestError(
            "torques at rest are in amperes, as torque constants are not known; state these (dynid gains finds them)"
        )
    transmission = transmission_of(drive, robot)
    position, torque = transmission.joint_positions(log.position), transmission.joint_torques(log.torque)
    return replace(log, position=position, torque=torque, velocity=None)


def without_weight(log: Log, robot: Robot) -> Log:
    """A log at rest or in slow motion, on the side of the joints, without the weight of a known load.

    Raises:
        InvalidRequestError: If the load is not known.
    """
    if log.load is None:
        return log
    if isinstance(log.load, str):
        raise InvalidRequestError(
            f"a log carries the load '{log.load}', which is not known: identify it with dynid payload, or leave it out"
        )
    link, parameters = log.load.of_link(robot)
    still = np.zeros_like(log.position)
    chunk = Chunk(log.position, still, still, log.torque)
    weight = LoadColumns(DynamicModel(robot), link).torques(chunk, parameters)
    return replace(log, torque=log.torque - weight, load=None)


def static_factors(log: Log, model: DynamicModel) -> Factors:
    """The factors of the mean torques at the rests of a log, for all parameters of a model."""
    rests = find_rests(without_weight(log, model.robot))
    still = np.zeros((len(rests), model.robot.nv))
    return factorise(model, [Chunk(rests.position, still, still, rests.torque)])


def identify_in_stages(gravity: StaticEstimate, result: Result, *, hold: bool = True) -> StaticEstimate:
    """Base parameters from two stages: gravity parameters of static postures, and the rest from a result of motion.

    The gravity parameters s = G b are combinations of the result's base parameters b. With `hold` they stay as static
    postures have them, whatever the motion says of them, and their covariance is carried over to the others: right
    where the motion is poor or its model is incomplete (unmodelled friction, flexibility), which static postures do not
    see. Without, both count by their covariances, which is the optimum where the models of both are right, and the same
    as static and moving logs in one `identify`.

    Args:
        gravity: What static postures gave (`identify_gravity`).
        result: What logs of motion gave.
        hold: Whether the static values stay as they are.

    Returns:
        The base parameters of the result, with their covariance.

    Raises:
        InvalidRequestError: If both are not of one robot and its terms.
    """
    base, own = result.base, gravity.base
    if gravity.base.model.names != base.model.names:
        raise InvalidRequestError("the static estimate has other parameters than the result; use one robot and terms")
    G = own.regrouping @ np.linalg.pinv(base.regrouping)
    if not np.allclose(G @ base.regrouping, own.regrouping, atol=1e-8):
        raise InvalidRequestError("the result does not have all gravity parameters; identify it with the same terms")
    b, C = _of_result(result)
    s, S = gravity.values[: len(own)], gravity.covariance[: len(own), : len(own)]
    moving = G @ C @ G.T
    gain = np.linalg.solve(moving + (0.0 if hold else 1.0) * S, G @ C).T
    covariance = C - gain @ (G @ C)
    if hold:
        covariance = covariance + gain @ S @ gain.T
    freedom = float(gravity.freedoms[: len(own)].min())
    return StaticEstimate(
        base=base,
        nuisance=(),
        values=b + gain @ (s - G @ b),
        covariance=0.5 * (covariance + covariance.T),
        freedoms=np.full(len(base), freedom),
        noise=gravity.noise,
        rows=gravity.rows + sum(factors.rows for factors in result.rows),
        confidence=gravity.confidence,
        source=f"{gravity.source}, then motion" if hold else f"{gravity.source} and motion",
    )


def _of_result(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Base parameters of a result and their covariance: its standard deviations, with correlations of white errors."""
    base = result.base
    factor = weighed(result.rows, base, result.task.estimation.method)
    inverse = np.linalg.inv(factor.R)
    white = inverse @ inverse.T
    rows = {row.name: row for row in result.record.parameters}
    values = np.array([rows[name].value for name in base.names], dtype=float)
    stds = np.array([rows[name].std for name in base.names], dtype=float)
    wider = stds / np.sqrt(np.diag(white))
    return values, white * np.outer(wider, wider)
