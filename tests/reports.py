"""Results and reports that tests share: each is made once a run."""

from __future__ import annotations

import atexit
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from dynid import ReportFile, identify, write_report
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
