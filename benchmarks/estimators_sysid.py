"""A noisy simulated Panda log: estimators of dynid beside `mujoco.sysid`, in one run from one robot file.

    python -m benchmarks.estimators_sysid [--noise standard] [--seed 0] [--seconds 180] [--robot motors]

`mujoco.sysid` needs the packages tabulate and absl-py. Both start from a file whose parameters are up to 15 % off, and
know the control law. dynid chooses its filters and weighs rows by itself. `mujoco.sysid` is told the noise of each
signal; it fits pseudo-inertias of all links, damping, friction loss and motor inertia so that positions and torques of
the simulated closed loop are those of the log, by its default optimiser, until it stops by itself or its time is over
after an iteration. Each has one thread. Prints residuals of MuJoCo at the true parameters, which are about 1 where the
simulation is that of the log; then errors of base parameters, of torques on another motion, the same of links that can
exist (what dynid exports, with the robot file as prior, and what `mujoco.sysid` finds), and processor times.

The robot "light" has no motor inertia and a soft law: its simulated motion depends far more on its parameters.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from mujoco import sysid
from tests.noisy_loops import CONTROL_RATE, LOG_RATE, NOISES, Noise, TrueLoop, panda_loop, with_links

from benchmarks.estimators import ESTIMATORS, Estimator, relative, silent
from dynid import Log, Robot
from dynid.arrays import Array
from dynid.identification.log_reading import prepared_logs
from dynid.identification.pipeline import Estimated, Reducing, estimated
from dynid.identification.task import Task
from dynid.identification.workers import ALONE
from dynid.model import BaseParameters, find_base_parameters, known_base
from dynid.model.terms import Term
from dynid.robot import inertia
from dynid.robot.formats.mjcf_writer import mjcf_text

STEP = 2e-3
"""Step of MuJoCo's simulation [s]: with the same samples that dynid is given."""

SETTLING = 0.2
"""What is not compared with the simulation at first [s]: the loop has forgotten its initial state after it."""

JOINT_KEYS = {"damping": "fv", "frictionloss": "fs", "armature": "Ia"}
"""What MuJoCo's joints have, by the prefix of dynid's parameter."""

OURS = ("WLS", "IV", "DIDIM", "CLIE", "CLOE", "CLIOE")
"""Estimators of dynid that stand beside it."""


def spec_of(robot: Robot, loop: TrueLoop, p: Array) -> mujoco.MjSpec:
    """The robot in MuJoCo under its law, with friction of standard parameters p; controls are torques of commands."""
    spec = mujoco.MjSpec.from_string(mjcf_text(robot))
    values = dict(zip(loop.model.names, p.tolist(), strict=True))
    for geom in list(spec.geoms):
        spec.delete(geom)
    spec.option.timestep, spec.option.integrator = STEP, mujoco.mjtIntegrator.mjINT_RK4
    bit = mujoco.mjtDisableBit
    spec.option.disableflags |= bit.mjDSBL_CONTACT | bit.mjDSBL_LIMIT | bit.mjDSBL_REFSAFE
    kinds = (mujoco.mjtSensor.mjSENS_JOINTPOS, mujoco.mjtSensor.mjSENS_JOINTACTFRC)
    for joint, kp, kd in zip(robot.independent_joints, *loop.gains, strict=True):
        own = spec.joint(joint.name)
        for key, prefix in JOINT_KEYS.items():
            write_joint(own, key, values.get(f"{prefix}{joint.number}", 0.0))
        own.solref_friction = [0.8 * STEP, 1.0]  # a rate of 2.5 / step: Runge-Kutta steps are stable to 2.8
        own.solimp_friction = [0.9999, 0.9999, 1e-3, 0.5, 2.0]
        drive = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        drive.biastype, drive.gainprm[0] = mujoco.mjtBias.mjBIAS_AFFINE, 1.0
        drive.dyntype = mujoco.mjtDyn.mjDYN_INTEGRATOR
        drive.biasprm[:3] = [0.0, -kp, -kd]
    for kind, what in zip(kinds, ("position", "torque"), strict=True):
        for joint in robot.independent_joints:
            name = f"{what}_{joint.name}"
            spec.add_sensor(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_JOINT, objname=joint.name)
    return spec


