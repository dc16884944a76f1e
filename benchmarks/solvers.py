"""Which solver: ours, IPOPT (through CasADi) or SLSQP (SciPy)? `python -m benchmarks.solvers [SECONDS]`.

The same smooth criterion with the same exact gradients, bounds and start. CasADi is needed for IPOPT only.
"""

from __future__ import annotations

import importlib
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.design_problems import problem_of_experiment

from dynid.arrays import Array
from dynid.excitation.design import warm_up
from dynid.excitation.interior_point import minimise
from dynid.excitation.local_search import best_start
from dynid.excitation.problem import ExcitationProblem
from dynid.experiment.reading import read_experiment
from dynid.machine import single_threaded_blas

POWER = 8.0


class Recorder:
    """The objective, with the best value within the bounds over time."""

    def __init__(self, problem: ExcitationProblem, seconds: float, stops: bool) -> None:
        self.problem, self.seconds, self.stops = problem, seconds, stops
        self.begin, self.best, self.calls = time.monotonic(), math.inf, 0
        self.history: list[tuple[float, float]] = []

    def __call__(self, x: Array) -> tuple[float, Array]:
        if self.stops and time.monotonic() - self.begin > self.seconds:
            raise TimeoutError
        self.calls += 1
        value, gradient = self.problem.at(x).objective()
        if value < self.best and self.problem.smallest_slack(x) > -1e-6:
            self.best = value
            self.history.append((time.monotonic() - self.begin, value))
        return value, gradient


class Told:
    """The problem for our solver, told to a recorder."""

    def __init__(self, problem: ExcitationProblem, recorder: Recorder) -> None:
        self.problem, self.recorder = problem, recorder

    def at(self, x: Array) -> Any:
        point = self.problem.at(x)
        value = self.recorder(x) if math.isfinite(point.barrier()) else None
        if value is not None:
            point.__dict__["_objective"] = value
        return point


def ours(problem: ExcitationProblem, x: Array, recorder: Recorder) -> None:
    minimise(Told(problem, recorder), x, final_barrier=1e-5, iterations=10_000)


def rows(problem: ExcitationProblem) -> tuple[Array, Array]:
    """All bounds as -1 <= A x + b <= 1."""
    A = np.zeros((sum(len(block) for block, _ in problem.blocks), sum(problem.grid.free.sizes)))
    begin = 0
    for (block, _), where in zip(problem.blocks, problem.grid.free.slices, strict=True):
        A[begin : begin + len(block), where] = block
        begin += len(block)
    return A, np.concatenate([b for _, b in problem.blocks])


def slsqp(problem: ExcitationProblem, x: Array, recorder: Recorder) -> None:
    from scipy.optimize import minimize

    A, b = rows(problem)
    both = np.concatenate([-A, A])
    constraint = {"type": "ineq", "fun": lambda y: 1.0 + both @ y + np.concatenate([-b, b]), "jac": lambda _: both}
    minimize(recorder, x, jac=True, method="SLSQP", constraints=constraint, options={"maxiter": 5000, "ftol": 1e-10})


def ipopt(problem: ExcitationProblem, x: Array, recorder: Recorder) -> None:  # noqa: C901 (CasADi's callbacks)
    casadi: Any = importlib.import_module("casadi")  # heavy: imported where it is used

    n = len(x)

    class Gradient(casadi.Callback):
        def __init__(self) -> None:
            super().__init__()
            self.construct("gradient", {})

        def get_n_in(self) -> int:
            return 2

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense(n if i == 0 else 1, 1)

        def get_sparsity_out(self, i: int) -> Any:
            return casadi.Sparsity.dense(1, n)

        def eval(self, arguments: Any) -> list[Any]:
            return [recorder(np.array(arguments[0]).ravel())[1][None]]

    gradient = Gradient()

    class Objective(casadi.Callback):
        def __init__(self) -> None:
            super().__init__()
            self.construct("objective", {})

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense(n, 1)

        def eval(self, arguments: Any) -> list[Any]:
            return [recorder(np.array(arguments[0]).ravel())[0]]

        def has_jacobian(self) -> bool:
            return True

        def get_jacobian(self, *_: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            return gradient

    objective = Objective()
    y = casadi.MX.sym("x", n)
    A, b = rows(problem)
    options = {
        "ipopt": {
            "hessian_approximation": "limited-memory",
            "max_iter": 5000,
            "max_wall_time": recorder.seconds,
            "print_level": 0,
            "sb": "yes",
        },
        "print_time": False,
    }
    program = {"x": y, "f": objective(y), "g": casadi.mtimes(casadi.sparsify(casadi.DM(A)), y)}
    casadi.nlpsol("solver", "ipopt", program, options)(x0=x, lbg=-1.0 - b, ubg=1.0 - b)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    solvers: dict[str, Callable[[ExcitationProblem, Array, Recorder], None]] = {
        "ours": ours, "ipopt": ipopt, "slsqp": slsqp,
    }  # fmt: skip
    print(f"smooth condition number (norms of power {POWER:g}) of the whole UR5, {seconds:g} s at most")
    print("| seed | solver | best | evaluations | seconds | time to within 5 % of the best of all |")
    print("| --- | --- | --- | --- | --- | --- |")
    path = Path(__file__).parents[1] / "examples" / "ur5_excite_arm.toml"
    problem = problem_of_experiment(read_experiment(path, needs_logs=False))[0].smoothed(POWER)
    problem = ExcitationProblem(problem.grid, problem.information, problem.criterion, problem.bounds, (), problem.rate)
    warm_up(problem)
    for seed in range(3):
        x = best_start(problem, 30, np.random.default_rng(seed))
        found: dict[str, tuple[Recorder, float]] = {}
        for name, solve in solvers.items():
            recorder = Recorder(problem, seconds, stops=name != "ipopt")  # it has a time limit of its own
            try:
                with single_threaded_blas():
                    solve(problem, x, recorder)
            except (TimeoutError, RuntimeError, ImportError) as error:
                if isinstance(error, ImportError):
                    continue
            found[name] = (recorder, time.monotonic() - recorder.begin)
        best = min(recorder.best for recorder, _ in found.values())
        for name, (recorder, used) in found.items():
            reached = next((when for when, value in recorder.history if value <= best + math.log(1.05)), math.nan)
            print(
                f"| {seed} | {name} | {math.exp(recorder.best):.2f} | {recorder.calls} | {used:.1f} | {reached:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
