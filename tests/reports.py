"""Results and reports that tests share: each is made once a run."""

from __future__ import annotations

import atexit
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from dynid import DynamicModel, Log, ReportFile, Result, identify, load_robot, write_report
from dynid.model.terms import Coulomb, Viscous
from tests.verdict_cases import Case, cases, written

ROOT = Path(__file__).parents[1]


@cache
def folder() -> Path:
    """Where results and reports of this run are."""
    made = Path(mkdtemp(prefix="dynid-reports-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@cache
def all_cases() -> dict[str, Case]:
    """The ten cases by name."""
    return {case.name: case for case in cases()}


@cache
def result_of(name: str) -> Path:
    """The folder of a case's result."""
    return saved(all_cases()[name], folder() / f"case_{list(all_cases()).index(name)}")


def saved(case: Case, where: Path) -> Path:
    """Identify a case and save its result."""
    identify(written(case, where)).save(where / "result")
    return where / "result"


@cache
def report_of(name: str) -> ReportFile:
    """The report on a case."""
    result = result_of(name)
    return write_report(result, result.parent / "report.html")


@cache
def automatic_report_of(name: str) -> ReportFile:
    """The report on a case whose experiment states no processing."""
    case = all_cases()[name]
    bare = replace(case, experiment=case.experiment[: case.experiment.index("[processing]")])
    result = saved(bare, folder() / f"automatic_{list(all_cases()).index(name)}")
    return write_report(result, result.parent / "report.html")


def resting_log(name: str, seed: int = 0) -> Log:
    """Ten seconds of a planar arm with friction that holds still from 4 to 6 s."""
    model = DynamicModel(load_robot("builtin:two_link"), [Viscous(), Coulomb()])
    t = np.arange(0.0, 10.0, 0.01)
    w, phase = np.array([1.9, 3.1, 5.3]), np.random.default_rng(seed).uniform(0.0, 6.0, (2, 3))
    slow = 1.0 - np.cos(np.pi * np.minimum(np.abs(t - 5.0) - 1.0, 1.0).clip(0.0))  # speeds up from rest
    q = 0.5 * np.sin(np.multiply.outer(np.cumsum(0.5 * slow) * 0.01, w)[:, None] + phase).sum(axis=2)
    v = np.gradient(q, t, axis=0)
    a = np.gradient(v, t, axis=0)
    p = np.nan_to_num(model.reference) + np.array([2.0 * name.startswith("f") for name in model.names])
    torque = model.inverse_dynamics(q, v, a, p)
    torque += 0.01 * torque.std(axis=0) * np.random.default_rng(seed).normal(size=q.shape)
    return Log(time=t, position=q, torque=torque, name=name)


@cache
def resting_result() -> Result:
    """The result of such a log."""
    return identify("builtin:two_link", resting_log("swing and rest"), ["viscous", "coulomb"])
