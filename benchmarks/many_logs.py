"""Many logs: time and peak memory of the client for one process and two workers, and whether the numbers agree.

    python benchmarks/many_logs.py [--logs 100,300,1000] [--seconds 60] [--workers 2] [--folder /tmp/many_logs]

Simulated logs of the seven-axis Panda at 200 Hz, written as Parquet once and used again. Every run is a fresh process
without a cache, imports and the start of workers included. Memory is the largest resident set of the client alone.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:] = [path for path in sys.path if Path(path) != Path(__file__).parent]  # it has a `coverage`, as Numba knows

import numpy as np  # noqa: E402

RATE = 200.0
ROBOT = "builtin:panda"
EXPERIMENT = f"""
robot = "{ROBOT}"
terms = ["viscous", "coulomb"]

[[log]]
position = {{ file = "FILES", columns = "q_*" }}
torque = {{ file = "FILES", columns = "tau_*" }}
time = {{ file = "FILES", columns = "t" }}
"""


def write_logs(folder: Path, count: int, seconds: float) -> None:
    """Logs along sums of sines, with noise of 0.1 N m; those that are there stay."""
    import polars as pl

    import dynid

    folder.mkdir(parents=True, exist_ok=True)
    model = dynid.DynamicModel(dynid.load_robot(ROBOT), ["viscous", "coulomb"])
    p = np.where(np.isfinite(model.reference), model.reference, 0.3)
    p[-14:] = np.where(p[-14:] == 0.0, 0.3, p[-14:])
    t = np.arange(0.0, seconds, 1.0 / RATE)
    n = model.robot.nv
    for k in range(count):
        path = folder / f"run{k:04d}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(k)
        w, size = 2 * np.pi * rng.uniform(0.1, 0.9, (3, n)), rng.uniform(0.1, 0.5, (3, n))
        phase = rng.uniform(0, 6, (3, n))
        angle = t[:, None, None] * w + phase
        q = -1.0 + (size * np.sin(angle)).sum(1)
        v, a = (size * w * np.cos(angle)).sum(1), -(size * w**2 * np.sin(angle)).sum(1)
        tau = model.inverse_dynamics(q, v, a, p) + 0.1 * rng.standard_normal(q.shape)
        columns = {"t": t} | {f"q_{j}": q[:, j] for j in range(n)} | {f"tau_{j}": tau[:, j] for j in range(n)}
        pl.DataFrame(columns).write_parquet(path)


def one_run(experiment: Path, workers: int) -> None:
    """Identify in this process, and print figures and parameters as JSON."""
    start = time.perf_counter()
    import dynid

    result = dynid.identify(experiment, workers=workers or None, cache=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    values = dict(result.values) | {f"link {name}": x for name, x in (result.physical_values or {}).items()}
    print(json.dumps({"seconds": time.perf_counter() - start, "peak": peak, "values": values}))


def measured(experiment: Path, workers: int) -> dict[str, object]:
    command = [sys.executable, __file__, "--one", str(experiment), "--workers", str(workers)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", default="100,300,1000")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "dynid_many_logs")
    parser.add_argument("--one", type=Path)
    options = parser.parse_args()
    if options.one is not None:
        one_run(options.one, options.workers)
        return
    print(f"Logs of {options.seconds:g} s, {options.workers} workers; peak memory is that of the client.\n")
    print("| logs | one process | workers | ratio | peak, one process | peak, workers | largest relative difference |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for count in map(int, options.logs.split(",")):
        folder = options.folder / f"{options.seconds:g}s"
        write_logs(folder, count, options.seconds)
        chosen = options.folder / f"{options.seconds:g}s_{count}"
        chosen.mkdir(exist_ok=True)
        for k in range(count):
            link = chosen / f"run{k:04d}.parquet"
            if not link.exists():
                os.link(folder / link.name, link)
        experiment = options.folder / f"many_{count}.toml"
        experiment.write_text(EXPERIMENT.replace("FILES", f"{chosen}/*.parquet"), encoding="utf-8")
        one, many = measured(experiment, 0), measured(experiment, options.workers)
        mine, theirs = one["values"], many["values"]
        assert isinstance(mine, dict)
        assert isinstance(theirs, dict)
        largest = max(abs(mine[name] - theirs[name]) / max(abs(mine[name]), 1e-9) for name in mine)
        ratio = float(str(one["seconds"])) / float(str(many["seconds"]))
        print(
            f"| {count} | {one['seconds']:.1f} s | {many['seconds']:.1f} s | {ratio:.2f} | {one['peak']:.0f} MB | "
            f"{many['peak']:.0f} MB | {largest:.1e} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
