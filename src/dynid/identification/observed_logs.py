"""Logs as an observer of a result takes them: read once, with the model that goes with each stretch of time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation import LoggedSignals
from dynid.identification.held_out_logs import held_out_task, single_logs_of
from dynid.identification.log_reading import name_of, read_any_length, share_samples
from dynid.identification.result import Result, ResultError
from dynid.identification.task import require_single_axes
from dynid.logs import Log
from dynid.model import Observed
from dynid.robot import SIZE, Load, Robot

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class ModelStretch:
    """A stretch of time, with parameters that were identified without it.

    Attributes:
        first: Its begin, since the first sample of the log [s].
        last: Its end [s].
        parameters: Standard parameters, shape (parameters,).
    """

    first: float
    last: float
    parameters: Array


@dataclass(frozen=True, eq=False)
class ObservedLog:
    """A log as an observer takes it.

    Attributes:
        name: What it is called.
        signals: Its signals at the joints.
        stretches: The parameters for each stretch of its time.
        used: Whether the result was identified from it.
    """

    name: str
    signals: LoggedSignals
    stretches: tuple[ModelStretch, ...]
    used: bool = False


def require_observable(result: Result) -> None:
    """Refuse results that no observer of external torques in N m can be made of.

    Raises:
        InvalidRequestError: If the robot has a floating base or spherical joints, or the result is one of commands, of
            other rows than torques, or in units of current.
    """
    require_single_axes(result.robot, "external torques are observed")
    if result.record.commands is not None or result.model.observed != Observed.TORQUES:
        raise InvalidRequestError(
            "the result was not identified from joint torques, so that nothing says what they are without a contact; "
            "identify the robot from logs with torques"
        )
    if result.is_in_amperes:
        raise InvalidRequestError(
            "the result is in units of current, because torque constants are not known, and external torques are in "
            "N m; state drive.torque_constants [N m/A] and identify again"
        )


def model_parameters(result: Result, *, physical: bool) -> Array:
    """Standard parameters of a result, shape (parameters,)."""
    return result.standard_parameters(physical=physical)


def unused_logs(
    result: Result, logs: Sequence[Log | str | Path], *, physical: bool, progress: Progress = lambda _: None
) -> Iterator[ObservedLog]:
    """Logs that are given, each read as the result's own were.

    Args:
        result: The result.
        logs: Logs in memory, log files laid out as the result's own, or experiment files.
        physical: Whether the physically consistent links are observed with, else the base parameters.
        progress: Callback; receives a short description of each step.

    Raises:
        ResultError: If a log has torques without signs.
        InvalidRequestError: If a log has no torques, or is of another robot.
    """
    p = model_parameters(result, physical=physical)
    for one in single_logs_of(logs):
        assert isinstance(one, Log | str)
        task = held_out_task(result, one)
        if task.torque == "magnitude" and not isinstance(one, Log):
            raise ResultError(one, "has torques without signs, which no motion compares with; use a log with signs")
        for k, source in enumerate(task.logs, start=1):
            name = name_of(source, k)
            progress(f"Reading {name}")
            log = read_any_length(source, result.robot, progress, task.drive, task.processing)[:]
            used = any(share_samples(own, source) for own in result.task.all_logs)
            signals = LoggedSignals.of(log, result.robot, task.drive)
            whole = ModelStretch(0.0, np.inf, with_carried(p, log.load, result.robot))
            yield ObservedLog(name, signals, (whole,), used)


def with_carried(parameters: Array, load: Load | str | None, robot: Robot) -> Array:
    """Standard parameters with a load that is known; one that is not known shows as an external torque."""
    if not isinstance(load, Load):
        return parameters
    link, own = load.of_link(robot)
    first = SIZE * robot.solid_links.index(link)
    found = parameters.copy()
    found[first : first + SIZE] += own
    return found
