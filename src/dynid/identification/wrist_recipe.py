"""A load from a force-torque sensor at the wrist as a recipe: logs of positions and wrenches to its ten numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dynid.arrays import Array, finite_or_none
from dynid.errors import InvalidRequestError
from dynid.estimation.payloads.load_body import LoadBody, compared
from dynid.estimation.payloads.load_problem import THRESHOLDS
from dynid.estimation.payloads.wrist_rows import WrenchLog, WristFit, body_motion, wrench_columns, wrist_fit
from dynid.findings import Finding
from dynid.identification.identified_load import Payload
from dynid.identification.log_reading import name_of, of_log, read_any_length
from dynid.identification.noticed import each_once
from dynid.identification.payload_findings import findings_on_body
from dynid.identification.payload_logs import Progress, SortedLogs, numbers_of
from dynid.identification.task import Task, require_single_axes
from dynid.logs import Drive, Log, LogSource, PreparedLog, decimated, prepare, transmission_of
from dynid.model import DynamicModel, joint_torques, loaded
from dynid.robot import CHANNELS, SIZE, Load, inertia, place_of_body
from dynid.robot.frames import inverse


def has_wrench(log: Log | LogSource) -> bool:
    """Whether a log has what a force-torque sensor measured."""
    return log.wrench is not None


def payload_of_wrench(tasks: Sequence[Task], sorts: SortedLogs, progress: Progress) -> Payload:
    """The load beyond a force-torque sensor.

    Where some logs are without the load, it is the difference to what the sensor always carries.

    Args:
        tasks: They say how logs are read.
        sorts: The logs.
        progress: Callback; receives a short description of each step.
    """
    robot, found, findings, names = tasks[0].model.robot, list[WrenchLog](), list[Finding](), list[str]()
    bodies: set[str | None] = set()
    count = len(sorts.free) + len(sorts.loaded)
    for is_loaded, some in ((False, sorts.free), (True, sorts.loaded)):
        for k, source in enumerate(some, start=1):
            task = next(task for task in tasks if any(log is source for log in task.logs))
            progress(f"Reading {name_of(source, k)}")
            log = read_any_length(source, robot, progress, None, task.processing)
            log = log if isinstance(log, Log) else log[:]
            if log.wrench is None:
                raise InvalidRequestError(
                    f"{name_of(source, k)} has no wrench, and other logs have; give one in all logs, or use torques "
                    "alone (sensor=False, --torques)"
                )
            bodies.add(log.wrench_body)
            own, notes = wrench_log(log, task, sorts.wanted.body, loaded=is_loaded)
            found.append(own)
            names.append(name_of(source, k))
            findings += of_log(notes, name_of(source, k), count)
    if len(bodies) > 1:
        raise InvalidRequestError("logs have wrenches in the frames of different bodies; state the same for all")
    progress("Estimating the load")
    fit, sign = _with_sign(found)
    estimate, wanted = LoadBody.of(fit.fit), sorts.wanted
    sensor = bodies.pop()
    body = wanted.body or sensor or robot.links[-1].name
    squares = [[each[c] ** 2 for each in fit.fit.stds] for c in CHANNELS]
    payload = Payload(
        body=body,
        estimate=estimate,
        robot="sensor",
        changes=(),
        joints={c: float(np.sqrt(np.mean(each))) for c, each in zip(CHANNELS, squares, strict=True)},
        samples=sum(len(log.wrench) for log in found if log.loaded),
        known=None if wanted.known is None else compared(estimate, numbers_of(wanted.known)),
        findings=(),
        name=wanted.name,
        bias=_biases(fit, names),
    )
    findings += findings_on_body(payload, f"load on '{body}'")
    findings += _findings_on_sensor(fit, found, names, sign)
    return replace(payload, findings=each_once(tuple(findings)))


def wrench_log(log: Log, task: Task, body: str | None, *, loaded: bool) -> tuple[WrenchLog, tuple[Finding, ...]]:
    """The rows of a log's wrenches, decimated as its motion allows, and what was noticed about its positions.

    Args:
        log: The log.
        task: Says how it is processed.
        body: Name of the load's body; that of the sensor when None.
        loaded: Whether it carries the load.
    """
    robot = task.model.robot
    link, placement = place_of_body(robot, log.wrench_body)
    other, own = place_of_body(robot, body) if body is not None else (link, placement)
    if other != link:
        raise InvalidRequestError(
            f"'{body}' is not on the link of the sensor ('{robot.links[link].name}'), which measures what is beyond it "
            "only; name a body of that link"
        )
    beyond = next((joint.name for joint in robot.joints if joint.parent == link), None)
    if beyond is not None:
        raise InvalidRequestError(
            f"joint '{beyond}' moves beyond the sensor on '{robot.links[link].name}', and a load is one rigid body; "
            "lock the joint (lock = [...]) where it stands still, or use the torques"
        )
    ready = _prepared(log, task, link, placement)
    between = inverse(placement) @ own
    M = np.stack([inertia.moved(unit, between) for unit in np.eye(SIZE)], axis=1)
    known = None
    if not loaded and isinstance(log.load, Load):
        on, parameters = log.load.of_link(robot)
        known = inertia.moved(parameters, inverse(own)) if on == link else None  # others are not beyond the sensor
    parts, factors = [], ready.processing.decimate
    for segment, times in zip(ready.segments, ready.times, strict=True):
        chunk, stamps = loaded_chunk(segment), np.asarray(times[:], dtype=float)
        Y = wrench_columns(body_motion(robot, link, placement, chunk.q, chunk.v, chunk.a))
        w = np.column_stack([np.interp(stamps, log.time, column) for column in log.wrench.T])  # type: ignore[union-attr]
        rows = np.column_stack([w, (Y @ M).reshape(len(w), -1)])
        if factors:
            step, trim = int(np.prod(factors)), ready.processing.row_trim
            rows, stamps = decimated(rows, factors), stamps[::step]
            keep = slice(trim, len(rows) - trim)
            rows, stamps = rows[keep], stamps[: len(rows)][keep]
        parts.append((rows, stamps))
    rows, stamps = (np.concatenate(each) for each in zip(*parts, strict=True))
    starts = tuple(np.cumsum([0, *(len(part[0]) for part in parts[:-1])]).tolist())
    time = stamps - 0.5 * (stamps[0] + stamps[-1])
    Y = rows[:, 6:].reshape(len(rows), 6, SIZE)
    return WrenchLog(Y, rows[:, :6], time, loaded, starts, ready.error_band, known), ready.findings


loaded_chunk = loaded


def _prepared(log: Log, task: Task, link: int, placement: Array) -> PreparedLog:
    """The log's motion, filtered as the torques of its wrench at the joints show."""
    robot = task.model.robot
    require_single_axes(robot, "loads beyond a wrist sensor are identified")
    drive = Drive(**{key: getattr(task.drive, key) for key in ("ratios", "couplings", "matrix", "positions")})
    positions = transmission_of(drive, robot).joint_positions(log.position)
    assert log.wrench is not None
    torque = joint_torques(robot, link, placement, positions, log.wrench)
    bare = replace(log, torque=torque, load=None, missing=None, wrench=None)
    return prepare(bare, DynamicModel(robot), drive, task.processing)


