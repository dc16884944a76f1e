"""The workflow end to end on a simulated robot: inspect, excite, simulate, identify, validate, export, report.

The simulated robot differs from its file, as real ones do: every link is up to a quarter heavier or lighter, and joints
have friction. At the end the estimate is compared with these true parameters.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import dynid
from dynid.arrays import Array
from dynid.cli.true_comparison import TrueComparison, compared_with_truth
from dynid.errors import FileProblemError, InvalidRequestError
from dynid.excitation import ASSUMED, Excitation
from dynid.experiment import Experiment, save_simulation
from dynid.files import OutputError
from dynid.identification import Result, Validation, simulate_experiment
from dynid.logs import Log
from dynid.model import DynamicModel, Inspection
from dynid.report import PAGE, trajectory_page
from dynid.robot import Limits, Robot, without_gripper
from dynid.simulation import SimulationSettings, hold_of, nominal_robot, stated_terms

PERIOD = 10.0
"""Duration of the trajectories [s]."""

SPREAD = 0.25
"""Largest relative difference between a link's true mass and the file's."""

FRICTION = 0.1
"""True friction relative to the torque of the trajectory, where the file has none."""

SIGNAL_TO_NOISE = 35.0
"""Of the simulated torques [dB]."""


class DemoFolderError(FileProblemError):
    """A folder cannot take the files of the demo."""


@dataclass(frozen=True)
class Step:
    """A finished step of the demo.

    Attributes:
        title: What was done.
        text: The outcome, in a sentence.
    """

    title: str
    text: str


@dataclass(frozen=True, eq=False, repr=False)
class Demo:
    """Everything that the demo made.

    Attributes:
        inspection: Identifiable parameters of the robot as its file states it.
        excitation: The exciting trajectory.
        result: What was identified from a log of it.
        validation: How well the result predicts a log of another trajectory.
        truth: True standard parameters, shape (parameters,).
        folder: Where files were written; None where nothing was.
        files: Robot files that were written.
        report: The report that was written.
    """

    inspection: Inspection
    excitation: Excitation
    result: Result
    validation: Validation
    truth: Array
    folder: Path | None = None
    files: tuple[Path, ...] = ()
    report: Path | None = None

    @cached_property
    def comparison(self) -> TrueComparison:
        """The estimate beside the true parameters."""
        return compared_with_truth(self.result, self.truth)

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        physical = self.result.physical
        return {
            "robot": self.result.robot.name,
            "folder": None if self.folder is None else str(self.folder),
            "condition_number": self.excitation.condition_number,
            "relative_error": self.result.relative_error,
            "physical_relative_error": None if physical is None else physical.relative_error,
            "validation_relative_error": self.validation.relative_error,
            **vars(self.comparison),
            "verdict": self.validation.verdict.to_dict(),
            "files": [str(path) for path in self.files],
            "report": None if self.report is None else str(self.report),
        }

    def __repr__(self) -> str:
        return (
            f"Demo('{self.result.robot.name}': relative error {self.validation.relative_error:.2%} on a held-out log, "
            f"{self.comparison.within_intervals} of {self.comparison.parameters} parameters within their intervals)"
        )


def demo(
    out: str | Path | None = None,
    robot: str | Path = "builtin:ur5",
    *,
    design_seconds: float = 15.0,
    overwrite: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    done: Callable[[Step], None] = lambda _: None,
) -> Demo:
    """Run the whole workflow on a simulated robot.

    Args:
        out: Folder for the trajectories, logs, experiments, result, robot files and report; nothing is written when
            None.
        robot: The robot: a path or `builtin:NAME`.
        design_seconds: Time limit of the design of the trajectory [s].
        overwrite: Whether an earlier demo in the folder may be replaced.
        progress: Callback; receives a short description of each step.
        done: Callback; receives each step when it is finished.
    """
    source, folder = str(robot), None if out is None else Path(out)
    if folder is not None:
        _prepare(folder, overwrite)
    loaded, _ = without_gripper(dynid.load_robot(source))
    terms = _terms(loaded)
    progress("Finding base parameters")
    inspection = dynid.inspect(loaded, terms)
    base, standard = len(inspection.base_parameters), len(inspection.model.names)
    done(Step("Inspect", f"{loaded.name}: {base} base parameters of {standard} standard parameters"))

    progress("Designing an exciting trajectory")
    motions = _motions(loaded, terms, design_seconds)
    condition = f"condition number {motions['training'].condition_number:.3g}"
    done(Step("Excite", f"{condition}, within all limits"))

    progress("Simulating the robot")
    truth = _truth(inspection.model)
    logs = []
    for seed, (name, motion) in enumerate(motions.items()):
        held = dict(loaded.locked)
        experiment = Experiment(robot=source, lock=held, terms=terms, simulation=_simulation(truth, seed))
        logs.append(_logged(loaded, motion, experiment, None if folder is None else folder / name))
    done(Step("Simulate", f"two logs of {PERIOD:g} s under a controller, with friction and noise"))

    progress("Identifying")
    result = _identified(loaded, terms, logs[0])
    done(Step("Identify", _found(result)))

    progress("Validating on the other log")
    validation = dynid.validate(result, logs[1])
    trusted = f"can it be trusted? {validation.verdict.answer.value}"
    done(Step("Validate", f"relative error {validation.relative_error:.4f} on a held-out trajectory; {trusted}"))

    p = np.array([truth[name] for name in inspection.model.names])
    made = Demo(inspection, motions["training"], result, validation, p)
    return made if folder is None else _written(made, logs[1], folder, progress, done)


def _written(
    made: Demo, held_out: Log | Path, folder: Path, progress: Callable[[str], None], done: Callable[[Step], None]
) -> Demo:
    """The demo with its result, robot files and report in a folder; controllers are simulated for the report."""
    tracking = dynid.track(made.result, held_out, truth=made.truth, progress=progress)
    done(Step("Control", _gain(tracking)))
    progress("Writing robot files and the report")
    made.result.save(folder / "result")
    files = tuple(made.result.export(folder / name, anyway=True).path for name in ("robot.urdf", "robot.xml"))
    report = made.result.report(folder / "report.html", validate=[held_out], control=tracking).path
    done(Step("Write", f"{', '.join(map(str, files))} and {report}"))
    return replace(made, folder=folder, files=files, report=report)


def _gain(tracking: dynid.Tracking) -> str:
    ratio = tracking.ratio("robot_file")
    if ratio is None:
        return "computed torque with the file's model is not compared: it has no inertia, or the robot was lost"
    return f"tracking errors of computed torque are {ratio:.3g} times as large with the file's model"


def _prepare(folder: Path, overwrite: bool) -> None:
    """An empty folder; only an earlier demo may be replaced."""
    if folder.exists() and not folder.is_dir():
        raise DemoFolderError(folder, "is a file; name a folder for the demo")
    if folder.exists() and any(folder.iterdir()):
        if not (folder / "training.truth.npz").exists():
            raise DemoFolderError(folder, "holds something else than a demo and is left as it is; name another folder")
        if not overwrite:
            raise DemoFolderError(folder, "holds a demo already; name another folder or add --force (overwrite=True)")
        for path in folder.iterdir():  # the folder itself may be a link, or the working directory
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(folder, error) from error


def _terms(robot: Robot) -> tuple[str, ...]:
    """Friction, and motor inertia where the file states it."""
    if any(joint.kind.nq != 1 for joint in robot.independent_joints):
        raise InvalidRequestError(f"'{robot.name}' has a floating base or spherical joints; the demo needs others")
    return ("viscous", "coulomb", *(term for term in stated_terms(robot) if term == "armature"))


def _motions(robot: Robot, terms: Sequence[str], seconds: float) -> dict[str, Excitation]:
    """A trajectory to identify from, and another one to validate on."""
    limits = {"period": PERIOD, "position": tuple(_range(joint.limits) for joint in robot.independent_joints)}
    return {
        "training": dynid.excite(robot, terms, time_limit=seconds, **limits),
        "validation": dynid.excite(robot, terms, time_limit=max(seconds / 3, 8.0), starts=1, seed=1, **limits),
    }


def _range(limits: Limits) -> tuple[float, float]:
    """Positions of a joint: within its limits, and no further than a design assumes where there are none."""
    return max(limits.lower, -ASSUMED.position), min(limits.upper, ASSUMED.position)


def _simulation(truth: Mapping[str, float], seed: int) -> SimulationSettings:
    sensors = {"signal_to_noise": SIGNAL_TO_NOISE, "encoder": 1e-5}
    settings = {"parameters": dict(truth), "sensors": sensors, "saturates": False, "seed": seed}
    return SimulationSettings.model_validate(settings)


def _logged(robot: Robot, motion: Excitation, experiment: Experiment, place: Path | None) -> Log | Path:
    """The log of a trajectory, or the experiment file that identifies from it.

    Args:
        robot: The robot.
        motion: The trajectory.
        experiment: The terms and the simulation.
        place: Where the trajectory is saved, with the log and its experiment beside it; nowhere when None.
    """
    if place is None:
        return dynid.simulate(robot, motion, terms=experiment.terms, settings=experiment.simulation)
    motion.save(place, beside={PAGE: trajectory_page(motion)})
    simulation = experiment.simulation.model_copy(update={"trajectory": str(place / "trajectory.csv")})
    experiment = experiment.model_copy(update={"simulation": simulation})
    log = place.with_suffix(".csv")
    save_simulation(experiment, simulate_experiment(experiment), log)
    return log.with_suffix(".toml")


def _identified(robot: Robot, terms: Sequence[str], log: Log | Path) -> Result:
    """What the log in memory, or the experiment file, gives."""
    if isinstance(log, Path):
        return dynid.identify(log)
    delay = -hold_of(SimulationSettings())  # torques act half a tick of the controller after they are logged
    return dynid.identify(robot, log, terms, drive={"delay": delay}, processing={"lowpass": 20.0, "decimate": [10]})


def _truth(model: DynamicModel) -> dict[str, float]:
    """Parameters of the simulated robot."""
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


def _found(result: Result) -> str:
    physical = result.physical
    links = "" if physical is None else f", {physical.relative_error:.4f} with physically consistent links"
    return f"{len(result.parameters)} base parameters, relative error {result.relative_error:.4f}{links}"
