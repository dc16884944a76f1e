"""Logs of any length: `python -m benchmarks.long_logs [MILLIONS ...] [--csv] [--folder FOLDER]`.

Simulates a Panda at 1 kHz, writes Parquet (or CSV), and identifies it in a process of its own, with diagnosis. Prints
for each length the seconds, the seconds for a million samples, and the peak of resident memory of all processes
together; the first length is the baseline.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from dynid import DynamicModel, load_robot

RATE, PIECE = 1000.0, 200_000
EXPERIMENT = """
robot = "builtin:panda"
terms = ["viscous", "coulomb"]
[[log]]
time = {{ file = "{file}", columns = "t" }}
position = {{ file = "{file}", columns = "q_*" }}
torque = {{ file = "{file}", columns = "tau_*" }}
"""


def write_log(path: Path, samples: int) -> None:
    """Simulate a log of sums of sines, with friction and noise."""
    robot = load_robot("builtin:panda")
    model, rng, n = DynamicModel(robot), np.random.default_rng(1), robot.nv
    frequency, phase = 2 * np.pi * rng.uniform(0.05, 0.8, (n, 4)), rng.uniform(0, 6, (n, 4))
    size = rng.uniform(0.05, 0.25, (n, 4))
    middle = np.array([0.5 * (joint.limits.lower + joint.limits.upper) for joint in robot.independent_joints])
    names = ["t", *(f"q_{k + 1}" for k in range(n)), *(f"tau_{k + 1}" for k in range(n))]
    parts: list[Path] = []
    for first in range(0, samples, PIECE):
        t = np.arange(first, min(first + PIECE, samples)) / RATE
        angle = frequency * t[:, None, None] + phase
        q = middle + (size * np.sin(angle)).sum(axis=2)
        v, a = (size * frequency * np.cos(angle)).sum(axis=2), -(size * frequency**2 * np.sin(angle)).sum(axis=2)
        torque = model.inverse_dynamics(q, v, a) + np.sign(v) + 0.5 * v + 0.2 * rng.standard_normal(q.shape)
        frame = pl.DataFrame(np.column_stack([t, q + 2e-6 * rng.standard_normal(q.shape), torque]), schema=names)
        if path.suffix == ".csv":
            with path.open("ab") as stream:
                frame.write_csv(stream, include_header=first == 0, float_precision=9)
        else:
            parts.append(path.with_suffix(f".{first}"))
            frame.write_parquet(parts[-1])
    if parts:
        pl.scan_parquet(parts).sink_parquet(path, row_group_size=PIECE)
        for part in parts:
            part.unlink()


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds of a command, and the peak of resident memory of it and its children together [MB]."""
    start, peak = time.perf_counter(), 0.0
    process = subprocess.Popen(command)
    while process.poll() is None:
        peak = max(peak, sum(_resident(pid) for pid in _family(process.pid)))
        time.sleep(0.02)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return time.perf_counter() - start, peak


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return []
    return [pid, *(other for child in children for other in _family(int(child)))]


def _resident(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0.0)


def main() -> None:
    """Measure each length."""
    parser = argparse.ArgumentParser()
    parser.add_argument("millions", nargs="*", type=float, default=[1.0, 3.0])
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--folder", help="where logs are written; a temporary folder otherwise")
    options = parser.parse_args()
    suffix, first = ".csv" if options.csv else ".parquet", 0.0
    print("| million samples | s | s a million | peak MB | time to the first, a sample |")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for millions in options.millions:
            log, experiment = Path(folder) / f"log{suffix}", Path(folder) / "experiment.toml"
            log.unlink(missing_ok=True)
            write_log(log, int(1e6 * millions))
            experiment.write_text(EXPERIMENT.format(file=log.name))
            call = f"import dynid; dynid.identify({str(experiment)!r})"
            seconds, peak = measured([sys.executable, "-c", call])
            first = first or seconds / millions
            ratio = seconds / millions / first
            print(f"| {millions:g} | {seconds:.1f} | {seconds / millions:.2f} | {peak:.0f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
