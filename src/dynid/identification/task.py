"""What is to be identified, from which logs, and how: one typed object for the recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from dynid.estimation.settings import EstimationSettings, PhysicalSettings
from dynid.logs.log import Log
from dynid.logs.settings import Drive, LogSource, Processing
from dynid.model.dynamic_model import DynamicModel
from dynid.model.known_values import split_known
from dynid.model.terms import Term
from dynid.robot.robot import Robot
from dynid.settings import Table

S = TypeVar("S", bound=Table)
TermLike = str | Term


@dataclass(frozen=True, eq=False)
class Task:
    """An identification that is to be made.

    Attributes:
        model: The model, with known nonlinear parameters.
        logs: What was measured: logs in memory, or where to read them.
        known: Parameters that are known beforehand, by name or pattern.
        torque: Whether torques were logged with signs.
        discard_sign: Whether logged signs are thrown away, to practise.
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
    drive: Drive = Drive()
    processing: Processing = Processing()
    estimation: EstimationSettings = EstimationSettings()
    physical: PhysicalSettings = PhysicalSettings()
    reference: Robot | None = None

    @property
    def held(self) -> dict[str, float]:
        """Nonlinear parameters that are known, by name."""
        return split_known(self.model, self.known)[0]

    @property
    def sources(self) -> tuple[LogSource, ...]:
        """The logs that are files."""
        return tuple(log for log in self.logs if isinstance(log, LogSource))

    def difference(self, other: Task) -> str:
        """The first respect in which two tasks are about different models, or nothing."""
        mine, theirs = self.model, other.model
        same = {
            "robot": mine.robot.kinematics() == theirs.robot.kinematics(),
            "gravity": mine.robot.gravity.tolist() == theirs.robot.gravity.tolist(),
            "lock": dict(mine.robot.locked) == dict(theirs.robot.locked),
            "terms": [term_name(term) for term in mine.terms] == [term_name(term) for term in theirs.terms],
            "known": dict(self.known) == dict(other.known),
        }
        return next((key for key, is_same in same.items() if not is_same), "")
