"""Screens and notebooks of results from commands: rollouts in mrad or mm, the delay, parameters joint by joint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dynid.cli.identify import show_result
from dynid.cli.validate import show_validation
from dynid.identification.records import Record, in_thousandths
from dynid.identification.verdict import judge
from tests.commanded_results import JOINTS, commands, rollout, small_logs, small_result

Printed = Callable[[int], str]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def screen(work: Callable[..., None], *arguments: object, width: int = 80, **options: object) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        capsys.readouterr()
        work(*arguments, **options)
        text = capsys.readouterr().out
        assert max(len(line.rstrip()) for line in text.splitlines()) <= width
        return text

    return screen


def test_the_first_lines_speak_of_rollouts_and_of_the_delay(shown: Callable[..., str]) -> None:
    text = shown(show_result, small_result(), None, Path("slider.toml"))
    head = " ".join(text.split())
    assert "rollout RMSE 2.00 mrad or mm (robot file 10.0, command itself 50.0)" in head
    assert "7.30 ms (95% interval 7.15 to 7.45 ms)" in head
    assert "16 of 16 determined by the logs; 10 of 10 known to 10 %" in head
    assert "regression 0.5 s, output error 2.0 s (3 steps)" in head
    assert "relative error" not in head
    assert "total mass" not in head


@pytest.mark.parametrize("width", [80, 120])
def test_all_parameters_stand_joint_by_joint_with_what_is_no_estimate(width: int, shown: Callable[..., str]) -> None:
    result = small_result()
    record = result.record.model_copy(update={"commands": commands(bound="fs2")})
    text = shown(show_result, replace(result, record=record), None, Path("a.toml"), full=True, width=width)
    for word in ("armature", "viscous", "Coulomb", "offset", "bias", "bound: at the end of its range"):
        assert word in text
    swing = next(line for line in text.splitlines() if "0.200" in line and "bound" in line)
    assert "swing" in swing
    assert "fv3" in text  # a confounded pair
    assert "7.00" not in text
    assert "*   2.00" in text  # the delay with the least error


def test_a_validation_shows_rollouts_joint_by_joint(shown: Callable[..., str]) -> None:
    found = small_result().validate(small_logs()[1])
    assert found.rollout is not None
    assert [joint.unit for joint in found.rollout.joints] == ["m", "rad", "rad"]
    text = shown(show_validation, found, Path("result"))
    for joint in found.rollout.joints:
        line = next(line for line in text.splitlines() if line.split()[:1] == [joint.name])
        numbers = [in_thousandths(error) for error in (joint.rmse, joint.robot_file, joint.command)]
        assert line.split()[1:4] == numbers
        assert line.split()[-1] == f"m{joint.unit}"
    assert "R2" not in text
    assert "rollout RMSE" in repr(found)
    assert "<td>swing</td>" in found._repr_html_()


def test_notebooks_show_joints_and_rollouts() -> None:
    result = small_result()
    assert "16 of 16 parameters determined, rollout RMSE 2.00 mrad or mm" in repr(result)
    text = result._repr_html_()
    assert "armature [kg m^2]" in text
    assert text.count("<table>") == 2
    assert all(f"<td>{name}</td>" in text for name in JOINTS)


def test_a_robot_that_flies_off_is_said_in_words(shown: Callable[..., str]) -> None:
    gone = rollout(float("inf"), file=None, ended=("log 1",))
    found = replace(small_result().validate(small_logs()[1]), rollout=gone)
    text = shown(show_validation, found, Path("result"))
    assert "flies off" in text
    assert "log 1" in text
    assert "inf" not in text.replace("information", "")


def test_results_of_regression_alone_say_so(shown: Callable[..., str]) -> None:
    result = small_result()
    alone = commands().model_copy(update={"output_error": False, "agreement": (), "profile": (), "confounded": ()})
    record: Record = result.record.model_copy(update={"commands": alone})
    record = record.model_copy(update={"verdict": judge(record, ())})
    text = shown(show_result, replace(result, record=record), None, Path("a.toml"), full=True)
    assert "output error" not in text
