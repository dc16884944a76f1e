"""Designed commands: whether logs have the standard deviations that were promised, and what they gain on the Go2.

`python -m benchmarks.command_excitation` prints two tables. The first one is of a simulated robot (a carriage with a
pendulum of two links, moved by MuJoCo): errors of whole identifications from logs of designed commands and of slow
sines, in units of the standard deviations that were promised. The second one is of the Go2 (`DYNID_DATASETS`): what its
public logs determine beside what designed commands would, at the same noise.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.commanded_logs import Controller, commanded_log
from tests.commanded_robots import TrueRobot, slider

import dynid
from dynid.arrays import Array
from dynid.excitation.trajectories.command_waves import CommandWave
from dynid.identification.command_excitation import CommandExcitation
from dynid.identification.command_fit import CommandedRobot, fit_commands
from dynid.identification.command_information import Promise, covariance, information_of_logs
from dynid.identification.command_search import Commanded, CommandProblem
from dynid.logs import Control, Log
from dynid.model import Role

NOISE = 1e-3
"""Standard deviation of measured positions [rad or m]."""

STARTING_SAMPLES = 10
"""Samples at the start, where the robot rests, without noise: rollouts begin with what was measured there."""

ROLES = {"armature": Role.ARMATURE, "viscous": Role.VISCOUS, "Coulomb": Role.COULOMB}


def designed(robot: TrueRobot) -> CommandExcitation:
    """Commands for a robot whose armature and friction are not known."""
    return dynid.excite_commands(
        robot.robot,
        kp=robot.kp,
        kd=robot.kd,
        position=tuple(zip(robot.low.tolist(), robot.high.tolist(), strict=True)),
        velocity=tuple(robot.speed.tolist()),
        collisions=False,
        position_noise=NOISE,
        duration=10.0,
        starts=40,
    )


def slow(problem: CommandProblem) -> Commanded:
    """Slow sines."""
    waves = tuple(CommandWave("chirp", 0.4, 0.4, 0.0, k) for k in range(len(problem.robot.kp)))
    amplitude = 0.7 * problem.room.amplitude
    return Commanded(waves, amplitude, False, problem.commands(waves, amplitude, in_turn=False))


def errors(robot: TrueRobot, commands: Array, problem: CommandProblem, draws: int) -> tuple[Array, tuple[str, ...]]:
    """Errors of identified parameters, shape (draws, unknowns), and their names; logs are MuJoCo's."""
    times, delay = problem.command_times, problem.robot.point.delay
    controller = Controller(delay=delay, counts=0, velocity="none", log=problem.rate, commands=problem.command_rate)

    def held(t: Array) -> Array:
        return commands[np.clip(np.searchsorted(times, t + 1e-9, side="right") - 1, 0, len(commands) - 1)]

    log = commanded_log(robot, controller, held, float(times[-1]))
    found, names = list[Array](), tuple[str, ...]()
    for k in range(draws):
        noise = NOISE * np.random.default_rng((k, 4)).normal(size=log.position.shape)
        noise[:STARTING_SAMPLES] = 0.0
        noisy = replace(log, torque=None, position=log.position + noise)
        links = problem.robot.point.p[: len(robot.robot.parameters)]
        own = CommandedRobot(problem.robot.model, links, {}, (noisy,), Control(law="continuous", bias=False))
        fit = fit_commands(own).output_error
        assert fit is not None
        names = fit.unknowns.names
        truth = [(robot.truth | {"delay": delay})[name] for name in names]
        found.append(fit.values - truth)
    return np.array(found), names


def table(title: str, rows: list[tuple[str, Array]], names: tuple[str, ...]) -> None:
    """Print rows of numbers below names."""
    print(f"\n{title}\n{'':28s}" + "".join(f"{name:>8s}" for name in names))
    for head, values in rows:
        print(f"{head:28s}" + "".join(f"{value:8.2g}" for value in values))


def simulated(draws: int) -> None:
    """Print promised standard deviations, and errors in their units."""
    robot = slider().but(bias=0.0, offset=0.0)
    first = designed(robot)
    problem = first.problem
    p = np.array(problem.robot.point.p)
    for name, value in robot.truth.items():
        if name in problem.robot.model.names:
            p[problem.robot.model.names.index(name)] = value
    there = replace(problem, robot=replace(problem.robot, point=replace(problem.robot.point, p=p)))
    for title, commanded in (("designed commands", first.trial.commanded), ("slow sines", slow(there))):
        trial = there.judged(commanded)
        assert trial is not None
        z, names = errors(robot, commanded.commands, there, draws)
        z = z / trial.promise.stds
        rms = np.sqrt(np.mean(z**2, axis=0))
        d = names.index("delay")
        shown = [("promised std [%]", 100.0 * trial.promise.stds / trial.promise.sizes), ("RMS error / promised", rms)]
        shown.append(("correlation with the delay", trial.promise.correlation[d]))
        table(f"{title}: {draws} logs of MuJoCo, all parameters together {np.sqrt(np.mean(z**2)):.2f}", shown, names)


def go2(folder: Path, seconds: float) -> None:
    """Print what the public logs determine, and what designed commands would."""
    robot = dynid.load_robot(folder / "go2.xml", lock=["base"])
    own = [f"traj_{k}.pt" for k in range(8)]
    roles: dict[str, Any] = {
        "position": "dof_pos",
        "velocity": "dof_vel",
        "position_command": "des_dof_pos",
        "kp": "kp",
        "kd": "kd",
    }
    logs: list[Log] = [dynid.read_log(folder / name, robot, time="time", **roles) for name in own]
    kp, kd = logs[0].commands.kp[0], logs[0].commands.kd[0]
    found = dynid.excite_commands(robot, kp=kp, kd=kd, velocity=10.0, position_noise=2e-3, time_limit=seconds)
    problem = found.problem
    H, _ = information_of_logs(problem.robot, logs, problem.columns, problem.noise)
    present = Promise(problem.unknowns, covariance(H, problem.unknowns), problem.sizes[0])
    both = Promise(problem.unknowns, covariance(H + found.trial.information, problem.unknowns), problem.sizes[0])
    model, names = problem.robot.model, problem.unknowns.names
    print(f"\nGo2, noise of 2 mrad; {found.tried} commands tried in {found.seconds:.0f} s; {found!r}")
    total = sum(log.time[-1] - log.time[0] for log in logs)
    print(f"| standard deviations | eight logs, {total:.0f} s | designed, 20 s | together |\n| --- | --- | --- | --- |")
    for word, role in ROLES.items():
        at = [k for k, name in enumerate(names) if name in model.names and _role(model, name) is role]
        cells = [f"{100.0 * np.median((one.stds / one.sizes)[at]):.2g} %" for one in (present, found.promise, both)]
        print(f"| {word}, median of joints | {' | '.join(cells)} |")
    d = names.index("delay")
    print("| delay | " + " | ".join(f"{1e3 * one.stds[d]:.2g} ms" for one in (present, found.promise, both)) + " |")
    for word, role in (("armature", Role.ARMATURE), ("viscous friction", Role.VISCOUS)):
        cells = [f"{one.with_delay(role, model):.2f}" for one in (present, found.promise, both)]
        print(f"| largest correlation of delay and {word} | {' | '.join(cells)} |")


def _role(model: dynid.DynamicModel, name: str) -> Role:
    return model.parameters[model.names.index(name)].role


if __name__ == "__main__":
    simulated(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    if "DYNID_DATASETS" in os.environ:
        go2(Path(os.environ["DYNID_DATASETS"]) / "go2", 60.0)
