"""`dynid inspect` of robots that stand: the table of the documentation, and short words for bad requests."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.commands import run
from tests.references import example_robot_file

PAGE = Path(__file__).parents[2] / "docs" / "floating_bases.md"
ROWS = re.findall(r"^\|[^|]+\| `(--[^`]+)` \| (\d+)(.*?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_table_has_every_kind_of_measurement() -> None:
    assert len(ROWS) == 15


@pytest.mark.parametrize(("options", "count", "remark"), ROWS)
def test_counts_in_the_documentation_are_those_of_the_command(options: str, count: str, remark: str) -> None:
    status, out, _ = run("inspect", str(example_robot_file("talos_reduced.urdf")), *options.split(), "--json")
    data = json.loads(out)
    assert (status, data["base_parameter_count"]) == (0, int(count))
    assert bool(remark) == (data["scale"] is not None)


def test_the_screen_fits_80_columns_and_names_the_stance() -> None:
    robot = str(example_robot_file("talos_reduced.urdf"))
    status, out, _ = run("inspect", robot, "--wrench", "--stands-on", "left_sole_link,right_sole_link")
    assert status == 0
    assert "standing on left_sole_link and right_sole_link" in " ".join(out.split())
    assert max(len(line) for line in out.splitlines() if "Next:" not in line and "dynid inspect" not in line) <= 80
