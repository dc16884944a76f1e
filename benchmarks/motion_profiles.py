"""Double-S profiles against ruckig: durations over random limits and end velocities, and what a profile costs.

Run with `python -m benchmarks.motion_profiles`. A profile goes from one position and velocity to others, without
acceleration at its ends. Ours have a peak of velocity in the direction of the displacement, as those of the Figaro
thesis; where the displacement is too small for the velocities at the ends they are refused, and ruckig turns back or
slows down on the way.
"""

import time

import numpy as np
import ruckig

from dynid.arrays import Array
from dynid.excitation.trajectories.double_s import DisplacementError, fastest_phases

DRAWS = 20_000


def drawn(seed: int) -> Array:
    """Displacement, limits of velocity, acceleration and jerk, and end velocities, shape (draws, 6)."""
    rng = np.random.default_rng(seed)
    V, A, J = 10.0 ** rng.uniform([[-1.0], [-1.0], [-0.5]], [[1.0], [1.5], [2.5]], (3, DRAWS))
    D = rng.choice([-1.0, 1.0], DRAWS) * 10.0 ** rng.uniform(-4.0, 1.5, DRAWS)
    v0, v1 = rng.uniform(-1.0, 1.0, (2, DRAWS)) * V * (rng.random((2, DRAWS)) < 0.7)
    return np.column_stack([D, V, A, J, v0, v1])


def reference(case: Array) -> float:
    """Ruckig's duration [s]."""
    D, V, A, J, v0, v1 = case.tolist()
    asked = ruckig.InputParameter(1)
    asked.current_position, asked.current_velocity = [0.0], [v0]
    asked.target_position, asked.target_velocity = [D], [v1]
    asked.max_velocity, asked.max_acceleration, asked.max_jerk = [V], [A], [J]
    found = ruckig.Trajectory(1)
    ruckig.Ruckig(1).calculate(asked, found)
    return found.duration


def is_refused(case: Array) -> bool:
    """Whether the displacement is too small for the end velocities."""
    try:
        fastest_phases(*case[:, None])
    except DisplacementError:
        return True
    return False


def main() -> None:
    """Print the table."""
    cases = drawn(0)
    durations = np.array([reference(case) for case in cases])
    refused = np.array([is_refused(case) for case in cases])
    begin = time.perf_counter()
    phases = fastest_phases(*cases[~refused].T)[0]
    cost = (time.perf_counter() - begin) / len(phases)
    gaps = phases.sum(axis=1) - durations[~refused]
    at_rest = (cases[~refused, 4:] == 0.0).all(axis=1)
    reached = phases[:, 3] > 1e-9
    rows = {
        "from rest to rest": at_rest,
        "largest velocity reached": ~at_rest & reached,
        "largest velocity not reached": ~at_rest & ~reached,
    }
    print("| double-S profiles | draws | longest duration minus ruckig's [s] | shortest [s] |")
    print("| --- | --- | --- | --- |")
    for name, which in rows.items():
        print(f"| {name} | {which.sum()} | {gaps[which].max():.1e} | {gaps[which].min():.1e} |")
    print(f"| refused: too small a displacement | {refused.sum()} | | |")
    print(f"\n{1e6 * cost:.1f} us a profile, all at once.")


if __name__ == "__main__":
    main()
