"""Reports: what is drawn loses no extreme, files are complete, names are shown and never run."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from dynid import identify, load_result
from dynid.cli import app
from dynid.findings import has
from dynid.identification.answers import Answer
from dynid.identification.records import ParameterEstimate
from dynid.logs.log import Log
from dynid.report import write_report
from dynid.report.comparison import differences
from dynid.report.drawn_lines import extreme_indices, peaks_by_decade, spread_indices
from dynid.report.figure import packed, plain
from dynid.report.heading import heading_of
from dynid.report.parameter_figures import ParameterRow
from dynid.report.robot_picture import ellipsoid
from tests.browser import TOO_WIDE, draw_all, needs_chromium, opened
from tests.reports import report_of, resting_log, resting_result, result_of, saved
from tests.verdict_cases import EXPERIMENT, ROBOT, Case, columns, written


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400), st.integers(1, 60))
def test_downsampled_lines_keep_every_extreme_of_every_bucket(values: list[float], buckets: int) -> None:
    y = np.array(values)
    chosen = extreme_indices(y, buckets)
    assert (np.diff(chosen) > 0).all()
    assert len(chosen) <= max(len(y), 2 * buckets)
    if len(y) > 2 * buckets:
        edges = np.linspace(0, len(y), buckets + 1).astype(int)
        for first, last in pairwise(edges):
            own = y[chosen[(chosen >= first) & (chosen < last)]]
            assert own.min() == y[first:last].min()
            assert own.max() == y[first:last].max()


def test_downsampled_spectra_keep_the_largest_peak_and_clouds_their_count() -> None:
    f = np.linspace(0.01, 100, 5000)
    a = np.random.default_rng(0).uniform(size=5000)
    thin_f, thin_a = peaks_by_decade(f, a, 100)
    assert len(thin_f) <= 101
    assert thin_a.max() == a.max()
    assert len(spread_indices(1000, 70, np.random.default_rng(0))) == 70


def test_ellipsoids_have_the_inertia_that_they_stand_for() -> None:
    """An even ellipsoid with half axes a, b, c has the principal moments m/5 (b^2 + c^2), ..."""
    a, b, c = 0.1, 0.2, 0.3
    inertia = 4.0 / 5.0 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
    assert np.allclose(ellipsoid(4.0, inertia), np.diag([a * a, b * b, c * c]))


def test_numbers_are_packed_as_plotly_reads_them() -> None:
    import base64

    data = packed(np.array([1.5, np.nan, -2.0]))
    assert isinstance(data, dict)
    assert np.array_equal(np.frombuffer(base64.b64decode(data["bdata"]), "<f4"), [1.5, np.nan, -2.0], equal_nan=True)


def test_a_report_is_one_file_without_links_to_others() -> None:
    report = report_of("good")
    text = report.path.read_text()
    own = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:image/png;base64,)""", own)
    assert "http" not in re.sub(r"http-equiv", "", own)
    assert report.size < 8e6
    for key in ("verdict", "findings", "torques", "validation", "parameters", "identifiable", "excitation", "links"):
        assert f'<section id="{key}">' in own
    for key in ("friction", "residuals", "spectra", "reproduction"):
        assert f'<section id="{key}">' in own
    for text in ("velocity_threshold = 0.05", "numpy"):
        assert text in own


def parts(text: str) -> dict[str, str]:
    """Sections of a report by their keys."""
    return dict(re.findall(r'<section id="([a-z]+)">(.*?)</section>', text, flags=re.DOTALL))


def test_sections_fold_and_are_listed_without_any_script() -> None:
    text = report_of("good").path.read_text()
    found = parts(text)
    listed = re.findall(r'<li><a href="#([a-z]+)">', text)
    assert listed == list(found)
    opened_at_first = []
    for key, part in found.items():
        fold = re.match(r"\s*<details( open)?>\s*<summary><h2>([^<]+)</h2>", part)
        assert fold, key
        assert part.count("<details") == part.count("</details>") == 1
        opened_at_first += [key] if fold[1] else []
    assert {"verdict", "findings", "torques", "validation", "links", "friction", "parameters"} == set(opened_at_first)
    style = text[text.index("<style>") : text.index("</style>")]
    assert "details::details-content" in style[style.index("@media print") :]  # open on paper, without a script


