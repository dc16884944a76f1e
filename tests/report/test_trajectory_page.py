"""The page of an exciting trajectory: figures and limits, drawn without a network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dynid.excitation.exciting_motion import Excitation
from dynid.excitation.limits.limit import Check
from dynid.excitation.recipe import excite
from dynid.report.trajectory_page import write_trajectory_page
from tests.browser import draw_all, needs_chromium, opened

LIMITS = {"velocity": 2.0, "acceleration": 6.0, "position": (-2.0, 2.0), "effort": 500.0, "harmonics": 3, "period": 4.0}


@pytest.fixture(scope="module")
def found() -> Excitation:
    return excite("builtin:two_link", time_limit=60, starts=1, block_triangular=True, **LIMITS)


@needs_chromium
@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_all_figures_are_drawn_without_a_network(found: Excitation, tmp_path: Path, width: str) -> None:
    page = write_trajectory_page(found, tmp_path / "limits.html")
    with opened(page, width) as watched:
        draw_all(watched.page)
        assert watched.page.locator(".main-svg").count() >= 16  # two trajectories of two joints, four figures each
        assert watched.page.locator("[role=alert]").count() == 0
        assert (watched.errors, watched.requests) == ([], [])


def test_violated_limits_are_an_alert_and_names_are_escaped(found: Excitation, tmp_path: Path) -> None:
    check = Check("velocity of <b>x", (-1.0, 1.0), (-2.0, 2.0), "rad/s")
    bad = replace(found, designs=(replace(found.designs[0], checks=(check,)), found.designs[1]))
    text = write_trajectory_page(bad, tmp_path / "limits.html").read_text()
    assert text.count('role="alert"') == 1
    assert text.count("VIOLATED") == 1  # in the table of the first trajectory only
    assert "<b>x" not in text
