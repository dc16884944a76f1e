"""A noisy simulated Panda log: estimators of dynid beside `mujoco.sysid`, in one run from one robot file.

    python -m benchmarks.estimators_sysid [--noise standard] [--seed 0] [--iterations 20]

Both start from a file whose parameters are up to 15 % off. `mujoco.sysid` fits pseudo-inertias of all links, damping
and friction loss so that positions and torques of the simulated closed loop are those of the log, each in units of its
noise; the law is the log's. Prints errors of base parameters, of torques on another motion, and times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import mujoco
import numpy as np
from mujoco import sysid
from tests.noisy_loops import NOISES, Noise, TrueLoop, panda_loop

from benchmarks.estimators import ESTIMATORS, Estimator, estimate, relative
from dynid import Log, Robot
from dynid.arrays import Array
from dynid.model import BaseParameters, find_base_parameters
from dynid.robot import inertia
from dynid.robot.formats.mjcf_writer import mjcf_text

STEP = 2e-3
"""Step of MuJoCo's simulation [s]."""

OURS = ("WLS", "IV", "DIDIM")
"""Estimators of dynid that stand beside it."""


def spec_of(robot: Robot, loop: TrueLoop, p: Array) -> mujoco.MjSpec:
    """The robot in MuJoCo under its law, with friction of standard parameters p; controls are torques of commands."""
    spec = mujoco.MjSpec.from_string(mjcf_text(robot))
    for geom in list(spec.geoms):
        spec.delete(geom)
    spec.option.timestep, spec.option.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    bit = mujoco.mjtDisableBit
    spec.option.disableflags |= bit.mjDSBL_CONTACT | bit.mjDSBL_LIMIT
    kinds = (mujoco.mjtSensor.mjSENS_JOINTPOS, mujoco.mjtSensor.mjSENS_JOINTACTFRC)
    for joint, kp, kd in zip(robot.independent_joints, *loop.gains, strict=True):
        own = spec.joint(joint.name)
        own.damping[0] = p[loop.model.names.index(f"fv{joint.number}")]  # the first of three, the linear one
        own.frictionloss = p[loop.model.names.index(f"fs{joint.number}")]
        drive = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        drive.biastype, drive.gainprm[0] = mujoco.mjtBias.mjBIAS_AFFINE, 1.0
        drive.biasprm[:3] = [0.0, -kp, -kd]
    for kind, what in zip(kinds, ("position", "torque"), strict=True):
        for joint in robot.independent_joints:
            name = f"{what}_{joint.name}"
            spec.add_sensor(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_JOINT, objname=joint.name)
    return spec


def write_link(name: str) -> Callable[[mujoco.MjSpec, sysid.Parameter], None]:
    """Writes a pseudo-inertia into a body: principal moments, as its own way ends in an error of MuJoCo's compiler."""

    def write(spec: mujoco.MjSpec, parameter: sysid.Parameter) -> None:
        pi, body = sysid.model_modifier.pi_from_theta(parameter.value), spec.body(name)
        com = pi[1:4] / pi[0]
        about_com = pi[4:].reshape(3, 3) - pi[0] * (com @ com * np.eye(3) - np.outer(com, com))
        moments, axes = np.linalg.eigh(about_com)
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, axes.ravel())
        body.mass, body.ipos, body.inertia, body.iquat = pi[0], com, moments, quaternion
        body.fullinertia = np.full((6, 1), np.nan)

    return write


def unknowns(spec: mujoco.MjSpec, robot: Robot) -> sysid.ParameterDict:
    """Pseudo-inertias, damping and friction loss."""
    params, model = sysid.ParameterDict(), spec.compile()
    for i in robot.solid_links:
        name, kind = robot.links[i].name, sysid.InertiaType.Pseudo
        params.add(sysid.body_inertia_param(spec, model, name, kind, modifier=write_link(name)))
    for joint in robot.independent_joints:
        for key in ("damping", "frictionloss"):
            value = float(np.ravel(getattr(spec.joint(joint.name), key))[0])

            def write(s: mujoco.MjSpec, q: sysid.Parameter, name: str = joint.name, key: str = key) -> None:
                if key == "damping":
                    s.joint(name).damping[0] = q.value[0]
                else:
                    s.joint(name).frictionloss = q.value[0]

            params.add(sysid.Parameter(f"{joint.name}_{key}", value, 0.0, 10.0 * value + 0.1, modifier=write))
    return params


