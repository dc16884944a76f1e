"""Estimators under noisy feedback, by BIRDy's protocol: a simulated TX40 of which everything is known.

    python -m benchmarks.estimators [--guesses 25] [--cases all] [--estimators all] [--out docs/estimators_table.md]

The robot follows two periods of an exciting trajectory, 10 s in all, under a control law at 5 kHz that sees noisy
positions (`tests/noisy_loops.py`). Logs are sampled at 1 kHz, filtered by a zero-phase Butterworth filter of order 4 at
50 Hz or not at all, and decimated to 500 Hz. Each draw has noise of its own and a robot file whose parameters are up to
15 % off, from which estimators that simulate the robot start; they take 10 iterations at most.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tests.noisy_loops import CONTROL_RATE, NOISES, Noise, TrueLoop, tx40_loop

from dynid import Log
from dynid.arrays import Array
from dynid.errors import DynidError
from dynid.identification.estimators.estimator_recipe import THRESHOLDS
from dynid.identification.log_reading import prepared_logs
from dynid.identification.pipeline import Estimated, Reducing, estimated
from dynid.identification.task import Task
from dynid.identification.workers import ALONE
from dynid.model import BaseParameters, known_base

CUTOFFS = (50.0, None)
"""Cut-off frequencies [Hz] of positions and torques; None for no filter."""

PROCESSES = 2
"""Processes side by side."""


@dataclass(frozen=True)
class Estimator:
    """An estimator of the table.

    Attributes:
        name: Its name.
        settings: Its keys of `[estimation]`.
        draws: Draws at most; None for all.
        noises: Cases of noise that it is run on; None for all.
        unfiltered: Whether it is also run on logs that are not filtered.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    draws: int | None = None
    noises: tuple[str, ...] | None = None
    unfiltered: bool = True

    def runs(self, noise: Noise, cutoff: float | None, seed: int) -> bool:
        """Whether it is run on a draw."""
        enough = self.draws is not None and seed >= self.draws
        elsewhere = self.noises is not None and noise.name not in self.noises
        return not (enough or elsewhere or (cutoff is None and not self.unfiltered))


def in_loop(name: str) -> dict[str, Any]:
    """Settings of an estimator that simulates the robot, from the parameters of its file."""
    return {"estimator": name, "start": "file", "iterations": 10}


FEW: dict[str, Any] = {"draws": 5, "noises": ("standard", "high position"), "unfiltered": False}

ESTIMATORS = (
    Estimator("OLS", {"method": "ols"}),
    Estimator("WLS"),
    Estimator("TLS", {"estimator": "tls"}),
    Estimator("IV", in_loop("iv")),
    Estimator("DIDIM", in_loop("didim")),
    Estimator("ML", in_loop("ml")),
    Estimator("CLIE", in_loop("clie"), **FEW),
    Estimator("CLOE", in_loop("cloe"), **FEW),
    Estimator("CLIOE", in_loop("clioe"), **FEW),
)
"""What is compared; closed-loop input and output error on five draws of two cases."""


@dataclass(frozen=True)
class Outcome:
    """One estimate.

    Attributes:
        noise: Name of the case of noise.
        cutoff: Cut-off frequency [Hz]; None without a filter.
        estimator: Name of the estimator.
        parameters: Norm of the errors of base parameters over the norm of the true ones.
        inertial: The same of those with masses, first moments and inertias only: friction has the larger numbers.
        torque: Relative error of torques on another motion.
        position: Root mean square error of simulated positions on another motion [rad]; infinite where it flies off.
        iterations: Simulations that it took; 1 where it simulates nothing.
        settled: Whether it settled.
        seconds: Time [s].
        rejected: Whether the consistency test rejects least squares at 5 %; None without a test.
        failure: Why there is no estimate; empty where there is one.
    """

    noise: str
    cutoff: float | None
    estimator: str
    parameters: float = np.inf
    inertial: float = np.inf
    torque: float = np.inf
    position: float = np.inf
    iterations: int = 0
    settled: bool = False
    seconds: float = np.nan
    rejected: bool | None = None
    failure: str = ""

    @property
    def errors(self) -> tuple[float, ...]:
        """Errors as the table has them: percent, and mrad for positions."""
        return 100.0 * self.parameters, 100.0 * self.inertial, 100.0 * self.torque, 1e3 * self.position


