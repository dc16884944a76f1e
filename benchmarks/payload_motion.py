"""How well a short motion determines a load of 3 kg on the UR5, at the noise of seed 002's case D, over 500 draws.

Motions that `excite --payload` designs are compared with ones that are designed for the whole robot, at the same
length. The robot is known; friction is (it is the same with and without the load). White noise on torques is 50 dB
below them, and torque constants are off by 1 % (the known robot's as well: it was identified in the same units).

    python -m benchmarks.payload_motion
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tests.thesis_study import RATE, VISCOUS

import dynid
from dynid.arrays import Array
from dynid.excitation import Excitation
from dynid.robot import Load

LOAD = Load(3.0, np.array([0.02, -0.03, 0.08]), np.diag([0.012, 0.014, 0.01]))
DRAWS = 500
SECONDS = 30


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of a load.

    Attributes:
        stds: Standard deviations by white noise alone, of the ten parameters about the joint frame, shape (10,).
        mass: Errors of the mass with wrong torque constants, too [%], shape (draws,).
        center: Distances of the centre of mass from the true one [mm], shape (draws,).
    """

    stds: Array
    mass: Array
    center: Array


def errors(motion: Excitation, seed: int = 0) -> Errors:
    """Errors of the load that logs of a motion show."""
    robot = dynid.load_robot("builtin:ur5")
    link, truth = LOAD.of_link(robot)
    q, v, a = motion.states(np.arange(0.0, motion.duration, 1.0 / RATE))
    model = dynid.DynamicModel(robot, ["viscous", "coulomb", "armature"])
    p = np.nan_to_num(model.reference)
    p[[model.names.index(f"fv{k + 1}") for k in range(6)]] = VISCOUS
    W = model.regressor(q, v, a)[..., 10 * link : 10 * link + 10]
    load = W @ truth
    whole = model.inverse_dynamics(q, v, a, p) + load.T
    noise = 10 ** (-50 / 20) * np.sqrt((whole**2).mean(axis=0))
    rng = np.random.default_rng(seed)
    constants = 1.0 + 0.01 * rng.standard_normal((DRAWS, 6, 1))
    y = load / constants + noise[:, None] * rng.standard_normal((DRAWS, *load.shape))
    rows = (W / noise[:, None, None]).reshape(-1, 10)
    found = np.linalg.lstsq(rows, (y / noise[:, None]).reshape(DRAWS, -1).T, rcond=None)[0].T
    away = found[:, 1:4] / found[:, :1] - truth[1:4] / truth[0]
    stds = np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))
    return Errors(stds, 100.0 * (found[:, 0] / LOAD.mass - 1.0), 1e3 * np.linalg.norm(away, axis=1))


def main() -> None:
    """Print the errors of motions of several lengths."""
    print("White noise alone: standard deviations. With torque constants: 95 % of errors are below.\n")
    print("| motion | length [s] | mass [%] | centre [mm] | inertia [g m^2] | mass, constants [%] | centre [mm] |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for period in (2.0, 5.0):
        options = {"period": period, "time_limit": SECONDS}
        designs = {
            "for the load": dynid.excite("builtin:ur5", payload="last", payload_mass=3.0, **options),
            "for the robot": dynid.excite("builtin:ur5", ["viscous", "coulomb"], **options),
        }
        for name, motion in designs.items():
            found = errors(motion)
            alone = (100 * found.stds[0] / 3.0, 1e3 * found.stds[1:4].max() / 3.0, 1e3 * found.stds[4:].max())
            both = (np.quantile(np.abs(found.mass), 0.95), np.quantile(found.center, 0.95))
            print(f"| {name} | {period:g} | {' | '.join(f'{value:.2g}' for value in (*alone, *both))} |")


if __name__ == "__main__":
    main()
