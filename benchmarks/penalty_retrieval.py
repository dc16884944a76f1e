"""Physical parameters by growing penalties (PBPR): the seed's arms, and the Panda beside the semidefinite fit.

Run with `python -m benchmarks.penalty_retrieval [arms|panda ...]`. The arms are those of Pennese and Vulcano 2020 (1R,
Tables 1 to 6; 3R, Tables 8 to 11; inertias of chapter 5.2): torques are simulated along their kinds of trajectories
without noise, structural zeros are fixed, links begin as plain bodies and at random points, and the error is the norm
over the seed's own coefficients (2 and 10). The Panda log is the public one of Gaz et al. (`examples/panda.toml`, needs
DYNID_DATASETS). Times are of the processor: the machine is shared.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.seed_arms import CASES, retrieved

import dynid
from dynid.arrays import Array
from dynid.estimation.physical.parameter_retrieval import retrieval
from dynid.estimation.physical.penalty_retrieval import Search, SearchKind
from dynid.estimation.physical.physical_estimate import problem_of, weighed
from dynid.estimation.physical.physical_links import physics_of
from dynid.estimation.physical.semidefinite import LinkPrior, PriorKind, fit
from dynid.estimation.settings import PhysicalSettings


def arms() -> None:
    """Print the table of the seed's arms."""
    print("| arm | seed's error | error | search | conditions | torques [N m] | time |\n" + "| --- " * 7 + "|")
    kinds: tuple[SearchKind, ...] = ("starts", "annealing", "evolution", "hopping")
    for case in CASES:
        for kind in kinds:
            search = Search(kind=kind, starts=3 if kind == "starts" else 1, evaluations=2000)
            error, torques, is_met, seconds = retrieved(case, search)
            met = "all hold" if is_met else "FAIL"
            print(f"| {case[0]} | {case[-1]:.2g} | {error:.1e} | {kind} | {met} | {torques:.1e} | {seconds:.2f} s |")


def panda() -> None:
    """Print the table of the Panda."""
    result = dynid.identify(Path(__file__).parent.parent / "examples" / "panda.toml")
    base = result.base
    factor = weighed(result.rows, base)
    physics = physics_of(PhysicalSettings(total_mass=(10.0, 25.0)), base.model)
    rows = sum(factors.rows for factors in result.rows)

    def show(label: str, b: Array, seconds: float, conditions: str) -> None:
        rms = np.sqrt(factor.residual_squares(b) / rows)
        print(
            f"| {label} | {rms:.4f} | {np.linalg.norm(b - factor.solve()):.3f} | {conditions} | {seconds:.2f} s |",
            flush=True,
        )

    print("| fit | weighted residual | distance of coefficients | conditions | time |\n" + "| --- " * 5 + "|")
    show("least squares, no physics", factor.solve(), 0.0, "not looked at")
    for kind in (PriorKind.NONE, PriorKind.LOG_DET):
        begin = time.process_time()
        p = fit(problem_of(factor, base, replace(physics, prior=LinkPrior(kind, 10.0))))
        show(f"semidefinite, prior {kind.value}", base.to_base(p), time.process_time() - begin, "all hold")
    kinds: tuple[SearchKind, ...] = ("starts", "annealing")
    for search in kinds:
        begin = time.process_time()
        starts = 4 if search == "starts" else 1
        found = retrieval(factor, base, physics, search=Search(kind=search, starts=starts, evaluations=2000))
        met = "all hold" if found.is_met else f"{sum(v < 0 for v in found.conditions.values())} fail"
        show(f"PBPR, {search}", found.coefficients, time.process_time() - begin, met)


if __name__ == "__main__":
    for part in sys.argv[1:] or ("arms", "panda"):
        {"arms": arms, "panda": panda}[part]()
