"""Exact data in, exact numbers out: noise-free logs of random robots that begin and end in motion.

    python -m benchmarks.exactness --robots 10 --out docs/accuracy.md

Every base parameter must come within 0.05 % of its value, or of 2 % of the largest of its unit, with default
processing. Prints the largest error of each robot in units of that.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from tests.truth_logs import exact_practice, exactness

from benchmarks.marked_tables import with_table
from dynid import identify


def rows(robots: int) -> Iterator[str]:
    """A table with a row for each robot."""
    yield "| robot | joints | rate | low-pass | parameters | too far | largest error, of what is allowed |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for seed in range(robots):
        practice = exact_practice(seed)
        truth = practice.truth
        result = identify(truth.robot, practice.log(seed), truth.terms, estimation={"bootstrap": False})
        errors = exactness(result, truth.parameters)
        worst = max(errors, key=lambda name: errors[name])
        used = result.record.processing[0]
        yield (
            f"| {truth.robot.name} | {truth.robot.nv} | {practice.sensors.rate:g} Hz | {used['lowpass']} Hz "
            f"| {len(errors)} | {sum(error > 1.0 for error in errors.values())} | {errors[worst]:.2g} ({worst}) |"
        )


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", type=int, default=10, help="random robots")
    parser.add_argument("--out", type=Path, help="Markdown file whose table is replaced")
    options = parser.parse_args()
    table = "\n".join(rows(options.robots))
    print(table)
    if options.out is not None:
        options.out.write_text(with_table(options.out.read_text(), "exactness", table))


if __name__ == "__main__":
    main()
