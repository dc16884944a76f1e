"""Twenty seconds of a six-axis arm at 1 kHz, beside a plain loop over MuJoCo's Python bindings."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from dynid import DynamicModel, load_robot
from dynid.excitation.trajectories.fourier import fourier_motion
from dynid.model.terms import Armature, Coulomb, Viscous
from dynid.simulation.closed_loop import SimulatedRobot, follow
from dynid.simulation.settings import ControlLaw, Controller

MODEL = DynamicModel(load_robot("builtin:ur5"), [Viscous(), Coulomb(), Armature()])
ROBOT = SimulatedRobot.of(MODEL)
SINE = np.array([[-0.4, 0.2], [0.3, -0.15], [-0.4, 0.2], [0.5, -0.25], [-0.5, 0.25], [0.6, -0.3]])
TRAJECTORY = fourier_motion(20.0 / 3.0, np.array([0, -1.2, 1, 0.3, 0.5, 0]), 0 * SINE, SINE, 3)


@pytest.mark.benchmark(group="20 s of the UR5 at 1 kHz with friction, PD with gravity compensation")
def test_dynid(benchmark) -> None:
    controller = Controller(controller=ControlLaw.PD_GRAVITY, bandwidth=5.0)
    follow(ROBOT, TRAJECTORY, controller)
    run = benchmark(follow, ROBOT, TRAJECTORY, controller)
    assert len(run.time) == 20_000


@pytest.mark.benchmark(group="20 s of the UR5 at 1 kHz with friction, PD with gravity compensation")
def test_plain_script(benchmark) -> None:
    """MuJoCo's own Runge-Kutta steps, with friction smoothed by hand, for it cannot stick."""
    benchmark.pedantic(plain_script, rounds=2)


def plain_script() -> np.ndarray:
    model = ROBOT.plant.compile()
    model.opt.timestep, model.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_RK4
    model.dof_armature[:] = np.diag(ROBOT.forces.inertia)
    data, known = mujoco.MjData(model), mujoco.MjData(model)
    levels, viscous = ROBOT.forces.kinetic[:, 0], np.diag(ROBOT.forces.viscous)
    q_wanted, v_wanted, _ = TRAJECTORY.states(np.arange(20_000) / 1000.0)
    data.qpos[:] = q_wanted[0]
    M = np.zeros((6, 6))
    mujoco.mj_forward(model, data)
    for j in range(6):
        M[j, j] = data.M[model.M_rowadr[j] + model.M_rownnz[j] - 1]
    w = 2 * np.pi * 5.0
    stiffness, damping = np.diag(M) * w**2, 2 * np.diag(M) * w
    log = np.zeros((20_000, 24))
    for k in range(20_000):
        known.qpos[:] = data.qpos
        mujoco.mj_forward(model, known)
        u = stiffness * (q_wanted[k] - data.qpos) + damping * (v_wanted[k] - data.qvel) + known.qfrc_bias
        data.qfrc_applied[:] = u - viscous * data.qvel - levels * np.tanh(data.qvel / 0.05)
        mujoco.mj_forward(model, data)
        log[k] = np.concatenate([data.qpos, data.qvel, data.qacc, u])
        mujoco.mj_step(model, data)
    return log