def processing(cutoff: float | None) -> dict[str, Any]:
    """What is done to a log of 1 kHz."""
    filters = {"lowpass": "none"} if cutoff is None else {"lowpass": cutoff, "torque_lowpass": cutoff}
    return {**filters, "trim": 20, "decimate": [2], "velocity_threshold": THRESHOLD}


THRESHOLD = 0.1
"""Measured speed [rad/s] below which a joint's rows do not count: dry friction is not known there."""


def estimate(loop: TrueLoop, cutoff: float | None, seed: int, estimator: Estimator, log: Log) -> Estimated:
    """What `dynid.identify` estimates, without its search for causes of residuals, which takes longer than the rest.

    Raises:
        DynidError: If there is no estimate.
    """
    robot, terms = loop.guess(seed)
    settings = {"bootstrap": False, **estimator.settings}
    stated = {"processing": processing(cutoff), "estimation": settings, "physical": {"fit": False}}
    stated["control"] = {"law": "sampled", "rate": CONTROL_RATE}  # the controller is known
    task = Task.of(robot, log, terms, **stated)
    base = known_base(task.model, task.known_values)
    read = prepared_logs(task, base, silent)
    return estimated(task, base, Reducing(task.model, read, ALONE, None, silent), (), silent)


def silent(_: str) -> None:
    """Say nothing of progress."""


def outcome(loop: TrueLoop, noise: Noise, cutoff: float | None, seed: int, estimator: Estimator, log: Log) -> Outcome:
    """Identify from a log with one estimator, and compare with the truth."""
    start = time.perf_counter()
    try:
        found = estimate(loop, cutoff, seed, estimator, log)
    except (DynidError, NotImplementedError) as error:
        return Outcome(noise.name, cutoff, estimator.name, failure=str(error))
    seconds = time.perf_counter() - start
    base, values = found.nonlinear.base, found.solution.estimate.values
    true = base.to_base(loop.parameters)
    inertial = np.array(["kg" in unit for unit in base.units])
    record, rejected = found.loop, None
    if record is not None and record.consistency is not None:
        rejected = record.consistency.p_value < THRESHOLDS.level
    return Outcome(
        noise.name,
        cutoff,
        estimator.name,
        relative(values, true),
        relative(values[inertial], true[inertial]),
        loop.torque_error(base.to_standard(values)),
        loop.position_error(standard(base, values)),
        1 if record is None else record.iterations,
        record is None or record.settled,
        seconds,
        rejected,
    )


def relative(values: Array, true: Array) -> float:
    """Norm of errors over the norm of what is true."""
    return float(np.linalg.norm(values - true) / np.linalg.norm(true))


def standard(base: BaseParameters, values: Array) -> Array:
    """Standard parameters to simulate: those with given base parameters that are nearest to the robot file's."""
    p = base.to_standard(values, near=np.nan_to_num(base.model.reference))
    dry = np.array([parameter.role.is_dry for parameter in base.model.parameters])
    return np.where(dry, np.maximum(p, 0.0), p)


Job = tuple[Noise, int, tuple[str, ...]]
"""A case of noise, a seed, and the names of estimators."""


def draw(job: Job) -> list[Outcome]:
    """All estimators on one draw, filtered and not."""
    noise, seed, names = job
    loop = tx40_loop()
    log = loop.log(noise, seed)
    return [
        outcome(loop, noise, cutoff, seed, estimator, log)
        for cutoff in CUTOFFS
        for estimator in ESTIMATORS
        if estimator.name in names and estimator.runs(noise, cutoff, seed)
    ]