def test_the_heading_says_which_robot_when_from_which_logs_and_by_which_command(tmp_path: Path) -> None:
    result = resting_result()
    report = write_report(result, tmp_path / "report.html", validate=resting_log("another <swing>", seed=1))
    text = report.path.read_text()
    head = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text[text.index("<header>") : text.index("</header>")]))
    assert "builtin:two_link" in head
    assert re.search(r"Identified \d+ [A-Z][a-z]+ 20\d\d, \d\d:\d\d UTC", head)
    assert re.search(r"swing and rest 10.0 s 100 Hz 1,000 identified from", head)
    assert re.search(r"another &lt;swing&gt; 10.0 s 100 Hz 1,000 held out", head)
    assert "<image " in text[text.index("<header>") : text.index("</header>")]
    result.save(tmp_path / "a result")
    (subject,) = write_report(tmp_path / "a result", tmp_path / "again.html").subjects
    assert heading_of(subject).command == "dynid identify experiment.toml --out 'a result'"
    assert heading_of(subject).date == heading_of(report.subjects[0]).date
    assert [log.seconds for log in heading_of(subject).logs] == []  # logs in memory are not saved
    old = load_result(tmp_path / "a result")
    old = replace(old, record=old.record.model_copy(update={"date": ""}))
    assert heading_of(replace(subject, result=old)).date.endswith("UTC")  # by the file, where the record has none


def test_the_same_result_gives_the_same_report(tmp_path: Path) -> None:
    one, two = (resting_result().report(tmp_path / name).path.read_bytes() for name in ("1.html", "2.html"))
    assert one == two


def test_a_joint_at_rest_is_a_band_and_not_a_line(tmp_path: Path) -> None:
    (subject,) = resting_result().report(tmp_path / "report.html").subjects
    assert subject.signals is not None
    for trace in subject.signals.traces:
        resting = (trace.sticking.time > 4.0) & (trace.sticking.time < 6.0)
        assert resting.any()
        assert np.nanmax(trace.sticking.values[resting]) - np.nanmin(trace.sticking.values[resting]) > 3.0
        for line in (trace.predicted, trace.residual):
            drawn = np.isfinite(line.values)
            assert not ((line.time[drawn] > 4.1) & (line.time[drawn] < 5.9)).any()
            before = np.flatnonzero(drawn & (line.time <= 4.5))[-1]
            assert not drawn[before + 1]  # a gap, and no line across
        assert ((trace.measured.time > 4.1) & (trace.measured.time < 5.9)).any()


def test_the_command_writes_a_report_and_never_over_another(tmp_path: Path) -> None:
    out = tmp_path / "mine.html"
    unseen = tmp_path / "unseen.csv"
    pl.DataFrame(columns(seed=5)).write_csv(unseen)
    arguments = ["report", str(result_of("good")), "--out", str(out), "--validate", str(unseen)]
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["report"] == str(out)
    assert data["results"][0]["verdict"]["answer"] == "yes"
    assert "held-out samples" in data["results"][0]["verdict"]["uses"][1]["reason"]
    before = out.read_bytes()
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert out.read_bytes() == before


def test_a_report_works_without_logs_and_says_what_is_missing(tmp_path: Path) -> None:
    result = saved(Case("short", EXPERIMENT, columns(seconds=10.0), {}, ""), tmp_path / "case")
    (tmp_path / "case" / "log.csv").unlink()
    report = write_report(result, tmp_path / "report.html")
    assert "log.csv" in report.subjects[0].missing
    assert "Torques cannot be drawn" in report.path.read_text()


def test_two_results_are_compared_parameter_by_parameter(tmp_path: Path) -> None:
    other = load_result(result_of("undeclared payload of 2.5 kg"))
    report = write_report(result_of("good"), tmp_path / "both.html", compare=other)
    assert '<section id="comparison">' in report.path.read_text()
    rows = [
        ParameterRow(name, "m1", "kg", "link", None, (estimate(1.0), second), (True, True))
        for name, second in (("m1", estimate(1.2)), ("m2", estimate(2.0)), ("m3", None))
    ]
    found = differences(rows, 0.95)
    assert [(d.name, d.significant) for d in found] == [("m2", True), ("m1", False)]
    assert found[0].change == pytest.approx(1.0)


