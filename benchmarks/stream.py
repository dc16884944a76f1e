"""How long one sample of a stream takes: percentiles of single updates at 1 kHz, beside a QR of the stacked factor.

    chrt -f 10 taskset -c 1 python -m benchmarks.stream --seconds 20 --out docs/stream.md

The robot is a Panda with viscous and Coulomb friction, motor inertia and offsets. One sample is due each millisecond;
the process sleeps in between, so that memory is as cold as in a control loop. The latency is the time from when a
sample is due until its update returns, so that samples that wait for a slow one count, too. Garbage collection is as
Python has it. Beside it stands the time that the processor works, which other programs on the machine do not change,
and in the first row the latency of a call that does nothing, which is the machine's own. The stream is looked at in
parts: the 99th percentile is that of the part in the middle, with the least and the largest of all parts. The baseline
does the same with NumPy: regressor of the base parameters, and `numpy.linalg.qr` of the triangle with the new rows
below it. `chrt` gives the process the priority of a control loop, `taskset` one core.
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

LIMIT = 5e-4
"""The latency [s] that 99 % of the samples should stay below."""

PARTS = 5
"""Parts of a stream."""

TERMS = ["viscous", "coulomb", "armature", "offset"]
RATE = 1000.0
WAKING = 2e-4
"""Time [s] before a sample is due at which the loop stops sleeping: sleep is not exact."""


def motion(seconds: float, joints: int) -> tuple[Array, Array, Array, Array]:
    """Time and a motion of several frequencies."""
    rng = np.random.default_rng(0)
    t = np.arange(int(seconds * RATE)) / RATE
    omega, phase = 2.0 * np.pi * rng.uniform(0.05, 0.6, (5, joints, 1)), rng.uniform(0.0, 6.0, (5, joints, 1))
    sine, cosine = np.sin(omega * t + phase), np.cos(omega * t + phase)
    q, v, a = (0.3 * part.sum(axis=0).T for part in (sine, omega * cosine, -(omega**2) * sine))
    return t, q, v, a


def times(update: Callable[[int], object], count: int) -> Array:
    """Latency of each of so many updates, and how long the processor works for it [s], shape (2, updates)."""
    found = np.empty((2, count))
    begin = time.perf_counter() + 0.01
    for k in range(count):
        due = begin + k / RATE
        time.sleep(max(0.0, due - WAKING - time.perf_counter()))
        while time.perf_counter() < due:
            pass
        worked = time.thread_time()
        update(k)
        found[:, k] = time.perf_counter() - due, time.thread_time() - worked
    return found


def one_by_one(update: Callable[[int], object], count: int) -> Array:
    """As `times`, of calls that are not made at the stream's rate."""
    found = np.empty((2, count))
    for k in range(count):
        begin, worked = time.perf_counter(), time.thread_time()
        update(k)
        found[:, k] = time.perf_counter() - begin, time.thread_time() - worked
    return found


def row(name: str, found: Array) -> str:
    """A row of the table, in microseconds."""
    cells = []
    for values in 1e6 * found:
        tails = [float(np.percentile(part, 99)) for part in np.array_split(values, PARTS)]
        cells += [f"{np.median(values):.0f}", f"{np.median(tails):.0f} ({min(tails):.0f} to {max(tails):.0f})"]
    return f"| {name} | {' | '.join(cells)} | {np.mean(found[0] > LIMIT):.2%} |"


def table(seconds: float) -> str:
    """The table."""
    model = DynamicModel("builtin:panda", TERMS)
    t, q, v, a = motion(seconds, model.row_count)
    p = np.nan_to_num(model.reference)
    tau = model.inverse_dynamics(q, v, a, p) + 0.1 * np.random.default_rng(1).normal(size=q.shape)
    lines = [
        "| one call | latency: median [us] | 99 % [us] | processor: median [us] | 99 % [us] | latency above 0.5 ms |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    learned = dynid.ChangeThresholds(learning=seconds / 4.0)
    plain = dynid.Stream(model, rate=RATE, changes=None)
    forgetting = dynid.Stream(model, rate=RATE, forgetting=10.0, changes=learned)
    positions = dynid.Stream(model, changes=learned)
    samples = {
        "nothing": lambda _: None,
        "`update(q, v, a, tau)`, no alarms": lambda k: plain.update(q[k], v[k], a[k], tau[k]),
        "`update(q, v, a, tau)`, forgetting, alarms": lambda k: forgetting.update(q[k], v[k], a[k], tau[k]),
        "`update(t, q, tau)`, alarms": lambda k: positions.update(t[k], q[k], tau[k]),
    }
    others = {
        "`estimate`": (lambda _: plain.estimate, 200),
        "NumPy: regressor, `qr` of the stacked factor": (_baseline(plain, q, v, a, tau), min(len(t), 2000)),
    }
    for name, update in samples.items():
        lines.append(row(name, times(update, len(t))))
        print(lines[-1], flush=True)
    for name, (call, count) in others.items():
        lines.append(row(name, one_by_one(call, count)))
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
