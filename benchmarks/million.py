"""A million samples of a seven-axis arm, from a Parquet file to an estimate: `python benchmarks/million.py`.

Prints time and memory of `identify`, and the time of a plain loop over a part of the samples.
"""

from __future__ import annotations

import resource
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


def plain_loop(path: Path) -> float:
    """Seconds that a plain script takes for a part of the log, scaled to the whole."""
    start = time.perf_counter()
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
    return (time.perf_counter() - start) * SAMPLES / PART


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        write_log(path)
        experiment = Path(folder) / "experiment.toml"
        experiment.write_text(EXPERIMENT)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        start = time.perf_counter()
        found = identify(experiment)
        took = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"identify: {took:.1f} s, {len(found.parameters)} parameters; peak {peak:.0f} MB ({before:.0f} before)")
        print(f"plain loop, scaled from {PART} samples: {plain_loop(path):.0f} s")


if __name__ == "__main__":
    main()
