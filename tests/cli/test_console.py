"""Names from files are printed as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynid.cli.console import plain_console, plain_table, show_findings, show_verdict
from dynid.cli.validate import show_validation
from dynid.findings import Finding
from dynid.identification.answers import Answer, Verdict
from dynid.identification.predictions import JointPrediction, Prediction
from dynid.identification.validation import Validation

NAMES = ("arm[/left]", "wrist[red]", "[link=https://x]tool[/link]")


@pytest.mark.parametrize("name", NAMES)
def test_names_are_never_markup(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    output = plain_console()
    output.print(f"{name}: a robot")
    table = plain_table(("joint",), ("rows",))
    table.add_row(name, "1")
    output.print(table)
    show_findings(output, [Finding.of("joint-never-moves", name)])
    assert capsys.readouterr().out.count(name) == 3


@pytest.mark.parametrize("name", NAMES)
def test_joints_of_a_validation_are_shown_by_their_names(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    joint = JointPrediction(name, rows=10, rmse=0.1, nrmse=0.01, r2=0.99, relative_error=0.02)
    verdict, all_rows = Verdict(Answer.YES, "Fine.", "fine"), Prediction((joint,), 0.02)
    show_validation(Validation(0.02, (joint,), None, 10, (), verdict, all_rows), Path("result"))
    assert name in capsys.readouterr().out


def test_nothing_is_printed_without_findings(capsys: pytest.CaptureFixture[str]) -> None:
    show_findings(plain_console(), [])
    assert capsys.readouterr().out == ""


def test_a_verdict_takes_two_lines_at_most(capsys: pytest.CaptureFixture[str]) -> None:
    show_verdict(plain_console(), Verdict(Answer.NO, "Wrong.", "joint 'a[/b]': " + "the sign looks flipped " * 20))
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("Verdict: no: joint 'a[/b]'")
    assert max(map(len, lines)) <= 80
