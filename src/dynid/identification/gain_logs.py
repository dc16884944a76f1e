"""Logs with and without known loads, ready for the estimation of drive gains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation import TORQUES, CarriedLoad, CurrentRows, block_rows, carried_load, current_rows, paired_rows
from dynid.findings import Finding
from dynid.identification.log_reading import name_of, of_log, read_any_length
from dynid.identification.payload_logs import MAY_CHANGE
from dynid.identification.task import Task, require_single_axes
from dynid.logs import Drive, LoadTable, Log, LogSource, PreparedLog, at_same_times, prepare, transmission_of
from dynid.model import BaseParameters, Role
from dynid.robot import Load, Robot

Progress = Callable[[str], None]
FrictionChoice = Literal["separate", "shared"]

FRICTION = (*MAY_CHANGE, Role.LOAD)
"""Roles of parameters that may differ between logs with and without a load."""


@dataclass(frozen=True, eq=False)
class GainLogs:
    """The logs of a task in units of current.

    Attributes:
        rows: Their rows; sums and differences where two are of one motion.
        pairs: Names of logs without and with a load that are of one motion.
        ready: The logs, ready for the model.
        loads: Loads by name.
        findings: What was noticed on the way.
    """

    rows: tuple[CurrentRows, ...]
    pairs: tuple[tuple[str, str], ...]
    ready: tuple[PreparedLog, ...]
    loads: Mapping[str, CarriedLoad]
    findings: tuple[Finding, ...]


def currents_of(drive: Drive) -> Drive:
    """The drive in units of current, with signs as stated: gains have the signs that are yet to be found."""
    signs = None if drive.signs == "auto" else drive.signs
    return drive.model_copy(update={"torque_constants": "unknown", "signs": signs})


def gain_logs(
    task: Task,
    base: BaseParameters,
    loads: Mapping[str, LoadTable],
    friction: FrictionChoice,
    progress: Progress,
    *,
    pairs: bool = True,
) -> GainLogs:
    """Read the logs of a task, and reduce them in units of current.

    Args:
        task: The task.
        base: The base parameters of its model.
        loads: What is known of loads that logs in memory name.
        friction: Whether friction and offsets of joints may differ where a load is carried.
        progress: Callback; receives a short description of each step.
        pairs: Whether to look for logs of one motion.
    """
    drive = currents_of(task.drive)
    read, carried, known = [], list[str | None](), dict[str, CarriedLoad]()
    for k, source in enumerate(task.logs, start=1):
        progress(f"Reading log {k} of {len(task.logs)}")
        found = read_any_length(source, task.model.robot, progress, drive, task.processing)
        table = _load_of(source, loads)
        if table is not None:
            known.setdefault(table.title, _carried(base, table, friction))
        carried.append(None if table is None else table.title)
        read.append(replace(found, load=None))
    if not known:
        raise InvalidRequestError(
            "no log carries a load, and without one of known mass nothing sets the scale of drive gains; name it with "
            "[[log]] load = NAME, and its mass in [[load]]"
        )
    if len(known) == 1 and None not in carried:
        raise InvalidRequestError(
            f"all logs carry '{carried[0]}', and cannot be separated from the robot; add a log without it, or with "
            "another load of known mass"
        )
    return _reduced(task, base, drive, read, carried, known, progress, pairs=pairs)


def _reduced(
    task: Task,
    base: BaseParameters,
    drive: Drive,
    logs: list[Any],
    carried: Sequence[str | None],
    known: Mapping[str, CarriedLoad],
    progress: Progress,
    *,
    pairs: bool,
) -> GainLogs:
    require_single_axes(task.model.robot, "drive gains are identified")
    matched, logs = _matched(logs, carried) if pairs else ({}, logs)
    ready, findings = [], list[Finding]()
    for k, log in enumerate(logs):
        progress(f"Preparing log {k + 1} of {len(logs)}")
        settings = ready[matched[k]].processing if k in matched and matched[k] < k else task.processing
        ready.append(prepare(log, task.model, drive, settings, progress=progress))
        noticed = [one for one in ready[-1].findings if not (k in matched and one.code.startswith("time-jitter"))]
        findings += of_log(noticed, name_of(task.logs[k], k + 1), len(logs))
    size, ratios = block_rows(ready, TORQUES), coupled_ratios(drive, task.model.robot)
    rows, done, pairs_found = list[CurrentRows](), set[int](), list[tuple[str, str]]()
    for k, log in enumerate(ready):
        other = matched.get(k)
        if k in done:
            continue
        name = carried[k]
        if other is not None and _same_times(log, ready[other]):
            free, loaded = (other, k) if carried[k] is not None else (k, other)
            load = known[str(carried[loaded])]
            rows += paired_rows(ready[free], ready[loaded], base, size, load, ratios, group=k)
            done.add(other)
            pairs_found.append((name_of(task.logs[free], free + 1), name_of(task.logs[loaded], loaded + 1)))
        else:
            rows.append(current_rows(log, base, size, ratios, None if name is None else known[name], group=k))
    return GainLogs(tuple(rows), tuple(pairs_found), tuple(ready), known, tuple(findings))


def _matched(logs: Sequence[Any], carried: Sequence[str | None]) -> tuple[dict[int, int], list[Any]]:
    """Pairs of logs without and with a load that are of one motion, by their numbers, and logs at the same times."""
    found, moved = dict[int, int](), list(logs)
    for i in (k for k, name in enumerate(carried) if name is not None):
        for j in (k for k, name in enumerate(carried) if name is None and k not in found):
            if not (isinstance(logs[i], Log) and isinstance(logs[j], Log)):
                continue
            pair = at_same_times(logs[min(i, j)], logs[max(i, j)])
            if pair is not None:
                moved[min(i, j)], moved[max(i, j)] = pair
                found |= {i: j, j: i}
                break
    return found, moved


def _same_times(one: PreparedLog, other: PreparedLog) -> bool:
    """Whether samples of two logs are of the same times, also after idle ones were cut."""
    pairs = list(zip(one.times, other.times, strict=False))
    same = all(len(a) == len(b) and np.allclose(a[:], b[:], rtol=0.0, atol=1e-6) for a, b in pairs)
    return len(one.times) == len(other.times) and same


def coupled_ratios(drive: Drive, robot: Robot) -> Array | None:
    """The transmission matrix where motors act on several joints and currents are the motors'; else None."""
    transmission = transmission_of(drive, robot)
    N = transmission.matrix
    coupled = transmission.torques_at_motor and np.any(N - np.diag(np.diag(N)))
    return N if coupled else None


