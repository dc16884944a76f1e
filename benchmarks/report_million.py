"""A report on a million samples of a seven-axis arm: `python -m benchmarks.report_million`.

Prints the time and memory that it takes to write, its size, and how long Chromium takes to open it: until the page has
loaded, and until the first figures are drawn.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

from tests.browser import CHROMIUM, opened

from benchmarks.million import EXPERIMENT, write_log
from dynid import identify, write_report


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_log(folder / "log.parquet")
        experiment = folder / "experiment.toml"
        experiment.write_text(EXPERIMENT)
        identify(experiment).save(folder / "result")
        start = time.perf_counter()
        report = write_report(folder / "result", folder / "report.html")
        took = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"written in {took:.1f} s, peak {peak:.0f} MB; {report.size / 1e6:.2f} MB")
        if CHROMIUM is None:
            return
        for _ in range(3):
            with opened(report.path) as watched:
                page = watched.page
                page.reload()
                loaded = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
                page.locator("#plot-torque0-0").scroll_into_view_if_needed()
                page.wait_for_selector("#plot-torque0-0 .main-svg")
                drawn = page.evaluate("performance.now()")
                print(
                    f"loaded in {loaded / 1000:.2f} s, first torques drawn after {drawn / 1000:.2f} s; {watched.errors}"
                )


if __name__ == "__main__":
    main()
