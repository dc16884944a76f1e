"""The robot to experiment on: rigid bodies, and what its joints add."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError
from dynid.model.dynamic_model import DynamicModel, Observed
from dynid.robot.robot import Robot
from dynid.simulation.joint_forces import JointForces
from dynid.simulation.plant import Plant


@dataclass(frozen=True, eq=False)
class SimulatedRobot:
    """A robot to experiment on.

    Attributes:
        model: The robot and what its joints add.
        parameters: Its standard parameters p, shape (parameters,).
        forces: What its joints add: the model's terms, with the form of friction that was chosen.
    """

    model: DynamicModel
    parameters: Array
    forces: JointForces

    @staticmethod
    def of(
        model: DynamicModel,
        parameters: Array | None = None,
        *,
        smoothing: float = 0.0,
        stribeck: tuple[float, float] | None = None,
    ) -> SimulatedRobot:
        """A robot with a model's terms.

        Args:
            model: The model.
            parameters: Standard parameters p, shape (parameters,); the robot file's when None, zero where it says
                nothing.
            smoothing: Velocity [rad/s] of the smooth form of Coulomb friction; zero for the discontinuous form.
            stribeck: How many times the kinetic friction breakaway is, and the velocity [rad/s] that takes it away.
        """
        if model.observed is not Observed.TORQUES:
            raise InvalidRequestError("only models of joint torques in motion can be simulated")
        p = np.nan_to_num(model.reference) if parameters is None else np.asarray(parameters, dtype=float)
        forces = JointForces.of(model, p)
        if not (0.0 <= smoothing < math.inf):
            raise InvalidRequestError(f"the velocity of smooth friction must be zero or positive, not {smoothing}")
        if stribeck is not None:
            if not (stribeck[0] >= 1.0 and 0.0 < stribeck[1] < math.inf):
                raise InvalidRequestError(
                    f"Stribeck friction needs a ratio over 1 and a positive velocity, not {stribeck}"
                )
            forces = forces.with_stribeck(*stribeck)
        return SimulatedRobot(model, frozen(p), forces.smoothed(smoothing))

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.model.robot

    @property
    def plant(self) -> Plant:
        """Its rigid bodies."""
        return Plant(self.robot, self.parameters[: len(self.robot.parameters)])
