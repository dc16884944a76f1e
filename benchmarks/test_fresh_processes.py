"""Whole commands in fresh processes, as a user starts them: a million samples, the TX40 from raw CSV, and large robots.

Imports count here, and memory is that of the process alone. What else was measured is in `extra_info`, and printed.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CACHE = ROOT / "build" / "pycache"
DATASETS = os.environ.get("DYNID_DATASETS", "")


def run(*arguments: str) -> str:
    """What a Python process prints; the project is found here, and its modules are compiled once, as when installed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONPYCACHEPREFIX": str(CACHE)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True, text=True, cwd=ROOT, env=environment
    ).stdout


@pytest.mark.benchmark(group="fresh process")
def test_a_million_samples(benchmark) -> None:
    found = json.loads(benchmark.pedantic(run, args=("benchmarks/million.py", "--json"), rounds=1))
    benchmark.extra_info |= found
    print(
        f"\na million samples: {found['seconds']:.1f} s ({found['cpu_seconds']:.1f} s of processors), "
        f"peak {found['peak_mb']:.0f} MB; a plain loop takes {found['ratio']:.1f} times as long"
    )
    assert found["parameters"] == 43


@pytest.mark.benchmark(group="fresh process")
def test_large_robots(benchmark) -> None:
    rows = json.loads(benchmark.pedantic(run, args=("benchmarks/large_robots.py", "--json"), rounds=1))
    benchmark.extra_info["rows"] = rows
    for row in rows:
        print(
            f"\ninspect, {row['joints']} joints: {row['seconds']:.1f} s ({row['cpu_seconds']:.1f} s of processors), "
            f"peak {row['peak_mb']:.0f} MB; {row['per_joint_ratio']:.2f} of the time per joint of ten joints",
            end="",
        )


@pytest.mark.skipif(not Path(DATASETS, "tx40").is_dir() or not DATASETS, reason="needs DYNID_DATASETS with tx40")
@pytest.mark.benchmark(group="fresh process")
def test_tx40_from_raw_csv_to_a_saved_result(benchmark, tmp_path: Path) -> None:
    command = "from dynid.cli import main; main()"
    arguments = ("-c", command, "identify", "examples/tx40.toml", "--force", "--out", str(tmp_path / "result"))
    run(*arguments)  # compiles kernels and modules
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    benchmark.pedantic(run, args=arguments, rounds=3)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 3
    benchmark.extra_info["cpu_seconds"] = used
    print(f"\nTX40 in a fresh process: {benchmark.stats.stats.min:.2f} s ({used:.2f} s of processors)")
    assert (tmp_path / "result").is_dir()