def write_joint(joint: Any, key: str, value: float) -> None:
    """Write a key of `JOINT_KEYS` into a joint of a `MjSpec`."""
    if key == "damping":
        joint.damping[0] = value  # the first of three, the linear one
    else:
        setattr(joint, key, value)


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
    """Pseudo-inertias within its default bounds, damping, friction loss and motor inertia."""
    params, model = sysid.ParameterDict(), spec.compile()
    keys = [key for key in JOINT_KEYS if np.ravel(getattr(model, f"dof_{key}")).any()]
    for i in robot.solid_links:
        name, kind = robot.links[i].name, sysid.InertiaType.Pseudo
        params.add(sysid.body_inertia_param(spec, model, name, kind, modifier=write_link(name)))
    for joint in robot.independent_joints:
        for key in keys:
            value = float(np.ravel(getattr(spec.joint(joint.name), key))[0])

            def write(s: mujoco.MjSpec, q: sysid.Parameter, name: str = joint.name, key: str = key) -> None:
                write_joint(s.joint(name), key, q.value[0])

            params.add(sysid.Parameter(f"{joint.name}_{key}", value, 0.0, 10.0 * value + 0.1, modifier=write))
    return params


@dataclass(frozen=True, eq=False)
class Fit:
    """A log as `mujoco.sysid` sees it.

    Attributes:
        loop: The robot in its loop; only its law is used.
        log: Its log.
        noise: Root mean square noise of positions [rad], then of torques [N m], shape (2 joints,).
    """

    loop: TrueLoop
    log: Log
    noise: Array

    def residual(self, spec: mujoco.MjSpec) -> Callable[..., Any]:
        """The residual of `mujoco.sysid`: positions and torques of the simulated loop, in units of their noise.

        A control of MuJoCo is held for a step, and 1 ms of kp r' is some N m. So controls are rates of the law's
        torque kp r + kd r' + feed-forward, which drives integrate: it is interpolated between samples of the log. The
        controller holds torques for one tick: on average, feed-forward acts half a tick late.
        Sensors are those of the beginning of a step, which `mujoco.sysid` stamps with its end: so is the log here.
        """
        log, model, (kp, kd) = self.log, spec.compile(), self.loop.gains
        commands = log.commands
        assert commands.velocity is not None
        assert commands.torque is not None
        late = commands.torque - 0.5 / CONTROL_RATE * np.gradient(commands.torque, log.time, axis=0)
        kept = slice(None, None, round(STEP * LOG_RATE))
        times, law = log.time[kept], (kp * commands.position + kd * commands.velocity + late)[kept]
        rates = np.vstack([np.diff(law, axis=0) / STEP, np.zeros((1, law.shape[1]))])
        first = round(SETTLING / STEP)
        measured = np.hstack([log.position, log.torque])[kept][first:-1]
        scale = np.linalg.norm(measured, axis=0) / np.sqrt(2.0) / self.noise  # by which `mujoco.sysid` divides
        sequences = sysid.ModelSequences(
            "panda",
            spec,
            "log",
            sysid.create_initial_state(model, *start_of(log), law[0]),
            sysid.TimeSeries(times, rates),
            sysid.TimeSeries.from_names(times[first:-1] + STEP, measured, model),
        )
        weights = {model.sensor(k).name: float(scale[k]) for k in range(model.nsensor)}
        return sysid.build_residual_fn(models_sequences=[sequences], sensor_weights=weights, n_threads=1)

    def at(self, robot: Robot, p: Array) -> Array:
        """Root mean square residuals at standard parameters p, over the noise, shape (2 joints,)."""
        spec = spec_of(robot, self.loop, p)
        params = unknowns(spec, robot)
        found = self.residual(spec)(params.as_vector(), params)[0][0]
        return np.sqrt(np.mean(np.reshape(found, (-1, len(self.noise))) ** 2, axis=0))

    def solve(self, robot: Robot, p: Array, seconds: float) -> tuple[Array, str]:
        """Standard parameters that `mujoco.sysid` finds from p in some processor time [s], and how it ended."""
        spec, start, said = spec_of(robot, self.loop, p), time.process_time(), io.StringIO()
        trace: list[Any] = []

        def watch(logs: list[Any]) -> None:
            trace[:] = logs
            if logs[-1].step is not None and time.process_time() - start > seconds:
                raise TimeoutError

        params = unknowns(spec, robot)
        try:
            params, _ = sysid.optimize(params, self.residual(spec), verbose=False, iter_callback=watch, output=said)
            end = next(line for line in said.getvalue().splitlines() if line.startswith("Terminated"))
        except TimeoutError:
            params.update_from_vector((trace[-1].candidate + trace[-1].step).ravel())
            end = f"Stopped after {len(trace)} iterations: {seconds:g} s are over."
        return standard_of(sysid.apply_param_modifiers(params, spec), self.loop, robot), end


def start_of(log: Log) -> tuple[Array, Array]:
    """Position and velocity at the beginning of a log, by a cubic through its first 0.1 s, each of shape (joints,)."""
    few = log.time < 0.1
    fit = np.polynomial.polynomial.polyfit(log.time[few] - log.time[0], log.position[few], 3)
    return fit[0], fit[1]


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
    values = list(np.concatenate(links))
    prefixes = {prefix: key for key, prefix in JOINT_KEYS.items()}
    numbers = {str(joint.number): model.joint(joint.name).dofadr[0] for joint in robot.independent_joints}
    for name in loop.model.names[len(values) :]:
        values.append(np.ravel(getattr(model, f"dof_{prefixes[name[:2]]}")[numbers[name[2:]]])[0])
    return np.array(values)


