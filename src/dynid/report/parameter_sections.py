"""Sections on parameters: estimates, identifiability, excitation, and physically consistent links."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.estimation import ESTIMATE_THRESHOLDS, merge_logs
from dynid.identification import Result
from dynid.model import BaseParameters
from dynid.report.figure import Section
from dynid.report.link_changes import Owner, change_figures, link_changes
from dynid.report.parameter_figures import bars_figure, parameter_figure, parameter_rows
from dynid.report.rendering import number
from dynid.report.robot_picture import DrawnInertia, RobotPicture, robot_pictures
from dynid.report.subject import Subject
from dynid.robot import inertia

MOST = 1000.0
"""Relative standard deviation [%] above which bars end."""


def parameter_section(subjects: Sequence[Subject]) -> Iterator[Section]:
    """Base parameters and nonlinear parameters with their uncertainties."""
    rows = parameter_rows(subjects)
    names = ["estimate"] if len(subjects) == 1 else [subject.name for subject in subjects]
    confidence = subjects[0].result.record.confidence
    data = {
        "subjects": subjects,
        "rows": rows,
        "figure": parameter_figure("parameters", rows, confidence, names),
        "confidence": confidence,
        "commanded": all(subject.result.record.commands is not None for subject in subjects),
        "bootstrap": any(estimate and estimate.bootstrap_std for row in rows for estimate in row.estimates),
        "nonlinear": [(subject.name, row) for subject in subjects for row in subject.result.nonlinear],
    }
    record = subjects[0].result.record
    brief = f"{len(record.parameters)} base, {len(record.essential)} essential" if len(subjects) == 1 else ""
    yield Section("parameters", "Parameters", "parameters.html", data, brief)


def identifiability_section(subjects: Sequence[Subject]) -> Iterator[Section]:
    """Which standard parameters are identifiable from joint torques."""
    base = subjects[0].result.base
    brief = f"{len(base)} base parameters of {len(base.model.names)} standard parameters"
    data = {"base": base, **identifiability(base)}
    yield Section("identifiable", "Identifiability", "identifiable.html", data, brief, is_open=False)


def identifiability(base: BaseParameters) -> dict[str, Any]:
    """For each link and joint whether each of its parameters is identifiable: alone, combined, not, or known."""
    alone = {next(iter(group)) for group in base.groups if len(group) == 1}
    state = dict.fromkeys(base.model.names, "sum")
    state |= dict.fromkeys(alone, "alone") | dict.fromkeys(base.no_effect, "none") | dict.fromkeys(base.known, "known")
    robot = base.model.robot
    links = []
    for index in robot.solid_links:
        link = robot.links[index].name
        cells = [{"name": p.name, "state": state[p.name]} for p in base.model.parameters if p.link == link]
        links.append({"name": link, "cells": cells})
    terms = [{"name": p.name, "state": state[p.name]} for p in base.model.parameters if p.link is None]
    counts = {kind: sum(value == kind for value in state.values()) for kind in ("alone", "sum", "none", "known")}
    return {"links": links, "terms": terms, "counts": counts}


@dataclass(frozen=True, eq=False)
class LogExcitation:
    """How well logs excite the base parameters.

    Attributes:
        condition_number: Of the observation matrix.
        singular_values: Of the observation matrix, divided by the root of the number of rows, largest first.
        weakest: The combination that is excited least: names of parameters with their shares, largest first.
    """

    condition_number: float
    singular_values: tuple[float, ...]
    weakest: tuple[tuple[str, float], ...]


def excitation_of(result: Result) -> LogExcitation:
    """The excitation of a result's logs, from their factors."""
    base = result.base
    factor = merge_logs(result.torques).stacked(base.names, known=base.known)
    _, values, directions = np.linalg.svd(factor.R)
    weakest = directions[-1]
    order = [k for k in np.argsort(-np.abs(weakest)) if abs(weakest[k]) > 0.1][:6]
    return LogExcitation(
        condition_number=result.condition_number,
        singular_values=tuple((values / np.sqrt(max(factor.rows, 1))).tolist()),
        weakest=tuple((base.names[k], float(weakest[k])) for k in order),
    )


