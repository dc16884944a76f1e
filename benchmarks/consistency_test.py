"""How often the test of Durbin, Wu and Hausman calls least squares biased: where they are not, and where they are.

    python -m benchmarks.consistency_test [--draws 1000]

Consistent: exact motion of a two-link and a three-axis arm, white noise on torques alone, instruments along another
motion near it. Biased: noise of 0.01 degrees on positions that the controller reacts to, without a filter (TX40).
"""

from __future__ import annotations

import argparse

from tests.noisy_loops import NOISES, tx40_loop
from tests.test_of_consistency import rejections

from benchmarks.estimators import Estimator, estimate, in_loop


def main() -> None:
    """Print rates of rejection."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--biased", type=int, default=20)
    asked = parser.parse_args()
    print("| robot | data | draws | rejected at 5 % |")
    print("| --- | --- | --- | --- |")
    for robot in ("builtin:two_link", "builtin:spatial_3r"):
        for decimate in ((), (5,)):
            share = rejections(robot, asked.draws, decimate)
            kind = "decimated 5 times" if decimate else "as sampled"
            print(f"| {robot} | consistent, {kind} | {asked.draws} | {share:.1%} |", flush=True)
    loop, found = tx40_loop(), 0
    for seed in range(asked.biased):
        done = estimate(loop, None, seed, Estimator("IV", in_loop("iv")), loop.log(NOISES[2], seed))
        assert done.loop is not None
        assert done.loop.consistency is not None
        found += done.loop.consistency.p_value < 0.05
    print(f"| TX40 | positions with 0.01 degrees, no filter | {asked.biased} | {found / asked.biased:.0%} |")


if __name__ == "__main__":
    main()
