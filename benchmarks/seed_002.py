"""Four cases on the UR5: without and with friction, without and with noise; the whole arm in one step.

What is simulated and identified stands in `tests/thesis_study.py`.

Run it: python -m benchmarks.seed_002
"""

from __future__ import annotations

import numpy as np
from tests.thesis_study import CASES, SENSORS, Case, exact_difference, identify, identify_halves

from dynid.arrays import Array


def percent(values: Array) -> str:
    return "  ".join(f"{100 * value:9.4f}" for value in values)


def main() -> None:
    """Print all cases."""
    print(f"A, exact states: base parameters differ by {exact_difference():.1e} of their norm")
    print(f"B, exact states: base parameters differ by {exact_difference(CASES[1]):.1e} of their norm")
    print("\nvalidation relative error [%] on an unseen motion; all joints, then joints 1 to 6")
    for case in CASES:
        outcome = identify(case, case.friction)
        errors = np.array([joint.relative_error for joint in outcome.validation.joints])
        print(f"{case.name} whole arm    {100 * outcome.validation.relative_error:8.4f} | {percent(errors)}")
        if case.noisy:
            print(f"{case.name} noise floor           | {percent(outcome.floor)}")
        if case.friction:
            blind = identify(case, modelled=False)
            errors = np.array([joint.relative_error for joint in blind.validation.joints])
            print(f"{case.name} no friction  {100 * blind.validation.relative_error:8.4f} | {percent(errors)}")
            print("   " + "; ".join(finding.text for finding in blind.findings))
        print(f"{case.name} two halves            | {percent(identify_halves(case))}")
        print(f"  ({outcome.seconds:.1f} s for two simulations and the identification)")
    print("\nlargest error of a joint, over that of its own log and over what the sensors state, of 20 specimens:")
    for case in CASES[2:]:
        ratios = np.array([_ratios(case, specimen) for specimen in range(20)])
        within = (ratios < 1.5).sum(axis=0)
        print(f"{case.name}: largest {ratios.max(axis=0).round(2)}; below 1.5 in {within} of 20")


def _ratios(case: Case, specimen: int) -> tuple[float, float]:
    """The largest error of a joint over that of its own log, and over the root mean square that the sensors state."""
    outcome = identify(case, case.friction, specimen)
    errors = np.array([joint.relative_error for joint in outcome.validation.joints])
    stated = np.hypot(SENSORS.torque_constant_error, 10.0 ** (-(SENSORS.signal_to_noise or np.inf) / 20.0))
    return float((errors / outcome.floor).max()), float((errors / stated).max())


if __name__ == "__main__":
    main()
