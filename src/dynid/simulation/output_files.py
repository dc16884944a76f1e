"""Files of a simulated experiment: its log, an experiment to identify from it, and the truth apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dynid.errors import InvalidRequestError, OutputExistsError
from dynid.experiment.experiment import Experiment
from dynid.files import write_text
from dynid.simulation.experiment_file import experiment_text
from dynid.simulation.logs import check_format, write_log, write_truth
from dynid.simulation.sensors import torque_constants
from dynid.simulation.simulated_log import SimulatedExperiment, sensors_of


def outputs(log: Path) -> tuple[Path, Path, Path]:
    """The files of a simulated experiment: its log, the experiment that identifies from it, and the truth."""
    return log, log.with_suffix(".toml"), log.with_name(f"{log.stem}.truth.npz")


def check_outputs(log: Path, source: str, experiment: Experiment, *, overwrite: bool) -> None:
    """Refuse outputs that cannot be written, exist, or are inputs, before anything is computed.

    Args:
        log: The log to write.
        source: The robot or the experiment file that is simulated.
        experiment: The experiment.
        overwrite: Whether existing files may be replaced; inputs may not.
    """
    check_format(log)
    if not log.parent.is_dir():
        raise InvalidRequestError(f"there is no folder '{log.parent}' for the log '{log.name}'; make it first")
    inputs = {Path(name).resolve() for name in (source, experiment.robot, experiment.simulation.trajectory) if name}
    for path in outputs(log):
        if path.exists() and path.resolve() in inputs:
            raise InvalidRequestError(f"'{path}' is an input of the simulation and would be replaced; name another log")
        if path.exists() and not overwrite:
            raise OutputExistsError(path)


def save_simulation(found: SimulatedExperiment, log: Path, *, overwrite: bool = False) -> None:
    """Write the log, an experiment that `dynid identify` runs unchanged, and the truth apart.

    Args:
        found: What the simulation gave.
        log: The log's file; it ends in .csv, .parquet or .npz.
        overwrite: Whether existing files may be replaced.
    """
    for path in outputs(log):
        if path.exists() and not overwrite:
            raise OutputExistsError(path)
    _, experiment, truth = outputs(log)
    settings = found.experiment.simulation
    constants = torque_constants(sensors_of(settings), found.robot.robot.nv, settings.specimen)
    write_log(log, found.recording, found.robot.robot, overwrite=overwrite)
    write_text(experiment, experiment_text(found.experiment, log), overwrite=overwrite)
    write_truth(truth, found.robot, found.run, constants, overwrite=overwrite)


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
        "duration": float(run.time[-1] * len(run.time) / max(1, len(run.time) - 1)),
        "rmse_tracking": float(np.sqrt(np.mean(run.tracking_error**2))),
        "joints": [
            {"name": joint.name, "rmse_tracking": float(error), "largest_torque": float(torque), "rests": float(rests)}
            for joint, (error, torque, rests) in zip(robot.independent_joints, peaks, strict=True)
        ],
        "findings": [finding.to_dict() for finding in found.findings],
    }
