"""What commands in logs show before anything is fitted: held, constant, late, in other units, or against a contact."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.findings import Finding
from dynid.logs import Log
from dynid.robot import Robot


@dataclass(frozen=True)
class CommandThresholds:
    """When commands are remarked. By judgement where a field does not state otherwise."""

    still: float = 1e-9
    """Range of a commanded position [rad or m] below which it never moves."""

    held: float = 0.3
    """Share of rows that repeat the commands of all joints from which they are held. The Go2 logs have 0.73."""

    other_units: float = 10.0
    """Ratio of the gains that explain the motion to the stated ones, median of the joints, from which they are in
    other units: degrees for radians make 57, milliseconds a thousand."""

    weight: float = 1.5
    """Constant torque, in the largest torques of gravity of the links that a joint moves, from which the robot carries
    something that its model does not: the trunk that stands on the legs, or a load."""

    lag: float = 1.0
    """Longest time between commands and positions that is looked for [s]."""

    carrying: float = 0.15
    """Share of the joints that do so from which the robot is taken to stand on something."""


THRESHOLDS = CommandThresholds()


def findings_on_commands(logs: Sequence[Log], robot: Robot) -> Iterator[Finding]:
    """What can be seen of commands before anything is fitted.

    Raises:
        InvalidRequestError: If no command ever moves.
    """
    names = [joint.name for joint in robot.independent_joints]
    moved = np.max([np.ptp(log.commands.position, axis=0) for log in logs], axis=0) > THRESHOLDS.still
    driven = [log.commands.torque is not None and bool(np.ptp(log.commands.torque)) for log in logs]
    if not moved.any() and not any(driven):
        raise InvalidRequestError(
            "no commanded position ever changes: nothing is excited; check the columns of position_command, or record "
            "a motion"
        )
    still = [name for name, moves in zip(names, moved, strict=True) if not moves]
    if still:
        yield Finding.of("command-constant", "commands", joints=still)
    if all(log.kd is None for log in logs):
        yield Finding.of("kd-missing", "gains")
    yield from _on_varying(logs, names)
    repeats = [float(np.mean(np.all(np.diff(log.commands.position, axis=0) == 0.0, axis=1))) for log in logs]
    share = float(np.mean(repeats))
    if share > THRESHOLDS.held:
        period = float(np.mean([np.mean(np.diff(log.time)) for log in logs]))
        yield Finding.of("commands-held", "commands", share=share, rate=(1.0 - share) / period)


def _on_varying(logs: Sequence[Log], names: Sequence[str]) -> Iterator[Finding]:
    """A note on gains that are not the same in all samples of all logs."""
    lowest, highest = (
        getattr(np, of)([getattr(np, of)(log.commands.kp, axis=0) for log in logs], axis=0) for of in ("min", "max")
    )
    k = int(np.argmax(highest - lowest))
    if highest[k] > lowest[k]:
        values = {"joint": names[k], "lowest": float(lowest[k]), "highest": float(highest[k])}
        yield Finding.of("gains-vary", "gains", **values)


def lag_of_commands(log: Log) -> float:
    """How much later positions move than commands [s], the median of the joints that move, by their correlation.

    Positions follow commands: a lag below zero is that of commands that are shifted in the log.
    """
    period = float(np.median(np.diff(log.time)))
    most = min(int(THRESHOLDS.lag / period), len(log) // 4)
    moved = np.flatnonzero(np.ptp(log.commands.position, axis=0) > THRESHOLDS.still)
    wanted, found = (np.diff(x[:, moved], axis=0) for x in (log.commands.position, log.position))
    size = 1 << (2 * len(wanted) - 1).bit_length()
    cross = np.fft.irfft(np.conj(np.fft.rfft(wanted, size, axis=0)) * np.fft.rfft(found, size, axis=0), size, axis=0)
    lags = np.arange(-most, most + 1)
    return period * float(np.median(lags[np.argmax(cross[lags], axis=0)])) if len(moved) and most else 0.0


def findings_on_gains(scales: Array, names: Sequence[str]) -> Iterator[Finding]:
    """A finding on gains that are in other units, by the scales that explain the motion, shape (joints,)."""
    known = scales[np.isfinite(scales) & (scales > 0.0)]
    if len(known) < max(1, len(scales) // 2):
        return
    ratio = float(np.median(known))
    if not 1.0 / THRESHOLDS.other_units < ratio < THRESHOLDS.other_units:
        power = 10.0 ** round(math.log10(ratio))
        yield Finding.of("gains-in-other-units", "gains", ratio=ratio, power=power, joints=list(names))


def findings_on_contact(offsets: Array, gravity: Array, names: Sequence[str]) -> Iterator[Finding]:
    """A finding on constant torques that nothing in the model explains.

    Args:
        offsets: Constant torques [N m or N], shape (joints,).
        gravity: Largest torques of gravity of the links along the motion [N m or N], shape (joints,).
        names: Names of the joints.
    """
    carrying = [k for k in range(len(names)) if abs(offsets[k]) > THRESHOLDS.weight * max(float(gravity[k]), 1e-9)]
    typical = float(np.max(gravity, initial=0.0))
    large = [k for k in carrying if abs(offsets[k]) > THRESHOLDS.weight * typical]
    if large and len(large) >= THRESHOLDS.carrying * len(names):
        worst = max(large, key=lambda k: abs(float(offsets[k])))
        values = {"joints": [names[k] for k in large], "joint": names[worst], "torque": float(offsets[worst])}
        yield Finding.of("contact-missing", "robot", **values, gravity=float(gravity[worst]))
