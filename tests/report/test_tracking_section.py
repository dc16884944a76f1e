"""The section "What this model gains you": where it is asked for, with what was simulated, and why one was lost."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid import Log, Tracking, write_report
from dynid.errors import InvalidRequestError
from tests.browser import TOO_WIDE, WIDTHS, draw_all, needs_chromium, opened
from tests.commands import run
from tests.reports import result_of
from tests.verdict_cases import columns

TITLE = "What this model gains you"


@cache
def tracking() -> Tracking:
    return dynid.track(result_of("good"), unseen())


def unseen() -> Log:
    table = columns(seed=5, seconds=12.0)
    q, tau = (np.stack([table[f"{letter}_{k}"] for k in range(1, 7)], axis=1) for letter in ("q", "tau"))
    return Log(time=table["t"], position=q, torque=tau, name="unseen")


def test_the_section_is_there_only_where_it_is_asked_for(tmp_path: Path) -> None:
    plain = write_report(result_of("good"), tmp_path / "plain.html")
    assert TITLE not in plain.path.read_text()
    assert "tracking" not in plain.to_dict()["results"][0]
    report = write_report(result_of("good"), tmp_path / "report.html", control=tracking())
    page = report.path.read_text()
    assert page.count('id="gains"') == 1
    assert TITLE in page
    assert "held-out log" in json.dumps(report.to_dict()["results"][0]["tracking"])
    for k in range(2):
        assert f'id="plot-tracking0-{k}"' in page


def test_controllers_are_simulated_on_held_out_logs_else_on_stretches(tmp_path: Path) -> None:
    for logs, plant in (([unseen()], "held-out log"), ([], "held-out stretches")):
        report = write_report(result_of("good"), tmp_path / "report.html", validate=logs, control=True, overwrite=True)
        assert report.to_dict()["results"][0]["tracking"]["plant"] == plant


def test_two_results_are_simulated_each_and_one_tracking_is_of_one_result(tmp_path: Path) -> None:
    results = result_of("good"), result_of("wrong gear ratio")
    report = write_report(results[0], tmp_path / "report.html", compare=results[1], control=True)
    assert all("tracking" in one for one in report.to_dict()["results"])
    with pytest.raises(InvalidRequestError, match="two are compared"):
        write_report(results[0], tmp_path / "other.html", compare=results[1], control=tracking())


def test_a_robot_that_was_lost_has_a_reason_instead_of_figures(tmp_path: Path) -> None:
    file, nothing = tracking()["robot_file"], np.full(6, np.nan)
    gone = replace(file, rms=nothing, peak=nothing, saturated=nothing, error=np.zeros((0, 6)), lost="stopped at 1 s")
    others = [one for one in tracking().controllers if one.name != "robot_file"]
    report = write_report(
        result_of("good"), tmp_path / "report.html", control=replace(tracking(), controllers=(*others, gone))
    )
    assert "does not follow: stopped at 1 s." in report.path.read_text()
    data = report.to_dict()["results"][0]["tracking"]
    assert data["lost"] == {"robot_file": "stopped at 1 s"}
    assert data["file_over_identified"] is None
    assert data["joints"][0]["robot_file"] == {"rms": None, "peak": None}


def test_the_command_asks_for_it(tmp_path: Path) -> None:
    status, shown, error = run(
        "report", str(result_of("good")), "--control", "--out", str(tmp_path / "r.html"), "--json"
    )
    assert status == 0, error
    assert json.loads(shown)["results"][0]["tracking"]["file_over_identified"] > 0.0
    assert TITLE in (tmp_path / "r.html").read_text()


@needs_chromium
@pytest.mark.parametrize("width", WIDTHS)
def test_the_section_opens_without_errors_and_fits_the_screen(width: str, tmp_path: Path) -> None:
    report = write_report(result_of("good"), tmp_path / "report.html", control=tracking())
    with opened(report.path, width) as watched:
        draw_all(watched.page)
        assert watched.page.query_selector("#gains .plot .main-svg") is not None
        assert watched.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        if width == "desktop":
            assert watched.page.evaluate(TOO_WIDE) == []
            watched.page.emulate_media(media="print")
            draw_all(watched.page)
            watched.page.set_viewport_size({"width": 703, "height": 1000})  # A4 with its margins, at 96 dpi
            assert watched.page.evaluate(TOO_WIDE) == []
        assert watched.errors == []
        assert watched.requests == []
