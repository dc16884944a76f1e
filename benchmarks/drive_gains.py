"""Drive gains of simulated arms from noisy currents, and how often their intervals hold the truth.

    python -m benchmarks.drive_gains [--draws 200] [--robots ur5 tx40 tree]

Each arm makes one motion without and one with a load of 3 kg. Currents have white noise of 2 % of their root mean
square, or noise that lasts 0.1 s. For each method: the largest error of a determined gain over all draws' mean, the
root mean square error, and the share of 95 % intervals that hold the truth. The last table has gravity as the only
excitation.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from tests.gain_logs import CurrentCase, current_case
from tests.truth_logs import Motion, Truth, random_arm

from dynid.arrays import Array
from dynid.estimation import GainEstimate, estimate_gains
from dynid.estimation.drive_gains import NoScaleError
from dynid.robot import Load
from dynid.robot.assembly import assemble
from dynid.robot.joints import JointKind


@dataclass(frozen=True)
class Score:
    """What a method makes of many draws.

    Attributes:
        determined: Gains that are determined in more than half of them, of how many.
        bias: Largest relative error of the mean of a gain.
        rms: Largest relative root mean square error of a gain.
        coverage: Share of 95 % intervals that hold the truth.
    """

    determined: str
    bias: float
    rms: float
    coverage: float


METHODS = ("constrained", "total", "linear")

KINDS = ((0.0, True), (0.1, True), (0.0, False))
"""Correlation times of the noise [s], and whether logs of one motion are paired."""

FEW = {"total": 50, "linear": 20}
"""Draws that show how far other methods are off."""


def scores(case: CurrentCase, seeds: Sequence[int], *, paired: bool = True) -> dict[str, Score]:
    """Estimate the gains of many draws by each method."""
    found = {method: _Sum(case.gains) for method in METHODS}
    for seed in seeds:
        rows = case.rows(seed, paired=paired)
        for method, own in found.items():
            if seed < FEW.get(method, seed + 1):
                with suppress(NoScaleError):  # a draw that determines no gain says so, and has none to compare
                    own.add(estimate_gains(rows, method))  # type: ignore[arg-type]
    return {method: own.score() for method, own in found.items()}


class _Sum:
    """What a method made of the draws so far."""

    def __init__(self, gains: Array) -> None:
        self.gains = gains
        self.errors: list[Array] = []
        self.held: list[bool] = []
        self.count = np.zeros(len(gains))

    def add(self, found: GainEstimate) -> None:
        """Add an estimate."""
        lower, upper = found.interval()
        self.count += found.determined
        self.errors.append(found.gains / self.gains - 1.0)
        self.held += ((lower <= self.gains) & (self.gains <= upper))[found.determined].tolist()

    def score(self) -> Score:
        """Of all draws."""
        often = self.count > len(self.errors) / 2
        table = np.array(self.errors)[:, often]
        bias, rms = np.abs(np.nanmean(table, axis=0)).max(), np.sqrt(np.nanmean(table**2, axis=0)).max()
        return Score(f"{int(often.sum())} of {len(often)}", float(bias), float(rms), float(np.mean(self.held)))


def tree(seed: int = 3) -> Truth:
    """A random arm of four joints, one of them prismatic, with a branch of two whose last link carries the load."""
    robot = random_arm(seed, 6)
    joints = list(robot.description.joints)
    joints[2] = replace(joints[2], kind=JointKind.PRISMATIC)
    joints[4] = replace(joints[4], parent="link_2")
    return Truth(assemble(replace(robot.description, joints=tuple(joints))), ("viscous", "coulomb", "offset"))


LOAD = Load(3.0, np.array([0.03, 0.02, 0.06]), np.diag([0.012, 0.010, 0.008]))


def arm(name: str) -> CurrentCase:
    """An arm by its name, at 20 s of a motion of 0.1 Hz and its harmonics."""
    if name != "tree":
        return replace(current_case(name), load=LOAD, motion=Motion(20.0, 0.1))
    truth = tree()
    gains = np.random.default_rng(1).uniform(5.0, 15.0, truth.robot.nv)
    return CurrentCase(truth, gains, LOAD, Motion(20.0, 0.1))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--kinds", type=int, nargs="*", default=[0, 1, 2], help="of KINDS")
    parser.add_argument("--robots", nargs="*", default=["ur5", "tx40", "tree"])
    asked = parser.parse_args()
    seeds = range(asked.draws)
    print("| robot | noise | logs | method | determined | bias | rms | coverage |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in asked.robots:
        for lasting, paired in (KINDS[kind] for kind in asked.kinds):
            case = replace(arm(name), lasting=lasting)
            for method, found in scores(case, seeds, paired=paired).items():
                noise, logs = "0.1 s" if lasting else "white", "paired" if paired else "apart"
                cells = f"{found.bias:.2%} | {found.rms:.2%} | {found.coverage:.1%}"
                print(f"| {name} | {noise} | {logs} | {method} | {found.determined} | {cells} |", flush=True)
    print("\nGravity only (slow motion):")
    for name in asked.robots[:2]:
        case = replace(arm(name), motion=Motion(400.0, 0.002))
        rows = case.rows(0)
        found = estimate_gains(rows)
        print(f"{name}: gains over true ones", np.round(found.gains / case.gains, 4).tolist())
        print(f"{name}: relative standard deviations", [float(f"{x:.2g}") for x in found.relative_stds])


if __name__ == "__main__":
    main()
