"""A simulated experiment as a recipe: from an experiment file to a log, and back from a result to positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.experiment.experiment import Experiment
from dynid.experiment.reading import checked_table, is_experiment, read_experiment
from dynid.findings import Finding, Severity, prose
from dynid.identification.pipeline import model_of
from dynid.logs.drive import transmission_of
from dynid.logs.log import Log
from dynid.model.dynamic_model import DynamicModel
from dynid.model.known_values import split_known
from dynid.model.parameters import matching
from dynid.robot import inertia
from dynid.robot.loading import load_robot
from dynid.robot.robot import Robot
from dynid.simulation.bodies import with_made_up_bodies
from dynid.simulation.closed_loop import Run, SimulatedRobot, simulate
from dynid.simulation.controller import ControlLaw, Controller
from dynid.simulation.desired_motion import Repeated, check_limits
from dynid.simulation.experiment_file import delay_of, hold_of
from dynid.simulation.plant import require_simple_joints
from dynid.simulation.sensors import Sensors, measure
from dynid.simulation.settings import SimulationTable
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
    recording: Log
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
    require_simple_joints(model.robot)
    nominal, made_up = nominal_robot(model)
    robot = simulated_robot(model, nominal.parameters, settings)
    trajectory = trajectory_of(settings, model.robot)
    check_limits(trajectory, model.robot)
    sensors, drive = sensors_of(settings), transmission_of(experiment.drive, model.robot)
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
        settling=settling_of(settings, trajectory),
    )
    known_delay = delay_of(experiment) + hold_of(experiment)
    recording = measure(run, sensors, drive, seed=settings.seed, specimen=settings.specimen, known_delay=known_delay)
    findings = (*_on_bodies(made_up), *_on_limits(run, controller_of(settings).limits(model.robot), model))
    return SimulatedExperiment(experiment, robot, run, recording, findings)


def experiment_of(source: str, terms: Sequence[str], settings: Mapping[str, Any]) -> Experiment:
    """The experiment to simulate, from a robot or from an experiment file.

    Args:
        source: A robot, or the path of an experiment.
        terms: What a robot's joints add; what its file gives values for when empty.
        settings: Keys of `[simulation]` that replace the experiment's; those that are None do not.

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
    given = {key: value for key, value in settings.items() if value is not None}
    sensors = {key: value for key, value in settings["sensors"].items() if value is not None}
    merged = {**stated, **given, "sensors": {**stated.get("sensors", {}), **sensors}}
    merged["parameters"] = {**stated.get("parameters", {}), **settings["parameters"]}
    return experiment.model_copy(update={"simulation": checked_table(SimulationTable, merged)})


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
    nonlinear, values = split_known(model, settings.parameters)
    model = model.at_nonlinear(nonlinear)
    for pattern, value in values.items():
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
        if inertia.violations(body):
            raise InvalidRequestError(f"the payload cannot exist: {inertia.violations(body)[0]}; change its inertia")
        p[block] = inertia.with_payload(p[block], body)
    _require_possible(model.robot, p, np.asarray(parameters))
    return SimulatedRobot.of(model, p, smoothing=settings.smoothing, stribeck=settings.stribeck)


def _require_possible(robot: Robot, p: Array, before: Array) -> None:
    """Refuse links that changes of parameters made impossible."""
    for k, i in enumerate(robot.solid_links):
        block = slice(inertia.SIZE * k, inertia.SIZE * (k + 1))
        broken = inertia.violations(p[block])
        if broken and not inertia.violations(before[block]):
            raise InvalidRequestError(
                f"link '{robot.links[i].name}' cannot exist with the parameters or the payload that were given: "
                f"{broken[0]}; change its mass, first moments and inertia together"
            )


def settling_of(settings: SimulationTable, trajectory: Repeated) -> float:
    """Seconds before the log in which a periodic trajectory is followed: a period, if nothing else is stated."""
    rounds = settings.settling if settings.settling is not None else int(settings.periods > 1)
    return rounds * trajectory.once.duration


def trajectory_of(settings: SimulationTable, robot: Robot) -> Repeated:
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


def _on_bodies(made_up: Sequence[str]) -> tuple[Finding, ...]:
    if not made_up:
        return ()
    text = f"the file gives no inertia to {', '.join(made_up)}; plain rods along the links stand in, for practice only"
    return (prose(Severity.NOTE, "links", text),)


def _on_limits(run: Run, limits: Array, model: DynamicModel) -> tuple[Finding, ...]:
    shares = np.mean(np.abs(run.torque) >= limits, axis=0)
    return tuple(
        prose(
            Severity.WARNING,
            f"joint '{joint.name}'",
            f"its torque is at the effort limit {limits[joint.v.start]:.4g} for {shares[joint.v.start]:.0%} of the "
            "time; move more slowly",
        )
        for joint in model.robot.independent_joints
        if shares[joint.v.start] > SATURATED
    )
