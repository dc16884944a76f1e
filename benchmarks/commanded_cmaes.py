"""The Go2 logs by CMA-ES, as users of evolution strategies fit them, beside dynid's regression and output error.

    DYNID_DATASETS=... python -m benchmarks.commanded_cmaes --minutes 60 [--logs 8]

All have the same 49 unknowns (armature, viscous and Coulomb friction and offset of 12 joints, and the delay), the same
logs, the same compiled rollouts at 2.5 ms, and one core. CMA-ES (`cmaes` from PyPI, its own population size) minimises
the mean squared error of positions over the training logs, from the middle of a box around all published values; a
rollout that flies off costs more than any other. Times are those of the processor; the clock of CMA-ES counts only its
own rollouts: those of held-out logs, by which it is compared every so often, are free of charge. MuJoCo's time for the
same rollouts stands beside.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from cmaes import CMA
from mujoco import rollout as mujoco_rollout
from tests.commanded_robots import go2

import dynid
from dynid.arrays import Array
from dynid.identification.commanded_robot import CommandedRobot, LawPoint
from dynid.logs import Control
from dynid.simulation import RolloutParameters, sensitivities

DATA = Path(os.environ.get("DYNID_DATASETS", "../shared/datasets")) / "go2"
TERMS = ("armature", "viscous", "coulomb", "offset")
BOX = ((0.0, 0.1), (0.0, 1.0), (0.0, 2.0), (-2.0, 2.0))
"""Bounds of each term [kg m^2, N m s/rad, N m, N m]; published values are at most 0.044, 0.36 and 0.71."""

LATEST = 0.02
"""Upper bound of the delay [s]; the lower one is zero."""

FLOWN = 1e3
"""Cost [rad^2] of a rollout that flies off."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What all methods solve.

    Attributes:
        train: The robot with its training logs.
        test: The same with the held-out logs.
    """

    train: CommandedRobot
    test: CommandedRobot

    @property
    def bounds(self) -> Array:
        """Bounds of the unknowns, shape (unknowns, 2)."""
        n = self.train.model.robot.nv
        return np.array([box for box in BOX for _ in range(n)] + [(0.0, LATEST)])

    def point(self, x: Array) -> LawPoint:
        """Where rollouts are with unknowns in [0, 1], shape (unknowns,)."""
        low, high = self.bounds.T
        values, n = low + (high - low) * x, self.train.model.robot.nv
        p = np.concatenate([self.train.links, values[:-1]])
        return LawPoint(p, float(values[-1]), "continuous", np.ones(n), np.zeros(n))

    def cost(self, x: Array) -> float:
        """Mean squared error of positions over the training logs [rad^2]."""
        errors = self.train.errors(self.point(x))
        return FLOWN if errors is None or not np.isfinite(errors).all() else float(errors.mean())


@dataclass(frozen=True)
class Mark:
    """How far CMA-ES has come.

    Attributes:
        seconds: Time of its rollouts [s].
        evaluations: How often all training logs were rolled out.
        train: Error on training logs [rad].
        test: Error on held-out logs [rad].
    """

    seconds: float
    evaluations: int
    train: float
    test: float


def evolve(problem: Problem, seconds: float, seed: int, report: Callable[[Mark], None]) -> list[Mark]:
    """Run CMA-ES for some time [s]; the marks of the best member so far, in the end and every fiftieth of the time."""
    size = len(problem.bounds)
    search = CMA(np.full(size, 0.5), 0.2, np.tile([0.0, 1.0], (size, 1)), seed=seed)
    best, best_cost, spent, evaluations = np.full(size, 0.5), math.inf, 0.0, 0
    marks: list[Mark] = []
    while spent < seconds:
        start = time.process_time()
        members = []
        for _ in range(search.population_size):
            x = search.ask()
            members.append((x, problem.cost(x)))
        search.tell(members)
        evaluations += len(members)
        x, cost = min(members, key=lambda member: member[1])
        spent += time.process_time() - start
        if cost < best_cost:
            best, best_cost = x, cost
        if spent >= (len(marks) + 1) * seconds / 50.0 or spent >= seconds:
            marks.append(Mark(spent, evaluations, math.sqrt(best_cost), problem.test.rmse(problem.point(best))))
            report(marks[-1])
    return marks


def times_of_rollouts(problem: Problem) -> list[tuple[str, float]]:
    """Seconds of a rollout of one log by dynid, with derivatives over all unknowns, and by MuJoCo's steps."""
    robot, log = problem.train, problem.train.logs[0]
    point = problem.point(np.full(len(problem.bounds), 0.3))
    columns = RolloutParameters(model=robot.estimated, delay=True)
    step = 2.5e-3
    true = go2(DATA / "go2.xml").but(kp=log.commands.kp[0], kd=log.commands.kd[0], limit=1e3)
    model = true.compiled(follows=True, step=step)
    model.opt.integrator, model.opt.disableflags = mujoco.mjtIntegrator.mjINT_IMPLICITFAST, 0
    data = mujoco.MjData(model)
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros((1, mujoco.mj_stateSize(model, full)))
    mujoco.mj_getState(model, data, state[0], full)
    times = np.arange(log.time[0], log.time[-1], step)
    held = log.commands.position[np.searchsorted(log.time, times, side="right") - 1]

    def fastest(work: Callable[[], object]) -> float:
        spent = []
        for _ in range(4):
            start = time.process_time()
            work()
            spent.append(time.process_time() - start)
        return min(spent)

    return [
        ("dynid, a rollout", fastest(lambda: robot.roll_out(0, point))),
        (
            f"dynid, with derivatives over {len(columns)} unknowns",
            fastest(lambda: sensitivities(robot.roll_out(0, point, steps_kept=True), columns)),
        ),
        (
            "MuJoCo, mj_step (implicitfast)",
            fastest(lambda: mujoco_rollout.rollout(model, data, state, held[None])),
        ),
    ]


