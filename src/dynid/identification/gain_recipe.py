"""Identification of drive gains as a recipe: from currents with and without a known load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import DynidError, InvalidRequestError
from dynid.estimation import (
    EstimationSettings,
    GainEstimate,
    GainMethod,
    PhysicalGains,
    PhysicalSettings,
    estimate_gains,
    physical_gains,
    physics_of,
)
from dynid.findings import Finding
from dynid.identification.gain_logs import FrictionChoice, GainLogs, gain_logs, stated_load
from dynid.identification.gain_record import Gains
from dynid.identification.payload_logs import require_motion
from dynid.identification.task import Task, experiment_file
from dynid.logs import Drive, LoadTable, Log, LogSource, Processing
from dynid.logs.units import CURRENT
from dynid.machine import single_threaded_blas
from dynid.model import BaseParameters, Term, known_base
from dynid.robot import JointKind, Load, Robot
from dynid.settings import checked

Progress = Callable[[str], None]

METHODS: tuple[GainMethod, ...] = ("constrained", "total", "linear")
FRICTIONS: tuple[FrictionChoice, ...] = ("separate", "shared")


def identify_gains(
    source: Robot | str | Path,
    logs: Log | Sequence[Log] | None = None,
    terms: str | Sequence[str | Term] = (),
    *,
    loads: Mapping[str, Load | Mapping[str, Any]] | None = None,
    method: GainMethod = "constrained",
    friction: FrictionChoice = "separate",
    known: Mapping[str, float] | None = None,
    drive: Drive | Mapping[str, Any] | None = None,
    processing: Processing | Mapping[str, Any] | None = None,
    estimation: EstimationSettings | Mapping[str, Any] | None = None,
    physical: PhysicalSettings | Mapping[str, Any] | None = None,
    progress: Progress = lambda _: None,
) -> Gains:
    """Identify drive gains (torque per current) from logs without and with a load of known mass.

    Torque constants that are stated are not used: they are shown beside the gains, and stand in `torque_constants`
    where the logs do not determine a gain.

    Args:
        source: The robot (also a path, or "builtin:NAME") with `logs` in memory; or the path of an experiment file,
            whose `[[load]]` tables say what is known of loads.
        logs: What was measured, with currents as torques; some with `load=`: a `Load`, or a name in `loads`.
        terms: Friction and actuator terms, as for `identify`.
        loads: What is known of loads that logs name: a `Load`, or a mapping with `mass`, and where known
            `center_of_mass`, `inertia` and `body`. What is not stated is estimated.
        method: "constrained" (maximum likelihood), "total" (total least squares), or "linear": the textbook's ordinary
            least squares, whose gains are too small where currents have errors.
        friction: Whether viscous friction, Coulomb friction and offsets of joints may differ where a load is carried
            ("separate"), or are the same ("shared").
        known: Values of parameters that are known beforehand, by name or pattern.
        drive: Gear ratios, couplings, signs and so on: keys as in `[drive]` of an experiment.
        processing: Filters, derivatives, decimation, thresholds; chosen from the log where nothing is stated.
        estimation: Its `confidence` is that of the intervals.
        physical: Prior and constraints of physically consistent links; `{"fit": False}` leaves them out.
        progress: Callback; receives a short description of each step.

    Raises:
        DynidError: If something cannot be read or does not fit together, or no load has a known mass.
    """
    if method not in METHODS or friction not in FRICTIONS:
        raise InvalidRequestError(
            f"method is one of {', '.join(METHODS)}, and friction one of {', '.join(FRICTIONS)}; '{method}' and "
            f"'{friction}' were given"
        )
    stated = {"drive": drive, "processing": processing, "estimation": estimation, "physical": physical}
    if logs is not None:
        task = Task.of(source, logs, terms, known, **stated)
    else:
        task = experiment_file(source, terms, known, **stated).task
    _require_currents(task)
    tables = {name: _table(name, load) for name, load in (loads or {}).items()}
    progress("Finding base parameters")
    base = known_base(task.model, task.known_values)
    textbook = method == "linear"
    shared: FrictionChoice = "shared" if textbook else friction
    ready = gain_logs(task, base, tables, shared, progress, pairs=not textbook)
    progress("Estimating gains")
    with single_threaded_blas():
        estimate = estimate_gains(ready.rows, method)
        links = None
        failed: tuple[Finding, ...] = ()
        if task.physical.fit:
            progress("Fitting physically consistent links")
            try:
                physics = physics_of(task.physical, base.model, task.reference)
                links = physical_gains(estimate, base, physics)
            except DynidError as error:
                failed = (Finding.of("physical-fit-failed", "physical links", problem=str(error)),)
    return _gains(task, base, ready, estimate, links, shared, failed)


def _require_currents(task: Task) -> None:
    """Refuse logs that have no currents with signs."""
    if task.is_commanded or task.torque == "magnitude":
        what = "logs have commands instead of currents" if task.is_commanded else "currents have no signs"
        raise InvalidRequestError(f"drive gains are not identifiable where {what}; log currents with their signs")
    require_motion(task)
    sources = [log for log in task.logs if isinstance(log, LogSource)]
    stated = [log.torque.unit for log in sources if log.torque is not None and log.torque.unit is not None]
    if any(unit not in CURRENT for units in stated for unit in ([units] if isinstance(units, str) else units)):
        raise InvalidRequestError(
            "drive gains are torque per current, and the logs' torques are in N m or N; name the columns of currents, "
            "with unit = 'A'"
        )
    if not task.logs:
        raise InvalidRequestError("there is no log to identify from; give one without and one with a known load")
    if task.model.nonlinear:
        raise InvalidRequestError(
            "drive gains are identified with terms that are linear; use viscous, coulomb, offset and armature"
        )


def _table(name: str, load: Load | Mapping[str, Any]) -> LoadTable:
    if isinstance(load, Load):
        return stated_load(load).model_copy(update={"name": name})
    return checked(LoadTable, {**load, "name": name}, "load")


def _gains(
    task: Task,
    base: BaseParameters,
    logs: GainLogs,
    estimate: GainEstimate,
    links: PhysicalGains | None,
    friction: str,
    findings: tuple[Finding, ...],
) -> Gains:
    """The gains as users see them."""
    confidence = task.estimation.confidence
    lower, upper = estimate.interval(confidence)
    stated = task.drive.torque_constants
    constants = np.array(stated) if isinstance(stated, tuple) else None
    robot, names = base.model.robot, base.model.row_names
    slides = [robot.joint(name.partition("[")[0]).kind is JointKind.PRISMATIC for name in names]
    errors = np.array([_rms(column) for column in estimate.errors.T])
    masses = None if links is None else float(links.parameters[: 10 * len(robot.solid_links) : 10].sum())
    gains = Gains(
        robot=robot.name,
        joints=tuple(names),
        units=tuple("N/A" if sliding else "N m/A" for sliding in slides),
        values=estimate.gains,
        std=estimate.stds,
        relative_std=estimate.relative_stds,
        determined=estimate.determined,
        lower=lower,
        upper=upper,
        confidence=confidence,
        covariance=estimate.relative_covariance * np.outer(estimate.gains, estimate.gains),
        physical=None if links is None else links.gains,
        total_mass=masses,
        stated=constants,
        method=estimate.method,
        friction=friction,
        loads={
            name: dict(zip(logs.loads[name].names, values.tolist(), strict=True))
            for name, values in estimate.load.items()
        },
        pairs=logs.pairs,
        errors=errors,
    )
    noticed = (*findings_on_gains(gains, estimate), *findings, *logs.findings)
    return Gains(**{**vars(gains), "findings": noticed})


def _rms(errors: Array) -> float:
    own = errors[np.isfinite(errors)]
    return float(np.sqrt(np.mean(own**2))) if len(own) else float("nan")


def findings_on_gains(gains: Gains, estimate: GainEstimate) -> Iterator[Finding]:
    """What is to be said of gains: undetermined ones, signs, stated constants that differ, what is assumed."""
    lost = [k for k, own in enumerate(gains.determined) if not own]
    for k in lost:
        std = float(estimate.relative_stds[k])
        subject = f"joint '{gains.joints[k]}'"
        if np.isfinite(std):
            yield Finding.of("gain-undetermined", subject, std=std)
        else:
            yield Finding.of("gain-not-excited", subject)
    negative = [gains.joints[k] for k in np.flatnonzero(gains.values < 0.0)]
    if negative:
        yield Finding.of("gain-negative", "drive.signs", joints=negative)
    if gains.stated is not None:
        outside = {
            gains.joints[k]: gains.stated[k] / gains.values[k] - 1.0
            for k in np.flatnonzero(gains.determined & ((gains.stated < gains.lower) | (gains.stated > gains.upper)))
        }
        if outside:
            yield Finding.of("gain-unlike-stated", "drive.torque_constants", joints=outside)
    if gains.method == "linear":
        yield Finding.of("gain-attenuated", "method")
    if not gains.pairs and gains.method != "linear":
        yield Finding.of("gain-other-motion", "logs")
    yield Finding.of("gain-friction-" + gains.friction, "friction")
