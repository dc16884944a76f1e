"""How long to record: `python scripts/recording_study.py` rewrites the table of docs/recording.md (some minutes).

A simulated UR5 repeats one exciting trajectory. Torques have white noise; once the model has all friction that the
robot has, once it lacks the Stribeck effect. For every length, several logs with other noise are identified.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dynid

PAGE = Path(__file__).parents[1] / "docs" / "recording.md"
MARKS = re.compile(r"(<!-- written by scripts/recording_study.py -->).*?(<!-- end -->)", re.DOTALL)
TERMS = ["viscous", "coulomb"]
TRUE = {"fv*": 0.6, "fs*": 0.6}
PERIOD = 8.0
REPETITIONS = (1, 2, 4, 8, 16)
NOISE = 0.5
"""Standard deviation of the noise of torques [N m]."""
RATE = 1000.0
"""Rate of the controller [Hz]; it holds torques, so that they act half a tick late."""
STATED: dict[str, Any] = {
    "drive": {"delay": -0.5 / RATE},
    "processing": {"lowpass": 20.0, "trim": 12, "velocity_threshold": 0.05},
    "physical": {"fit": False},
}
"""What is stated, so that all lengths are processed alike."""
STRIBECK = (1.5, 0.1)
"""Ratio of breakaway to Coulomb friction, and velocity [rad/s]."""


@dataclass(frozen=True)
class Outcome:
    """Medians over parameters: reported standard deviation, and error; both relative to those of the shortest log."""

    seconds: float
    std: float
    error: float
    held_out: float


def study(seeds: int, stribeck: tuple[float, float] | None) -> list[Outcome]:
    """Identify logs of several lengths."""
    robot = dynid.load_robot("builtin:ur5")
    limits = {"harmonics": 3, "period": PERIOD, "starts": 1, "time_limit": 60.0}
    motion, other = (dynid.excite(robot, terms=TERMS, seed=seed, **limits) for seed in (1, 2))
    made = {"terms": TERMS, "parameters": TRUE, "rate": RATE, "log_rate": 125.0, "stribeck": stribeck}
    clean = dynid.simulate(robot, other, **made)
    outcomes = []
    for repetitions in REPETITIONS:
        results = []
        for seed in range(seeds):
            log = dynid.simulate(robot, motion, noise=NOISE, seed=seed, periods=repetitions, **made)
            results.append(dynid.identify(robot, [log], TERMS, **STATED))
        truth = true_values(results[0])
        stds = [np.median([row.std for row in result.parameters]) for result in results]
        errors = [[row.value - true for row, true in zip(result.parameters, truth, strict=True)] for result in results]
        rms = np.median(np.sqrt(np.mean(np.square(errors), axis=0)))
        held_out = np.median([result.validate(clean).relative_error for result in results])
        outcomes.append(Outcome(repetitions * PERIOD, float(np.mean(stds)), float(rms), float(held_out)))
    return outcomes


def true_values(result: dynid.Result) -> list[float]:
    """Base parameters of the simulated robot."""
    model = result.base.model
    p = np.nan_to_num(model.reference)
    for k, name in enumerate(model.names):
        p[k] = next((value for pattern, value in TRUE.items() if name.startswith(pattern.rstrip("*"))), p[k])
    return result.base.to_base(p).tolist()


def table(complete: list[Outcome], lacking: list[Outcome]) -> str:
    """The table of the page."""
    lines = [
        "| seconds | std | 1/sqrt(T) | error | held-out error | error, friction lacks a term | held-out error |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one, two in zip(complete, lacking, strict=True):
        expected = (complete[0].seconds / one.seconds) ** 0.5
        parts = (one.std / complete[0].std, expected, one.error / complete[0].error)
        rest = f"{100 * one.held_out:.2f} % | {two.error / complete[0].error:.2f} | {100 * two.held_out:.2f} %"
        lines.append(f"| {one.seconds:.0f} | {' | '.join(f'{part:.2f}' for part in parts)} | {rest} |")
    return "\n".join(lines)


def main() -> None:
    """Rewrite the table; the number of logs for each length may be given."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    found = table(study(seeds, None), study(seeds, STRIBECK))
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(MARKS.sub(lambda match: f"{match[1]}\n\n{found}\n\n{match[2]}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
