"""Screenshots of reports: `python -m benchmarks.report_shots FOLDER`, or `make report-shots`.

At desktop and phone width: a good log with validation, one with a wrong gear ratio, and a comparison of two.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import polars as pl
from tests.browser import WIDTHS, draw_all, opened
from tests.reports import result_of
from tests.verdict_cases import columns

from dynid import write_report


def main() -> None:
    shots = Path(sys.argv[1] if len(sys.argv) > 1 else "build/shots")
    shots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        unseen = Path(folder) / "unseen.csv"
        pl.DataFrame(columns(seed=5)).write_csv(unseen)
        good, other = result_of("good"), result_of("wrong gear ratio")
        for name, results in (("good", [good]), ("wrong_gear_ratio", [other]), ("comparison", [good, other])):
            compare = results[1] if len(results) > 1 else None
            report = write_report(results[0], Path(folder) / f"{name}.html", compare=compare, validate=[unseen])
            for width in WIDTHS:
                with opened(report.path, width) as watched:
                    draw_all(watched.page)
                    watched.page.wait_for_timeout(500)
                    path = shots / f"{name}_{width}.png"
                    watched.page.screenshot(path=path, full_page=True)
                    print(path, *watched.errors, *watched.requests)


if __name__ == "__main__":
    main()
