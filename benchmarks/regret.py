"""Regret of automatic processing: its error over that of the best of a grid, with the same yardstick for all.

    python -m benchmarks.regret --cases ur10 white_1000hz --seeds 3 --cache build/regret --out docs/accuracy.md

Without --cases all named logs are tried, real ones where DYNID_DATASETS is set; --drawn 20 tries logs that are drawn at
random, which nobody tuned for. Results of the grid are kept in the cache, by log; delete the folder (or give --fresh)
after changes to what stated processing does.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from pathlib import Path

import numpy as np
from tests.regret_cases import CASES, REAL
from tests.regret_study import TARGET, Regret, regrets

from benchmarks.marked_tables import with_table


def table(rows: list[Regret]) -> str:
    """A Markdown table: one row per log and measure."""
    lines = ["| log | measure | automatic | best of grid | regret | best | automatic chose |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        mark = " **!**" if row.ratio > TARGET else ""
        name = f"`{row.case}`" if row.measure == "raw" else ""
        chose = row.choice if row.measure == "raw" else ""
        lines.append(
            f"| {name} | {row.measure} | {100 * row.automatic:.3g} % | {100 * row.best:.3g} % "
            f"| {row.ratio:.2f}{mark} | {row.point} | {chose} |"
        )
    return "\n".join(lines)


def short_table(rows: list[Regret]) -> str:
    """A Markdown table with one row per log: in each cell the errors of both, and their ratio."""
    measures = ("raw", "raw moving", "filtered", "filtered moving", "truth", "parameters")
    lines = [f"| log | {' | '.join(measures)} | best of grid | automatic chose |", "| --- " * 9 + "|"]
    for case in dict.fromkeys(row.case for row in rows):
        found = {_FREQUENCY.sub("filtered", row.measure): row for row in rows if row.case == case}
        cells = [_cell(found[measure]) if measure in found else "" for measure in measures]
        key = found.get("truth", found["filtered moving"])
        lines.append(f"| `{case}` | {' | '.join(cells)} | {key.point} | {key.choice} |")
    return "\n".join(lines)


def _cell(row: Regret) -> str:
    ratio = f"**{row.ratio:.2f}**" if row.ratio > TARGET else f"{row.ratio:.2f}"
    return f"{100 * row.automatic:.3g} / {100 * row.best:.3g} %: {ratio}"


_FREQUENCY = re.compile(r"[\d.]+ Hz")


def summary(rows: list[Regret]) -> str:
    """How many are within the target."""
    good = sum(row.ratio <= TARGET for row in rows)
    worst = max(rows, key=lambda row: row.ratio)
    return (
        f"{good} of {len(rows)} within {TARGET:g}; the largest is {worst.ratio:.2f} ({worst.case}, {worst.measure}); "
        f"the mean is {np.mean([row.ratio for row in rows]):.2f}."
    )


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", default=[], help="logs, of: " + ", ".join(CASES))
    parser.add_argument("--drawn", type=int, default=0, help="logs that are drawn at random, instead of the named ones")
    parser.add_argument("--first", type=int, default=0, help="number of the first of these")
    parser.add_argument("--seeds", type=int, default=3, help="simulated logs of each kind")
    parser.add_argument("--cache", type=Path, default=Path("build/regret"), help="folder for results of the grid")
    parser.add_argument("--fresh", action="store_true", help="ignore the cache, and do not write it")
    parser.add_argument("--out", type=Path, help="Markdown file whose table is replaced")
    options = parser.parse_args()
    available = [case for case in CASES if case in (options.cases or CASES)]
    if options.drawn:
        available = [f"drawn_{number:03}" for number in range(options.first, options.first + options.drawn)]
    if "DYNID_DATASETS" not in os.environ:
        available = [case for case in available if case not in REAL]
    rows: list[Regret] = []
    for case in available:
        start = time.perf_counter()
        found = regrets(case, options.seeds, None if options.fresh else options.cache)
        rows += found
        print(table(found).split("\n", 2)[2], f"<!-- {time.perf_counter() - start:.1f} s -->", flush=True)
    print(summary(rows))
    if options.out is not None:
        page = options.out.read_text()
        options.out.write_text(with_table(page, "regret", f"{summary(rows)}\n\n{short_table(rows)}"))


if __name__ == "__main__":
    main()
