"""Friction models M1 to M6 of a servo on a pendulum: is the right one chosen, and are its parameters right?

A simulation with nothing of dynid in it (`tests/servo_truth.py`) moves a pendulum by a servo with friction by each of
the models. Masses, lengths, armature and friction are drawn; encoders have 4096 counts by default. All models are
fitted to two logs and rolled out on two others, which decide.

    python -m benchmarks.servo_friction --draws 10
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict

import numpy as np
from tests.servo_truth import MODELS, ServoPendulum, servo_log

from dynid import compare_friction

CONTROL = {"delay": 0.0, "law": "continuous", "bias": False}

ALONE = {"M1": (), "M2": ("M1",), "M3": ("M1",), "M4": ("M2", "M3"), "M5": ("M4",), "M6": ("M5",)}
"""Of each model those that lack one part of it."""


def run(name: str, seed: int, counts: int, seconds: float, logs: int):
    """The comparison of one draw, and its truth."""
    truth = ServoPendulum(friction=MODELS[name].friction, offset=0.01).drawn(seed)
    made = [servo_log(truth, 10 * seed + k, counts=counts, seconds=seconds) for k in range(logs + 2)]
    return truth, compare_friction(truth.robot, made[:logs], made[logs:], control=CONTROL)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--counts", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--logs", type=int, default=2)
    parser.add_argument("--models", default=",".join(MODELS))
    options = parser.parse_args()
    noise = 2.0 * np.pi / max(options.counts, 1) / np.sqrt(12.0) if options.counts else 0.0
    errors: dict[str, dict[str, list[tuple[float, float, float]]]] = defaultdict(lambda: defaultdict(list))
    print("| truth | right | differ from the next poorer by more than the noise | right of these | others chosen | s |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in options.models.split(","):
        chosen, differ, right = Counter[str](), 0, 0
        start = time.perf_counter()
        for seed in range(options.first, options.first + options.draws):
            truth, found = run(name, seed, options.counts, options.seconds, options.logs)
            chosen[found.chosen] += 1
            own = found[name].rmse
            apart = min((np.sqrt(max(found[other].rmse ** 2 - own**2, 0.0)) for other in ALONE[name]), default=np.inf)
            differ += apart > noise
            right += apart > noise and found.chosen == name
            for key, value in found[name].values.items():
                true = {**truth.friction, "Ia": truth.armature, "off": truth.offset}[key[:-1]]
                errors[name][key[:-1]].append((value, true, found[name].stds[key]))
        others = ", ".join(f"{other} {count}" for other, count in sorted(chosen.items()) if other != name)
        seconds = (time.perf_counter() - start) / options.draws
        share = f"{chosen[name]} of {options.draws} | {differ} | {right} of {differ}"
        print(f"| {name} | {share} | {others} | {seconds:.0f} |", flush=True)
    print("\nParameters of the right model: median error [%], share within 5 %, within the 95 % interval\n")
    print("| truth | " + " | ".join(KEYS) + " |\n| --- |" + " --- |" * len(KEYS))
    for name, of_name in errors.items():
        print(f"| {name} | " + " | ".join(_cell(of_name.get(key)) for key in KEYS) + " |")


KEYS = ("Ia", "fv", "fs", "fst", "kl", "kls", "km", "ke", "kms", "kes", "qm", "qe", "vs")


def _cell(rows: list[tuple[float, float, float]] | None) -> str:
    if not rows:
        return ""
    value, true, std = np.array(rows).T
    relative = np.abs(value - true) / np.abs(true)
    held = np.mean(np.abs(value - true) <= 2.05 * std)
    return f"{100 * np.median(relative):.1f}, {100 * np.mean(relative <= 0.05):.0f} %, {100 * held:.0f} %"


if __name__ == "__main__":
    main()
