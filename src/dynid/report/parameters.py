"""Parameters for tables and figures: of one result, or of two side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynid.model.base_parameters import BaseParameters
from dynid.report.subject import Subject


def parameter_rows(subjects: Sequence[Subject]) -> list[dict[str, Any]]:
    """For each base parameter of any result its name, expression, unit, file's value, and each result's estimate."""
    rows: dict[str, dict[str, Any]] = {}
    for subject in subjects:
        base = subject.result.base
        references = dict(zip(base.names, base.to_base(base.model.reference).tolist(), strict=True))
        owners = {base.model.names[k]: base.model.parameters[k].owner for k in base.columns}
        for row in subject.result.data["parameters"]:
            reference = references[row["name"]]
            rows.setdefault(
                row["name"],
                {
                    "name": row["name"],
                    "expression": row["expression"],
                    "unit": row["unit"],
                    "owner": owners[row["name"]],
                    "reference": reference if np.isfinite(reference) else None,
                },
            )
    by_result = [{row["name"]: row for row in subject.result.data["parameters"]} for subject in subjects]
    essential = [{row["name"] for row in subject.result.data["essential"]} for subject in subjects]
    for name, row in rows.items():
        row["estimates"] = [of_result.get(name) for of_result in by_result]
        row["essential"] = [name in names for names in essential]
    return list(rows.values())


def identifiability(base: BaseParameters) -> dict[str, Any]:
    """For each link and joint how each of its parameters shows: alone, in sums, not at all, or known beforehand."""
    alone = {next(iter(group)) for group in base.groups if len(group) == 1}
    state = dict.fromkeys(base.model.names, "sum")
    state |= dict.fromkeys(alone, "alone") | dict.fromkeys(base.no_effect, "none") | dict.fromkeys(base.known, "known")
    robot = base.model.robot
    links = []
    for k, index in enumerate(robot.solid_links):
        names = base.model.names[10 * k : 10 * k + 10]
        cells = [{"name": name, "state": state[name]} for name in names]
        links.append({"name": robot.links[index].name, "cells": cells})
    terms = [{"name": name, "state": state[name]} for name in base.model.names[10 * len(links) :]]
    counts = {kind: sum(value == kind for value in state.values()) for kind in ("alone", "sum", "none", "known")}
    return {"links": links, "terms": terms, "counts": counts}