def stated_load(load: Load) -> LoadTable:
    """What a load states for gains: one with a mass alone, at the origin of its body, states no centre of mass."""
    table = LoadTable.of(load)
    alone = table.inertia is None and not np.any(load.center_of_mass)
    return table.model_copy(update={"center_of_mass": None}) if alone else table


def _load_of(source: Log | LogSource, loads: Mapping[str, LoadTable]) -> LoadTable | None:
    """What a log carries; None for nothing."""
    load = source.load
    if load is None or isinstance(load, LoadTable):
        return load
    if isinstance(load, Load):
        return stated_load(load)
    if load not in loads:
        raise InvalidRequestError(
            f"a log carries the load '{load}', of which nothing is known; state its mass: loads={{'{load}': "
            "{'mass': ...}}"
        )
    return loads[load].model_copy(update={"name": load})


def _carried(base: BaseParameters, table: LoadTable, friction: FrictionChoice) -> CarriedLoad:
    center = None if table.center_of_mass is None else np.array(table.center_of_mass)
    about = None if table.inertia is None else table.known().inertia
    load = carried_load(base, table.name or "load", table.mass, center, about, table.body)
    if friction == "shared":
        return load
    parameters = base.model.parameters
    own = [k for k, parameter in enumerate(parameters) if parameter.role in FRICTION and base.regrouping[:, k].any()]
    names = tuple(parameters[k].name for k in own)
    return replace(load, free=np.column_stack([load.free, base.regrouping[:, own]]), names=load.names + names)
