"""The whole day on a simulated robot: inspect, excite, measure, identify, prove, write back, report.

The simulated robot is not quite what its file says, as real ones are not: every link is up to a quarter heavier or
lighter, and joints have friction. What identification finds is compared with this truth at the end.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid.errors import FileProblemError, InvalidRequestError
from dynid.excitation.recipe import excite
from dynid.experiment.experiment import Experiment
from dynid.experiment.reading import read_experiment
from dynid.experiment.simulated import save_simulation
from dynid.files import OutputError
from dynid.identification.formats import Format
from dynid.identification.pipeline import Identification, identify, model_of
from dynid.identification.prediction import validate_result
from dynid.identification.result import load_result, save_result
from dynid.identification.robot_output import export_result
from dynid.identification.simulated_experiment import simulate_experiment
from dynid.model.dynamic_model import DynamicModel
from dynid.model.inspection import Inspection, inspect
from dynid.report.html import write_report
from dynid.report.trajectory_page import PAGE, trajectory_page
from dynid.robot.joints import Limits
from dynid.robot.robot import Robot
from dynid.simulation.simulated_robot import nominal_robot, stated_terms

PERIOD = 10.0
"""Length of the motions [s]."""

SPREAD = 0.25
"""By how much links may be heavier or lighter than the file says."""

FRICTION = 0.1
"""Friction that is made up, relative to the torque of the motion, where the file has none."""

SIGNAL_TO_NOISE = 35.0
"""Of the simulated torques [dB]."""

_POSITION, _VELOCITY, _ACCELERATION = np.pi, 1.5, 5.0
"""Limits where the file states none [rad or m, and s]."""


class DemoFolderError(FileProblemError):
    """A folder cannot take the files of the demo."""


@dataclass(frozen=True)
class Step:
    """One step of the day, done.

    Attributes:
        title: What was done.
        text: What came out, in a sentence.
    """

    title: str
    text: str


def run_demo(
    source: str,
    folder: Path,
    *,
    design_seconds: float = 15.0,
    overwrite: bool = False,
    begin: Callable[[str], None] = lambda _: None,
    done: Callable[[Step], None] = lambda _: None,
) -> dict[str, Any]:
    """Run the demo.

    Args:
        source: The robot: a path or `builtin:NAME`.
        folder: Folder for everything that is written.
        design_seconds: How long the motion is designed [s].
        overwrite: Whether an earlier demo in the folder may be replaced.
        begin: Is told each step before it begins.
        done: Is told each step when it is done.

    Returns:
        What came out, as plain data for JSON.
    """
    _prepare(folder, overwrite)
    begin("Looking for what can be known")
    terms = _terms(source)
    inspection = inspect(source, terms)
    done(Step("Inspect", _known(inspection)))

    begin("Designing a motion that tells it")
    motions = _motions(inspection.robot, terms, folder, design_seconds)
    done(Step("Excite", f"condition number {motions['condition_number']:.3g}, within all limits"))

    begin("Moving the simulated robot")
    logs = [_simulated(source, terms, folder / name, seed) for seed, name in enumerate(("training", "validation"))]
    done(Step("Simulate", f"two logs of {PERIOD:g} s under a controller, with friction and noise"))

    begin("Identifying")
    experiment = read_experiment(logs[0])
    found = identify(experiment)
    save_result(found, logs[0], folder / "result", confidence=experiment.estimation.confidence)
    done(Step("Identify", _found(found)))

    begin("Proving it on the other motion")
    result = load_result(folder / "result")
    proof = validate_result(result, [logs[1]])
    done(Step("Validate", f"relative error {proof['relative_error']:.4f} on a motion that was not used"))

    begin("Writing robot files and the report")
    files = [
        str(export_result(result, form, folder / f"robot{form.suffix}").path) for form in (Format.URDF, Format.MJCF)
    ]
    report = write_report([folder / "result"], folder / "report.html", validate=[logs[1]])
    done(Step("Write", f"{', '.join(files)} and {report.path}"))
    truth = _distance_from_truth(folder / "training.truth.npz", found)
    return {
        "robot": inspection.robot.name,
        "folder": str(folder),
        "condition_number": motions["condition_number"],
        "relative_error": found.estimate.relative_error,
        "physical_relative_error": None if found.physical is None else found.physical.relative_error,
        "validation_relative_error": proof["relative_error"],
        "true_parameter_error": truth,
        "files": files,
        "report": str(report.path),
    }


def _prepare(folder: Path, overwrite: bool) -> None:
    """An empty folder; only an earlier demo may be replaced."""
    if folder.exists() and not folder.is_dir():
        raise DemoFolderError(folder, "is a file; name a folder for the demo")
    if folder.exists() and any(folder.iterdir()):
        if not (folder / "training.truth.npz").exists():
            raise DemoFolderError(folder, "holds something else than a demo and is left as it is; name another folder")
        if not overwrite:
            raise DemoFolderError(folder, "holds a demo already; name another folder or add --force")
        for path in folder.iterdir():  # the folder itself may be a link, or where we are
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(folder, error) from error


def _terms(source: str) -> tuple[str, ...]:
    """Friction, and motor inertia where the file states it."""
    from dynid.robot.loading import load_robot

    robot = load_robot(source)
    if any(joint.kind.nq != 1 for joint in robot.independent_joints):
        raise InvalidRequestError(f"'{robot.name}' has a floating base or spherical joints; the demo needs others")
    return ("viscous", "coulomb", *(term for term in stated_terms(robot) if term == "armature"))


def _motions(robot: Robot, terms: Sequence[str], folder: Path, seconds: float) -> dict[str, Any]:
    """Design the motion to learn from and another one to prove it on; save both, and give the data of the first."""
    settings = {"period": PERIOD, **_limits(robot)}
    first = excite(robot, terms, time_limit=seconds, **settings)
    other = excite(robot, terms, time_limit=max(seconds / 3, 3.0), starts=1, seed=1, **settings)
    for name, motion in (("training", first), ("validation", other)):
        motion.save(folder / name, beside={PAGE: trajectory_page(motion)})
    return first.to_dict()


def _limits(robot: Robot) -> dict[str, Any]:
    """Limits for what the robot's file does not limit."""
    joints = [joint.limits for joint in robot.independent_joints]
    return {
        "position": tuple(_range(limits) for limits in joints),
        "velocity": tuple(_within(limits.velocity, _VELOCITY) for limits in joints),
        "acceleration": tuple(_within(limits.acceleration, _ACCELERATION) for limits in joints),
    }


