"""Exciting motions of the UR5 and the Panda: `python -m benchmarks.excitation [SECONDS] [CASE...]`.

For each case: what the UR5 thesis' printed motion gives on the same measure, the design by gradients, and the thesis'
genetic algorithm with the same time. Condition numbers of the UR5 are computed again with Pinocchio's regressor on the
rows of the CSV that is written: one period at 125 Hz.
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path

import numpy as np
from tests.design_problems import problem_of_experiment
from tests.genetic import design_genetic
from tests.independent_condition import condition_number, read_csv
from tests.thesis_motions import printed

from dynid.excitation.design import Design, design, warm_up
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.trajectory_formats import Written, csv_text
from dynid.experiment.reading import read_experiment

EXAMPLES = Path(__file__).parents[1] / "examples"
CASES = {
    "ur5_excite_shoulder": slice(0, 3),
    "ur5_excite_wrist": slice(3, 6),
    "ur5_excite_arm": slice(0, 6),
    "ur5_excite_shoulder_seed_limits": slice(0, 3),
    "ur5_excite_wrist_seed_limits": slice(3, 6),
    "panda_excite": None,
}


def measured(problem: ExcitationProblem, found: Design) -> float:
    """The condition number of the written motion, by Pinocchio where there are no terms."""
    model = problem.information.base.model
    if model.terms:
        return math.exp(found.value)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trajectory.csv"
        names = tuple(joint.name for joint in model.robot.joints)
        path.write_text(csv_text(Written(found.trajectory, names, problem.rate)))
        return condition_number(model.robot, *read_csv(path))


def milestones(found: Design) -> str:
    """When the condition number first was within 20, 5 and 1 % of the last."""
    times = []
    history = [(one.seconds, one.value) for one in found.history if one.value is not None]
    for part in (1.2, 1.05, 1.01):
        limit = history[-1][1] + math.log(part)
        times.append(next(seconds for seconds, value in history if value <= limit))
    return " / ".join(f"{seconds:.1f}" for seconds in times)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    print(f"{seconds:g} s each; time to within 20 / 5 / 1 % of the last value [s]")
    head = ("case", "columns", "printed", "gradients", "starts", "time to", "largest use", "genetic", "generations")
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for name in sys.argv[2:] or CASES:
        problem, _ = problem_of_experiment(read_experiment(EXAMPLES / f"{name}.toml", needs_logs=False))
        warm_up(problem)
        joints = CASES[name]
        before = "" if joints is None else f"{math.exp(problem.exact_value(printed(joints))):.1f}"
        found = design(problem, time_limit=seconds)
        genetic = design_genetic(problem, time_limit=seconds)
        used = max(check.used for check in found.checks)
        row = (
            name,
            f"{len(problem.information.base)}",
            before,
            f"{measured(problem, found):.2f}",
            f"{found.starts}",
            milestones(found),
            f"{used:.4f}",
            f"{measured(problem, genetic):.1f}",
            f"{genetic.starts}",
        )
        print(f"| {' | '.join(row)} |", flush=True)
        assert found.keeps_limits
        assert np.allclose(found.trajectory.states(np.zeros(1))[1:], 0.0, atol=1e-9)


if __name__ == "__main__":
    main()
