"""What a first experiment says of drives: what no log tells is asked for, and where it is missing nothing runs."""

from __future__ import annotations

import json

import numpy as np

from dynid.experiment.first.guesses import Layout
from dynid.robot.robot import Robot

LIGHT = 0.3
"""Share of what gravity takes below which torques are doubted."""


def drive_table(layout: Layout) -> list[str]:
    """Lines of `[drive]`, where currents, motors' sides or missing signals need one.

    Gear ratios are left empty, with which no experiment runs: any number would make wrong results that look right.
    """
    position, torque = layout.position, layout.torque
    lines = []
    if position.at_motor or torque.at_motor:
        lines += [
            "# NEEDED: turns of each motor a turn of its joint, with sign, such as [100, -50, ...]; if a motor turns",
            '# with another joint, too, add couplings = [{ motor = "...", joint = "...", ratio = ... }]',
            f"ratios = []   # of {', '.join(layout.joints)}",
            f'positions = "{"motor" if position.at_motor else "joint"}"   # by the names of files and columns',
            f'torques = "{"motor" if torque.at_motor else "joint"}"',
        ]
    if torque.unit == "A":
        ones = ", ".join(["1.0"] * len(layout.joints))
        of = "torque constants of motors" if torque.at_motor else "torque constants times gear ratios"
        lines += [
            f"# NEEDED: {of} [N m/A]; until then all results are in amperes. Signs of drives are found.",
            f"torque_constants = [{ones}]",
            'signs = "auto"',
        ]
    if layout.silent:
        lines += [
            "# guess: torques of these joints are mostly exact zeros while they move, so they do not count",
            f"unmeasured = [{', '.join(json.dumps(name) for name in layout.silent)}]",
        ]
    return ["[drive]", *lines, ""] if lines else []


def needed(layout: Layout, robot: Robot) -> tuple[str, ...]:
    """What must be written or checked before results mean anything.

    Args:
        layout: What was found in the log.
        robot: The robot, with joints held that the log does not have.
    """
    found = []
    if layout.position.at_motor or layout.torque.at_motor:
        found.append("drive.ratios: what was logged on the motors' side needs gear ratios, and perhaps couplings")
    if layout.torque.unit == "A":
        found.append("drive.torque_constants [N m/A]: 1 is written for each, so results are in amperes until then")
    elif not layout.position.at_motor and not layout.torque.at_motor:
        found += _too_light(layout, robot)
    return tuple(found)


def _too_light(layout: Layout, robot: Robot) -> list[str]:
    """A doubt where torques are far below what gravity alone takes by the robot's file."""
    from dynid.model.dynamic_model import DynamicModel

    postures = layout.postures[np.isfinite(layout.postures).all(axis=1)]
    if not len(postures) or robot.nv != len(layout.joints):
        return []
    weight = np.abs(DynamicModel(robot).inverse_dynamics(postures)).max(axis=0)
    heavy = [k for k, name in enumerate(layout.joints) if weight[k] > 1.0 and name not in layout.silent]
    if not heavy or np.median(layout.largest[heavy] / weight[heavy]) > LIGHT:
        return []
    k = max(heavy, key=lambda k: weight[k] / max(layout.largest[k], 1e-9))
    reached, taken = f"{layout.largest[k]:.3g}", f"{weight[k]:.3g}"
    return [
        f"what torques are: those of '{layout.joints[k]}' reach {reached}, but by the robot's file gravity alone takes "
        f"up to {taken} N m (N); write unit = 'A' and drive.torque_constants [N m/A] for currents, or drive.torques = "
        "'motor' and drive.ratios for torques of motors; otherwise results have a wrong scale"
    ]
