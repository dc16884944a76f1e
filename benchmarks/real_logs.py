"""Real logs with nothing stated but what their README states: errors on held-out data, mass, terms and processing.

    DYNID_DATASETS=... python -m benchmarks.real_logs ur10 ur10e --terms auto --out docs/real_logs.md

All parameters are scored on the same rows of the same states against the same torques (`tests/scoring.py`), whatever
processing they were found with. `--terms stated` takes the terms of the files in `benchmarks/experiments`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tests.real_logs import BARS, NAMES, Outcome, outcome
from tests.regret_study import choice

from benchmarks.marked_tables import with_table


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
