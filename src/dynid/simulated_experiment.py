"""A simulated experiment as a recipe: from an experiment file to a log, and back from a result to positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.config import Experiment, SimulationTable, checked_simulation, is_experiment, read_experiment
from dynid.data.recording import Recording
from dynid.errors import InvalidRequestError, OutputExistsError
from dynid.experiment_writer import experiment_text
from dynid.files import write_text
from dynid.findings import Finding, Severity
from dynid.model.dynamic_model import DynamicModel
from dynid.model.parameters import matching
from dynid.pipeline import drive_of, model_of
from dynid.robot import inertia
from dynid.robot.loading import load_robot
from dynid.robot.robot import Robot
from dynid.simulation.bodies import with_made_up_bodies
from dynid.simulation.controller import ControlLaw, Controller
from dynid.simulation.experiment import Run, SimulatedRobot, simulate
from dynid.simulation.logs import write_log, write_truth
from dynid.simulation.references import Repeated, Trajectory, check_limits
from dynid.simulation.sensors import Sensors, measure
from dynid.simulation.trajectory_tables import read_trajectory

SATURATED = 0.01
"""Share of samples at a joint's effort limit from which it is worth a finding."""


@dataclass(frozen=True, eq=False)
class SimulatedExperiment:
    """What a simulated experiment gave.

    Attributes:
        experiment: What was asked for.
        robot: The robot that was simulated: the truth.
        run: What it really did.
        recording: What its sensors logged.
        findings: What users should know.
    """

    experiment: Experiment
    robot: SimulatedRobot
    run: Run
    recording: Recording
    findings: tuple[Finding, ...]


def simulate_experiment(
    experiment: Experiment, progress: Callable[[str], None] = lambda _: None
) -> SimulatedExperiment:
    """Run the simulation that an experiment describes.

    Args:
        experiment: The experiment; it needs no logs, but a trajectory.
        progress: Is told each step in a few words.
    """
    settings = experiment.simulation
    model = model_of(experiment)
    nominal, made_up = nominal_robot(model)
    robot = simulated_robot(model, nominal.parameters, settings)
    trajectory = trajectory_of(settings, model.robot)
    check_limits(trajectory, model.robot)
    sensors, drive = sensors_of(settings), drive_of(experiment, model.robot)
    progress(f"Simulating {trajectory.duration:.3g} s")
    start = None if settings.start is None else np.array(settings.start)
    run = simulate(
        robot,
        trajectory,
        controller_of(settings),
        nominal=nominal,
        log_rate=settings.log_rate,
        start=start,
        lead_in=settings.lead_in,
    )
    recording = measure(run, sensors, drive, seed=settings.seed, specimen=settings.specimen)
    findings = (*_on_bodies(made_up), *_on_limits(run, controller_of(settings).limits(model.robot), model))
    return SimulatedExperiment(experiment, robot, run, recording, findings)


def experiment_of(source: str, terms: Sequence[str], settings: Mapping[str, Any]) -> Experiment:
    """The experiment to simulate, from a robot or from an experiment file.

    Args:
        source: A robot, or the path of an experiment.
        terms: What a robot's joints add; what its file gives values for when empty.
        settings: Keys of `[simulation]` that replace the experiment's; those that are None, or empty, do not.

    Raises:
        InvalidRequestError: If a value is none that it can have, or terms are given for an experiment.
    """
    is_file = is_experiment(Path(source))
    if is_file and terms:
        raise InvalidRequestError(f"'{source}' states its terms itself; change them there")
    if is_file:
        experiment = read_experiment(Path(source), needs_logs=False)
    else:
        robot = load_robot(source)
        experiment = Experiment(robot=source, terms=tuple(terms) or stated_terms(robot))
    stated = experiment.simulation.model_dump(exclude_defaults=True)
    given = {key: value for key, value in settings.items() if value}
    sensors = {key: value for key, value in settings["sensors"].items() if value is not None}
    merged = {**stated, **given, "sensors": {**stated.get("sensors", {}), **sensors}}
    merged |= {key: settings[key] for key in ("smoothing", "seed", "lead_in") if settings[key] is not None}
    merged["parameters"] = {**stated.get("parameters", {}), **settings["parameters"]}
    return experiment.model_copy(update={"simulation": checked_simulation(merged)})


def stated_terms(robot: Robot) -> tuple[str, ...]:
    """The terms that a robot's file gives values for."""
    dynamics = [joint.dynamics for joint in robot.independent_joints]
    names = {"viscous": "damping", "coulomb": "friction", "armature": "armature"}
    return tuple(term for term, key in names.items() if any(getattr(own, key) for own in dynamics))


def nominal_robot(model: DynamicModel) -> tuple[SimulatedRobot, tuple[str, ...]]:
    """The robot as its file says, and the names of links whose bodies had to be made up."""
    p = np.nan_to_num(model.reference)
    size = len(model.robot.parameters)
    links, made_up = with_made_up_bodies(model.robot, p[:size])
    return SimulatedRobot.of(model, np.concatenate([links, p[size:]])), made_up


