"""Robots under control laws for tests of rollouts, and finite differences of these."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.model import DynamicModel
from dynid.simulation import Rollout, RolloutParameters, SimulatedRobot, roll_out

BODY = '<inertial pos=".05 -.02 -.15" mass="{mass}" diaginertia=".004 .006 .003"/>'

TWO_ARMS = f"""
<mujoco><compiler angle="radian"/><option timestep="1e-4" integrator="RK4"/>
<worldbody>
  <body name="a1" pos="0 .3 1"><joint name="a1" axis="0 1 0" armature=".02" damping=".3"/>{BODY.format(mass=1.0)}
    <body name="a2" pos="0 0 -.3"><joint name="a2" axis="1 1 0" armature=".01" damping=".2"/>{BODY.format(mass=0.7)}
      <body name="a3" pos="0 0 -.2"><joint name="a3" type="slide" axis="0 0 1" armature=".1" damping="2"/>
      {BODY.format(mass=0.5)}</body></body></body>
  <body name="b1" pos="0 -.3 1"><joint name="b1" axis="1 0 0" armature=".02" damping=".1"/>{BODY.format(mass=1.2)}
    <body name="b2" pos="0 0 -.3"><joint name="b2" axis="0 1 0" armature=".01" damping=".1"/>{BODY.format(mass=0.6)}
    </body></body>
</worldbody>
<actuator>
  <general joint="a1" gainprm="40" biastype="affine" biasprm="0 -40 -1" forcelimited="true" forcerange="-4 4"/>
  <general joint="a2" gainprm="30" biastype="affine" biasprm="0 -30 -.8"/>
  <general joint="a3" gainprm="400" biastype="affine" biasprm="0 -400 -9"/>
  <general joint="b1" gainprm="30" biastype="affine" biasprm="0 -30 -.5"/>
  <general joint="b2" gainprm="20" biastype="affine" biasprm="0 -20 -.5" forcelimited="true" forcerange="-1.5 1.5"/>
</actuator></mujoco>"""
"""Two arms on a fixed base, one with a prismatic joint, under PD control with limits."""

LAW: dict[str, Any] = {
    "kp": np.array([40.0, 30.0, 400.0, 30.0, 20.0]),
    "kd": np.array([1.0, 0.8, 9.0, 0.5, 0.5]),
    "limit": np.array([4.0, np.inf, np.inf, np.inf, 1.5]),
}
"""The actuators of `TWO_ARMS`."""


def commands(joints: int, samples: int, *, seed: int = 0, uneven: bool = False) -> tuple[Array, Array]:
    """Time stamps, 10 ms apart or about that, and commanded positions that hold for three of them."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0.0, 0.01 * (samples - 1), samples)
    if uneven:
        time = 100.0 + np.cumsum(rng.uniform(0.004, 0.012, samples))
    phase = 2.0 * np.pi * np.outer(time, rng.uniform(0.5, 2.0, joints)) + rng.uniform(0.0, 6.0, joints)
    return time, 0.4 * np.sin(phase)[3 * (np.arange(samples) // 3)]


def everything(model: DynamicModel) -> RolloutParameters:
    """All that rollouts can be differentiated over."""
    joints = tuple(range(model.robot.nv))
    speeds = tuple(k for k, one in enumerate(model.nonlinear) if one.name.startswith("vs") and one.unit == "rad/s")
    speeds = () if any(one.name.startswith("ksig") for one in model.nonlinear) else speeds
    return RolloutParameters(tuple(range(len(model.names))), True, speeds, *[joints] * 6)


def difference(rollout: Rollout, parameters: RolloutParameters, column: int, **forms: Any) -> Array | None:
    """Central difference of positions and velocities over one column, shape (2, samples, nv).

    None where a mode changes in between: there a rollout has a kink, and no derivative.
    """
    e = 1e-6
    kind, at = parameters.columns[column]
    robot, control = rollout.robot, rollout.control
    ends = []
    for sign in (1.0, -1.0):
        p, q0, v0, b, law = robot.parameters.copy(), rollout.q[0].copy(), rollout.v[0].copy(), rollout.bias.copy(), {}
        delay, model = rollout.delay, robot.model
        if kind == "delay":
            delay += sign * e
        elif kind in ("kp", "kd", "limit"):
            stated = getattr(control, kind)
            law = {} if stated is None else {kind: stated * (1.0 + sign * e * (np.arange(len(b)) == at))}
        elif kind == "nonlinear":
            moved_one = model.nonlinear[at]
            model = model.at_nonlinear({moved_one.name: moved_one.value + sign * e})
        else:
            {"model": p, "bias": b, "start_position": q0, "start_velocity": v0}[kind][at] += sign * e
        moved = SimulatedRobot.of(model, p, **forms)
        end = roll_out(moved, replace(control, **law), q0, v0, delay=delay, bias=b, steps_kept=True)
        assert end.steps is not None
        assert rollout.steps is not None
        for kind_of_mode in ("mode", "saturated"):
            if not np.array_equal(getattr(end.steps, kind_of_mode), getattr(rollout.steps, kind_of_mode)):
                return None
        ends.append(np.stack([end.q, end.v]))
    return (ends[0] - ends[1]) / (2.0 * e)
