"""The real logs, each in a part to learn from and a part to validate on, as their README describes them."""

from __future__ import annotations

import os
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid import Log, Result, Robot, identify, load_robot
from dynid.arrays import Array
from dynid.experiment.experiment import Experiment
from dynid.experiment.reading import read_experiment
from dynid.logs import read_source
from tests.scoring import ScoredLog

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


BARS = {"ur10": (("5 Hz", 0.06),), "ur10e": (("5 Hz", 0.05), ("5 Hz moving", 0.035))}
"""What a log must come to, by measure, with base parameters and with physically consistent links."""

MASSES = {"ur10": (0.85 * 28.7, 1.15 * 28.7), "ur10e": (22.0, 30.0)}
"""What the moving links must weigh [kg]."""

Errors = dict[str, tuple[float, Array]]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What dynid makes of a real log.

    Attributes:
        name: The log.
        log: The same, with its parts.
        result: What was identified.
        base: Errors of the base parameters on held-out data by measure: overall, and by joint.
        physical: The same of the physically consistent links.
        seconds: Time that the identification took [s].
    """

    name: str
    log: RealLog
    result: Result
    base: Errors
    physical: Errors
    seconds: float

    @property
    def masses(self) -> tuple[float, float]:
        """Mass of the moving links [kg]: identified, and in the robot file (NaN where it has none)."""
        model, values = self.result.model, self.result.physical_values or {}
        names = [name for name in model.names if name[0] == "m" and name[1:].isdigit() and name != "m0"]
        file = dict(zip(model.names, model.reference.tolist(), strict=True))
        return sum(values[name] for name in names), sum(file[name] for name in names)

    @property
    def missed(self) -> list[str]:
        """Bars that are not reached."""
        found = [
            f"{measure} {kind} {errors[measure][0]:.1%} > {bar:.1%}"
            for measure, bar in BARS.get(self.name, ())
            for kind, errors in (("base", self.base), ("physical", self.physical))
            if errors[measure][0] > bar
        ]
        lower, upper = MASSES.get(self.name, (0.0, np.inf))
        mass = self.masses[0]
        return [*found, *([] if lower <= mass <= upper else [f"mass {mass:.1f} kg"])]


def outcome(name: str, terms: str | Sequence[str] | None) -> Outcome:
    """Identify on the training part and score on the other.

    Args:
        name: The log.
        terms: Friction and actuator terms; those of the experiment when None.
    """
    log = real_log(name)
    start = time.perf_counter()
    chosen = log.experiment.terms if terms is None else terms
    result = identify(log.robot, [log.training], chosen, drive=log.experiment.drive)
    seconds = time.perf_counter() - start
    scored = ScoredLog.of(log.validation, result.model, log.experiment.drive, log.cutoff)
    silent = np.mean(log.training.torque == 0.0, axis=0) > 0.5
    joints = np.flatnonzero(~silent).tolist()
    base, physical = (
        scored.errors_of(result.predict(scored.q, scored.v, scored.a, physical=links), joints)
        for links in (False, True)
    )
    return Outcome(name, log, result, base, physical, seconds)