def _range(limits: Limits) -> tuple[float, float]:
    return max(limits.lower, -_POSITION), min(limits.upper, _POSITION)


def _within(limit: float, usual: float) -> float:
    return limit if 0.0 < limit < np.inf else usual


def _simulated(source: str, terms: Sequence[str], motion: Path, seed: int) -> Path:
    """Let the simulated robot follow a motion; gives the experiment that identifies from its log."""
    plain = Experiment(robot=source, terms=tuple(terms))
    model = model_of(plain)
    settings = {
        "trajectory": str(motion / "trajectory.csv"),
        "parameters": _truth(model),
        "sensors": {"signal_to_noise": SIGNAL_TO_NOISE, "encoder": 1e-5},
        "saturates": False,
        "seed": seed,
    }
    simulation = plain.simulation.model_validate(settings)
    experiment = plain.model_copy(update={"simulation": simulation})
    log = motion.with_suffix(".csv")
    save_simulation(experiment, simulate_experiment(experiment), log)
    return log.with_suffix(".toml")


def _truth(model: DynamicModel) -> dict[str, float]:
    """Parameters of the robot as it really is."""
    rng = np.random.default_rng(0)
    nominal, _ = nominal_robot(model)
    p = nominal.parameters.copy()
    robot = model.robot
    links = len(robot.parameters)
    p[:links] *= np.repeat(
        rng.uniform(1.0 - SPREAD, 1.0 + SPREAD, len(robot.solid_links)), links // len(robot.solid_links)
    )
    postures = np.array([rng.uniform(*_range(joint.limits), 50) for joint in robot.independent_joints]).T
    torques = np.sqrt((model.inverse_dynamics(postures, parameters=p) ** 2).mean(axis=0))
    for k, parameter in enumerate(model.parameters):
        if parameter.link is None and parameter.joint is not None and p[k] == 0.0:
            joint = robot.joint(parameter.joint)
            p[k] = FRICTION * max(torques[joint.v.start], FRICTION * torques.max(), 1e-3)
    return dict(zip(model.names, p.tolist(), strict=True))


def _known(inspection: Inspection) -> str:
    standard, base = len(inspection.model.names), len(inspection.base_parameters)
    return f"{inspection.robot.name}: torques can tell {base} combinations of {standard} parameters"


def _found(found: Identification) -> str:
    links = "" if found.physical is None else f", {found.physical.relative_error:.4f} with possible links"
    return f"{len(found.estimate.names)} parameters, relative error {found.estimate.relative_error:.4f}{links}"


def _distance_from_truth(truth: Path, found: Identification) -> float:
    """Norm of the error of the base parameters over the norm of the true ones."""
    with np.load(truth, allow_pickle=False) as stored:
        p = stored["parameters"]
    b = found.base.to_base(p)
    return float(np.linalg.norm(found.estimate.values - b) / np.linalg.norm(b))
