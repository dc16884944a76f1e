"""The five cases of the power-model paper on a simulated TX40, and the forms of rows of its real log.

What is compared, and how, stands in `tests/power_study.py`.

Run it: DYNID_DATASETS=... python -m benchmarks.seed_001
"""

from __future__ import annotations

import numpy as np
from tests.power_study import (
    FORMS,
    MODEL_ERRORS,
    NOISE,
    PAPER,
    Flaws,
    block_triangular,
    cases,
    levelled,
    mean_difference,
    outcome,
    real_log,
    segments,
    true_error,
)

from dynid.estimation.factors.row_forms import RowForm


def main() -> None:
    """Print all tables."""
    seeds = range(1, 4)
    for title, kind in (("exact torques", Flaws()), ("white noise", NOISE), ("model errors", MODEL_ERRORS)):
        flaws = [kind if kind == Flaws() else levelled(seed, kind) for seed in seeds]
        found = [cases(seed, each) for seed, each in zip(seeds, flaws, strict=True)]
        print(f"\n{title}, medians of {len(seeds)} sets of motions: {flaws[0]}")
        print("case  own error  torques  essential: count  torques | paper's torques")
        for case, paper in PAPER.items():
            each = [one[case] for one in found]
            rows = [(o.own, o.torques, len(o.essential.names), o.essential_torques) for o in each]
            own, torques, count, essential = np.median(rows, axis=0)
            spread = f"{min(o.torques for o in each):.3f} to {max(o.torques for o in each):.3f}"
            print(f"{case}     {own:.4f}    {torques:.4f} ({spread})   {count:.0f}  {essential:.4f} | {paper:.4f}")
        for case in (3, 4):
            for other in (1, 2):
                means = [mean_difference(one[case].essential, one[other].essential) for one in found]
                print(
                    f"case {case} from case {other}: mean difference of essential parameters {np.median(means):.0f} %"
                )
        for name in FORMS:
            each = [outcome(block_triangular(*pair), RowForm(name)) for pair in zip(seeds, flaws, strict=True)]
            rows = [(o.own, o.torques, true_error(o.estimate)) for o in each]
            own, torques, wrong = np.median(rows, axis=0)
            print(
                f"{name} on the set of case 4: own {own:.4f}, torques {torques:.4f}, true error {wrong:.1f} % (median)"
            )
    print("\ncase 3 by the size of white noise (a log four times as long has half of it):")
    for share in (1.0, 0.5, 0.25):
        logs = [[segments(1, seed, levelled(seed, NOISE, share * PAPER[1]))] for seed in seeds]
        errors = [outcome(log, RowForm("power")).torques for log in logs]
        print(f"inverse dynamic model {share * PAPER[1]:.4f}: power reconstructs torques with {np.median(errors):.3f}")
    print("\nthe real log: own error, torques, essential parameters, their torques, condition number")
    for name, o in real_log().items():
        essential = f"{len(o.essential.names)} {o.essential_torques:.4f}"
        print(f"{name:14} {o.own:.4f} {o.torques:.4f} {essential} {o.estimate.condition_number:.0f}")


if __name__ == "__main__":
    main()
