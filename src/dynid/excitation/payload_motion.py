"""Motions for a load: short ones, that determine the ten parameters of what a known robot carries.

With the robot known, only the columns of the loaded link are uncertain. The design minimises the sum of the variances
of mass, first moments and inertia, in units that suit a load of a few centimetres, so that the mass and the centre of
mass come first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, frozen
from dynid.excitation.information import Expectation, variances
from dynid.excitation.settings import ExcitationSettings
from dynid.model import BaseParameters, DynamicModel, known_base
from dynid.robot import SIZE, Load, Robot, inertia, place_of_body, with_load

LAST = "last"
"""In the place of a body: the one that the last joint holds."""


@dataclass(frozen=True)
class PayloadThresholds:
    """What a design for a load takes where nothing is stated."""

    period: float = 5.0
    """Period [s]. By judgement: long enough for wrists to turn through their ranges; `benchmarks/payload_motion.py`
    finds 95 % of errors of a mass of 3 kg on a UR5 below 1 % then."""

    size: float = 0.1
    """Size of a load [m] that makes errors of mass [kg], first moments [kg m] and inertia [kg m^2] comparable. By
    judgement: a tool or a workpiece."""


THRESHOLDS = PayloadThresholds()


@dataclass(frozen=True, eq=False)
class PayloadMotion:
    """What a design for a load is about.

    Attributes:
        robot: The robot, with the load that is expected, so that torque limits hold with it.
        body: The body that carries the load.
        link: Index of its link.
        placement: The body's frame in the link's joint frame, shape (4, 4).
        mass: Mass that is expected [kg]; None where nothing is.
    """

    robot: Robot
    body: str
    link: int
    placement: Array
    mass: float | None

    @staticmethod
    def of(robot: Robot, settings: ExcitationSettings) -> PayloadMotion:
        """What settings ask for.

        Raises:
            UnknownNameError: If the robot has no such body.
            InvalidRequestError: If the body does not move, or has no inertial parameters.
        """
        names = {body.name for link in robot.links for body in link.bodies}
        asked = None if settings.payload == LAST and LAST not in names else settings.payload
        link, placement = place_of_body(robot, asked)
        body = robot.links[link].name if asked is None else asked
        if settings.payload_mass is not None:
            sphere = 0.4 * settings.payload_mass * (0.5 * THRESHOLDS.size) ** 2
            robot = with_load(robot, Load(settings.payload_mass, inertia=frozen(sphere * np.eye(3)), body=body))
        return PayloadMotion(robot, body, link, placement, settings.payload_mass)

    def settings(self, stated: ExcitationSettings) -> ExcitationSettings:
        """The settings of the design: a short motion, and errors of a load that count alike."""
        free = stated.model_fields_set
        changes: dict[str, object] = {} if {"period", "frequency"} & free else {"period": THRESHOLDS.period}
        if "criterion" not in free:
            changes["criterion"] = "trace"
        if not stated.prior_std and "scale" not in free:
            sizes = dict(zip(self._names(), THRESHOLDS.size ** np.array([0, *[1] * 3, *[2] * 6]), strict=True))
            identifiable = known_base(DynamicModel(self.robot), self.known_values).names
            changes["prior_std"] = {name: float(sizes[name]) for name in identifiable}
        return stated.model_copy(update=changes)

    @property
    def known_values(self) -> dict[str, float]:
        """Parameters of all other links, which are known."""
        model, own = DynamicModel(self.robot), set(self._names())
        values = np.nan_to_num(model.reference).tolist()
        return {name: value for name, value in zip(model.names, values, strict=True) if name not in own}

    def _names(self) -> list[str]:
        first = SIZE * self.robot.solid_links.index(self.link)
        return list(DynamicModel(self.robot).names[first : first + SIZE])

    def expectations(self, base: BaseParameters, information: Array) -> tuple[Expectation, ...] | None:
        """Standard deviations of the load's parameters about its body's frame; None where some are not identifiable.

        Args:
            base: The parameters of the loaded link, about its joint frame.
            information: M, shape (base, base), without scales of columns.
        """
        if len(base) < SIZE:
            return None
        T = np.column_stack([inertia.moved(unit, self.placement) for unit in np.eye(SIZE)])
        stds = np.sqrt(variances(T.T @ information @ T))
        names = ("mass", *inertia.PARAMETER_SYMBOLS[1:])
        values: list[float | None] = [self.mass, *[None] * (SIZE - 1)]
        found = [
            Expectation(name, name, unit, self.body, value, float(std))
            for name, unit, value, std in zip(names, inertia.PARAMETER_UNITS, values, stds, strict=True)
        ]
        if self.mass is not None:
            places = [Expectation(f"c{axis}", f"m{axis} / mass", "m", self.body, None, float(std) / self.mass)
                      for axis, std in zip("xyz", stds[1:4], strict=True)]  # fmt: skip
            found[4:4] = places
        return tuple(found)