def test_results_of_other_joints_and_more_than_two_are_refused() -> None:
    three = CliRunner().invoke(app, ["report", "a", "b", "c"])
    assert (three.exit_code, "compares two" in three.stderr) == (2, True)


def estimate(value: float, std: float = 0.1) -> ParameterEstimate:
    return ParameterEstimate(
        name="m1", expression="m1", unit="kg", value=value, std=std, relative_std_percent=None, lower=0.0, upper=2.0
    )


def test_results_in_memory_are_reported_without_a_file(tmp_path: Path) -> None:
    def log(seed: int) -> Log:
        table = columns(seed=seed, seconds=10.0)
        q, tau = (np.stack([table[f"{letter}_{k}"] for k in range(1, 7)], axis=1) for letter in ("q", "tau"))
        return Log(time=table["t"], position=q, torque=tau, name=f"run {seed}")

    result = identify(ROBOT, log(0), ["viscous", "coulomb", "armature"], physical={"fit": False})
    report = result.report(tmp_path / "report.html", validate=[log(1)])
    (subject,) = report.subjects
    assert subject.signals is not None
    assert subject.signals.names == ("run 0",)
    assert subject.validation is not None
    assert subject.validation.relative_error == result.validate(log(1)).relative_error
    result.save(tmp_path / "result")
    (subject,) = write_report(tmp_path / "result", tmp_path / "again.html").subjects
    assert subject.signals is None
    assert has(subject.findings, "logs-not-drawn")


