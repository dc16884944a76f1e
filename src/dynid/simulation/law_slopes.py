"""Slopes of the motors' torques in a rollout over parameters of the control law, step by step."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.model import DynamicModel
from dynid.simulation.control_rollout import Rollout
from dynid.simulation.held_commands import delay_slopes
from dynid.simulation.rollout_parameters import RolloutParameters

LAW = frozenset({"delay", "bias", "kp", "kd", "limit"})
"""Kinds of parameters of control laws."""


class LawSlopes:
    """Slopes of the motors' torques over parameters of the control law, step by step."""

    def __init__(self, rollout: Rollout, parameters: RolloutParameters) -> None:
        steps, plan, control = rollout.steps, rollout.schedule, rollout.control
        assert steps is not None
        h = plan.step[:, None]
        self.means = rollout.means
        if parameters.delay:
            self.change = delay_slopes(control, plan.edges, rollout.delay)
            self.push = self.change.position + self.change.velocity + self.change.torque
        self.tick, self.bias = plan.tick, rollout.bias
        self.follows = (steps.saturated == 0.0).astype(float)
        self.at_limit = np.zeros_like(steps.a)
        if control.limit is not None:
            np.multiply(steps.saturated, control.limit, out=self.at_limit, where=steps.saturated != 0.0)
        self.is_sampled = control.rate is not None
        self.starts = np.diff(plan.tick, prepend=-1) > 0
        if self.is_sampled:
            began = np.flatnonzero(self.starts)[plan.tick]
            self.q, self.v = (steps.q_middle - 0.5 * h * steps.v)[began], steps.v[began]
        else:
            self.q, self.v = steps.q_middle + 0.25 * h**2 * steps.a, steps.v + 0.5 * h * steps.a
        earlier = np.zeros_like(steps.a)
        earlier[1:] = steps.a[:-1]
        self._find_gear(rollout, steps.v + 0.5 * h * earlier)

    def slope(self, kind: str, joint: int, rows: slice, *, in_gear: bool = False) -> Array:
        """Slope of a joint's torque, shape (steps,): its mean over the step, or as the gear has it at the middle."""
        if kind == "limit":
            return (self.gear_limit if in_gear else self.at_limit)[rows, joint]
        tick, means = self.tick[rows], self.means
        states = (self.q_gear, self.v_gear) if in_gear else (self.q, self.v)
        q, v = states[0][rows, joint] + self.bias[joint], states[1][rows, joint]
        if kind == "delay":
            slope = self.push[tick, joint] - self.change.kp[tick, joint] * q - self.change.kd[tick, joint] * v
        elif kind == "bias":
            slope = -means.kp[tick, joint]
        elif kind == "kp":
            slope = means.position[tick, joint] - means.kp[tick, joint] * q
        else:
            slope = means.velocity[tick, joint] - means.kd[tick, joint] * v
        return (self.gear_follows if in_gear else self.follows)[rows, joint] * slope

    def _find_gear(self, rollout: Rollout, v_middle: Array) -> None:
        """States and modes at which gears have the law's torque."""
        steps, control = rollout.steps, rollout.control
        assert steps is not None
        self.q_gear, self.v_gear = (self.q, self.v) if self.is_sampled else (steps.q_middle, v_middle)
        self.gear_follows, self.gear_limit = self.follows, self.at_limit
        if control.limit is not None and not self.is_sampled and rollout.robot.forces.gear.any():
            free, limit = _free_law(rollout, v_middle)[0], np.asarray(control.limit, dtype=float)
            self.gear_follows = (np.abs(free) < limit).astype(float)
            self.gear_limit = np.where(np.abs(free) < limit, 0.0, np.sign(free) * np.where(limit < np.inf, limit, 0.0))


def loaded_gears(rollout: Rollout, v_middle: Array) -> tuple[Array, Array, Array, Array]:
    """Torques that meet in gears at middle states, and the motors' slopes over q_middle and v_middle; (steps, nv)."""
    steps, control = rollout.steps, rollout.control
    assert steps is not None
    if not rollout.robot.forces.gear.any():
        none = np.zeros_like(steps.a)
        return none, none, none, none
    free, kp, kd = _free_law(rollout, v_middle)
    limit = np.inf if control.limit is None else np.asarray(control.limit, dtype=float)
    back_emf = np.zeros(steps.a.shape[1]) if control.back_emf is None else np.asarray(control.back_emf, dtype=float)
    motor = np.clip(free, -limit, limit) - back_emf * v_middle
    follows = (np.abs(free) < limit) & (control.rate is None)
    robot = rollout.robot.robot
    links = rollout.robot.parameters[: len(robot.parameters)]
    bias = DynamicModel(robot).inverse_dynamics(steps.q_middle, v_middle, np.zeros_like(v_middle), links)
    return motor, bias, np.where(follows, -kp, 0.0), np.where(follows, -kd, 0.0) - back_emf


def _free_law(rollout: Rollout, v_middle: Array) -> tuple[Array, Array, Array]:
    """The law's torque without its limit at middle states, or as it is held; and its gains; (steps, nv)."""
    steps, plan, means = rollout.steps, rollout.schedule, rollout.means
    assert steps is not None
    q, v = steps.q_middle, v_middle
    if rollout.control.rate is not None:
        began = np.flatnonzero(np.diff(plan.tick, prepend=-1) > 0)[plan.tick]
        q, v = (steps.q_middle - 0.5 * plan.step[:, None] * steps.v)[began], steps.v[began]
    kp, kd = means.kp[plan.tick], means.kd[plan.tick]
    push = (means.position + means.velocity + means.torque)[plan.tick]
    return push - kp * (q + rollout.bias) - kd * v, kp, kd