def draws(jobs: Sequence[Job], processes: int = PROCESSES) -> Iterator[list[Outcome]]:
    """The outcomes of jobs, side by side."""
    if processes == 1:
        yield from map(draw, jobs)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(draw, jobs)


def table(outcomes: Iterable[Outcome], names: Sequence[str]) -> Iterator[str]:
    """Lines of a Markdown table: medians over draws."""
    heads = (
        "noise",
        "filter",
        "estimator",
        "base parameters [%]",
        "inertial ones [%]",
        "torques on another motion [%]",
    )
    heads += ("simulated positions on another motion [mrad]", "iterations", "settled", "time [s]", "draws")
    heads += ("least squares rejected",)
    yield f"| {' | '.join(heads)} |"
    yield f"| {' | '.join('---' for _ in heads)} |"
    groups: dict[tuple[str, float | None, str], list[Outcome]] = {}
    for one in outcomes:
        groups.setdefault((one.noise, one.cutoff, one.estimator), []).append(one)
    for noise in NOISES:
        for cutoff in CUTOFFS:
            for name in names:
                group = groups.get((noise.name, cutoff, name))
                if group:
                    yield row(group)


def row(group: Sequence[Outcome]) -> str:
    """One row of the table."""
    first, good = group[0], [one for one in group if not one.failure]
    what = [first.noise, "none" if first.cutoff is None else f"{first.cutoff:g} Hz", first.estimator]
    if not good:
        return f"| {' | '.join(what)} | {' | '.join([''] * 7)} | 0 of {len(group)} | {group[0].failure} |"
    errors = np.median([one.errors for one in good], axis=0)
    tested = [one.rejected for one in good if one.rejected is not None]
    cells = [f"{value:.3g}" if np.isfinite(value) else "flies off" for value in errors]
    cells.append(f"{np.median([one.iterations for one in good]):g}")
    cells.append(f"{100.0 * np.mean([one.settled for one in good]):.0f} %")
    cells.append(f"{np.median([one.seconds for one in good]):.2g}")
    cells.append(str(len(good)) if len(good) == len(group) else f"{len(good)} of {len(group)}")
    cells.append(f"{100.0 * np.mean(tested):.0f} %" if tested else "")
    return f"| {' | '.join([*what, *cells])} |"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--guesses", type=int, default=25, help="draws of noise and of initial guesses")
    parser.add_argument("--cases", default="all", help="cases of noise, separated by commas")
    parser.add_argument("--estimators", default="all", help="estimators, separated by commas")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="processes side by side")
    parser.add_argument("--out", type=Path, help="Markdown file that is written")
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # of the processes that are started
    everything = tuple(estimator.name for estimator in ESTIMATORS)
    names = everything if options.estimators == "all" else tuple(options.estimators.split(","))
    chosen = [noise for noise in NOISES if options.cases == "all" or noise.name in options.cases.split(",")]
    start = time.perf_counter()
    jobs = [(noise, seed, names) for seed in range(options.guesses) for noise in chosen]
    outcomes: list[Outcome] = []
    for k, found in enumerate(draws(jobs, options.processes), start=1):
        outcomes += found
        print(f"{k} of {len(jobs)} draws, {time.perf_counter() - start:.0f} s", flush=True)
    lines = [*table(outcomes, names), "", f"{len(jobs)} draws in {(time.perf_counter() - start) / 60.0:.1f} minutes."]
    print("\n".join(lines))
    if options.out is not None:
        options.out.write_text("\n".join([*preface(), "", *lines, ""]))


def preface() -> list[str]:
    """Lines before the table."""
    return [
        "# Estimators under noisy feedback",
        "",
        "Written by `python -m benchmarks.estimators --out docs/estimators_table.md`, which says how. Medians over",
        "draws of noise and of robot files that are up to 15 % off. Errors of base parameters are the norm of their",
        "differences to the true ones, over the norm of these.",
    ]


if __name__ == "__main__":
    main()
