"""Simulated arms of hobby servos, logged at 30 to 50 Hz in coarse steps and without sign: errors and coverage.

MuJoCo simulates the arms of `tests/servo_arms.py`: voltage-driven servos, links, motor inertia, dry and viscous
friction. What is logged is what servos report: positions in steps of 2 pi / 4096, magnitudes of torques in steps of
0.0228 N m with noise of half a step. `dynid.identify` is given the log and a robot file whose masses are wrong by up to
20 %. Gravity parameters are the first moments among the base parameters; errors are relative to the true value, of
those that are at least a tenth of the largest one. Intervals are `value +- 1.96 std`, and count whatever the size of
the parameter.

    python -m benchmarks.servo_arm [--draws 20] [--first 5000] [--write]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tests.datasets import ROOT
from tests.servo_arms import ServoArm, long_arm, recorded, so101_like

import dynid
from benchmarks.marked_tables import with_table
from dynid.arrays import Array

TERMS = ["viscous", "coulomb", "armature"]

CASES = ((so101_like, 50.0), (so101_like, 30.0), (long_arm, 50.0), (long_arm, 30.0))
"""Arms and sampling rates [Hz]."""

KINDS = {"m": "gravity", "fv": "viscous", "fs": "Coulomb", "Ia": "motor inertia"}


@dataclass(frozen=True)
class Found:
    """One parameter of one draw.

    Attributes:
        name: Its name.
        kind: What it is.
        truth: Its true value.
        value: What was found.
        std: Its standard deviation.
        block: That of the block bootstrap; NaN where there is none.
    """

    name: str
    kind: str
    truth: float
    value: float
    std: float
    block: float

    @property
    def score(self) -> float:
        """Error in standard deviations."""
        return (self.value - self.truth) / self.std

    @property
    def block_score(self) -> float:
        """The same in those of the block bootstrap."""
        return (self.value - self.truth) / self.block


def true_values(arm: ServoArm, base: dynid.BaseParameters) -> Array:
    """True base parameters, in the grouping of given ones."""
    model = dynid.DynamicModel(arm.robot(), TERMS)
    known = dict(zip(model.names, np.nan_to_num(model.reference), strict=True)) | arm.friction()
    return base.to_base(np.array([known[name] for name in base.model.names]))


def drawn(arm: ServoArm, rate: float, seed: int) -> tuple[list[Found], float, float]:
    """Parameters of one draw, and the shares of signs that are sure, and sure but wrong."""
    run = recorded(arm, seed, rate=rate)
    factors = np.random.default_rng(10_000 + seed).uniform(0.8, 1.2, len(arm.links))
    result = dynid.identify(arm.robot(factors), [run.log], terms=TERMS, torque="magnitude")
    truth = dict(zip(result.base.names, true_values(arm, result.base), strict=True))
    found = []
    for p in result.record.parameters:
        kind = next((kind for start, kind in KINDS.items() if p.name.startswith(start)), "inertia")
        block = np.nan if p.bootstrap_std is None else p.bootstrap_std
        found.append(Found(p.name, kind, float(truth[p.name]), p.value, p.std, block))
    names, wrong, sure = [joint.name for joint in result.record.joints], 0, 0
    segments = result.record.signs or ()
    for segment in segments:
        inside = (run.log.time >= segment.start) & (run.log.time < segment.stop)
        right = run.torque[inside, names.index(segment.joint)].sum() * segment.sign > 0.0
        sure += segment.word == "sure"
        wrong += segment.word == "sure" and not right
    return found, sure / len(segments), wrong / len(segments)


GROUPS = {"gravity": ("gravity",), "friction": ("viscous", "Coulomb"), "both": ("gravity", "viscous", "Coulomb")}
GROUPS |= {"motor inertia": ("motor inertia",), "inertia of links": ("inertia",)}
"""Rows of the table, by the kinds that they are of."""


def rows(found: list[Found]) -> Iterator[str]:
    """A row for each group of parameters: errors of those that matter, and coverage of all."""
    for group, kinds in GROUPS.items():
        own = [p for p in found if p.kind in kinds]
        if not own:
            continue
        largest = {kind: max((abs(p.truth) for p in own if p.kind == kind), default=0.0) for kind in kinds}
        errors = [abs(p.value / p.truth - 1.0) for p in own if abs(p.truth) >= 0.1 * largest[p.kind]]
        plain = np.mean([abs(p.score) < 1.96 for p in own])
        block = np.mean([abs(p.block_score) < 1.96 for p in own])
        within = np.mean(np.array(errors) < 0.1)
        yield (
            f"{group} | {len(own)} | {np.median(errors):.1%} | {np.quantile(errors, 0.95):.1%} | {within:.0%} | "
            f"{plain:.1%} | {block:.1%}"
        )


HEADER = (
    "| arm | rate [Hz] | parameters | estimates | half of the errors within | 95 % within | within 10 % | "
    "intervals hold the truth | of the block bootstrap |"
)


def main() -> None:
    """Print the table of `docs/low_cost_arms.md`, or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--first", type=int, default=5000, help="first seed; 1000 to 1099 served to calibrate")
    parser.add_argument("--write", action="store_true", help="write the table into docs/low_cost_arms.md")
    options = parser.parse_args()
    lines, signs = [HEADER, "|" + " --- |" * 9], list[tuple[float, float]]()
    for make, rate in CASES:
        arm, found = make(), list[Found]()
        for seed in range(options.first, options.first + options.draws):
            parameters, *share = drawn(arm, rate, seed)
            found += parameters
            signs.append((share[0], share[1]))
        lines += [f"| {arm.name} | {rate:g} | {row} |" for row in rows(found)]
        print(*lines[-len(GROUPS) :], sep="\n", flush=True)
    sure, wrong = np.mean(signs, axis=0)
    lines += ["", f"{sure:.1%} of the segments are sure, and {wrong:.2%} are sure but wrong."]
    print(lines[-1])
    if options.write:
        page = ROOT / "docs/low_cost_arms.md"
        text = with_table(page.read_text(encoding="utf-8"), "servo arms", "\n".join(lines))
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
