"""How well a short motion determines a load of 3 kg on the UR5, at the noise of seed 002's case D, over 500 draws.

Motions that `excite --payload` designs are compared with ones that are designed for the whole robot, at the same
length. The robot is known; friction is (it is the same with and without the load). White noise on torques is 50 dB
below them, and torque constants are off by 1 % (the known robot's as well: it was identified in the same units).

    python -m benchmarks.payload_motion
"""

from __future__ import annotations

import numpy as np

import dynid
from dynid.arrays import Array
from dynid.robot import Load, place_of_body, with_load
from tests.thesis_study import RATE, VISCOUS

LOAD = Load(3.0, np.array([0.02, -0.03, 0.08]), np.diag([0.012, 0.014, 0.01]))
DRAWS = 500


def errors(motion: dynid.Excitation, seed: int = 0) -> tuple[Array, Array]:
    """Relative errors of the mass [%], (draws,), and errors of the centre of mass [mm], (draws, 3)."""
    robot = dynid.load_robot("builtin:ur5")
    link, placement = place_of_body(robot)
    q, v, a = motion.states(np.arange(0.0, motion.duration, 1.0 / RATE))
    model = dynid.DynamicModel(robot, ["viscous", "coulomb", "armature"])
    p = np.nan_to_num(model.reference)
    p[[model.names.index(f"fv{k + 1}") for k in range(6)]] = VISCOUS
    alone = model.inverse_dynamics(q, v, a, p)
    W = model.regressor(q, v, a)[..., 10 * link : 10 * link + 10]
    load = W @ LOAD.of_link(robot)[1]
    whole = alone + load.T
    noise = 10 ** (-50 / 20) * np.sqrt((whole**2).mean(axis=0))
    rng = np.random.default_rng(seed)
    constants = 1.0 + 0.01 * rng.standard_normal((DRAWS, 6, 1))
    y = load / constants + noise[:, None] * rng.standard_normal((DRAWS, *load.shape))
    rows = (W / noise[:, None, None]).reshape(-1, 10)
    found = np.linalg.lstsq(rows, (y / noise[:, None]).reshape(DRAWS, -1).T, rcond=None)[0].T
    centers = found[:, 1:4] / found[:, :1]
    truth = LOAD.of_link(robot)[1]
    return 100.0 * (found[:, 0] / LOAD.mass - 1.0), 1e3 * (centers - truth[1:4] / truth[0])


def main() -> None:
    """Print the errors of motions of several lengths."""
    assert with_load(dynid.load_robot("builtin:ur5"), LOAD).nv == 6
    print("| motion | length [s] | mass: 95 % of errors below [%] | centre of mass [mm] |\n| --- | --- | --- | --- |")
    for period in (2.0, 5.0, 10.0):
        designs = {
            "for the load": dynid.excite("builtin:ur5", payload="last", payload_mass=3.0, period=period, time_limit=10),
            "for the robot": dynid.excite("builtin:ur5", ["viscous", "coulomb"], period=period, time_limit=10),
        }
        for name, motion in designs.items():
            mass, center = errors(motion)
            print(
                f"| {name} | {period:g} | {np.quantile(np.abs(mass), 0.95):.2f} | "
                f"{np.quantile(np.linalg.norm(center, axis=1), 0.95):.2f} |"
            )


if __name__ == "__main__":
    main()
