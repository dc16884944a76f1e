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


def test_nothing_of_a_verdict_is_cut_and_causes_are_not_said_twice(capsys: pytest.CaptureFixture[str]) -> None:
    reason = "joint 'a[/b]': " + "the sign looks flipped " * 10 + "(99 %)"
    show_verdict(plain_console(), Verdict(Answer.NO, "Wrong.", f"{reason}."))
    lines = capsys.readouterr().out.strip().splitlines()
    assert " ".join(" ".join(lines).split()) == f"Verdict: no: {reason}."
    assert max(map(len, lines)) <= 80
    improvements = (f"{reason}; flip it.", "second", "third", "fourth")
    verdict = Verdict(Answer.NO, "Wrong.", f"{reason}.", improvements=improvements)
    show_verdict(plain_console(), verdict, improvements=True)
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("(99 %)") == 1
    assert "third - and 1 more" in shown


def test_numbers_are_never_cut_however_narrow_the_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    table = plain_table(("joint",), tuple(f"column {k}" for k in range(9)), ("unit",))
    numbers = [f"{-1234567.89 / (k + 1):.6f}" for k in range(9)]
    table.add_row("a_joint_with_a_rather_long_name", *numbers, "N m s/rad")
    plain_console().print(table)
    shown = capsys.readouterr().out
    assert all(number in shown for number in numbers)
    assert "\u2026" not in shown
