"""Simulated arms of hobby servos, logged at 30 to 50 Hz in coarse steps and without sign: errors and coverage.

MuJoCo simulates the arms of `tests/servo_arms.py`: voltage-driven servos, links, motor inertia, dry and viscous
friction. What is logged is what servos report: positions in steps of 2 pi / 4096, magnitudes of torques in steps of
0.0228 N m with noise of half a step. `dynid.identify` is given the log and a robot file whose masses are wrong by up to
20 %. Gravity parameters are the first moments among the base parameters; errors are relative to the true value, of
those that are at least a tenth of the largest one. Intervals are `value +- 1.96 std`, and count whatever the size of
the parameter.

Run it: python -m benchmarks.servo_arm [DRAWS]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from tests.servo_arms import ServoArm, long_arm, recorded, so101_like

import dynid
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


def rows(found: list[Found]) -> Iterator[str]:
    """A row for each kind of parameter: errors of those that matter, and coverage of all."""
    for kind in (*KINDS.values(), "inertia"):
        own = [p for p in found if p.kind == kind]
        if not own:
            continue
        largest = max(abs(p.truth) for p in own)
        errors = [abs(p.value / p.truth - 1.0) for p in own if abs(p.truth) >= 0.1 * largest]
        plain = np.mean([abs(p.score) < 1.96 for p in own])
        block = np.mean([abs(p.block_score) < 1.96 for p in own])
        within = np.mean(np.array(errors) < 0.1)
        yield (
            f"{kind} | {len(own)} | {np.median(errors):.1%} | {np.quantile(errors, 0.95):.1%} | {within:.0%} | "
            f"{plain:.1%} | {block:.1%}"
        )


def main(draws: int = 25) -> None:
    """Print the table of `docs/low_cost_arms.md`."""
    print("| arm | rate [Hz] | parameters | estimates | half of the errors within | 95 % within | within 10 % | "
          "intervals hold the truth | of the block bootstrap |")  # fmt: skip
    print("| --- " * 9 + "|")
    for make, rate in CASES:
        arm, found, shares = make(), list[Found](), []
        for seed in range(draws):
            parameters, *share = drawn(arm, rate, seed)
            found += parameters
            shares.append(share)
        for row in rows(found):
            print(f"| {arm.name} | {rate:g} | {row} |")
        sure, wrong = np.mean(shares, axis=0)
        print(f"<!-- {arm.name} {rate:g} Hz, {draws} draws: {sure:.1%} of signs sure, {wrong:.2%} sure but wrong -->")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
