"""Real logs with nothing stated but what their README states: errors on held-out data, mass, terms and processing.

    DYNID_DATASETS=... python -m benchmarks.real_logs ur10 ur10e --terms auto --out docs/real_logs.md

All parameters are scored on the same rows of the same states against the same torques (`tests/scoring.py`), whatever
processing they were found with. `--terms stated` takes the terms of the files in `benchmarks/experiments`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.real_logs import NAMES, RealLog, real_log
from tests.regret_study import choice
from tests.scoring import ScoredLog

from benchmarks.marked_tables import with_table
from dynid import Result, identify
from dynid.arrays import Array

BARS = {"ur10": (("5 Hz", 0.06),), "ur10e": (("5 Hz", 0.05), ("5 Hz moving", 0.035))}
"""What a log must come to, by measure, with base parameters and with physically consistent links."""

MASSES = {"ur10": (0.85 * 28.7, 1.15 * 28.7), "ur10e": (22.0, 30.0)}
"""What the moving links must weigh [kg]."""

Errors = dict[str, tuple[float, Array]]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What dynid makes of a real log.

    Attributes:
        name: The log.
        log: The same, with its parts.
        result: What was identified.
        base: Errors of the base parameters on held-out data by measure: overall, and by joint.
        physical: The same of the physically consistent links.
        seconds: Time that the identification took [s].
    """

    name: str
    log: RealLog
    result: Result
    base: Errors
    physical: Errors
    seconds: float

    @property
    def masses(self) -> tuple[float, float]:
        """Mass of the moving links [kg]: identified, and in the robot file (NaN where it has none)."""
        model, values = self.result.model, self.result.physical_values or {}
        names = [name for name in model.names if name[0] == "m" and name[1:].isdigit() and name != "m0"]
        file = dict(zip(model.names, model.reference.tolist(), strict=True))
        return sum(values[name] for name in names), sum(file[name] for name in names)

    @property
    def missed(self) -> list[str]:
        """Bars that are not reached."""
        found = [
            f"{measure} {kind} {errors[measure][0]:.1%} > {bar:.1%}"
            for measure, bar in BARS.get(self.name, ())
            for kind, errors in (("base", self.base), ("physical", self.physical))
            if errors[measure][0] > bar
        ]
        lower, upper = MASSES.get(self.name, (0.0, np.inf))
        mass = self.masses[0]
        return [*found, *([] if lower <= mass <= upper else [f"mass {mass:.1f} kg"])]


def outcome(name: str, terms: str | Sequence[str] | None) -> Outcome:
    """Identify on the training part and score on the other.

    Args:
        name: The log.
        terms: Friction and actuator terms; those of the experiment when None.
    """
    log = real_log(name)
    start = time.perf_counter()
    chosen = log.experiment.terms if terms is None else terms
    result = identify(log.robot, [log.training], chosen, drive=log.experiment.drive)
    seconds = time.perf_counter() - start
    scored = ScoredLog.of(log.validation, result.model, log.experiment.drive, log.cutoff)
    silent = np.mean(log.training.torque == 0.0, axis=0) > 0.5
    joints = np.flatnonzero(~silent).tolist()
    base, physical = (
        scored.errors_of(result.predict(scored.q, scored.v, scored.a, physical=links), joints)
        for links in (False, True)
    )
    return Outcome(name, log, result, base, physical, seconds)


def table(outcomes: Sequence[Outcome]) -> str:
    """Two Markdown tables: overall, and by joint."""
    lines = ["| log | held out | terms | processing | mass (file) [kg] | bars | seconds |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    for one in outcomes:
        mass, file = one.masses
        terms, bars = ", ".join(one.result.term_names), "; ".join(one.missed) or "met"
        lines.append(
            f"| {one.name} | {one.log.split} | {terms} | {choice(one.result)} | {mass:.3g} ({file:.3g}) "
            f"| {bars if one.name in BARS else ''} | {one.seconds:.1f} |"
        )
    lines += ["", "| log | torques, rows | parameters | all joints | by joint |", "| --- | --- | --- | --- | --- |"]
    for one in outcomes:
        for measure in one.base:
            for kind, errors in (("base", one.base), ("physical", one.physical)):
                overall, by_joint = errors[measure]
                each = " ".join(f"{100 * error:.1f}" for error in by_joint)
                lines.append(f"| {one.name} | {measure} | {kind} | {100 * overall:.2f} % | {each} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*", default=list(NAMES), help="logs, of: " + ", ".join(NAMES))
    parser.add_argument("--terms", default="auto", help='"auto", "stated", or a list with commas')
    parser.add_argument("--out", type=Path, help="Markdown file whose table is replaced")
    options = parser.parse_args()
    terms = options.terms if options.terms == "auto" else options.terms.split(",")
    outcomes = [outcome(name, None if options.terms == "stated" else terms) for name in options.logs or NAMES]
    print(table(outcomes))
    if options.out is not None:
        options.out.write_text(with_table(options.out.read_text(), "real logs", table(outcomes)))


if __name__ == "__main__":
    main()
