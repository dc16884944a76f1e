"""Sections on parameters: estimates, identifiability, excitation, and physically consistent links."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.estimation import ESTIMATE_THRESHOLDS, merge_logs
from dynid.identification import Result
from dynid.model import BaseParameters
from dynid.report.figure import Section
from dynid.report.parameter_figures import bars_figure, parameter_figure, parameter_rows
from dynid.report.skeleton import skeleton_figure, views
from dynid.report.subject import Subject

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
        "bootstrap": any(estimate and estimate.bootstrap_std for row in rows for estimate in row.estimates),
        "nonlinear": [(subject.name, row) for subject in subjects for row in subject.result.nonlinear],
    }
    yield Section("parameters", "Parameters", "parameters.html", data)


def identifiability_section(subjects: Sequence[Subject]) -> Iterator[Section]:
    """Which standard parameters are identifiable from joint torques."""
    base = subjects[0].result.base
    yield Section("identifiable", "Identifiability", "identifiable.html", {"base": base, **identifiability(base)})


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
    yield Section("excitation", "Excitation", "excitation.html", {"results": data, "limit": limit, "most": MOST})


def link_section(subjects: Sequence[Subject]) -> Iterator[Section]:
    """Physically consistent links, as ellipsoids and as a table."""
    physical = [subject.result.physical for subject in subjects]
    robot, signals = subjects[0].result.robot, subjects[0].signals
    posture = robot.neutral if signals is None else signals.posture
    names = [subject.name for subject in subjects]
    shown = views(robot, posture, [model.links if model else () for model in physical]) if any(physical) else ()
    data = {
        "subjects": subjects,
        "physical": physical,
        "figures": [skeleton_figure(f"view{k}", view, names) for k, view in enumerate(shown)],
        "in_motion": signals is not None,
        "moments": [
            [np.linalg.eigvalsh(np.array(link.inertia)).tolist() for link in model.links] if model else []
            for model in physical
        ],
    }
    yield Section("links", "Physically consistent links", "links.html", data)