def simulated_robot(model: DynamicModel, parameters: Array, settings: SimulationTable) -> SimulatedRobot:
    """The robot that an experiment simulates: parameters near the file's, payload and friction.

    Args:
        model: The model.
        parameters: Standard parameters p to start from, shape (parameters,).
        settings: What differs from them.
    """
    p = np.array(parameters)
    for pattern, value in settings.parameters.items():
        p[[model.names.index(name) for name in matching([pattern], model.names)]] = value
    payload = settings.payload
    if payload is not None:
        robot = model.robot
        joint = robot.joints[-1] if payload.joint is None else robot.joint(payload.joint)
        index = robot.joints.index(joint)
        if index not in robot.solid_links:
            raise InvalidRequestError(f"joint '{joint.name}' moves no solid link; name another one for the payload")
        block = slice(
            inertia.SIZE * robot.solid_links.index(index), inertia.SIZE * (robot.solid_links.index(index) + 1)
        )
        about_com = np.tensordot(np.array(payload.inertia), inertia.INERTIA_BASIS, axes=1)
        body = inertia.from_mass_com_inertia(payload.mass, np.array(payload.com), about_com)
        p[block] = inertia.with_payload(p[block], body)
    return SimulatedRobot.of(model, p, smoothing=settings.smoothing, stribeck=settings.stribeck)


def trajectory_of(settings: SimulationTable, robot: Robot) -> Trajectory:
    """The trajectory that an experiment states."""
    if settings.trajectory is None:
        raise InvalidRequestError("there is no trajectory to follow; give --trajectory FILE or simulation.trajectory")
    once = read_trajectory(Path(settings.trajectory), robot)
    return Repeated(once, settings.periods)


def controller_of(settings: SimulationTable) -> Controller:
    """The controller that an experiment states."""
    law = ControlLaw(settings.controller)
    return Controller(law, settings.bandwidth, settings.damping, settings.rate, settings.saturates)


def sensors_of(settings: SimulationTable) -> Sensors:
    """The sensors that an experiment states."""
    return Sensors(**settings.sensors.model_dump(exclude_none=True))


def outputs(log: Path) -> tuple[Path, Path, Path]:
    """The files of a simulated experiment: its log, the experiment that identifies from it, and the truth."""
    return log, log.with_suffix(".toml"), log.with_name(f"{log.stem}.truth.npz")


def check_outputs(log: Path, *, overwrite: bool) -> None:
    """Refuse outputs that exist, before anything is computed."""
    for path in outputs(log):
        if path.exists() and not overwrite:
            raise OutputExistsError(path)


def save_simulation(found: SimulatedExperiment, log: Path, *, overwrite: bool = False) -> None:
    """Write the log, an experiment that `dynid identify` runs unchanged, and the truth apart.

    Args:
        found: What the simulation gave.
        log: The log's file; it ends in .csv, .parquet or .npz.
        overwrite: Whether existing files may be replaced.
    """
    check_outputs(log, overwrite=overwrite)
    _, experiment, truth = outputs(log)
    write_log(log, found.recording, found.robot.robot, overwrite=overwrite)
    write_text(experiment, experiment_text(found.experiment, log), overwrite=overwrite)
    write_truth(truth, found.robot, found.run, overwrite=overwrite)


def simulation_data(found: SimulatedExperiment, log: Path) -> dict[str, Any]:
    """What a simulation gave, as plain data for JSON."""
    _, experiment, truth = outputs(log)
    run, robot = found.run, found.robot.robot
    peaks = zip(run.tracking_error, np.abs(run.torque).max(axis=0), run.rests.mean(axis=0), strict=True)
    return {
        "robot": robot.name,
        "log": str(log),
        "experiment": str(experiment),
        "truth": str(truth),
        "samples": len(found.recording),
        "duration": float(run.time[-1]),
        "rmse_tracking": float(np.sqrt(np.mean(run.tracking_error**2))),
        "joints": [
            {"name": joint.name, "rmse_tracking": float(error), "largest_torque": float(torque), "rests": float(rests)}
            for joint, (error, torque, rests) in zip(robot.independent_joints, peaks, strict=True)
        ],
        "findings": [finding.to_dict() for finding in found.findings],
    }


def _on_bodies(made_up: Sequence[str]) -> tuple[Finding, ...]:
    if not made_up:
        return ()
    text = f"the file gives no inertia to {', '.join(made_up)}; rods of 20 kg/m were made up, for practice only"
    return (Finding(Severity.NOTE, "links", text),)


def _on_limits(run: Run, limits: Array, model: DynamicModel) -> tuple[Finding, ...]:
    shares = np.mean(np.abs(run.torque) >= limits, axis=0)
    return tuple(
        Finding(
            Severity.WARNING,
            f"joint '{joint.name}'",
            f"its torque is at the effort limit {limits[joint.v.start]:.4g} for {shares[joint.v.start]:.0%} of the "
            "time; move more slowly",
        )
        for joint in model.robot.independent_joints
        if shares[joint.v.start] > SATURATED
    )
