"""The real logs, each in a part to learn from and a part to validate on, as their README describes them."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dynid import Log, Robot, load_robot
from dynid.experiment.experiment import Experiment
from dynid.experiment.reading import read_experiment
from dynid.logs import read_source

FOLDER = Path(__file__).parents[1] / "benchmarks" / "experiments"
SPLITS = {"tx40": 5.0, "panda": 14.0, "tiago": 40.0, "ur10": 13.76}
"""Seconds from the first sample at which a log is cut; the UR10e has a log of its own to validate on."""

CUTOFFS = {"tx40": 20.0}
"""Cut-offs [Hz] of the yardstick where 5 Hz would cut the motion itself: the TX40's reaches 4.3 Hz."""

NAMES = ("tx40", "panda", "tiago", "ur10", "ur10e")


@dataclass(frozen=True, eq=False)
class RealLog:
    """A real robot with logs to learn from and to validate on.

    Attributes:
        experiment: What its file states.
        robot: The robot.
        training: The log to learn from.
        validation: The log to validate on.
        split: Which is which, in words.
        cutoff: Cut-off [Hz] of the yardstick.
    """

    experiment: Experiment
    robot: Robot
    training: Log
    validation: Log
    split: str
    cutoff: float = 5.0


def ur10_file() -> Path:
    """The UR10 of the package example-robot-data."""
    shared = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    return shared / "ur_description" / "urdf" / "ur10_robot.urdf"


@contextmanager
def _robot_files() -> Iterator[None]:
    before = os.environ.get("UR10_URDF")
    os.environ["UR10_URDF"] = str(ur10_file())
    try:
        yield
    finally:
        del os.environ["UR10_URDF"]
        if before is not None:
            os.environ["UR10_URDF"] = before


def real_log(name: str) -> RealLog:
    """One of `NAMES`; needs DYNID_DATASETS."""
    with _robot_files():
        experiment = read_experiment(FOLDER / f"{name}.toml")
    robot = load_robot(experiment.robot, lock=experiment.lock, gravity=experiment.gravity)
    logs = [read_source(source, robot, drive=experiment.drive) for source in experiment.log]
    if len(logs) == 2:
        return RealLog(experiment, robot, *logs, split=f"{logs[0].name}, then {logs[1].name}")
    log, at = logs[0], SPLITS[name]
    before = log.time < log.time[0] + at
    length = log.time[-1] - log.time[0]
    split = f"first {at:g} s of {length:.3g} s, then the rest"
    return RealLog(experiment, robot, log.at(before), log.at(~before), split, CUTOFFS.get(name, 5.0))
