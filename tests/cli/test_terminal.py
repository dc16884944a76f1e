"""Names from files are shown as they are."""

from __future__ import annotations

import pytest

from dynid.cli.terminal.parts import plain_console, plain_table, show_findings
from dynid.cli.terminal.validation import show_validation

NAMES = ("arm[/left]", "wrist[red]", "[link=https://x]tool[/link]")


@pytest.mark.parametrize("name", NAMES)
def test_names_are_never_markup(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    output = plain_console()
    output.print(f"{name}: a robot")
    table = plain_table(("joint",), ("rows",))
    table.add_row(name, "1")
    output.print(table)
    show_findings(output, [{"severity": "note", "subject": name, "text": "a finding"}])
    assert capsys.readouterr().out.count(name) == 3


@pytest.mark.parametrize("name", NAMES)
def test_joints_of_a_validation_are_shown_by_their_names(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = {"rows": 10, "rmse": 0.1, "nrmse": 0.01, "r2": 0.99, "relative_error": 0.02}
    data = {"physical_relative_error": None, "samples": 10, "relative_error": 0.02, "findings": []}
    show_validation(data | {"joints": [{"name": name, **numbers}]})
    assert name in capsys.readouterr().out
