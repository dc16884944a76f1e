"""Commands and gains of a controller in a log, which stand in for torques where none were measured."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dynid.arrays import Array
from dynid.experiment.first.candidate import Candidate
from dynid.experiment.first.guesses import THRESHOLDS
from dynid.experiment.first.naming import ACTIONS, Quality
from dynid.findings import Finding

FEED_FORWARD = frozenset(("ff", "feedforward"))
"""Words in the names of torques that a controller adds to its own."""


@dataclass(frozen=True)
class CommandColumns:
    """Columns of what a robot was commanded.

    Attributes:
        places: "position_command", perhaps "velocity_command", "torque_command", "kp" and "kd", in the joints' order.
        gains: "kp" and "kd" that are one number for all joints; these rule over columns.
    """

    places: Mapping[str, Candidate] = field(default_factory=dict)
    gains: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_stiffness(self) -> bool:
        """Whether the log holds the gain of positions."""
        return "kp" in self.places or "kp" in self.gains


def commands_among(
    found: Sequence[Candidate],
    position: Candidate,
    aligned: Callable[[Candidate], Candidate | None],
    values: Callable[[Candidate], Array],
) -> CommandColumns:
    """Columns of commands among those of a log.

    Args:
        found: All groups of columns.
        position: The measured positions, in the joints' order.
        aligned: The columns of a group that belong to the joints of the log; None where they do not fit.
        values: Numbers of a group, shape (samples, columns).
    """

    def best(role: str, fits: Callable[[Candidate], bool]) -> Candidate | None:
        own = [one for one in found if one.role == role and one.topic == position.topic and fits(one)]
        fitting = [one for candidate in own if (one := aligned(candidate)) is not None]
        return min(fitting, key=lambda one: (one.file != position.file, len(one.words)), default=None)

    def is_other(one: Candidate) -> bool:
        return (one.file, one.columns) != (position.file, position.columns)  # files may call theirs alike

    def is_commanded(one: Candidate) -> bool:
        return one.quality is Quality.COMMANDED and is_other(one) and not one.words & ACTIONS

    command = best("position", is_commanded)
    if command is None:
        action = best("position", lambda one: bool(one.words & ACTIONS) and is_other(one))
        command = action if action is not None and _follows(values(action), values(position)) else None
    if command is None:
        return CommandColumns()
    places = {"position_command": command}
    others = {
        "velocity_command": best("velocity", is_commanded),
        "torque_command": best("torque", lambda one: is_commanded(one) or bool(one.words & FEED_FORWARD)),
    }
    places |= {role: one for role, one in others.items() if one is not None and np.nan_to_num(values(one)).any()}
    gains: dict[str, float] = {}
    for role in ("kp", "kd"):
        own = best(role, lambda _: True)
        single = next((one for one in found if one.role == role and len(one.columns) == 1), None)
        if own is not None:
            places[role] = own
        elif single is not None and float(np.ptp(values(single))) == 0.0:
            gains[role] = float(values(single)[0, 0])
    return CommandColumns(places, gains)


def without_total(
    found: CommandColumns, position: Candidate, velocity: Candidate | None, values: Callable[[Candidate], Array]
) -> tuple[CommandColumns, tuple[Finding, ...]]:
    """Commands without a torque that is already that of the law: added to it, it would act twice.

    Args:
        found: The commands.
        position: The measured positions.
        velocity: The measured velocities; differences of positions when None.
        values: Numbers of a group, shape (samples, columns).

    Returns:
        The commands, and a finding where a torque was left out.
    """
    places = found.places
    if "torque_command" not in places or not found.has_stiffness or places["torque_command"].words & FEED_FORWARD:
        return found, ()
    used = [position, *places.values(), *([] if velocity is None else [velocity])]
    if len({one.file for one in used}) > 1 or len({len(one.columns) for one in used}) > 1:
        return found, ()  # files of other lengths
    q, torque = values(position), values(places["torque_command"])
    kp = np.asarray(found.gains["kp"]) if "kp" in found.gains else values(places["kp"])
    left = torque - kp * (values(places["position_command"]) - q)
    v = values(velocity) if velocity is not None else np.gradient(q, axis=0) if len(q) > 1 else 0.0 * q
    error = values(places["velocity_command"]) - v if "velocity_command" in places and velocity is not None else -v
    known = np.isfinite(left).all(axis=1) & np.isfinite(error).all(axis=1)
    for k in range(left.shape[1]):  # the gain of velocities that fits best, since it may not be known
        own = error[known, k]
        left[known, k] -= own * (own @ left[known, k]) / max(float(own @ own), 1e-300)
    size = float(np.sqrt(np.mean(torque[known] ** 2))) if known.any() else 0.0
    apart = float(np.sqrt(np.mean(left[known] ** 2))) / size if size > 0.0 else np.inf
    if apart >= THRESHOLDS.total:
        return found, ()
    others = {role: one for role, one in places.items() if role != "torque_command"}
    note = Finding.of("torques-of-law", "torque_command", columns=places["torque_command"].shown, difference=apart)
    return CommandColumns(others, found.gains), (note,)


def _follows(command: Array, q: Array) -> bool:
    """Whether positions follow columns, and are as large."""
    if command.shape != q.shape:
        return False
    known = np.isfinite(command).all(axis=1) & np.isfinite(q).all(axis=1)
    moving = (np.ptp(command[known], axis=0) > 0.0) & (np.ptp(q[known], axis=0) > 0.0) if known.any() else np.zeros(0)
    pairs = [np.corrcoef(command[known, k], q[known, k])[0, 1] for k in np.flatnonzero(moving)]
    apart = np.median(np.abs(command[known] - q[known])) if known.any() else np.inf
    return (
        bool(pairs) and float(np.median(pairs)) > THRESHOLDS.follows and apart < float(np.ptp(q[known], axis=0).max())
    )


def control_lines(has_stiffness: bool) -> Iterator[str]:
    """The table `[control]`, where the log has commands and not the gains of their controller."""
    if not has_stiffness:
        yield from (
            "[control]",
            "# NEEDED: the gains of torque = kp (command - position) + kd (velocity command - velocity), as one number",
            '# or as one for each joint; kp = "robot" takes those of the actuators in the robot file',
            "# kp = 20.0   # N m/rad or N/m",
            "# kd = 0.5   # N m s/rad or N s/m",
            "# Hobby servos instead (Dynamixel, Feetech; their supply and data sheet, gain of the register):",
            "# [control.servo]",
            "# voltage = 12.0",
            "# stall_torque = 2.9   # N m",
            "# no_load_speed = 4.7   # rad/s",
            "# kp = 16",
            '# firmware = "feetech_sts"   # or "dynamixel_x"',
            "",
        )


def findings_on_gains(is_commanded: bool, has_stiffness: bool) -> Iterator[Finding]:
    """What must be stated about a controller before results mean anything."""
    if is_commanded and not has_stiffness:
        yield Finding.of("gains-needed", "control.kp")
