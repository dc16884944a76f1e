"""Exact data in, exact numbers out: noise-free logs of random robots that begin and end in motion.

    python -m benchmarks.exactness 10

Every base parameter must come within 0.05 % of its value, or of 2 % of the largest of its unit, with default
processing. Prints the largest error of each robot in units of that.
"""

from __future__ import annotations

import sys

from tests.truth_logs import exact_practice, exactness

from dynid import identify


def main() -> None:
    """Print a table with a row for each robot."""
    print("| robot | joints | rate | low-pass | parameters | too far | largest error, of what is allowed |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 10):
        practice = exact_practice(seed)
        truth = practice.truth
        result = identify(truth.robot, practice.log(seed), truth.terms, estimation={"bootstrap": False})
        errors = exactness(result, truth.parameters)
        worst = max(errors, key=lambda name: errors[name])
        used = result.record.processing[0]
        print(
            f"| {truth.robot.name} | {truth.robot.nv} | {practice.sensors.rate:g} Hz | {used['lowpass']} Hz "
            f"| {len(errors)} | {sum(error > 1.0 for error in errors.values())} | {errors[worst]:.2g} ({worst}) |"
        )


if __name__ == "__main__":
    main()
