"""Physically consistent bodies from regressor rows: `python -m benchmarks.body_fit`.

A human-like tree of 16 bodies on spherical joints (165 postures and motions, 990 rows of the wrench at its base, errors
of 1 N and 0.3 N m) and a satellite with an arm of six joints in free flight. The truth differs from the prior at
random; bounds are 1.15 times as large as the bodies that the prior fills (boxes of the satellite: 1.25 times).
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.simulated_bodies import STDS, Bodies, person, satellite

import dynid
from dynid import BodyFit
from dynid.arrays import Array
from dynid.robot import inertia

CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("prior_std = 0.15", {"prior_std": 0.15, "std": STDS}),
    ("prior chosen", {"std": STDS}),
    ("prior and errors chosen", {"row_kinds": "fffttt"}),
    ("pullback", {"prior_std": 0.15, "std": STDS, "distance": "pullback"}),
    ("euclidean", {"prior_std": 0.15, "std": STDS, "distance": "euclidean"}),
    ("no prior", {"prior": None, "std": STDS}),
)

COVERAGE: tuple[tuple[str, float, bool, dict[str, Any]], ...] = (
    ("15 %, prior_std = 0.15", 0.15, False, {"prior_std": 0.15, "std": STDS}),
    ("15 %, errors estimated", 0.15, False, {"prior_std": 0.15, "row_kinds": "fffttt"}),
    ("15 %, prior and errors chosen", 0.15, False, {"row_kinds": "fffttt"}),
    ("15 % in mass, centre, inertia", 0.15, True, {"prior_std": 0.15, "std": STDS}),
    ("40 %, prior_std = 0.4", 0.4, False, {"prior_std": 0.4, "std": STDS}),
    ("40 %, prior_std = 0.15 (too sure)", 0.4, False, {"prior_std": 0.15, "std": STDS}),
    ("80 %, prior_std = 0.8", 0.8, False, {"prior_std": 0.8, "std": STDS}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10, help="draws of the truth for errors")
    parser.add_argument("--coverage", type=int, default=40, help="draws of the truth for coverage; 0 for none")
    parser.add_argument("--rows", type=int, default=0, help="rows of a stream to measure memory with")
    options = parser.parse_args()
    for name, bodies in (("person", person()), ("satellite", satellite())):
        errors(name, bodies, options.draws)
    if options.coverage:
        print("\n| bodies | truth off by | all | from data > 90 % | < 50 % | unseen rows | held by bounds |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for name, bodies in (("person", person()), ("satellite", satellite())):
            for label, spread, by_parts, stated in COVERAGE:
                coverage(f"| {name} | {label} ", bodies, options.coverage, spread, by_parts, stated)
    if options.rows:
        stream(options.rows)


def fitted(bodies: Bodies, W: Array, y: Array, stated: dict[str, Any]) -> BodyFit:
    return dynid.fit_bodies(W, y, **{"prior": bodies.prior, "names": bodies.names, "bounds": bodies.bounds, **stated})


def errors(name: str, bodies: Bodies, draws: int) -> None:
    """Errors of parameters and of unseen rows, by case: medians over draws."""
    print(f"\n{name}: {len(bodies.names)} bodies, 990 rows, truth off by 15 %\n")
    print("| fit | s | masses | parameters | centres [mm] | unseen force [N] | torque [N m] | total mass | inside |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    runs: dict[str, list[list[float]]] = {"prior alone": [], **{label: [] for label, _ in CASES}}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        truth, W, unseen = bodies.different(0.15, rng), bodies.rows(165, rng), bodies.rows(300, rng)
        y = bodies.wrenches(W, truth, rng)
        runs["prior alone"].append([np.nan, *scores(bodies, bodies.prior, truth, unseen)])
        for label, stated in CASES:
            found = fitted(bodies, W, y, stated)
            runs[label].append([found.seconds, *scores(bodies, found.parameters, truth, unseen)])
    for label, each in runs.items():
        median, inside = np.median(each, axis=0), np.mean(each, axis=0)[-1]
        seconds = f"{median[0]:.2f}" if np.isfinite(median[0]) else ""
        cells = f"{seconds} | {median[1]:.1%} | {median[2]:.1%} | {median[3]:.1f} | {median[4]:.2f} | {median[5]:.3f}"
        print(f"| {label} | {cells} | {median[6]:.3%} | {inside:.0%} |", flush=True)


def scores(bodies: Bodies, found: Array, truth: Array, unseen: Array) -> list[float]:
    """Errors, and whether all bodies are consistent and inside their bounds."""
    sizes = np.array([inertia.sizes(body) for body in truth])
    wrench = (unseen @ (found - truth).ravel()).reshape(-1, 6)
    centres = found[:, 1:4] / found[:, :1] - truth[:, 1:4] / truth[:, :1]
    each = zip(bodies.bounds, found, strict=True)
    return [
        float(np.sqrt(np.mean((found[:, 0] / truth[:, 0] - 1.0) ** 2))),
        float(np.sqrt(np.mean(((found - truth) / sizes) ** 2))),
        1e3 * float(np.sqrt(np.mean(np.sum(centres**2, axis=1)))),
        float(np.sqrt(np.mean(np.sum(wrench[:, :3] ** 2, axis=1)))),
        float(np.sqrt(np.mean(np.sum(wrench[:, 3:] ** 2, axis=1)))),
        float(abs(found[:, 0].sum() / truth[:, 0].sum() - 1.0)),
        float(all(inertia.is_physical(body) and bound.holds(body) for bound, body in each)),
    ]


def coverage(label: str, bodies: Bodies, draws: int, spread: float, by_parts: bool, stated: dict[str, Any]) -> None:
    """How often the truth is in 95 % intervals, from 360 rows each."""
    all_of, sure, unsure, unseen, held = [], list[bool](), list[bool](), [], 0
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        truth, W, other = bodies.different(spread, rng, by_parts=by_parts), bodies.rows(60, rng), bodies.rows(30, rng)
        found = fitted(bodies, W, bodies.wrenches(W, truth, rng), stated)
        lower, upper = found.interval(0.95)
        hits = (lower <= truth) & (truth <= upper)
        all_of.append(hits.mean())
        sure += hits[found.from_data > 0.9].tolist()
        unsure += hits[found.from_data < 0.5].tolist()
        held += len(found.held)
        misses = np.abs(other @ truth.ravel() - found.predict(other))
        unseen.append(np.mean(misses <= 1.96 * found.predict_std(other)))
    low, high = (np.mean(x) if x else np.nan for x in (unsure, sure))
    error = np.std(all_of) / np.sqrt(draws)
    print(
        f"{label}| {np.mean(all_of):.1%} ± {error:.1%} | {high:.1%} | {low:.1%} | {np.mean(unseen):.1%} | "
        f"{held / draws:.1f} of {len(bodies.names)} |",
        flush=True,
    )


def stream(count: int) -> None:
    """Time and memory of rows that come in pairs."""
    bodies, rng = person(), np.random.default_rng(0)
    truth, W = bodies.different(0.15, rng), bodies.rows(1000, rng)

    def pairs() -> Iterator[tuple[Array, Array]]:
        for _ in range(count // len(W)):
            yield W, bodies.wrenches(W, truth, rng)

    dynid.fit_bodies(W, W @ truth.ravel(), prior=bodies.prior, prior_std=0.15, std=STDS, bounds=bodies.bounds)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    found = dynid.fit_bodies(pairs(), prior=bodies.prior, prior_std=0.15, std=STDS, bounds=bodies.bounds)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = found.rows * W.shape[1] * 8 / 1e6
    print(f"\n{found.rows} rows ({size:.0f} MB): {seconds:.1f} s, {(after - before) / 1e3:.0f} MB more memory")


if __name__ == "__main__":
    main()