def by_sysid(loop: TrueLoop, log: Log, noise: Noise, seed: int, iterations: int) -> Array:
    """Standard parameters that `mujoco.sysid` finds, shape (parameters,)."""
    robot, terms = loop.guess(seed)
    p = np.array([*robot.parameters, *(q.reference for term in terms for q in term.parameters(robot))], dtype=float)
    spec = spec_of(robot, loop, p)
    model, commands = spec.compile(), log.commands
    kp, kd = loop.gains
    assert commands.velocity is not None
    assert commands.torque is not None
    control = kp * commands.position + kd * commands.velocity + commands.torque
    measured = np.hstack([log.position, log.torque])
    scale = np.repeat([np.radians(noise.position), noise.torque], robot.nv)
    weights = {model.sensor(k).name: float(1.0 / scale[k]) for k in range(model.nsensor)}
    start = slice(0, None, round(STEP * 1000.0))
    v0 = np.gradient(log.position[:20], log.time[:20], axis=0).mean(axis=0)
    state = sysid.create_initial_state(model, log.position[0], v0, np.zeros(0))
    sequences = sysid.ModelSequences(
        "panda",
        spec,
        "log",
        state,
        sysid.TimeSeries(log.time[start], control[start]),
        sysid.TimeSeries.from_names(log.time[start], measured[start], model),
    )
    fn = sysid.build_residual_fn(models_sequences=[sequences], sensor_weights=weights)
    params = unknowns(spec, robot)
    best, _ = sysid.optimize(params, fn, optimizer="mujoco", verbose=False, max_iters=iterations)
    return standard_of(sysid.apply_param_modifiers(best, spec), loop, robot)


def standard_of(model: mujoco.MjModel, loop: TrueLoop, robot: Robot) -> Array:
    """Standard parameters of a model of MuJoCo, shape (parameters,)."""
    links = []
    for i in robot.solid_links:
        body = model.body(robot.links[i].name)
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, body.iquat)
        axes = R.reshape(3, 3)
        about_com = axes @ np.diag(body.inertia) @ axes.T
        links.append(inertia.from_mass_com_inertia(float(body.mass[0]), body.ipos, about_com))
    found = dict(zip(loop.model.names, np.concatenate([*links, np.zeros(2 * robot.nv)]), strict=True))
    for joint in robot.independent_joints:
        dof = model.joint(joint.name).dofadr[0]
        found[f"fv{joint.number}"], found[f"fs{joint.number}"] = model.dof_damping[dof], model.dof_frictionloss[dof]
    return np.array([found[name] for name in loop.model.names])


def row(name: str, loop: TrueLoop, base: BaseParameters, p: Array, seconds: float) -> str:
    """One row of the table, for standard parameters p."""
    error = relative(base.to_base(p), base.to_base(loop.parameters))
    return f"| {name} | {100.0 * error:.3g} | {100.0 * loop.torque_error(p):.3g} | {seconds:.2f} |"


def rows(noise: Noise, seed: int, iterations: int) -> Iterator[str]:
    """The table."""
    loop = panda_loop()
    log, base = loop.log(noise, seed), find_base_parameters(loop.model)
    yield "| estimator | base parameters [%] | torques on another motion [%] | time [s] |"
    yield "| --- | --- | --- | --- |"
    chosen: list[Estimator] = [estimator for estimator in ESTIMATORS if estimator.name in OURS]
    for estimator in chosen:
        start = time.perf_counter()
        found = estimate(loop, 50.0, seed, estimator, log)
        seconds = time.perf_counter() - start
        p = found.nonlinear.base.to_standard(found.solution.estimate.values)
        yield row(estimator.name, loop, base, p, seconds)
    start = time.perf_counter()
    p = by_sysid(loop, log, noise, seed, iterations)
    yield row("mujoco.sysid", loop, base, p, time.perf_counter() - start)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noise", default="standard", help="case of noise")
    parser.add_argument("--seed", type=int, default=0, help="draw of noise and of the initial guess")
    parser.add_argument("--iterations", type=int, default=20, help="iterations of mujoco.sysid at most")
    options = parser.parse_args()
    noise = next(noise for noise in NOISES if noise.name == options.noise)
    for line in rows(noise, options.seed, options.iterations):
        print(line, flush=True)


if __name__ == "__main__":
    main()
