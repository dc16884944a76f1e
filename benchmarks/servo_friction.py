"""Friction models M1 to M6 of a servo on a pendulum: is the right one chosen, and are its parameters right?

A simulation with nothing of dynid in it (`tests/servo_truth.py`) moves a pendulum by a servo with friction by each of
the models. Masses, lengths, armature and friction are drawn; encoders have 4096 counts. One servo lifts several known
weights under a soft gain, mostly in slow ramps: one log for each weight identifies, and two logs with other weights
decide.

    python -m benchmarks.servo_friction --draws 10 [--first 500] [--write]
    python -m benchmarks.servo_friction --draws 10 --alone --added 0.7,0.7 --kp 5 --seconds 30

With `--alone` only the right model is fitted. `--write` writes the rows of the models that were run into the tables of
`docs/friction.md`.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
from tests.datasets import ROOT
from tests.servo_truth import MODELS, ServoPendulum, creeps, servo_log, swings

from benchmarks.marked_tables import with_table
from dynid import FrictionComparison, compare_friction

CONTROL = {"delay": 0.0, "law": "continuous", "bias": False}

ALONE = {"M1": (), "M2": ("M1",), "M3": ("M1",), "M4": ("M2", "M3"), "M5": ("M4",), "M6": ("M5",)}
"""Of each model those that lack one part of it."""

MOTIONS = {"creeps": creeps, "swings": swings}

MASS = 0.3
"""Mass of the rod's own weight [kg], before draws."""

LOGS_OF_A_DRAW = 16
"""Numbers of motions that belong to one draw."""


def run(name: str, seed: int, options: argparse.Namespace) -> tuple[ServoPendulum, FrictionComparison]:
    """The truth of one draw, and the comparison."""
    models = [name] if options.alone else list(MODELS)
    how = {"counts": options.counts, "seconds": options.seconds, "motion": MOTIONS[options.motion]}
    truth = ServoPendulum(mass=MASS, friction=MODELS[name].friction, offset=0.01).drawn(seed)
    truth = replace(truth, servo=truth.servo.model_copy(update={"kp": options.kp}))
    first, weights = LOGS_OF_A_DRAW * seed, [*options.added, *options.held]
    made = [servo_log(truth, first + k, added=added, **how) for k, added in enumerate(weights)]
    count = len(options.added)
    return truth, compare_friction(truth.robot, made[:count], made[count:], control=CONTROL, models=models)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--counts", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument(
        "--added", type=_numbers, default=(0.0, 0.7, 1.7), help="weights of the logs that identify [kg]"
    )
    parser.add_argument("--held", type=_numbers, default=(0.35, 1.2), help="weights of the logs that decide [kg]")
    parser.add_argument("--kp", type=float, default=1.5, help="duty cycle per radian")
    parser.add_argument("--motion", choices=MOTIONS, default="creeps")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    noise = 2.0 * np.pi / max(options.counts, 1) / np.sqrt(12.0) if options.counts else 0.0
    print(CHOICES, PARAMETERS, sep="\n")
    for name in options.models.split(","):
        start = time.perf_counter()
        choices, parameters = rows(name, options, noise)
        print(f"{choices}\n{parameters}\n<!-- {time.perf_counter() - start:.0f} s -->", flush=True)
        if options.write:
            write("friction parameters", PARAMETERS, parameters)
            if not options.alone:
                write("friction choice", CHOICES, choices)


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))


def rows(name: str, options: argparse.Namespace, noise: float) -> tuple[str, str]:
    """The rows of a true model: which models were chosen, and the parameters of the right one."""
    chosen, differ, right = Counter[str](), 0, 0
    errors: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for seed in range(options.first, options.first + options.draws):
        truth, found = run(name, seed, options)
        print(f"<!-- {name}, draw {seed}: {found!r} -->", flush=True)
        chosen[found.chosen] += 1
        own = found[name].rmse
        poorer = () if options.alone else ALONE[name]
        apart = min((np.sqrt(max(found[other].rmse ** 2 - own**2, 0.0)) for other in poorer), default=np.inf)
        differ += apart > noise
        right += apart > noise and found.chosen == name
        for key, value in found[name].values.items():
            true = {**truth.friction, "Ia": truth.armature, "off": truth.offset}[key[:-1]]
            errors[key[:-1]].append((value, true, found[name].stds[key]))
    others = ", ".join(f"{other} {count}" for other, count in sorted(chosen.items()) if other != name)
    choices = f"| {name} | {chosen[name]} of {options.draws} | {differ} | {right} of {differ} | {others} |"
    return choices, f"| {name} | " + " | ".join(_cell(errors.get(key)) for key in KEYS) + " |"


def write(table: str, header: str, row: str) -> None:
    """Write a row into a table of the page, in the place of that of the same model."""
    page = ROOT / "docs/friction.md"
    text = page.read_text(encoding="utf-8")
    old = text.partition(f"<!-- table: {table} -->")[2].partition("<!-- end of table -->")[0].splitlines()
    kept = {line.split("|")[1].strip(): line for line in old if line.startswith("| M")}
    kept[row.split("|")[1].strip()] = row
    page.write_text(
        with_table(text, table, "\n".join([header, *(kept[name] for name in sorted(kept))])), encoding="utf-8"
    )


KEYS = ("Ia", "fv", "off", "fs", "fst", "kl", "kls", "km", "ke", "kms", "kes", "qm", "qe", "vs")


CHOICES = (
    "| truth | right | differ from the next poorer by more than the noise | right of these | others chosen |\n"
    "| --- | --- | --- | --- | --- |"
)

PARAMETERS = "| truth | " + " | ".join(f"`{key}`" for key in KEYS) + " |\n| --- |" + " --- |" * len(KEYS)

QUANTILE = 1.98
"""Half a 95 % interval in standard deviations, for as many blocks as three logs have."""


def _cell(rows: list[tuple[float, float, float]] | None) -> str:
    if not rows:
        return ""
    value, true, std = np.array(rows).T
    relative = np.abs(value - true) / np.abs(true)
    held = np.mean(np.abs(value - true) <= QUANTILE * std)
    return f"{100 * np.median(relative):.1f}, {100 * np.mean(relative <= 0.05):.0f} %, {100 * held:.0f} %"


if __name__ == "__main__":
    main()
