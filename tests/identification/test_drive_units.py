"""Logs of currents without torque constants: nothing of the result is in kg or N m."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dynid
from dynid import DynidError
from dynid.identification.drive_units import in_current
from tests.commands import run
from tests.practice_logs import log

FORBIDDEN = re.compile(r"\bkg\b|\bN m\b|\bN·m\b")


def currents(folder: Path) -> Path:
    """An experiment as `init` drafts it for a log of currents."""
    columns = {name.replace("tau", "i"): values for name, values in log().items()}
    pl.DataFrame(columns).write_csv(folder / "log.csv")
    status, shown, _ = run("init", "builtin:two_link", folder / "log.csv", "--out", folder / "first.toml")
    assert status == 0
    assert "NEEDED" in shown
    return folder / "first.toml"


def test_units_have_currents_for_torques() -> None:
    assert [in_current(unit) for unit in ("kg", "kg m", "kg m^2", "N m", "N", "N m s/rad", "N s/m", "N m/rad")] == [
        "A s^2/m^2", "A s^2/m", "A s^2", "A", "A", "A s/rad", "A s/m", "A/rad",
    ]  # fmt: skip


@pytest.mark.parametrize("stated", ['"unknown"', "[1.0, 1.0]", "[1, -1]"])
def test_no_output_is_in_kg_or_newton_metres(tmp_path: Path, stated: str) -> None:
    path = currents(tmp_path)
    path.write_text(path.read_text().replace('torque_constants = "unknown"', f"torque_constants = {stated}"))
    status, shown, _ = run("identify", path, "--out", tmp_path / "result")
    assert status == 0
    assert not FORBIDDEN.search(shown)
    result = json.loads((tmp_path / "result" / "result.json").read_text())
    assert {row["unit"] for row in result["parameters"]} <= {"A", "A s^2", "A s^2/m", "A s/rad", "A s^2/m^2"}
    assert result["physical"] is None
    assert [f["code"] for f in result["findings"]].count("units-of-current") == 1
    status, _, _ = run("report", tmp_path / "result", "--out", tmp_path / "report.html")
    assert status == 0
    page = re.sub(r"<script.*?</script>", "", (tmp_path / "report.html").read_text(), flags=re.DOTALL)
    assert not FORBIDDEN.search(re.sub(r"NEEDED for kg and N m.*|\[N m/A\]", "", page))  # the experiment file is in it


def test_no_robot_file_is_written_in_units_of_current(tmp_path: Path) -> None:
    result = dynid.identify(currents(tmp_path))
    for name in ("robot.urdf", "robot.json"):
        with pytest.raises(DynidError, match=r"state drive\.torque_constants"):
            result.export(tmp_path / name)
        assert not (tmp_path / name).exists()


def test_with_constants_everything_is_as_before(tmp_path: Path) -> None:
    path = currents(tmp_path)
    path.write_text(path.read_text().replace('"unknown"', "[0.5, 0.5]"))
    result = dynid.identify(path)
    assert result.physical is not None
    assert {row.unit for row in result.parameters} >= {"kg m^2", "N m"}
    assert "units-of-current" not in [f.code for f in result.findings]


@pytest.mark.parametrize("key", ["torque_constants", "ratios"])
def test_values_that_init_leaves_open_are_refused_with_key_and_line(tmp_path: Path, key: str) -> None:
    path = currents(tmp_path)
    text = path.read_text().replace('torque_constants = "unknown"', "torque_constants = [0.5, 0.5]")
    text = text.replace("[drive]\n", '[drive]\npositions = "motor"\nratios = [1, 1]\n')
    lines = [f"{key} = []" if line.startswith(f"{key} =") else line for line in text.splitlines()]
    path.write_text("\n".join(lines))
    with pytest.raises(DynidError, match=rf"line {lines.index(f'{key} = []') + 1}: drive\.{key} has 0 numbers"):
        dynid.identify(path)


def test_objects_in_memory_say_it_likewise() -> None:
    columns = log()
    signals = [np.column_stack([columns[f"{name}_{k}"] for k in (1, 2)]) for name in ("q", "tau")]
    in_memory = dynid.Log(time=columns["t"], position=signals[0], torque=signals[1])
    result = dynid.identify("builtin:two_link", in_memory, ["viscous"], drive={"torque_constants": "unknown"})
    assert result.findings[0].code == "units-of-current"
    assert not any("kg" in row.unit for row in result.parameters)
