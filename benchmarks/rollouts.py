"""What rollouts and their sensitivities cost: `python -m benchmarks.rollouts`.

Robots of 3 to 24 joints, as one chain and as legs of three joints on a locked trunk, under PD control with armature,
viscous and Coulomb friction, in steps of 2.5 ms, for logs of 5 to 100 s at 200 Hz. Prints the best of some rounds
beside MuJoCo's own `mj_step` of the same robot (`implicitfast`, the same steps, friction as `frictionloss`) in the same
run, and their ratio. Sensitivities are over armature, viscous and Coulomb friction, offset and bias of every joint, and
the delay.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np

from dynid import DynamicModel, load_robot
from dynid.arrays import Array
from dynid.simulation import ControlInput, RolloutParameters, SimulatedRobot, roll_out, sensitivities

RATE, STEP, KP, KD = 200.0, 2.5e-3, 40.0, 1.0
AXES = ("1 0 0", "0 1 0", "0 1 0")


def mjcf(joints: int, *, legs: bool) -> str:
    """A robot: one chain, or legs of three joints."""
    length = 3 if legs else joints
    bodies = ""
    for first in range(0, joints, length):
        inside = ""
        for k in reversed(range(first, first + length)):
            inside = (
                f'<body pos="0 0 {0 if k == first else -0.2}"><joint name="j{k}" axis="{AXES[k % 3]}" armature=".02"'
                f' damping=".3" frictionloss=".2"/><inertial pos="0 0 -.1" mass=".5" diaginertia=".002 .002 .0005"/>'
                f"{inside}</body>"
            )
        bodies += inside
    motors = "".join(
        f'<general joint="j{k}" gainprm="{KP}" biastype="affine" biasprm="0 {-KP} {-KD}"/>' for k in range(joints)
    )
    option = f'<option timestep="{STEP}" integrator="implicitfast"/><compiler angle="radian"/>'
    return f"<mujoco>{option}<worldbody>{bodies}</worldbody><actuator>{motors}</actuator></mujoco>"


def best(work: Callable[[], object], rounds: int = 5) -> float:
    """The shortest time of some rounds [s]."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def step_in_mujoco(text: str, held: Array) -> Array:
    """The same rollout by MuJoCo."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = held[0]
    q = np.zeros_like(held)
    q[0] = held[0]
    for k, command in enumerate(held[:-1]):
        data.ctrl[:] = command
        mujoco.mj_step(model, data, round(1.0 / RATE / STEP))
        q[k + 1] = data.qpos
    return q


def row(joints: int, seconds: float, *, legs: bool) -> str:
    """A line of the table."""
    text = mjcf(joints, legs=legs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.xml"
        path.write_text(text)
        model = DynamicModel(load_robot(path), ["armature", "viscous", "coulomb", "offset"])
    robot = SimulatedRobot.of(model)
    t = np.arange(round(seconds * RATE)) / RATE
    held = 0.3 * np.sin(2.0 * np.pi * np.outer(t, 0.3 + 0.1 * np.arange(joints)))[4 * (np.arange(len(t)) // 4)]
    control = ControlInput(t, held, np.full(joints, KP), np.full(joints, KD))
    terms = tuple(range(10 * len(model.robot.solid_links), len(model.names)))
    parameters = RolloutParameters(terms, delay=True, bias=tuple(range(joints)))
    rollout = roll_out(robot, control, held[0], steps_kept=True, step=STEP)
    own = best(lambda: roll_out(robot, control, held[0], step=STEP))
    slopes = best(lambda: sensitivities(rollout, parameters), 3)
    other = best(lambda: step_in_mujoco(text, held), 3)
    apart = 1e3 * float(np.sqrt(np.mean((rollout.q - step_in_mujoco(text, held)) ** 2)))
    shape = f"{joints // 3} x 3" if legs else "chain"
    return (
        f"| {joints} | {shape} | {seconds:g} | {own:.3f} | {slopes:.3f} | {len(parameters)} | {other:.3f} | "
        f"{own / other:.2f} | {slopes / own:.1f} | {apart:.2f} |"
    )


def main() -> None:
    """Print the table."""
    heads = ["joints", "shape", "log [s]", "rollout [s]", "sensitivities [s]", "parameters", "mj_step [s]"]
    heads += ["rollout / mj_step", "sensitivities / rollout", "apart [mrad]"]
    print(f"| {' | '.join(heads)} |")
    print("| --- " * len(heads) + "|")
    for joints in (3, 6, 12, 24):
        print(row(joints, 23.0, legs=True), flush=True)
    for joints in (6, 12, 24):
        print(row(joints, 23.0, legs=False), flush=True)
    for seconds in (5.0, 100.0):
        print(row(12, seconds, legs=True), flush=True)


if __name__ == "__main__":
    main()
