"""The page of an exciting trajectory: figures and limits, drawn without a network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dynid.excitation.collision.surroundings import Wall
from dynid.excitation.exciting_motion import Excitation
from dynid.excitation.limits.clearance_limit import ClearanceLimit
from dynid.excitation.limits.limit import Check
from dynid.excitation.recipe import excite
from dynid.report.clearance_figure import clearance_figure, clearance_limit, clearances_along, times_of
from dynid.report.rasteriser import Camera, coverage, enlarged, smooth
from dynid.report.trajectory_page import std_figure, trajectory_page, write_trajectory_page
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
        assert watched.page.locator(".main-svg").count() >= 19  # two trajectories of two joints, four figures each
        assert watched.page.locator(".swept image").count() == 4
        assert watched.page.locator("#expected tbody tr").count() == len(found.expectations)
        assert watched.page.locator("[role=alert]").count() == 0
        assert (watched.errors, watched.requests) == ([], [])


def test_violated_limits_are_an_alert_and_names_are_escaped(found: Excitation, tmp_path: Path) -> None:
    check = Check("velocity of <b>x", (-1.0, 1.0), (-2.0, 2.0), "rad/s")
    bad = replace(found, designs=(replace(found.designs[0], checks=(check,)), found.designs[1]))
    text = write_trajectory_page(bad, tmp_path / "limits.html").read_text()
    assert text.count('role="alert"') == 1
    assert text.count("VIOLATED") == 1  # in the table of the first trajectory only
    assert "<b>x" not in text


def limit_of(found: Excitation) -> ClearanceLimit:
    limit = clearance_limit(found.designs[0])
    assert limit is not None
    return limit


def test_the_figure_of_clearance_goes_through_the_smallest_distance_of_the_check(found: Excitation) -> None:
    part = found.designs[0]
    (check,) = [check for check in part.checks if check.name.startswith("clearance of ")]
    assert check.time is not None
    times = times_of(part.trajectory, check.time)
    near = clearances_along(limit_of(found), times, part.trajectory.states(times)[0])
    assert near.nearest == (check.name.removeprefix("clearance of "), pytest.approx(check.reached[0]), check.time)
    assert near.farthest >= 2.0 * check.reached[0]  # the curve is seen, however far it is
    *curves, marker = clearance_figure(near, "key", "group").data
    assert len(curves) == 1
    assert (marker["x"], marker["y"]) == ([check.time], [pytest.approx(check.reached[0])])


def test_pairs_that_stay_as_far_as_they_are_hide_no_others(found: Excitation) -> None:
    limit = limit_of(found)
    still = replace(limit.model.pairs[0], name="still", first=0)
    part, model = found.designs[0], replace(limit.model, pairs=(still, *limit.model.pairs))
    q = np.repeat(part.trajectory.states(np.zeros(1))[0], 5, axis=0)
    near = clearances_along(replace(limit, model=model), np.arange(5.0), q)
    assert len(near.model.pairs) == 2  # nothing moves: all are shown
    assert clearances_along(limit, np.arange(5.0), q).constant == ()


def test_the_page_says_that_collisions_were_not_checked_and_is_small(found: Excitation) -> None:
    part = found.designs[0]
    bare = replace(part, problem=replace(part.problem, limits=()))
    settings = found.settings.model_copy(update={"collisions": False})
    text = trajectory_page(replace(found, settings=settings, designs=(bare,)))
    assert "Collisions were not checked" in text
    assert len(text) < 6e6


def test_names_of_pairs_walls_and_parameters_are_escaped(found: Excitation) -> None:
    part, limit = found.designs[0], limit_of(found)
    wall = Wall("<b>wall", np.array([0.0, 1.0, 0.0]), -0.2)
    pairs = tuple(replace(pair, name="<b>pair") for pair in limit.model.pairs)
    marked = replace(limit, model=replace(limit.model, walls=(wall,), pairs=pairs))
    design = replace(part, problem=replace(part.problem, limits=(marked,)))
    rows = (replace(found.expectations[0], name="<b>name", owner="<b>owner", std=np.inf), *found.expectations[1:])
    text = trajectory_page(replace(found, designs=(design,), expectations=rows))
    assert "<b>" not in text.split("<script>")[0]
    assert "&lt;b&gt;wall" in text
    assert text.count("not excited") == 1


def test_relative_stds_beyond_the_end_are_marked_and_others_are_where_they_belong(found: Excitation) -> None:
    rows = [replace(row, std=abs(row.value or 0.0) * 10.0**k) for k, row in enumerate(found.expectations)]
    traces = std_figure(rows).data
    points = [zip(t["y"], t["x"], t["marker"]["symbol"], strict=True) for t in traces]
    drawn = {y: (x, symbol) for of_link in points for y, x, symbol in of_link}
    assert drawn[rows[0].name] == (pytest.approx(100.0), "circle")
    assert drawn[rows[2].name] == (1000.0, "triangle-right-open")


def test_coverage_is_the_share_of_time_that_a_moving_square_covers_a_pixel() -> None:
    square = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    moved = np.stack([square, square + np.eye(3)[0]])
    camera = Camera(np.eye(3), np.array([0.0, 0.0]), np.array([3.0, 1.0]), 10.0)
    share = coverage(moved, np.array([[0, 1, 2], [0, 2, 3]]), camera)
    assert share.shape == (10, 30)
    assert (share[2:9, 2:9] == 0.5).all()
    assert (share[2:9, 22:] == 0.0).all()
    assert smooth(np.ones((4, 5))) == pytest.approx(np.ones((4, 5)))
    assert enlarged(np.array([[0.0, 1.0]]), 4, 3) == pytest.approx(np.tile([0.0, 0.25, 0.75, 1.0], (3, 1)))
