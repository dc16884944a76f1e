"""What a first experiment says about drives: what no log shows is asked for, and where it is missing nothing runs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dynid.experiment.first.experiment_text import quoted
from dynid.experiment.first.guesses import Layout
from dynid.findings import Finding
from dynid.logs import IN_MILLIMETRES, LARGE, is_current
from dynid.robot import Robot

LIGHT = 0.3
"""Share of the gravity torque below which torques are doubted."""


def drive_table(layout: Layout) -> list[str]:
    """Lines of `[drive]`, where currents, motors' sides or missing signals need one.

    Gear ratios are left empty, with which no experiment runs: any number would make wrong results that look right.
    """
    position, torque = layout.position, layout.torque
    at_motor = [group is not None and group.at_motor for group in (position, torque)]
    lines = []
    if any(at_motor):
        lines += [
            "# NEEDED: gear ratios (motor revolutions per joint revolution) with sign, such as [100, -50, ...]; if a",
            '# motor also turns with another joint, add couplings = [{ motor = "...", joint = "...", ratio = ... }]',
            f"ratios = []   # of {', '.join(layout.joints)}",
            f'positions = "{"motor" if at_motor[0] else "joint"}"   # by the names of files and columns',
            f'torques = "{"motor" if at_motor[1] else "joint"}"',
        ]
    if _has_currents(layout):
        of = "torque constants of motors" if at_motor[1] else "torque constants times gear ratios"
        lines += [
            f"# NEEDED for kg and N m: {of} [N m/A], such as [0.1, 0.1, ...]; while they",
            "# are unknown, results are in units of current, without links and robot files. Signs of drives are found.",
            f'torque_constants = "unknown"   # of {", ".join(layout.joints)}',
            *([] if layout.is_unsigned else ['signs = "auto"']),
        ]
    if layout.silent and not layout.is_zero:
        lines += [
            "# guess: torques of these joints are mostly exact zeros while they move, so they do not count",
            f"unmeasured = [{', '.join(quoted(name) for name in layout.silent)}]",
        ]
    return ["[drive]", *lines, ""] if lines else []


def _has_currents(layout: Layout) -> bool:
    unit = () if layout.torque is None else layout.torque.unit
    return any(map(is_current, (unit,) if isinstance(unit, str) else unit))


def findings_on_drives(layout: Layout, robot: Robot) -> Iterator[Finding]:
    """What must be stated about drives before results mean anything.

    Args:
        layout: What was found in the log.
        robot: The robot, with joints held that the log does not have.
    """
    at_motor = any(group is not None and group.at_motor for group in (layout.position, layout.torque))
    if at_motor:
        yield Finding.of("gear-ratios-needed", "drive.ratios")
    if _has_currents(layout):
        yield Finding.of("torque-constants-needed", "drive.torque_constants")
    elif not at_motor and layout.position is not None and layout.torque is not None:
        yield from _of_another_size(layout, robot)


def with_sides_settled(layout: Layout, robot: Robot) -> Layout:
    """A layout whose torques are those of joints where names suggest motors, but gravity at the joints fits them.

    Args:
        layout: What was found in the log.
        robot: The robot, with joints held that the log does not have.
    """
    position, torque = layout.position, layout.torque
    if position is None or torque is None or position.at_motor or not torque.at_motor:
        return layout
    found = _gravity(layout, robot)
    if found is None or not LIGHT < found[0] < LARGE:
        return layout
    note = Finding.of("motors-at-joints", "torques", quantity="torque", reason="they are as large as gravity torques")
    return replace(layout, torque=replace(torque, at_motor=False), findings=(*layout.findings, note))


def _gravity(layout: Layout, robot: Robot) -> tuple[float, int, float] | None:
    """Torques as multiples of gravity torques by the robot's file (median over joints that hold weight).

    Returns:
        That multiple, the joint whose torques are the smallest part of its own, and its gravity torque [N m or N]; None
        where the file has no joint that holds weight.
    """
    from dynid.model.dynamic_model import DynamicModel

    postures = layout.postures[np.isfinite(layout.postures).all(axis=1)] if layout.postures.size else layout.postures
    if not len(postures) or robot.nv != len(layout.joints):
        return None
    weight = np.abs(DynamicModel(robot).inverse_dynamics(postures)).max(axis=0)
    heavy = [k for k, name in enumerate(layout.joints) if weight[k] > 1.0 and name not in layout.silent]
    if not heavy:
        return None
    least = max(heavy, key=lambda k: weight[k] / max(layout.largest[k], 1e-9))
    return float(np.median(layout.largest[heavy] / weight[heavy])), least, float(weight[least])


def _of_another_size(layout: Layout, robot: Robot) -> Iterator[Finding]:
    """A doubt where torques are far below or above what gravity requires by the robot's file."""
    found = _gravity(layout, robot)
    if found is None:
        return
    ratio, k, gravity = found
    if ratio > LARGE:
        reasons = [f"{ratio:.0f} times those of gravity by the masses of the robot file"]
        yield Finding.of("torques-large", "torques", reasons=reasons, factor=ratio, likely=IN_MILLIMETRES)
    if ratio <= LIGHT:
        values: dict[str, Any] = {"joint": layout.joints[k], "reached": float(layout.largest[k]), "gravity": gravity}
        yield Finding.of("torques-too-small", "torques", **values)
