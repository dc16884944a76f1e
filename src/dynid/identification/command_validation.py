"""Validation by rollout: logs that were not used, simulated under their commands from the first sample to the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.identification.commanded_robot import LawPoint, control_input, rolled_out
from dynid.identification.law_logs import stretches_of_log
from dynid.identification.records import RolloutRecord
from dynid.identification.result import Result
from dynid.logs import Log
from dynid.model import DynamicModel
from dynid.robot import JointKind
from dynid.simulation import Rollout


@dataclass(frozen=True, eq=False)
class LogRollout:
    """A log beside its rollouts.

    Attributes:
        log: The log.
        identified: The rollout with the identified parameters.
        of_file: The rollout with the robot file's own values, without delay.
    """

    log: Log
    identified: Rollout
    of_file: Rollout


def law_point(result: Result) -> LawPoint:
    """Everything that rollouts of a result depend on; gains are those of the logs."""
    found, n = result.record.commands, result.robot.nv
    assert found is not None  # it was identified from commands
    p = result.standard_parameters(physical=result.physical is not None)
    bias = np.zeros(n) if found.bias is None else np.array(found.bias)
    speeds = np.array([one.value for one in result.model.nonlinear])
    return LawPoint(p, found.delay, found.law, np.ones(n), bias, speeds)


def roll_out_log(result: Result, log: Log) -> LogRollout:
    """Roll out a log under its commands, with the identified parameters and with those of the robot's file."""
    point, model = law_point(result), result.model
    control = control_input(log, point.form, result.task.control.rate)
    of_file = LawPoint(np.nan_to_num(model.reference), 0.0, point.form, point.scales, np.zeros_like(point.bias))
    return LogRollout(log, rolled_out(model, log, point, control), rolled_out(model, log, of_file, control))


def validate_rollouts(result: Result, logs: Sequence[Log], names: Sequence[str]) -> RolloutRecord | None:
    """How near rollouts come to logs that were not used; None where no log has commands.

    Args:
        result: A result that was identified from commands.
        logs: The logs.
        names: Their names.
    """
    known = [(log, name) for log, name in zip(logs, names, strict=True) if log.has_commands]
    pairs = [(part, name) for log, name in known for part in stretches_of_log(log) if len(part) > 1]
    if not pairs:
        return None
    own, files, commands, ended = list[Array](), list[Array](), list[Array](), list[str]()
    for log, name in pairs:
        found = roll_out_log(result, log)
        commands.append(np.mean((log.position - log.commands.position) ** 2, axis=0))
        files.append(_mean_squares(found.of_file, log))
        own.append(_mean_squares(found.identified, log))
        if found.identified.ended is not None:
            ended.append(name)
    of_file = None if not all(np.isfinite(one).all() for one in files) else np.array(files)
    record = rollout_record(result.model, np.array(own), np.array(commands), None, of_file)
    return record.model_copy(update={"ended": tuple(ended)})


def _mean_squares(rollout: Rollout, log: Log) -> Array:
    """Mean squares of the errors of a rollout [rad^2 or m^2], shape (joints,); infinite where it flew off."""
    if rollout.ended is not None:
        return np.full(log.position.shape[1], np.inf)
    return np.mean((log.position - rollout.q) ** 2, axis=0)


def rollout_record(
    model: DynamicModel, own: Array, commands: Array, regression: Array | None = None, of_file: Array | None = None
) -> RolloutRecord:
    """Root mean squares of mean squares of errors [rad^2 or m^2], each of shape (logs, joints)."""
    every = {"rmse": own, "regression": regression, "robot_file": of_file, "command": commands}
    roots = {key: np.sqrt(values.mean(axis=0)) for key, values in every.items() if values is not None}
    kinds = [joint.kind for joint in model.robot.independent_joints for _ in range(joint.kind.nv)][model.rows]
    joints = [
        {key: float(values[k]) for key, values in roots.items()}
        | {"name": name, "unit": "m" if kinds[k] is JointKind.PRISMATIC else "rad"}
        for k, name in enumerate(model.row_names)
    ]
    whole = {key: float(np.sqrt(np.mean(values**2))) for key, values in roots.items()}
    return RolloutRecord.model_validate({"joints": joints, **whole})
