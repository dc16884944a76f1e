"""Twelve first hours: from a robot file and logs as people have them to a validated report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import run
from tests.first_hours import HOURS, NOISE, Hour


@pytest.mark.parametrize("hour", HOURS, ids=lambda hour: hour.name)
def test_a_first_hour_ends_with_a_validated_report(hour: Hour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    robot = hour.robot(tmp_path)
    first, other = (hour.write(Path(name), hour.recorded(robot, seed)) for seed, name in enumerate(("first", "other")))
    status, shown, error = run("init", robot, first, "--out", "arm.toml", *hour.options)
    assert status == 0, error
    if hour.edit is not None:
        path = Path("arm.toml")
        path.write_text(hour.edit(path.read_text()))
    status, shown, error = run("identify", "arm.toml", "--out", "result", "--json")
    assert status == 0, error
    assert json.loads(shown)["relative_error"] < 2.0 * NOISE
    status, shown, error = run("report", "result", "--validate", other, "--json")
    assert status == 0, error
    assert json.loads(shown)["results"][0]["verdict"]["answer"] == "yes", shown
    assert Path("result/report.html").stat().st_size > 100_000
