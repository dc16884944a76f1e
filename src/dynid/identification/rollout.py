"""Validation by rollout: the identified model, in closed loop on the reference of a real run, against its positions.

This asks more of a model than torques along measured motion do, for errors add up; and less, for a stiff controller
hides them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.excitation import Moves, read_trajectory
from dynid.experiment import Experiment
from dynid.findings import Finding
from dynid.identification.held_out_logs import held_out_experiment
from dynid.identification.result import Result
from dynid.logs import Log, read_source, transmission_of
from dynid.model import BaseParameters
from dynid.simulation import SAME_PLACE, Controller, Repeated, Run, SimulatedRobot, follow, nominal_robot, settling_of


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


def simulate_result(
    result: Result, paths: Sequence[Path], parameters: Array | None = None, logs: Sequence[Log] = ()
) -> tuple[dict[str, Any], list[Finding]]:
    """Simulate a result on the references of other logs, and compare positions.

    Args:
        result: The result.
        paths: Experiment files whose `[simulation]` says what was followed, and under which controller.
        parameters: Standard parameters p, shape (parameters,). When None, those of the result's physical links; where
            it has none, those with its base parameters that are nearest to the robot file's.
        logs: The logs of all experiments, in their order, where they were read already.

    Returns:
        Plain data for JSON: for each joint the root mean squares [rad or m] of the difference of positions, and of the
        measured distance from the reference. And findings.
    """
    squares: list[tuple[Array, Array]] = []
    findings: list[Finding] = []
    known = iter(logs)
    for path in paths:
        if path.suffix != ".toml":
            raise InvalidRequestError(
                f"'{path}' is no experiment, and only its [simulation] can say what the robot followed; name one"
            )
        experiment = held_out_experiment(result, path)
        if experiment.simulation.trajectory is None:
            raise InvalidRequestError(
                f"there is no trajectory in [simulation] of '{path}' that says what the robot followed; state it there"
            )
        own = [next(known, None) or read_source(source, result.robot) for source in experiment.logs]
        matches = _compare(result, experiment, own, parameters)
        findings += [finding for match in matches for finding in _on_reference(match, result, path)]
        squares += [(match.rms**2, match.tracking**2) for match in matches]
    differences, distances = np.sqrt(np.mean(np.array(squares), axis=0))
    pairs = zip(result.base.model.robot.independent_joints, differences, distances, strict=True)
    joints = [
        {"name": joint.name, "rms_position": float(difference), "rms_tracking": float(distance)}
        for joint, difference, distance in pairs
    ]
    return {"joints": joints, "rms_position": float(np.sqrt(np.mean(differences**2)))}, findings


def _on_reference(match: PositionMatch, result: Result, path: Path) -> list[Finding]:
    """A warning on joints that were as far from the reference as they moved."""
    names = [joint.name for joint in result.base.model.robot.independent_joints]
    far = [
        name
        for name, distance, motion in zip(names, match.tracking, match.motion, strict=True)
        if distance > max(motion, SAME_PLACE)
    ]
    if not far:
        return []
    return [Finding.of("reference-not-followed", "reference", joints=far, file=path.name)]


def _parameters(result: Result, near: Array) -> Array:
    links = result.physical_values
    if links is not None:
        return np.array([links[name] for name in result.base.model.names])
    return standard_parameters(result.base, [result.values[name] for name in result.base.names], near)


def _compare(
    result: Result, experiment: Experiment, logs: Sequence[Log], parameters: Array | None
) -> list[PositionMatch]:
    settings, model = experiment.simulation, result.base.model
    assert settings.trajectory is not None
    nominal, _ = nominal_robot(model)
    p = _parameters(result, nominal.parameters) if parameters is None else parameters
    robot = SimulatedRobot.of(model, p, smoothing=settings.smoothing, stribeck=settings.stribeck)
    trajectory = Repeated(read_trajectory(settings.trajectory, model.robot), settings.periods)
    drive = transmission_of(result.task.with_logs_of(experiment).drive, model.robot)
    return [
        compare_positions(
            robot,
            trajectory,
            log.time - log.first_stamp,
            drive.joint_positions(log.position),
            settings,
            nominal=nominal,
            start=None if settings.start is None else np.array(settings.start),
            lead_in=settings.lead_in,
            settling=settling_of(settings, trajectory),
        )
        for log in logs
    ]


CONTROLLER = Controller()
"""The controller that is simulated where none is stated."""


@dataclass(frozen=True, eq=False)
class PositionMatch:
    """How well a simulated robot moves as a real one did.

    Attributes:
        rms: Root mean square of the difference of positions [rad or m], shape (nv,).
        tracking: Root mean square of the real robot's distance from the reference [rad or m], shape (nv,): what the
            model should explain.
        motion: Root mean square of the real robot's distance from its mean position [rad or m], shape (nv,).
        run: The simulated run.
    """

    rms: Array
    tracking: Array
    motion: Array
    run: Run


def compare_positions(
    robot: SimulatedRobot,
    trajectory: Moves,
    time: Array,
    q: Array,
    controller: Controller = CONTROLLER,
    *,
    nominal: SimulatedRobot | None = None,
    start: Array | None = None,
    lead_in: float = 0.0,
    settling: float = 0.0,
) -> PositionMatch:
    """Simulate an identified robot on the reference of a real run, and compare positions.

    Args:
        robot: The identified robot.
        trajectory: What the real robot followed.
        time: Times of the measured positions [s] since the trajectory's beginning, shape (samples,).
        q: Measured positions [rad or m], shape (samples, nv).
        controller: The real robot's controller.
        nominal: The robot as that controller knows it; the robot file's values when None.
        start: Where the robot started, as in `follow`.
        lead_in: As in `follow`.
        settling: As in `follow`.

    Raises:
        LostError: If the simulated robot does not follow.
    """
    from scipy.interpolate import CubicHermiteSpline

    run = follow(robot, trajectory, controller, nominal=nominal, start=start, lead_in=lead_in, settling=settling)
    inside = (time >= run.time[0]) & (time <= run.time[-1])
    if np.count_nonzero(inside) < 2:
        raise InvalidRequestError(
            f"the measured times, {time[0]:.4g} s to {time[-1]:.4g} s, are not those of the trajectory: it begins at "
            f"0 s and takes {trajectory.duration:.4g} s; cut the log so that both begin together"
        )
    simulated = CubicHermiteSpline(run.time, run.q, run.v)(time[inside])
    wanted, _, _ = trajectory.states(time[inside])
    return PositionMatch(_rms(simulated - q[inside]), _rms(wanted - q[inside]), np.std(q[inside], axis=0), run)


def _rms(values: Array) -> Array:
    return np.sqrt(np.mean(values**2, axis=0))
