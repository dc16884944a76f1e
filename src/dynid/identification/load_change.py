"""The rule of change: a known load added to a robot file or a result, or taken off it.

A load changes the ten parameters of one link only. In a robot file these are its numbers; in a result they are base
parameters, links, and the torques behind both, so that what is predicted, added and validated afterwards is of the
robot with the load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation import Factor, Factors, joint_fits, merge_logs
from dynid.findings import Finding
from dynid.identification.records import Record
from dynid.identification.result import Result
from dynid.identification.result_files import load_result
from dynid.logs import LoadTable, Log, LogSource
from dynid.robot import SIZE, Load, Robot, as_robot, inertia, place_of_body, write_back
from dynid.robot.frames import inverse


@dataclass(frozen=True)
class LoadChange:
    """A robot file or result that was written with a load, or without it.

    Attributes:
        path: What was written.
        body: Name of the body that the load is fastened to.
        link: Name of the link that changed.
        before: Mass of the link before [kg]; None where it is not known, as in results without links.
        after: Mass of the link afterwards [kg].
        removed: Whether the load was taken off.
    """

    path: Path
    body: str
    link: str
    before: float | None
    after: float | None
    removed: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {**vars(self), "path": str(self.path)}


def change_load(
    source: Robot | Result | str | Path,
    load: Load,
    out: str | Path,
    *,
    remove: bool = False,
    overwrite: bool = False,
) -> LoadChange:
    """Write a robot file or a result with a known load added, or taken off.

    Args:
        source: The robot, the path of its file or `builtin:NAME`; or a result, or its folder.
        load: The load.
        out: The file (.urdf, or .xml for MJCF) of a robot, or the folder of a result, to write.
        remove: Whether the load is taken off instead.
        overwrite: Whether what exists may be replaced.

    Raises:
        InvalidRequestError: If the load cannot exist, or the link could not without it.
        OutputExistsError: If the output exists and may not be replaced.
    """
    if load.problem:
        raise InvalidRequestError(load.problem)
    if not isinstance(source, Robot | Result) and (Path(source) / "result.json").exists():
        source = load_result(source)
    if isinstance(source, Result):
        if Path(out).suffix.lower() in (".urdf", ".xml", ".mjcf", ".xacro"):
            raise InvalidRequestError(
                f"a result with another load is a folder, and '{out}' is the name of a robot file; name a folder, then "
                "write the file with dynid export"
            )
        changed = changed_result(source, load, remove=remove)
        changed.save(out, overwrite=overwrite)
        robot, masses = source.robot, [_mass(one, load) for one in (source, changed)]
    else:
        robot = as_robot(source)
        own, total = _changed_links(robot, load, remove=remove)
        kind: Literal["urdf", "mjcf"] = "mjcf" if Path(out).suffix.lower() in (".xml", ".mjcf") else "urdf"
        write_back(robot, total, {}, Path(out), format=kind, overwrite=overwrite)
        masses = [float(each[own]) for each in (robot.parameters, total)]
    link = robot.links[place_of_body(robot, load.body)[0]].name
    return LoadChange(Path(out), load.body or link, link, masses[0], masses[1], remove)


def _changed_links(robot: Robot, load: Load, *, remove: bool) -> tuple[int, Array]:
    """Where the ten parameters of the load's link begin, and those of all links with it, or without it.

    The link counts, and not the body: files may hold the load in any of the bodies that are welded together.
    """
    link, more = load.of_link(robot)
    first = SIZE * robot.solid_links.index(link)
    total = robot.parameters.copy()
    total[first : first + SIZE] += -more if remove else more
    broken = inertia.violations(total[first : first + SIZE], tolerance=1e-6)
    if remove and broken and not inertia.violations(robot.links[link].parameters):
        raise InvalidRequestError(
            f"'{robot.links[link].name}' has {robot.links[link].parameters[0]:.4g} kg, and could not exist without a "
            f"load of {load.mass:.4g} kg: {broken[0]}; state the load that the file holds"
        )
    return first, total


def _mass(result: Result, load: Load) -> float | None:
    link = result.robot.links[place_of_body(result.robot, load.body)[0]].name
    links = () if result.physical is None else result.physical.links
    return next((each.mass for each in links if each.name == link), None)


def changed_result(result: Result, load: Load, *, remove: bool = False) -> Result:
    """A result of the robot with a load fastened to it, or without it.

    Values change by exactly the load, and uncertainties do not: the load is taken as known.

    Args:
        result: The result.
        load: The load.
        remove: Whether it is taken off instead.

    Raises:
        InvalidRequestError: If parameters are in units of current or come from commands, the link could not exist
            without the load, or the logs carry a load on another link.
    """
    if result.is_in_amperes or result.record.commands is not None:
        what = "is in units of current" if result.is_in_amperes else "was identified from commands"
        raise InvalidRequestError(f"the result {what}, and a load in kg cannot be added to it; change the robot file")
    link, own = load.of_link(result.robot)
    own = -own if remove else own
    block = result.robot.solid_links.index(link)
    p = np.zeros(len(result.model.names))
    p[SIZE * block : SIZE * (block + 1)] = own
    torques = [_shifted(factors, result.model.names, p) for factors in result.torques]
    rows = torques if result.rows is result.torques else [_shifted(f, result.model.names, p) for f in result.rows]
    record = _changed_record(result, p, block, own, torques)
    code = "load-taken-off" if remove else "load-added"
    note = Finding.of(code, f"link '{result.robot.links[link].name}'", mass=load.mass, body=load.body or "")
    findings = (*result.findings, note)
    record = record.model_copy(update={"findings": tuple(each.to_dict() for each in findings)})
    logs = tuple(_carrying(log, result.robot, load, own) for log in result.task.logs)
    earlier = tuple(_carrying(log, result.robot, load, own) for log in result.task.earlier)
    task = replace(result.task, logs=logs, earlier=earlier)
    return replace(
        result, record=record, findings=findings, task=task, torques=torques, rows=rows, file=None, folder=None
    )


def _shifted(factors: Factors, names: Sequence[str], p: Array) -> Factors:
    """Factors of torques to which those of parameters p are added."""
    of_name = dict(zip(names, p.tolist(), strict=True))

    def moved(factor: Factor) -> Factor:
        return replace(factor, z=factor.z + factor.R @ np.array([of_name.get(name, 0.0) for name in factor.names]))

    return replace(factors, joints={joint: moved(factor) for joint, factor in factors.joints.items()})


def _changed_record(result: Result, p: Array, block: int, own: Array, torques: Sequence[Factors]) -> Record:
    """The record with values of the robot with the load."""
    data = result.record.to_dict()
    moves = dict(zip(result.base.names, result.base.to_base(p).tolist(), strict=True))
    for row in (*data["parameters"], *data["essential"]):
        for key in ("value", "lower", "upper", "bootstrap_lower", "bootstrap_upper"):
            if row.get(key) is not None:
                row[key] += moves[row["name"]]
        if row["value"]:
            row["relative_std_percent"] = 100.0 * row["std"] / abs(row["value"])
    values = {row["name"]: row["value"] for row in data["parameters"]} | dict(result.base.known)
    fits, data["relative_error"] = joint_fits(merge_logs(torques), values)
    data["joints"] = [{"name": joint, **vars(fit)} for joint, fit in fits.items()]
    if data["physical"] is not None:
        _change_link(data["physical"], block, own)
        links = [row for link in data["physical"]["links"] for row in link["parameters"]]
        standard = {row["name"]: row["value"] for row in (*links, *data["physical"]["terms"])}
        fits, data["physical"]["relative_error"] = joint_fits(merge_logs(torques), standard)
        data["physical"]["joints"] = [{"name": joint, **vars(fit)} for joint, fit in fits.items()]
    return Record.model_validate(data)


def _change_link(physical: dict[str, Any], block: int, own: Array) -> None:
    link = physical["links"][block]
    for row, more in zip(link["parameters"], own.tolist(), strict=True):
        row["value"] += more
        row["data_value"] = None if row["data_value"] is None else row["data_value"] + more
    total = np.array([row["value"] for row in link["parameters"]])
    if broken := inertia.violations(total, tolerance=1e-6):
        raise InvalidRequestError(
            f"link '{link['name']}' has {link['mass']:.4g} kg in the result, and could not exist without the load: "
            f"{broken[0]}; state the load that it carries"
        )
    mass, center, matrix = inertia.to_mass_com_inertia(total)
    link |= {"mass": float(mass), "centre_of_mass": np.nan_to_num(center).tolist(), "inertia": matrix.tolist()}
    link["principal_moments"] = np.linalg.eigvalsh(matrix).tolist()
    physical["total_mass"] = sum(each["mass"] for each in physical["links"])


def _carrying(log: Log | LogSource, robot: Robot, load: Load, added: Array) -> Log | LogSource:
    """A log whose torques are those of the robot with the added parameters: it carries so much less."""
    carried = log.load if isinstance(log, Log) else log.carried
    link, placement = place_of_body(robot, load.body)
    total = -added
    if isinstance(carried, Load):
        other, own = carried.of_link(robot)
        if other != link:
            raise InvalidRequestError(
                "the logs of the result carry a load on another link, and only one can be taken out of a log; identify "
                "the robot again with both in its file"
            )
        total = total + own
    less = inertia.moved(total, inverse(placement))
    if np.abs(less).max() <= 1e-12 * np.abs(added).max():
        return replace(log, load=None) if isinstance(log, Log) else log.model_copy(update={"load": None})
    name = load.body or robot.links[link].name
    if isinstance(log, Log):
        return replace(log, load=Load.of_parameters(less, name))
    table = LoadTable(body=name, parameters=tuple(less.tolist()))
    return log.model_copy(update={"load": table})