def ours(problem: Problem, *, output_error: bool) -> Mark:
    """Dynid's own way."""
    train = problem.train
    control = {"law": "continuous", "bias": False, "output_error": output_error}
    start = time.process_time()
    result = dynid.identify(train.model.robot, train.logs, terms=TERMS, control=control)
    spent = time.process_time() - start
    found, seen = result.record.commands, result.validate(*problem.test.logs).rollout
    assert found is not None
    assert seen is not None
    return Mark(spent, 0, found.rollout.rmse, seen.rmse)


def line(name: str, mark: Mark | None) -> str:
    """A row of the table."""
    if mark is None:
        return f"| {name} | not reached | | | |"
    evaluations = f"{mark.evaluations}" if mark.evaluations else ""
    return f"| {name} | {mark.seconds:.1f} | {evaluations} | {1e3 * mark.train:.2f} | {1e3 * mark.test:.2f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=60.0, help="time of CMA-ES [min]")
    parser.add_argument("--logs", type=int, default=8, help="training logs, of traj_0 to traj_7")
    parser.add_argument("--seed", type=int, default=1, help="of CMA-ES")
    parser.add_argument("--quiet", action="store_true", help="print the table only")
    options = parser.parse_args()
    robot = dynid.load_robot(DATA / "go2.xml", lock=["base"])
    model = dynid.DynamicModel(robot, TERMS)
    logs = [dynid.read_log(DATA / f"traj_{k}.pt", robot) for k in (*range(options.logs), 8, 9)]
    train, test = (
        CommandedRobot(model, robot.parameters, {}, tuple(some), Control())
        for some in (logs[: options.logs], logs[options.logs :])
    )
    problem = Problem(train, test)
    ours(problem, output_error=True)  # loads everything that is compiled
    rows = {name: ours(problem, output_error=flag) for name, flag in (("regression", False), ("output error", True))}
    report = (lambda _: None) if options.quiet else lambda mark: print(line("CMA-ES", mark), flush=True)
    marks = evolve(problem, 60.0 * options.minutes, options.seed, report)
    print(f"\n{options.logs} training logs, one core; held-out: traj_8 and traj_9\n")
    print("| | seconds | evaluations of all logs | training [mrad] | held-out [mrad] |")
    print("| --- | --- | --- | --- | --- |")
    for name, mark in rows.items():
        print(line(f"dynid, {name}", mark))
        reached = next((one for one in marks if one.test <= 1.01 * mark.test), None)
        print(line(f"CMA-ES, to within 1 % of the {name}'s held-out error", reached))
    print(line(f"CMA-ES, after {options.minutes:g} min", marks[-1]))
    print("\n| one log of Go2 (12 joints, 23.5 s, steps of 2.5 ms) | seconds |\n| --- | --- |")
    for name, seconds in times_of_rollouts(problem):
        print(f"| {name} | {seconds:.3f} |")


if __name__ == "__main__":
    main()
