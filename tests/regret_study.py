"""Regret of automatic processing: its error over that of the best point of a grid, with one yardstick for all.

`benchmarks/regret.py` prints all numbers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dynid import DynidError, Result, identify
from tests.regret_cases import REAL, Subject, case_of

CUTOFFS = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 40.0)
"""Cut-offs of the grid [Hz]."""

FLOOR = 5e-4
"""Errors below this count as this: what is exact needs no better grid."""

TARGET = 1.2
"""Regret that is aimed at."""

Errors = dict[str, float]


@dataclass(frozen=True, order=True)
class Point:
    """A point of the grid: cut-off [Hz], whether logged velocities are used, whether torques are filtered alike."""

    cutoff: float
    velocities: bool
    torques: bool

    def __str__(self) -> str:
        used = ", velocities" if self.velocities else ""
        return f"{self.cutoff:g} Hz{used}{', torques' if self.torques else ''}"


def grid(subject: Subject, cutoffs: Sequence[float] = CUTOFFS) -> Iterator[Point]:
    """Every point whose cut-off the sampling rate allows."""
    for cutoff in cutoffs:
        if cutoff < 0.45 * subject.rate:
            for velocities in (False, True) if subject.training.velocity is not None else (False,):
                yield Point(cutoff, velocities, False)
                yield Point(cutoff, velocities, True)


def estimated(subject: Subject, processing: Mapping[str, Any] | None, velocities: bool = True) -> Result:
    """The result of one processing; None is automatic."""
    log = subject.training if velocities else replace(subject.training, velocity=None)
    return identify(
        subject.robot,
        [log],
        subject.terms,
        drive=subject.drive,
        processing=processing,
        estimation={"bootstrap": False},
        physical={"fit": False},
    )


def errors_of(subject: Subject, result: Result) -> Errors:
    """Errors by measure: predictions on the scored rows, and of parameters where the truth is known."""
    p = result.standard_parameters()
    scored = subject.validation.errors(result.model, p, subject.joints)
    found = {name: overall for name, (overall, _) in scored.items()}
    if subject.truth is None or subject.states is None:
        return found
    joints = list(subject.joints)
    true = result.model.inverse_dynamics(*subject.states, subject.truth)[:, joints]
    error = result.model.inverse_dynamics(*subject.states, p)[:, joints] - true
    found["truth"] = float(np.linalg.norm(error) / np.linalg.norm(true))
    b, base = result.base.to_base(subject.truth), result.base
    units = np.array(base.units)
    largest = np.array([np.abs(b[units == unit]).max() for unit in units])
    wrong = (base.to_base(p) - b) / largest
    found["parameters"] = float(np.sqrt(np.mean(wrong**2)))
    return found


def tried(subject: Subject, processing: Mapping[str, Any] | None, velocities: bool = True) -> tuple[Errors, str]:
    """Errors by measure, and what was done; infinite where dynid refuses (joints at rest excite nothing)."""
    try:
        result = estimated(subject, processing, velocities)
    except DynidError:
        return dict.fromkeys(subject.measures, np.inf), "refused"
    return errors_of(subject, result), choice(result)


def choice(result: Result) -> str:
    """What was done to the log, in a few words."""
    used = result.record.processing[0]
    rate = float(used["sampling_rate"]) / float(np.prod(used["decimate"] or [1]))
    parts = [f"{used['lowpass']:.3g} Hz" if used["lowpass"] else "no low-pass"]
    parts += [f"torques {used['torque_lowpass']:.3g} Hz"] if used["torque_lowpass"] else []
    parts += [f"at {rate:.3g} Hz"] if used["decimate"] else []
    parts += [f"{key} {used[key]}" for key in used if "velocit" in key and key != "velocity_threshold"]
    return ", ".join(parts)


def signature(subject: Subject) -> str:
    """Short text that differs between different logs and scores."""
    log, scored = subject.training, subject.validation
    arrays = [log.time, log.position, log.torque, log.velocity, scored.q, *scored.torques.values(), subject.truth]
    digest = hashlib.sha256(repr((subject.terms, subject.joints)).encode())
    for x in arrays:
        digest.update(b"none" if x is None else np.ascontiguousarray(x).tobytes())
    return digest.hexdigest()[:16]


def grid_errors(subject: Subject, cache: Path | None = None, cutoffs: Sequence[float] = CUTOFFS) -> dict[Point, Errors]:
    """Errors of every point of the grid, from a folder where they were kept."""
    file = None if cache is None else cache / f"{signature(subject)}.json"
    if file is not None and file.exists():
        return {Point(*key): errors for key, errors in json.loads(file.read_text())}
    found = {
        point: tried(subject, subject.grid_processing(point.cutoff, point.torques), point.velocities)[0]
        for point in grid(subject, cutoffs)
    }
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = [[[point.cutoff, point.velocities, point.torques], errors] for point, errors in found.items()]
        file.write_text(json.dumps(rows))
    return found


@dataclass(frozen=True)
class Regret:
    """What one measure says about one log.

    Attributes:
        case: The log.
        measure: The measure.
        automatic: Error of automatic processing, mean over seeds.
        best: That of the best point of the grid.
        point: The point.
        choice: What automatic processing did, with the first seed.
    """

    case: str
    measure: str
    automatic: float
    best: float
    point: Point
    choice: str

    @property
    def ratio(self) -> float:
        """The regret."""
        if not np.isfinite(self.best):
            return 1.0
        return max(self.automatic, FLOOR) / max(self.best, FLOOR)


def regrets(case: str, seeds: int, cache: Path | None = None, cutoffs: Sequence[float] = CUTOFFS) -> list[Regret]:
    """The regret of a log for every measure."""
    count = 1 if case in REAL else seeds
    of_grid: list[dict[Point, Errors]] = []
    automatic: list[Errors] = []
    chosen, measures = "", ()
    for seed in range(count):
        subject = case_of(case)(seed)
        measures = subject.measures
        of_grid.append(grid_errors(subject, cache, cutoffs))
        errors, done = tried(subject, None)
        chosen = chosen or done
        automatic.append(errors)
    points = set.intersection(*(set(found) for found in of_grid))
    found = []
    for measure in measures:
        means = {point: float(np.mean([errors[point][measure] for errors in of_grid])) for point in sorted(points)}
        best = min(means, key=lambda point: means[point])
        mean = float(np.mean([errors[measure] for errors in automatic]))
        found.append(Regret(case, measure, mean, means[best], best, chosen))
    return found
