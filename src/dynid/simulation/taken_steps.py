"""Steps of a rollout as its derivatives need them."""

from __future__ import annotations

from dataclasses import dataclass

from dynid.arrays import Array


@dataclass(frozen=True, eq=False)
class TakenSteps:
    """Steps of a rollout, each array but `h` of shape (steps, nv) unless said.

    Attributes:
        h: Their lengths [s], shape (steps, 1).
        q_middle: Positions at which the mass matrix was taken.
        v: Velocities at the beginning.
        a: Accelerations.
        earlier: Accelerations of the steps before.
        mode: Modes of dry elements, shape (steps, elements).
        kp: The law's slope over mean positions: zero for saturated motors, and where torques are held.
        kd: The same over mean velocities.
        motor: The motors' torques at middle states, as gears have them.
        bias: Bias forces there.
        motor_q: Slopes of these torques of motors over middle positions.
        motor_v: The same over middle velocities.
    """

    h: Array
    q_middle: Array
    v: Array
    a: Array
    earlier: Array
    mode: Array
    kp: Array
    kd: Array
    motor: Array
    bias: Array
    motor_q: Array
    motor_v: Array

    @property
    def v_middle(self) -> Array:
        """Velocities at which bias forces were taken."""
        return self.v + 0.5 * self.h * self.earlier

    @property
    def v_mean(self) -> Array:
        """Mean velocities."""
        return self.v + 0.5 * self.h * self.a

    @property
    def q_mean(self) -> Array:
        """Mean positions."""
        return self.q_middle + 0.25 * self.h**2 * self.a

    def part(self, rows: slice) -> TakenSteps:
        """Some of the steps."""
        return TakenSteps(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))
