"""Does a designed motion find truer parameters? `python -m benchmarks.excitation_truth [SECONDS]`.

Identification of the UR5 from the designed motion, from the thesis' printed one and from a random one: the true error
of the base parameters, and by which ratio the expected deviations predicted it to be larger. `compare` takes the
simulation as an argument: `ideal` gives exact states and white noise on torques, `closed_loop` the log of a simulated
robot under a controller, differentiated, with the same noise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from tests.design_problems import problem_of_experiment
from tests.thesis_motions import printed

from dynid.arrays import Array
from dynid.excitation.design import design
from dynid.excitation.local_search import random_start
from dynid.excitation.problem import ExcitationProblem, experiment_times
from dynid.excitation.trajectories.family import ParametricTrajectory
from dynid.experiment.reading import read_experiment
from dynid.logs.drive import Transmission
from dynid.logs.processing.states import processed
from dynid.logs.settings import Processing
from dynid.model.base_parameters import BaseParameters
from dynid.model.dynamic_model import DynamicModel
from dynid.simulation.closed_loop import Run, SimulatedRobot, follow
from dynid.simulation.sensors import measure
from dynid.simulation.settings import Controller, Sensors

CONTROLLER = Controller()
PROCESSING = Processing(derivative="savitzky_golay", window=7, degree=5, trim=3)

Simulate = Callable[[BaseParameters, ParametricTrajectory, float, float, int], tuple[Array, Array, Array, Array]]
"""From base parameters with their robot, a trajectory, a rate [Hz], a noise [N m] and a seed to the q, v, a that
identification would use and the measured torques, each of shape (samples, nv)."""


def ideal(
    base: BaseParameters, trajectory: ParametricTrajectory, rate: float, noise: float, seed: int
) -> tuple[Array, Array, Array, Array]:
    """Exact states, and torques of the robot's file with white noise."""
    q, v, a = trajectory.states(experiment_times(trajectory, rate))
    tau = base.model.inverse_dynamics(q, v, a)
    return q, v, a, tau + noise * np.random.default_rng(seed).normal(size=tau.shape)


@cache
def _followed(model: DynamicModel, trajectory: ParametricTrajectory, rate: float) -> Run:
    """What the simulated robot does; runs differ in noise only."""
    robot = SimulatedRobot.of(model, np.nan_to_num(model.reference))
    return follow(robot, trajectory, CONTROLLER, log_rate=rate, lead_in=3.0)


def closed_loop(
    base: BaseParameters, trajectory: ParametricTrajectory, rate: float, noise: float, seed: int
) -> tuple[Array, Array, Array, Array]:
    """The log of a simulated robot under a controller, differentiated."""
    run = _followed(base.model, trajectory, rate)
    drive = Transmission.of([1.0] * run.q.shape[1], positions_at_motor=False)
    # A held torque acts half a tick after it is logged.
    (log,) = processed(measure(run, Sensors(noise=noise), seed=seed), drive, PROCESSING, -0.5 / CONTROLLER.rate)
    return log.q, log.v, log.a, log.torque


@dataclass(frozen=True)
class Outcome:
    """Errors of one motion.

    Attributes:
        error: Root mean square over runs and base parameters of the true error.
        expected: Root mean square over base parameters of the expected deviations.
    """

    error: float
    expected: float


def compare(
    problem: ExcitationProblem,
    motions: Mapping[str, ParametricTrajectory],
    simulate: Simulate = ideal,
    *,
    noise: float = 1.0,
    runs: int = 20,
) -> dict[str, Outcome]:
    """Identify by ordinary least squares from several runs of each motion."""
    base = problem.information.base
    truth = base.to_base(np.nan_to_num(base.model.reference))
    outcomes = {}
    for name, motion in motions.items():
        errors = []
        for seed in range(runs):
            q, v, a, tau = simulate(base, motion, problem.rate, noise, seed)
            W = base.regressor(q, v, a).reshape(-1, len(base))
            errors.append(np.linalg.lstsq(W, tau.T.reshape(-1), rcond=None)[0] - truth)
        variances = noise**2 * np.diag(np.linalg.inv(problem.exact_matrix(motion)))
        outcomes[name] = Outcome(float(np.sqrt(np.mean(np.square(errors)))), float(np.sqrt(np.mean(variances))))
    return outcomes


def motions_of(problem: ExcitationProblem, joints: slice, seconds: float) -> dict[str, ParametricTrajectory]:
    """The designed, the printed and a random motion."""
    designed = design(problem, time_limit=seconds).trajectory
    assert isinstance(designed, ParametricTrajectory)
    return {
        "designed": designed,
        "printed": printed(joints),
        "random": problem.trajectory(random_start(problem, np.random.default_rng(0))),
    }


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    print("| case | simulation | motion | error | expected | error / designed | predicted |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    cases = {"ur5_excite_shoulder": slice(0, 3), "ur5_excite_wrist": slice(3, 6), "ur5_excite_arm": slice(0, 6)}
    for case, joints in cases.items():
        path = Path(__file__).parents[1] / "examples" / f"{case}.toml"
        problem, _ = problem_of_experiment(read_experiment(path, needs_logs=False))
        motions = motions_of(problem, joints, seconds)
        for simulation in (ideal, closed_loop):
            outcomes = compare(problem, motions, simulation)
            best = outcomes["designed"]
            for name, found in outcomes.items():
                print(
                    f"| {case} | {simulation.__name__} | {name} | {found.error:.4g} | {found.expected:.4g} | "
                    f"{found.error / best.error:.2f} | {found.expected / best.expected:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
