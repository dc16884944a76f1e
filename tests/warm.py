"""Compile what tests need, before they run: `python -m tests.warm`.

Test workers are processes of their own, and each would compile the same kernels; here two processes compile one half
each, and all workers load them. Compiled code is kept beside its source, so a second run takes a second.
"""

from __future__ import annotations

import subprocess
import sys

HALVES = ("closed_loop", "rollouts")


def closed_loop() -> None:
    """The closed loop of a controller, and the adjoint of the regressor."""
    import dynid
    from dynid.model import prepare

    dynid.simulate("builtin:two_link", ([0.0, 0.1, 0.2], [[0.0, 0.0]] * 3))
    prepare()


def rollouts() -> None:
    """Rollouts and their derivatives."""
    import numpy as np

    import dynid
    from dynid.simulation import ControlInput, RolloutParameters, SimulatedRobot, roll_out, sensitivities

    robot = SimulatedRobot.of(dynid.DynamicModel(dynid.load_robot("builtin:two_link"), ["viscous", "coulomb"]))
    held, gains = np.zeros((5, 2)), np.ones(2)
    control = ControlInput(np.arange(5) / 100.0, held, gains, gains)
    sensitivities(roll_out(robot, control, held[0], steps_kept=True), RolloutParameters(model=(0, 20)))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        {"closed_loop": closed_loop, "rollouts": rollouts}[sys.argv[1]]()
    else:
        running = [subprocess.Popen([sys.executable, "-m", "tests.warm", half]) for half in HALVES]
        sys.exit(max(process.wait() for process in running))
