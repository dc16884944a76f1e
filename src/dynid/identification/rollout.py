"""Results proved by simulation: the identified robot, in closed loop, beside the positions that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.experiment.experiment import Experiment
from dynid.experiment.reading import read_experiment
from dynid.findings import Finding, Severity, prose
from dynid.identification.earlier import require_same_model
from dynid.identification.result import Result
from dynid.logs.drive import transmission_of
from dynid.logs.sources import read_source
from dynid.model.base_parameters import BaseParameters
from dynid.simulation.closed_loop import SimulatedRobot
from dynid.simulation.lead_in import SAME_PLACE
from dynid.simulation.position_match import PositionMatch, compare_positions
from dynid.simulation.simulated_log import controller_of, nominal_robot, settling_of, trajectory_of


def standard_parameters(base: BaseParameters, values: Sequence[float], near: Array) -> Array:
    """Standard parameters p, shape (parameters,), that have estimated base parameters and can be simulated.

    Args:
        base: The base parameters.
        values: Their values, shape (base,).
        near: Standard parameters to stay near, shape (parameters,). Coulomb friction that was estimated below zero
            is zero.
    """
    p = base.to_standard(np.asarray(values, dtype=float), near=near)
    dry = np.array([parameter.role.is_dry for parameter in base.model.parameters])
    return np.where(dry, np.maximum(p, 0.0), p)


def simulate_result(result: Result, logs: Sequence[Path], parameters: Array | None = None) -> dict[str, Any]:
    """Simulate a result on the references of other logs, and compare positions.

    Args:
        result: The result.
        logs: Experiment files whose `[simulation]` says what was followed, and under which controller.
        parameters: Standard parameters p, shape (parameters,). When None, those of the result's physical links; where
            it has none, those with its base parameters that are nearest to the robot file's.

    Returns:
        Plain data for JSON: for each joint the root mean squares [rad or m] of the difference of positions, and of the
        measured distance from the reference; and findings.
    """
    squares: list[tuple[Array, Array]] = []
    findings: list[dict[str, str]] = []
    for path in logs:
        if path.suffix != ".toml":
            raise InvalidRequestError(
                f"'{path}' is no experiment, and only its [simulation] can say what the robot followed; name one"
            )
        experiment = read_experiment(path)
        require_same_model(result, experiment, path)
        if experiment.simulation.trajectory is None:
            raise InvalidRequestError(
                f"there is no trajectory in [simulation] of '{path}' that says what the robot followed; state it there"
            )
        matches = _compare(result, experiment, parameters)
        findings += [finding.to_dict() for match in matches for finding in _on_reference(match, result, path)]
        squares += [(match.rms**2, match.tracking**2) for match in matches]
    differences, distances = np.sqrt(np.mean(np.array(squares), axis=0))
    joints = zip(result.base.model.robot.independent_joints, differences, distances, strict=True)
    return {
        "joints": [
            {"name": joint.name, "rms_position": float(difference), "rms_tracking": float(distance)}
            for joint, difference, distance in joints
        ],
        "rms_position": float(np.sqrt(np.mean(differences**2))),
        "findings": findings,
    }


def _on_reference(match: PositionMatch, result: Result, path: Path) -> list[Finding]:
    """Warnings on joints that were as far from the reference as they moved."""
    names = [joint.name for joint in result.base.model.robot.independent_joints]
    far = [
        name
        for name, distance, motion in zip(names, match.tracking, match.motion, strict=True)
        if distance > max(motion, SAME_PLACE)
    ]
    if not far:
        return []
    text = (
        f"{', '.join(far)}: measured positions in {path.name} are as far from the reference as the motion is large; "
        "is it the trajectory that the robot followed, and does the log begin where it does?"
    )
    return [prose(Severity.WARNING, "reference", text)]


def _parameters(result: Result, near: Array) -> Array:
    links = result.physical_values
    if links is not None:
        return np.array([links[name] for name in result.base.model.names])
    return standard_parameters(result.base, [result.values[name] for name in result.base.names], near)


def _compare(result: Result, experiment: Experiment, parameters: Array | None) -> list[PositionMatch]:
    settings, model = experiment.simulation, result.base.model
    nominal, _ = nominal_robot(model)
    p = _parameters(result, nominal.parameters) if parameters is None else parameters
    robot = SimulatedRobot.of(model, p, smoothing=settings.smoothing, stribeck=settings.stribeck)
    trajectory, drive = trajectory_of(settings, model.robot), transmission_of(experiment.drive, model.robot)
    start = None if settings.start is None else np.array(settings.start)
    matches = []
    for log in experiment.log:
        recording = read_source(log, model.robot)
        matches.append(
            compare_positions(
                robot,
                trajectory,
                recording.time - recording.first_stamp,
                drive.joint_positions(recording.position),
                controller_of(settings),
                nominal=nominal,
                start=start,
                lead_in=settings.lead_in,
                settling=settling_of(settings, trajectory),
            )
        )
    return matches
