"""One objective with its gradient for a 6-axis arm, beside finite differences on Pinocchio in the same run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from tests.design_problems import problem_of_experiment

from dynid.arrays import Array
from dynid.excitation.criteria import Condition
from dynid.excitation.design import design, warm_up
from dynid.excitation.local_search import random_start
from dynid.excitation.problem import ExcitationProblem
from dynid.experiment.reading import read_experiment
from dynid.robot.pinocchio import to_pinocchio

EXAMPLES = Path(__file__).parents[1] / "examples"
SAMPLES = 100


def problem(name: str, samples: int) -> ExcitationProblem:
    experiment = read_experiment(EXAMPLES / f"{name}.toml", needs_logs=False)
    settings = experiment.excitation.model_copy(update={"samples": samples})
    return problem_of_experiment(experiment.model_copy(update={"excitation": settings}))[0]


@pytest.fixture(scope="module")
def arm() -> tuple[ExcitationProblem, Array]:
    found = problem("ur5_excite_arm", SAMPLES)
    warm_up(found)
    return found, random_start(found, np.random.default_rng(0))


class WithPinocchio:
    """The logarithm of the condition number in a loop over Pinocchio, and its gradient by forward differences."""

    def __init__(self, found: ExcitationProblem) -> None:
        self.grid = found.grid
        self.model = to_pinocchio(found.information.base.model.robot)
        self.data = self.model.createData()
        self.columns = list(found.information.base.columns)

    def value(self, x: Array) -> float:
        states = self.grid.motion(x).states
        W = [pin.computeJointTorqueRegressor(self.model, self.data, *state) for state in zip(*states, strict=True)]
        return float(np.log(np.linalg.cond(np.concatenate(W)[:, self.columns])))

    def gradient(self, x: Array) -> tuple[float, Array]:
        value, step = self.value(x), 1e-7
        return value, np.array([(self.value(x + step * d) - value) / step for d in np.eye(len(x))])


@pytest.mark.benchmark(group="condition number and gradient, 6-axis arm, 54 coefficients, 100 samples")
def test_exact_gradient(benchmark, arm) -> None:
    found, x = arm
    benchmark(lambda: found.at(x).objective())


@pytest.mark.benchmark(group="condition number and gradient, 6-axis arm, 54 coefficients, 100 samples")
def test_finite_differences_on_pinocchio(benchmark, arm) -> None:
    found, x = arm
    value, gradient = benchmark.pedantic(WithPinocchio(found).gradient, (x,), rounds=3)
    exact = found.smoothed(np.inf).at(x).objective()
    assert found.criterion == Condition()
    assert value == pytest.approx(exact[0], rel=1e-6)
    assert np.abs(gradient - exact[1]).max() <= 1e-4 * np.abs(exact[1]).max()


@pytest.mark.benchmark(group="whole design, one start")
@pytest.mark.parametrize("name", ["ur5_excite_shoulder", "ur5_excite_arm", "ur5_excite_shoulder_seed_limits"])
def test_design(benchmark, name: str) -> None:
    found = problem(name, 150)
    warm_up(found)
    benchmark.pedantic(lambda: design(found, time_limit=300.0, starts=1), rounds=2)