def _with_sign(logs: Sequence[WrenchLog]) -> tuple[WristFit, int]:
    """The fit, with the sign of the sensor: some report what the load exerts on the robot instead."""
    fit = wrist_fit(logs)
    mass, std = float(fit.fit.parameters[0]), float(np.sqrt(fit.fit.covariance[0, 0]))
    if mass > -THRESHOLDS.absent_stds * std:
        return fit, 1
    return wrist_fit([replace(log, measured=-log.measured) for log in logs]), -1


def _biases(fit: WristFit, names: Sequence[str]) -> dict[str, Any]:
    """Bias and drift of each log, in the middle of it, as plain data."""
    logs = []
    for k, name in enumerate(names):
        bias = [fit.values[f"bias {c} {k}"] for c in CHANNELS]
        drift = {c: fit.values[f"drift {c} {k}"] for c in fit.drifts[k]}
        logs.append(
            {
                "log": name,
                "value": [value for value, _ in bias],
                "std": [finite_or_none(std) for _, std in bias],
                "drift": {c: {"value": value, "std": finite_or_none(std)} for c, (value, std) in drift.items()},
            }
        )
    return {"channels": list(CHANNELS), "logs": logs}


def _findings_on_sensor(fit: WristFit, logs: Sequence[WrenchLog], names: Sequence[str], sign: int) -> Iterator[Finding]:
    """What is noticed about a sensor."""
    if sign < 0:
        yield Finding.of("payload-sensor-sign", "wrench")
    for k, (log, name) in enumerate(zip(logs, names, strict=True)):
        length = float(np.ptp(log.time))
        if fit.drifts[k]:
            drift = {c: f"{length * fit.values[f'drift {c} {k}'][0]:+.3g}" for c in fit.drifts[k]}
            note = Finding.of("payload-sensor-drift", "wrench", drift=drift, seconds=length)
            yield replace(note, logs=(name,)) if len(names) > 1 else note