def row(name: str, loop: TrueLoop, base: BaseParameters, p: Array | None, links: Array | None, seconds: float) -> str:
    """One row of the table, for standard parameters p, and for those with links that can exist."""
    cells = []
    for each in (p, links):
        if each is None:
            cells += ["", ""]
            continue
        error = relative(base.to_base(each), base.to_base(loop.parameters))
        cells += [f"{100.0 * error:.3g}", f"{100.0 * loop.torque_error(each):.3g}"]
    return f"| {' | '.join([name, *cells, f'{seconds:.2f}'])} |"


def noise_of(loop: TrueLoop, log: Log, seed: int) -> Array:
    """Root mean square noise of a log's positions [rad], then torques [N m], with the law's reaction: (2 joints,)."""
    clean = loop.log(Noise("none", 0.0, 0.0), seed)
    return np.sqrt(np.mean(np.hstack([log.position - clean.position, log.torque - clean.torque]) ** 2, axis=0))


def estimate(robot: Robot, terms: tuple[Term, ...], estimator: Estimator, log: Log) -> Estimated:
    """What dynid estimates from a robot file that is off, with filters that it chooses by itself."""
    settings = {"bootstrap": False, **estimator.settings}
    control = {"law": "sampled", "rate": CONTROL_RATE}  # the controller is known
    task = Task.of(robot, log, terms, estimation=settings, control=control)
    base = known_base(task.model, task.known_values)
    read = prepared_logs(task, base, silent)
    return estimated(task, base, Reducing(task.model, read, ALONE, None, silent), (), silent)


def rows(loop: TrueLoop, noise: Noise, seed: int, seconds: float) -> Iterator[str]:
    """The table, after a check of the simulation."""
    log, base, n = loop.log(noise, seed), find_base_parameters(loop.model), loop.model.robot.nv
    fit = Fit(loop, log, noise_of(loop, log, seed))
    true = fit.at(loop.model.robot, loop.parameters)
    guessed, terms = loop.guess(seed)
    p = np.array([*guessed.parameters, *(q.reference for term in terms for q in term.parameters(guessed))], dtype=float)
    off = fit.at(guessed, p)
    yield "Residuals of joints in MuJoCo over the noise of the log:"
    yield f"- at the true parameters: positions {each(true[:n])}, torques {each(true[n:])}"
    yield f"- at the start: positions {each(off[:n])}, torques {each(off[n:])}"
    yield ""
    yield "| estimator | base parameters [%] | unseen torques [%] | the same with links that can exist | | time [s] |"
    yield "| --- | --- | --- | --- | --- | --- |"
    yield row("robot file (start)", loop, base, None, p, 0.0)
    chosen: list[Estimator] = [estimator for estimator in ESTIMATORS if estimator.name in OURS]
    for estimator in chosen:
        start = time.process_time()
        found = estimate(guessed, terms, estimator, log)
        spent = time.process_time() - start
        record = found.loop
        end = "" if record is None else f", {record.iterations} iterations{'' if record.settled else ', not settled'}"
        ours = found.nonlinear.base.to_standard(found.solution.estimate.values)
        links = None if found.links is None else found.links.parameters
        yield row(estimator.name + end, loop, base, ours, links, spent)
    start = time.process_time()
    p, end = fit.solve(guessed, p, seconds)
    yield row("mujoco.sysid", loop, base, None, p, time.process_time() - start)
    last = fit.at(with_links(loop.model.robot, p[: len(guessed.parameters)]), p)
    yield ""
    yield f"mujoco.sysid: {end.strip()} Residuals: positions {each(last[:n])}, torques {each(last[n:])}."


def each(values: Array) -> str:
    """Values of joints in a line."""
    return " ".join(f"{value:.2f}" for value in values)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noise", default="standard", help="case of noise")
    parser.add_argument("--seed", type=int, default=0, help="draw of noise and of the initial guess")
    parser.add_argument("--seconds", type=float, default=180.0, help="processor time of mujoco.sysid at most [s]")
    parser.add_argument("--robot", choices=("motors", "light"), default="motors", help="which Panda")
    options = parser.parse_args()
    if not hasattr(sysid, "optimize"):
        raise SystemExit("mujoco.sysid is empty here without its packages; try: pip install tabulate absl-py")
    noise = next(noise for noise in NOISES if noise.name == options.noise)
    for line in rows(panda_loop(motors=options.robot == "motors"), noise, options.seed, options.seconds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
