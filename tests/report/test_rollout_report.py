"""Reports of results from commands draw positions and rollouts, and hold no torque that nobody measured."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dynid import write_report
from dynid.identification.command_tables import joint_table
from dynid.identification.command_validation import roll_out_log
from dynid.report.drawn_rollouts import ROLLOUT_BUCKETS, ROLLOUTS, RolloutDrawing
from dynid.report.rollout_figures import correlation_figure, delay_figure, rollout_figure
from tests.browser import needs_chromium, opened
from tests.commanded_results import JOINTS, commands, small_logs, small_result


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(small_result(), path, validate=[small_logs()[1]]).path


def test_a_report_has_rollouts_and_the_control_law_and_no_measured_torques(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for key in ("rollouts", "law", "parameters", "friction"):
        assert f'<section id="{key}">' in text
    for key in ("torques", "validation"):
        assert f'<section id="{key}">' not in text
    for part in ("own0", "unseen0"):
        assert len(re.findall(rf'id="plot-{part}-\d', text)) == len(JOINTS)
    assert 'id="plot-delay0"' in text
    assert 'id="plot-correlations0"' in text
    assert page.stat().st_size < 6.5e6  # 4.5 MB of it are plotly.js


def test_rollouts_are_drawn_with_every_extreme_and_few_points() -> None:
    drawing, log = RolloutDrawing(), small_logs()[0]
    found = roll_out_log(small_result(), log)
    for _ in range(ROLLOUTS + 1):
        drawing.add(found)
    shown = drawing.drawn()
    assert shown is not None
    assert len(shown.logs) == ROLLOUTS + 1
    assert len(shown.shown) == ROLLOUTS
    assert shown.shown[1].start == pytest.approx(log.time[-1] - log.time[0] + 1.0)
    for k, trace in enumerate(shown.traces):
        assert len(trace.measured.time) <= 2 * ROLLOUT_BUCKETS + 2 * ROLLOUTS
        assert np.nanmax(trace.measured.values) == log.position[:, k].max()
        assert np.nanmax(trace.command.values) == log.commands.position[:, k].max()
        assert np.nanmax(trace.error.values) == pytest.approx(1e3 * (found.identified.q - log.position)[:, k].max())
    figure = rollout_figure("a", "rail", shown.traces[0], "m", shown.shown, "g")
    assert [trace["name"] for trace in figure.data][:4] == ["command", "measured", "robot file", "identified"]
    assert figure.layout["yaxis2"]["title"]["text"] == "error [mm]"
    assert RolloutDrawing().drawn() is None


def test_figures_of_delay_and_correlations_show_what_was_found() -> None:
    found = commands()
    figure = delay_figure("a", found, joint_table(found), "mrad")
    assert figure.data[0]["y"] == pytest.approx([5.0, 4.0, 3.0, 4.0, 5.0])
    assert len(figure.data) == 1 + 2 * len(JOINTS)  # armature and viscous friction of each joint
    assert figure.layout["shapes"][1]["x0"] == pytest.approx(7.3 * 0.98)
    names = correlation_figure("b", found).data[0]["x"]
    assert names == [row.name for row in found.parameters]


def test_two_results_from_commands_are_compared_by_rollouts(tmp_path: Path) -> None:
    text = write_report(small_result(), tmp_path / "both.html", compare=small_result()).path.read_text(encoding="utf-8")
    assert "Rollouts are 2.00 mrad or mm from the logs of A" in text


@needs_chromium
def test_the_report_draws_without_complaint(page: Path) -> None:
    with opened(page, "phone") as watched:
        for key in ("unseen0-0", "delay0", "correlations0"):
            watched.page.evaluate(f"document.querySelector('#plot-{key}').scrollIntoView()")
            watched.page.wait_for_selector(f"#plot-{key} .main-svg")
        assert watched.errors == []
        assert watched.requests == []
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= 390
