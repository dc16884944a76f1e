"""A million samples of a seven-axis arm, from a Parquet file to an estimate: `python benchmarks/million.py`.

Prints time and memory of `identify`, and the time of a plain loop over a part of the samples; as JSON with `--json`.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pinocchio as pin
import polars as pl

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.identification.pipeline import identify
from dynid.robot.pinocchio import to_pinocchio

SAMPLES, RATE, PART = 1_000_000, 1000.0, 50_000
EXPERIMENT = """
robot = "builtin:panda"
[[log]]
position = { file = "log.parquet", columns = "q_*" }
torque = { file = "log.parquet", columns = "tau_*" }
rate = 1000
[processing]
lowpass = 20
trim = 50
"""


def write_log(path: Path) -> None:
    rng = np.random.default_rng(0)
    t = np.arange(SAMPLES) / RATE
    columns = {}
    for k in range(7):
        tones = sum(rng.uniform(0.1, 0.4) * np.sin(2 * np.pi * f * t + rng.uniform(0, 6)) for f in (0.13, 0.31, 0.71))
        columns[f"q_{k + 1}"] = tones
        columns[f"tau_{k + 1}"] = rng.normal(size=SAMPLES)
    pl.DataFrame(columns).write_parquet(path)


def plain_loop(path: Path) -> tuple[float, float]:
    """Seconds, and seconds of processors, that a plain script takes for a part of the log, scaled to the whole."""
    start, used = time.perf_counter(), time.process_time()
    frame = pl.read_parquet(path)
    q = frame.select([f"q_{k + 1}" for k in range(7)]).to_numpy()[:PART]
    tau = frame.select([f"tau_{k + 1}" for k in range(7)]).to_numpy()[:PART]
    v = np.gradient(q, 1 / RATE, axis=0)
    a = np.gradient(v, 1 / RATE, axis=0)
    robot = load_robot("builtin:panda")
    base = find_base_parameters(DynamicModel(robot))
    model = to_pinocchio(robot)
    data = model.createData()
    W = np.empty((PART, 7, len(base)))
    for k in range(PART):
        W[k] = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])[:, list(base.columns)]
    np.linalg.lstsq(W.reshape(-1, len(base)), tau.ravel(), rcond=None)
    scale = SAMPLES / PART
    return scale * (time.perf_counter() - start), scale * (time.process_time() - used)


def measure() -> dict[str, float]:
    """Time [s], time of processors [s] and peak memory [MB] of `identify`, and the times of the plain loop."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        # In a process of its own, so that its memory does not count.
        subprocess.run([sys.executable, __file__, "--write", str(path)], check=True)
        experiment = Path(folder) / "experiment.toml"
        experiment.write_text(EXPERIMENT)
        start, used = time.perf_counter(), time.process_time()
        found = identify(experiment)
        seconds, processors = time.perf_counter() - start, time.process_time() - used
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        loop = plain_loop(path)
    return {
        "seconds": seconds,
        "cpu_seconds": processors,
        "peak_mb": peak,
        "parameters": len(found.parameters),
        "loop_seconds": loop[0],
        "loop_cpu_seconds": loop[1],
        "ratio": loop[0] / seconds,
    }


def main() -> None:
    if sys.argv[1:2] == ["--write"]:
        write_log(Path(sys.argv[2]))
        return
    found = measure()
    if sys.argv[1:2] == ["--json"]:
        print(json.dumps(found))
        return
    used = f"{found['seconds']:.1f} s ({found['cpu_seconds']:.1f} s of processors), peak {found['peak_mb']:.0f} MB"
    print(f"identify: {used}; {found['parameters']} parameters")
    print(f"plain loop, scaled from {PART} samples: {found['loop_seconds']:.0f} s, {found['ratio']:.1f} times as long")


if __name__ == "__main__":
    main()