def test_reports_look_for_causes_only_where_identify_did_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Results of earlier versions have no verdict, and no causes among their findings."""
    old = tmp_path / "result"
    shutil.copytree(result_of("sign of a torque flipped"), old)
    data = json.loads((old / "result.json").read_text())
    del data["verdict"]
    data["findings"] = [finding for finding in data["findings"] if finding["code"] != "torque-sign-flipped"]
    (old / "result.json").write_text(json.dumps(data))
    (subject,) = write_report(old, tmp_path / "old.html").subjects
    assert subject.verdict.answer is Answer.NO
    assert subject.verdict.causes[0] == "torque-sign-flipped"
    monkeypatch.setattr("dynid.report.subject.diagnose", None)
    (subject,) = write_report(result_of("good"), tmp_path / "new.html").subjects
    assert subject.verdict == load_result(result_of("good")).verdict


def test_each_log_is_read_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dynid.logs import sources

    files: list[str] = []
    read = sources.read_each_file_once

    def counted(where, *rest):
        files.extend(quantity.file for quantity in where.values())
        return read(where, *rest)

    unseen = tmp_path / "unseen.csv"
    pl.DataFrame(columns(seed=5, seconds=10.0)).write_csv(unseen)
    result = load_result(result_of("good"))
    monkeypatch.setattr(sources, "read_each_file_once", counted)
    write_report(result, tmp_path / "report.html", validate=[unseen])
    quantities = 3  # time, positions and torques of one file
    assert len(files) == 2 * quantities
    assert len(set(files)) == 2


HOSTILE = '<script>window.hacked=1</script>"\'&amp;<img src=x onerror="window.hacked=2">ÄßЖ関節</title>'


def hostile_result(where: Path) -> Path:
    """A result whose robot, joints, links, columns and file have names that would run in a careless page."""
    names = {joint.name: f"{joint.name}{HOSTILE}" for joint in ROBOT.joints}
    joints = tuple(replace(joint, name=names[joint.name]) for joint in ROBOT.joints)
    links = tuple(replace(link, name=f"{link.name}{HOSTILE}") for link in ROBOT.links)
    from dynid.robot.formats.urdf_writer import urdf_text

    urdf = urdf_text(replace(ROBOT, name=f"arm{HOSTILE}", joints=joints, links=links))
    log_name = "log <script>window.hacked=3<!-- ' ä.csv".replace("/", "")
    text = EXPERIMENT.replace("builtin:ur5", "robot.urdf").replace("log.csv", log_name)
    case = Case("hostile", f"# {HOSTILE}\n" + text, columns(seconds=10.0), {"robot.urdf": urdf}, "")
    where.mkdir(parents=True)
    result_folder = where / "x<script>window.hacked=4"
    path = written(case, where)
    (where / "log.csv").rename(where / log_name)
    identify(path).save(result_folder)
    return result_folder


@needs_chromium
def test_hostile_names_are_shown_and_never_run(tmp_path: Path) -> None:
    report = write_report(hostile_result(tmp_path / "case"), tmp_path / "report.html")
    with opened(report.path) as watched:
        draw_all(watched.page)
        assert watched.page.evaluate("window.hacked") is None
        assert watched.page.inner_text("h1") == f"arm{HOSTILE}"
        assert watched.page.locator("img").count() == 0
        assert watched.page.locator("h3", has_text=HOSTILE).count() >= 6
        legend = watched.page.locator("#plot-q0 .legendtext").first.text_content()
        assert legend == f"shoulder_pan_joint{HOSTILE}"
        assert watched.errors == []
        assert watched.requests == []


def test_text_for_plotly_is_escaped() -> None:
    assert plain("<b>&$x") == "&lt;b&gt;&amp;&#36;x"


@needs_chromium
@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_reports_open_sort_and_zoom_without_errors_or_network(width: str) -> None:
    with opened(report_of("good").path, width) as watched:
        page = watched.page
        assert page.locator(".verdict.fits").count() == 1
        assert page.locator("section details:not([open])").count() == 5
        page.evaluate("location.hash = 'spectra'")
        page.wait_for_function("document.querySelector('#spectra details').open")
        draw_all(page)
        assert page.locator("section details:not([open])").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        if width == "desktop":
            assert page.evaluate(TOO_WIDE) == []
        heading = page.locator("#parameters table.sortable th", has_text="Value").first
        for order in ("ascending", "descending"):
            heading.locator("button").focus()
            page.keyboard.press("Enter")
            assert heading.get_attribute("aria-sort") == order
            texts = page.locator("#parameters table.sortable tbody tr td:nth-child(3)").evaluate_all(
                "cells => cells.map(cell => Number(cell.dataset.value))"
            )
            assert texts == sorted(texts, reverse=order == "descending")
        plot = page.locator("#plot-torque0-0")
        plot.scroll_into_view_if_needed()
        if width == "phone":  # fingers scroll the page there; the button zooms
            page.evaluate("Plotly.relayout('plot-torque0-0', {'xaxis.range[0]': 5, 'xaxis.range[1]': 10})")
        else:
            box = plot.locator(".nsewdrag").first.bounding_box()
            page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.5)
            page.mouse.down()
            page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5, steps=5)
            page.mouse.up()
        wait = "(key) => { const r = document.getElementById(key)._fullLayout.xaxis.range; return r[1] - r[0] < 15; }"
        page.wait_for_function(wait, arg="plot-torque0-0")
        page.wait_for_function(wait, arg="plot-torque0-5")  # the others follow
        if width == "desktop":
            assert page.pdf().startswith(b"%PDF")
            page.emulate_media(media="print")
            draw_all(page)
            page.set_viewport_size({"width": 703, "height": 1000})  # A4 with its margins, at 96 dpi
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            assert page.evaluate(TOO_WIDE) == []
        assert watched.errors == []
        assert watched.requests == []


def test_results_without_physical_links_are_shown_and_compared(tmp_path: Path) -> None:
    text = EXPERIMENT + "[physical]\nfit = false\n"
    without = saved(Case("short", text, columns(seconds=10.0), {}, ""), tmp_path / "case")
    alone = write_report(without, tmp_path / "alone.html")
    assert "physical.fit = false" in alone.path.read_text()
    both = write_report(without, tmp_path / "both.html", compare=result_of("good"))
    assert [subject.name for subject in both.subjects] == [
        "A: case/result",
        f"B: {result_of('good').parent.name}/result",
    ]
