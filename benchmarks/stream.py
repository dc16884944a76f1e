"""How long one sample of a stream takes: percentiles of single updates at 1 kHz, beside a QR of the stacked factor.

    python -m benchmarks.stream --seconds 20 --out docs/stream.md

The robot is a Panda with viscous and Coulomb friction, motor inertia and offsets. Updates come in a loop without a
pause between them, on one core, with garbage collection as Python has it. Beside the time that passes stands the
processor's, which other programs on the machine do not change. The baseline does the same with NumPy: regressor of the
base parameters, and `numpy.linalg.qr` of the triangle with the new rows below it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import dynid
from benchmarks.marked_tables import with_table
from dynid.arrays import Array
from dynid.machine import single_threaded_blas
from dynid.model import DynamicModel

TERMS = ["viscous", "coulomb", "armature", "offset"]
RATE = 1000.0


def motion(seconds: float, joints: int) -> tuple[Array, Array, Array, Array]:
    """Time and a motion of several frequencies."""
    rng = np.random.default_rng(0)
    t = np.arange(int(seconds * RATE)) / RATE
    omega, phase = 2.0 * np.pi * rng.uniform(0.05, 0.6, (5, joints, 1)), rng.uniform(0.0, 6.0, (5, joints, 1))
    sine, cosine = np.sin(omega * t + phase), np.cos(omega * t + phase)
    q, v, a = (0.3 * part.sum(axis=0).T for part in (sine, omega * cosine, -(omega**2) * sine))
    return t, q, v, a


def times(update: Callable[[int], object], count: int) -> Array:
    """How long each of so many updates takes, and how much of it the processor works [s], shape (2, updates)."""
    found = np.empty((2, count))
    for k in range(count):
        begin, worked = time.perf_counter(), time.thread_time()
        update(k)
        found[:, k] = time.perf_counter() - begin, time.thread_time() - worked
    return found


def row(name: str, found: Array) -> str:
    """A row of the table, in microseconds."""
    numbers = [f"{1e6 * value:.0f}" for part in found for value in np.percentile(part, [50, 99, 100])]
    return f"| {name} | {' | '.join(numbers)} | {np.mean(found[0] > 1.0 / RATE):.2%} |"


def table(seconds: float) -> str:
    """The table."""
    model = DynamicModel("builtin:panda", TERMS)
    t, q, v, a = motion(seconds, model.row_count)
    p = np.nan_to_num(model.reference)
    tau = model.inverse_dynamics(q, v, a, p) + 0.1 * np.random.default_rng(1).normal(size=q.shape)
    lines = [
        "| one call | median [us] | 99 % [us] | longest [us] | processor: median [us] | 99 % [us] | longest [us] "
        "| above 1 ms |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    learned = dynid.ChangeThresholds(learning=seconds / 4.0)
    plain = dynid.Stream(model, rate=RATE, changes=None)
    forgetting = dynid.Stream(model, rate=RATE, forgetting=10.0, changes=learned)
    positions = dynid.Stream(model, changes=learned)
    streams = {
        "`update(q, v, a, tau)`, no alarms": (lambda k: plain.update(q[k], v[k], a[k], tau[k]), len(t)),
        "`update(q, v, a, tau)`, forgetting, alarms": (lambda k: forgetting.update(q[k], v[k], a[k], tau[k]), len(t)),
        "`update(t, q, tau)`, alarms": (lambda k: positions.update(t[k], q[k], tau[k]), len(t)),
        "`estimate`": (lambda _: plain.estimate, 200),
        "NumPy: regressor, `qr` of the stacked factor": (_baseline(plain, q, v, a, tau), min(len(t), 2000)),
    }
    for name, (update, count) in streams.items():
        lines.append(row(name, times(update, count)))
        print(lines[-1], flush=True)
    return "\n".join(lines)


def _baseline(stream: dynid.Stream, q: Array, v: Array, a: Array, tau: Array) -> Callable[[int], object]:
    triangle = np.zeros((len(stream.base) + 1, len(stream.base) + 1))

    def update(k: int) -> None:
        nonlocal triangle
        W = stream.base.regressor(q[k], v[k], a[k])[:, 0]
        triangle = np.linalg.qr(np.concatenate([triangle, np.column_stack([W, tau[k]])]), mode="r")

    return update


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the stream")
    parser.add_argument("--out", type=Path, help="Markdown file whose table is replaced")
    options = parser.parse_args()
    with single_threaded_blas():
        found = table(options.seconds)
    if options.out is not None:
        options.out.write_text(with_table(options.out.read_text(), "stream latency", found))


if __name__ == "__main__":
    main()