def excitation_section(subjects: Sequence[Subject]) -> Iterator[Section]:
    """Condition number, singular values, and relative standard deviations."""
    data, limit = [], ESTIMATE_THRESHOLDS.largest_std
    for i, subject in enumerate(subjects):
        found, rows = excitation_of(subject.result), subject.result.record.parameters
        label = "Singular values of the observation matrix"
        singular = bars_figure(f"singular{i}", (), found.singular_values, "singular value", label, 0.0)
        stds = [MOST if row.relative_std_percent is None else min(row.relative_std_percent, MOST) for row in rows]
        label, names = "Relative standard deviation of each parameter", [row.name for row in rows]
        figure = bars_figure(f"stds{i}", names, stds, "standard deviation [% of value]", label, limit)
        data.append({"subject": subject, "found": found, "singular": singular, "stds": figure})
    brief = f"condition number {number(data[0]['found'].condition_number, 3)}" if len(data) == 1 else ""
    data = {"results": data, "limit": limit, "most": MOST}
    yield Section("excitation", "Excitation", "excitation.html", data, brief, is_open=False)


def link_section(subjects: Sequence[Subject]) -> Iterator[Section]:
    """Links and joints against the robot file: on the robot, as figures, and as a table."""
    found = [link_changes(subject.result) for subject in subjects]
    results = [
        {
            "subject": subject,
            "physical": subject.result.physical,
            "figures": change_figures(f"change{i}", owners),
            "owners": owners,
            "in_amperes": subject.result.is_in_amperes,
        }
        for i, (subject, owners) in enumerate(zip(subjects, found, strict=True))
    ]
    beyond = sum(change.beyond for owner in found[0] for change in owner.changes)
    brief = f"{beyond} changes beyond their uncertainty" if beyond != 1 else "1 change beyond its uncertainty"
    data = {
        "results": results,
        "pictures": _pictures(subjects, found),
        "in_motion": subjects[0].signals is not None,
        "confidence": subjects[0].result.record.confidence,
    }
    compared = any(change.file is not None for owner in found[0] for change in owner.changes)
    yield Section(
        "links", "Robot file against identified", "links.html", data, brief if compared and len(subjects) == 1 else ""
    )


def whole_robot(subject: Subject) -> RobotPicture:
    """The robot of a result as it stands in the middle of its motion."""
    robot, signals = subject.result.robot, subject.signals
    return robot_pictures(robot, robot.neutral if signals is None else signals.posture, ())[0]


def _pictures(subjects: Sequence[Subject], found: Sequence[Sequence[Owner]]) -> tuple[RobotPicture, ...]:
    """The robot with the inertias of its links: of file and result, or of two results; none without any."""
    robot, signals = subjects[0].result.robot, subjects[0].signals
    numbers = {robot.joints[i].number: i for i in robot.solid_links}
    inertias = []
    for owner in found[0] if len(subjects) == 1 else ():
        if owner.is_link and owner.changes[0].file is not None:
            i = numbers[owner.number]
            of_file = inertia.to_mass_com_inertia(robot.links[i].parameters)
            inertias.append(DrawnInertia(i, "file", f"{owner.name} in the file: {of_file[0]:.3g} kg", *of_file))
    indices = {robot.links[i].name: i for i in robot.solid_links}
    for subject, source in zip(subjects, ("identified",) if len(subjects) == 1 else "ab", strict=True):
        result = subject.result
        if result.physical is None or result.is_in_amperes or result.has_known_links:
            continue
        for link in result.physical.links:
            title = f"{link.name}, {source if len(subjects) == 1 else subject.name}: {link.mass:.3g} kg"
            own = link.mass, np.array(link.centre_of_mass), np.array(link.inertia)
            inertias.append(DrawnInertia(indices[link.name], source, title, *own))
    posture = robot.neutral if signals is None else signals.posture
    return robot_pictures(robot, posture, inertias) if inertias else ()
