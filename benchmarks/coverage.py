"""How often 95 % intervals hold the true value: the tutorial's log, and ten random robots with default processing.

    python -m benchmarks.coverage --logs 300 --robots 10 --out docs/accuracy.md

Each kind needs at least 2000 intervals for a standard deviation of half a percent.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.coverage_study import Coverage, Tutorial, coverage, random_results, random_robot

from benchmarks.marked_tables import with_table

HEAD = "| logs | residuals taken as white | block bootstrap |\n| --- | --- | --- |"


def tutorial_rows(logs: int) -> Iterator[str]:
    """Coverage of the tutorial's experiment file, and of its call in Python."""
    with TemporaryDirectory() as folder:
        tutorial = Tutorial(Path(folder))
        seeds = range(10, 10 + logs)
        yield f"| tutorial, experiment file | {coverage((tutorial.as_stated(k), tutorial.truth) for k in seeds)} |"
        yield f"| tutorial, Python | {coverage((tutorial.automatic(k), tutorial.truth) for k in seeds)} |"


def robot_rows(robots: int, logs: int) -> Iterator[str]:
    """Coverage of random robots, each and all."""
    every = Coverage((), ())
    for number in range(robots):
        found = coverage(random_results(number, range(logs)))
        every = Coverage(every.white + found.white, every.blocks + found.blocks)
        practice = random_robot(number)
        rate, joints = practice.sensors.rate, practice.truth.robot.nv
        yield f"| random robot {number + 1}, {joints} joints, {rate:g} Hz | {found} |"
    yield f"| all random robots | {every} |"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=300, help="logs of the tutorial")
    parser.add_argument("--robots", type=int, default=10, help="random robots")
    parser.add_argument("--each", type=int, default=12, help="logs of each random robot")
    parser.add_argument("--out", type=Path, help="Markdown file whose table is replaced")
    options = parser.parse_args()
    rows = []
    for row in (*tutorial_rows(options.logs), *robot_rows(options.robots, options.each)):
        rows.append(row)
        print(row, flush=True)
    if options.out is not None:
        table = "\n".join([HEAD, *rows])
        options.out.write_text(with_table(options.out.read_text(), "coverage", table))


if __name__ == "__main__":
    main()
