"""What is to be identified, from which logs, and how: one typed object for the recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dynid.errors import InvalidRequestError
from dynid.estimation.settings import EstimationSettings, PhysicalSettings
from dynid.logs.log import Log
from dynid.logs.settings import Drive, LogSource, Processing
from dynid.model.dynamic_model import DynamicModel, split_known
from dynid.model.terms import Term
from dynid.robot.loading import load_robot
from dynid.robot.robot import Robot
from dynid.settings import checked

SETTINGS = {"drive": Drive, "processing": Processing, "estimation": EstimationSettings, "physical": PhysicalSettings}
"""Settings of an identification, by the name of their table in the experiment file."""


@dataclass(frozen=True, eq=False)
class Task:
    """An identification that is to be made.

    Attributes:
        model: The model, at the nonlinear parameters that are known.
        logs: What was measured: logs in memory, or where to read them.
        known: Parameters that are known beforehand, by name or pattern.
        torque: Whether torques were logged with signs.
        discard_sign: Whether logged signs are discarded, to practise their recovery.
        drive: From motors to joints.
        processing: From signals to states.
        estimation: How parameters are estimated.
        physical: How physically consistent links are fitted.
        reference: The robot that links are expected to be like; the model's own when None.
    """

    model: DynamicModel
    logs: tuple[Log | LogSource, ...] = ()
    known: Mapping[str, float] = field(default_factory=dict)
    torque: Literal["signed", "magnitude"] = "signed"
    discard_sign: bool = False
    drive: Drive = field(default_factory=Drive)
    processing: Processing = field(default_factory=Processing)
    estimation: EstimationSettings = field(default_factory=EstimationSettings)
    physical: PhysicalSettings = field(default_factory=PhysicalSettings)
    reference: Robot | None = None

    @staticmethod
    def of(
        robot: Robot | str | Path,
        logs: Log | Sequence[Log],
        terms: str | Sequence[str | Term] = (),
        known: Mapping[str, float] | None = None,
        **settings: Any,
    ) -> Task:
        """The task for objects in memory; settings are objects, or mappings as in the experiment file."""
        robot = robot if isinstance(robot, Robot) else load_robot(robot)
        logs = (logs,) if isinstance(logs, Log) else tuple(logs)
        if any(not isinstance(log, Log) for log in logs):
            raise InvalidRequestError("logs must be dynid.Log objects; read files with dynid.read_log")
        given = {
            key: checked(SETTINGS[key], value)
            for key, value in settings.items()
            if value is not None and key in SETTINGS
        }
        rest = {key: value for key, value in settings.items() if value is not None and key not in SETTINGS}
        if isinstance(reference := rest.get("reference"), str | Path):
            rest["reference"] = load_robot(reference, lock=robot.locked)
        return Task(known_model(robot, terms, known or {}), logs, dict(known or {}), **given, **rest)

    @property
    def held(self) -> dict[str, float]:
        """Nonlinear parameters that are known, by name."""
        return split_known(self.model, self.known)[0]

    def difference(self, other: Task) -> str:
        """The first respect in which two tasks are about different models, or nothing."""
        mine, theirs = self.model, other.model
        same = {
            "robot": mine.robot.kinematics() == theirs.robot.kinematics(),
            "gravity": mine.robot.gravity.tolist() == theirs.robot.gravity.tolist(),
            "lock": dict(mine.robot.locked) == dict(theirs.robot.locked),
            "terms": (mine.names, [n.name for n in mine.nonlinear])
            == (theirs.names, [n.name for n in theirs.nonlinear]),
            "known": dict(self.known) == dict(other.known),
        }
        return next((key for key, is_same in same.items() if not is_same), "")


def known_model(robot: Robot, terms: str | Sequence[str | Term], known: Mapping[str, float]) -> DynamicModel:
    """A model at the nonlinear parameters that are known."""
    model = DynamicModel(robot, terms)
    return model.at_nonlinear(split_known(model, known)[0])
