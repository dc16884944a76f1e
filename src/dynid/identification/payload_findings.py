"""What is noticed about a load that was identified, and about the logs that it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dynid.estimation.payloads.load_body import THRESHOLDS as MOVED
from dynid.estimation.payloads.load_problem import LOAD, THRESHOLDS, LoadFit, LoadProblem, better_link
from dynid.findings import Finding
from dynid.identification.identified_load import Payload
from dynid.identification.payload_logs import ReadyLog, SortedLogs
from dynid.model import BaseParameters
from dynid.model import loaded as as_chunk
from dynid.robot import SIZE


def findings_on_load(
    payload: Payload, problem: LoadProblem, fit: LoadFit, sorts: SortedLogs, ready: Sequence[ReadyLog]
) -> Iterator[Finding]:
    """What is noticed about a load and its logs."""
    subject, body = f"load on '{payload.body}'", payload.estimate
    if sorts.left_out:
        yield Finding.of("payload-logs-left-out", "logs", logs=list(sorts.left_out))
    yield from findings_on_body(payload, subject)
    if payload.changes:
        changes = {name: fit.robot[f"change of {name}"] for name in payload.changes}
        yield Finding.of("payload-friction-differs", "friction", changes={k: f"{v:+.3g}" for k, v in changes.items()})
    other = better_link(problem, fit)
    if other is not None:
        values = {"body": payload.body, "other": other.body, "share": other.share, "mass": other.mass}
        yield Finding.of("payload-other-link", subject, **values)
    difference = motion_difference(problem)
    if difference > THRESHOLDS.other_motion:
        open_ = ", ".join(body.open)
        yield Finding.of("payload-other-motion", "logs", difference=difference, **({"open": open_} if open_ else {}))
    for one in (one for one in ready if one.loaded):
        yield from _beyond_limits(one, problem.base)


def findings_on_body(payload: Payload, subject: str) -> Iterator[Finding]:
    """What is noticed about a load, whatever it was measured with."""
    body = payload.estimate
    mass, std = float(body.numbers_by_data[0]), payload.mass_std
    if np.isfinite(std) and mass < -THRESHOLDS.absent_stds * std:
        yield Finding.of("payload-negative", subject, mass=mass, std=std)
    elif np.isfinite(std) and mass < THRESHOLDS.absent_stds * std and "mass" not in body.open:
        yield Finding.of("payload-not-seen", subject, mass=mass, std=std)
    if body.open:
        stds = {name: row["std"] for name, row in zip(body.open, _rows_of(payload), strict=True)}
        words = {name: "no effect" if std is None else f"± {std:.2g}" for name, std in stds.items()}
        yield Finding.of("payload-undetermined", subject, numbers=words)
    if body.is_moved:
        moved = [name for name, by in zip(LOAD, body.moved, strict=True) if abs(by) > MOVED.moved_stds]
        yield Finding.of("payload-not-physical", subject, most=float(np.abs(body.moved).max()), numbers=moved)
    known = payload.known
    if known is not None and not known.agrees:
        worst = int(np.argmax(np.abs(known.scores)))
        values = {"number": known.names[worst], "z": float(known.scores[worst]), "error": known.mass_error}
        values |= {"stated": float(known.stated[0]), "found": float(known.found[0]), "std": float(known.stds[0])}
        yield Finding.of("payload-not-as-stated", subject, **values)
    elif known is not None:
        values = {"stated": float(known.stated[0]), "found": float(known.found[0]), "std": float(known.stds[0])}
        yield Finding.of("payload-as-stated", subject, **values, count=len(known.names))


def _rows_of(payload: Payload) -> list[dict[str, Any]]:
    return [row for row in payload.rows() if not row["determined"]]


def motion_difference(problem: LoadProblem) -> float:
    """How differently logs with and without the load move: of the mean products of columns of the model, the largest.

    Logs of one and the same motion have the same columns, whatever the robot carries.
    """
    grams, model = [], problem.base.model
    of_links = set(model.names[: SIZE * len(model.robot.solid_links)])
    for loaded in (False, True):
        own = [session.factors for session in problem.sessions if session.loaded is loaded]
        if not own:
            return 0.0
        of_joints = {}
        for joint in own[0].joints:
            parts = [factors.joints[joint] for factors in own if factors.joints[joint].rows]
            rows = sum(part.rows for part in parts)
            links = [k for k, name in enumerate(own[0].joints[joint].names) if name in of_links]
            of_joints[joint] = sum(part.R.T @ part.R for part in parts)[np.ix_(links, links)] / rows if rows else None
        grams.append(of_joints)
    found = [0.0]
    for joint, free in grams[0].items():
        loaded = grams[1][joint]
        if free is not None and loaded is not None:
            sizes = np.sqrt(np.maximum(np.diag(free + loaded), 1e-12 * np.diag(free + loaded).max()))
            difference = (free - loaded) / np.outer(sizes, sizes)
            found.append(float(np.linalg.norm(difference) / max(np.linalg.norm(free / np.outer(sizes, sizes)), 1e-12)))
    return max(found)


def _beyond_limits(one: ReadyLog, base: BaseParameters) -> Iterator[Finding]:
    """Torques of a log with the load beyond what the robot's file allows: drives then give less than they log."""
    highest = np.max([np.abs(as_chunk(segment).torque).max(axis=0) for segment in one.prepared.segments], axis=0)
    for row, joint in enumerate(base.model.robot.independent_joints):
        effort = joint.limits.effort
        if 0.0 < effort < np.inf and highest[row] > effort:
            values = {"largest": float(highest[row]), "limit": float(effort)}
            yield Finding.of("payload-beyond-limits", f"joint '{joint.name}'", **values)
