"""How often `terms = "auto"` chooses the terms that a simulated robot has; see `tests/term_study.py`.

Run it: python -m benchmarks.term_choice [SEEDS]
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from tests.term_study import NOISES, chosen, difference, simulated

ROBOTS = ("two_link", "spatial_3r", "ur5", "tx40", "panda", "lwr4")
TRUTHS = {
    "no friction": (),
    "viscous, coulomb": ("viscous", "coulomb"),
    "viscous, coulomb, offset": ("viscous", "coulomb", "offset"),
    "viscous, coulomb, offset, armature": ("viscous", "coulomb", "offset", "armature"),
    "viscous, stribeck, armature": ("viscous", "stribeck", "armature"),
    "viscous, coulomb, load_coulomb, armature": ("viscous", "coulomb", "load_coulomb", "armature"),
    "viscous, stribeck, load_coulomb": ("viscous", "stribeck", "load_coulomb"),
    "armature": ("armature",),
}
"""Terms that robots really have."""


def main(seeds: int = 1) -> None:
    """Print how often each truth is found."""
    print("| robots have | noise | right | missing | too many | time a choice [s] |")
    print("| --- | --- | --- | --- | --- | --- |")
    for label, terms in TRUTHS.items():
        for kind, noise in NOISES.items():
            right, missing, more, begin = 0, Counter[str](), Counter[str](), time.perf_counter()
            for k, name in enumerate(ROBOTS):
                for seed in range(seeds):
                    case = simulated(name, terms, noise, 100 * seed + k)
                    lacks, adds = difference(chosen(case), case)
                    right += not (lacks or adds)
                    missing.update(f"{term} ({name})" for term in lacks)
                    more.update(f"{term} ({name})" for term in adds)
            count = len(ROBOTS) * seeds
            seconds = (time.perf_counter() - begin) / count
            texts = " | ".join((_shown(missing), _shown(more)))
            print(f"| {label} | {kind} | {right} of {count} | {texts} | {seconds:.1f} |", flush=True)


def _shown(counts: Counter[str]) -> str:
    return ", ".join(f"{term} {count}" if count > 1 else term for term, count in counts.items()) or "-"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
