"""Markers that were exchanged, lost, frozen or thrown away: named, put right, and good captures left as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynid import Capture
from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.captures.capture_reading import mended_capture
from dynid.logs.captures.exchanged_sides import other_side
from dynid.logs.captures.robot_markers import of_robot, size_ratio
from tests.captured_bodies import captured


def changed(**places: Array) -> Capture:
    """The noisy capture with other places of some markers."""
    capture = captured().noisy()
    markers = capture.markers.copy()
    for name, values in places.items():
        markers[:, capture.names.index(name)] = values
    return replace(capture, markers=markers, plates=())


def exchanged(one: str, other: str, rows: slice) -> Capture:
    """The noisy capture with two labels exchanged in some samples."""
    capture = captured().noisy()
    a, b = capture.marker(one).copy(), capture.marker(other).copy()
    a[rows], b[rows] = capture.marker(other)[rows], capture.marker(one)[rows]
    return changed(**{one: a, other: b})


def named(capture: Capture, code: str) -> list[Finding]:
    return [finding for finding in capture.findings if finding.code == code]


def test_a_good_capture_is_left_as_it_is() -> None:
    capture = replace(captured().noisy(), plates=())
    found = mended_capture(capture)
    assert found.findings == ()
    assert np.array_equal(found.markers, capture.markers)
    fitted, notes = of_robot(captured().robot, found)
    assert notes == ()
    assert np.array_equal(fitted.markers, capture.markers)
    assert size_ratio(captured().robot, capture) == pytest.approx(1.0, abs=0.01)


def test_labels_that_are_exchanged_for_a_while_are_put_back() -> None:
    good = captured().noisy()
    for one, other, rows in (("LKNE", "LTHI", slice(300, 420)), ("LASI", "RASI", slice(1800, None))):
        found = mended_capture(exchanged(one, other, rows))
        (finding,) = found.findings
        assert finding.code == "markers-exchanged"
        assert set(finding.values["markers"]) == {one, other}
        assert finding.values["at"] == pytest.approx(rows.start / 100.0)
        assert finding.values["seconds"] == pytest.approx(len(range(*rows.indices(3000))) / 100.0)
        assert all(np.array_equal(found.marker(name), good.marker(name)) for name in (one, other))


def test_the_label_that_a_marker_has_for_longer_is_right() -> None:
    found, good = mended_capture(exchanged("LASI", "RASI", slice(1200, None))), captured().noisy()
    assert found.findings[0].values["seconds"] == pytest.approx(12.0)
    assert np.array_equal(found.marker("LASI"), good.marker("RASI"))  # only a robot shows that this is wrong


def test_labels_that_are_exchanged_across_a_gap_are_put_back() -> None:
    good = captured().noisy()
    capture = exchanged("LFIN", "LWRA", slice(900, 1100))
    markers = capture.markers.copy()
    pair = [capture.names.index("LFIN"), capture.names.index("LWRA")]
    markers[895:900, pair] = np.nan
    found = mended_capture(replace(capture, markers=markers))
    assert named(found, "markers-exchanged")
    assert np.nanmax(np.abs(found.marker("LFIN") - good.marker("LFIN"))) < 0.02


def test_labels_that_are_exchanged_throughout_are_found_by_the_robot() -> None:
    good = captured().noisy()
    for pairs in ([("LKNE", "LANK")], [("LKNE", "RKNE"), ("LFHD", "LTOE")], [("RELB", "RWRA")]):
        capture = good
        for one, other in pairs:
            a, b = capture.names.index(one), capture.names.index(other)
            order = list(range(len(capture.names)))
            order[a], order[b] = b, a
            capture = replace(capture, markers=capture.markers[:, order])
        found, findings = of_robot(captured().robot, capture)
        (finding,) = [one for one in findings if one.code == "markers-swapped"]
        assert set(finding.values["markers"]) == {name for pair in pairs for name in pair}
        assert np.array_equal(found.markers, good.markers)


def test_left_and_right_of_all_labels_exchanged_are_found_by_the_robot() -> None:
    """The mirror image of a body has the same distances."""
    for seed in (0, 1):
        good = captured(seed).noisy()
        others = [other_side(name, good.names) or name for name in good.names]
        assert sum(name != other for name, other in zip(good.names, others, strict=True)) == 38
        found, findings = of_robot(captured(seed).robot, replace(good, names=tuple(others)))
        assert [finding.code for finding in findings] == ["marker-sides-exchanged"]
        assert np.array_equal(found.markers, good.markers)
        assert found.names == good.names
        mirror_image = replace(good, markers=good.markers * [1.0, -1.0, 1.0])
        assert [finding.code for finding in of_robot(captured(seed).robot, mirror_image)[1]][:1] == [
            "marker-sides-exchanged"
        ]


def test_labels_in_another_case_are_those_of_the_robot() -> None:
    good = captured().noisy()
    small = replace(good, names=tuple(name.lower() for name in good.names))
    found, findings = of_robot(captured().robot, small)
    assert (found.names, findings) == (good.names, ())
    one_only = replace(good, names=("c7", *good.names[1:]))  # the others show that case counts
    assert of_robot(captured().robot, one_only)[0].names == one_only.names


def test_a_unit_that_does_not_fit_the_robot_is_put_right() -> None:
    good = captured().noisy()
    found, findings = of_robot(captured().robot, replace(good, markers=1000.0 * good.markers))
    assert [finding.code for finding in findings] == ["markers-not-to-scale"]
    assert np.allclose(found.markers, good.markers)


def test_markers_that_the_body_has_and_the_capture_lacks_are_named() -> None:
    good = captured().noisy()
    kept = [k for k, name in enumerate(good.names) if name not in ("LKNE", "RTOE")]
    lost = replace(good, markers=good.markers[:, kept], names=tuple(good.names[k] for k in kept))
    _, (finding,) = of_robot(captured().robot, lost)
    assert finding.code == "markers-missing"
    assert finding.values["markers"] == ["LKNE", "RTOE"] or set(finding.values["markers"]) == {"LKNE", "RTOE"}


def test_a_marker_that_freezes_counts_as_not_seen() -> None:
    frozen = captured().noisy().marker("LFIN").copy()
    frozen[1000:1040] = frozen[999]
    found = mended_capture(changed(LFIN=frozen))
    (finding,) = named(found, "markers-frozen")
    assert finding.values["markers"]["LFIN"] == pytest.approx(0.4, abs=0.011)
    assert np.isnan(found.marker("LFIN")[1000:1040]).all()
    assert np.isfinite(found.marker("LFIN")[990:1000]).all()


def test_markers_of_a_foot_that_rests_in_an_exact_simulation_are_not_frozen() -> None:
    exact = captured().capture.at(slice(0, 600))
    foot = [exact.names.index(name) for name in ("LHEE", "LTOE", "LANK", "LMED")]
    markers = exact.markers.copy()
    markers[:, foot] = markers[:1, foot] + 1e-8 * np.sin(np.arange(600.0))[:, None, None]  # rounding of files
    markers[100:200, foot[0]] = markers[100, foot[0]]
    assert not named(mended_capture(replace(exact, markers=markers)), "markers-frozen")


def test_samples_that_jump_away_and_back_are_taken_out_and_filled() -> None:
    good = captured().noisy().marker("LWRA")
    jumping = good.copy()
    jumping[[500, 501, 800, 1500]] += [[0.3, 0.0, 0.0], [0.3, 0.1, 0.0], [0.0, 0.0, -0.1], [1.0, 1.0, 0.0]]
    found = mended_capture(changed(LWRA=jumping))
    (finding,) = named(found, "markers-jump")
    assert finding.values["markers"] == {"LWRA": 4}
    assert np.abs(found.marker("LWRA") - good).max() < 0.01


def test_short_gaps_are_filled_and_their_error_is_measured() -> None:
    exact, good = captured().capture.marker("LFIN"), captured().noisy().marker("LFIN")
    rng, lost = np.random.default_rng(1), np.zeros(len(good), dtype=bool)
    for start in rng.integers(50, 2900, 12):
        lost[start : start + 10] = True
    gappy = good.copy()
    gappy[lost] = np.nan
    found = mended_capture(changed(LFIN=gappy))
    (finding,) = named(found, "marker-gaps-filled")
    error = np.sqrt(np.mean(np.sum((found.marker("LFIN") - exact)[lost] ** 2, axis=1)))
    assert error < 0.004
    # The error that is said includes the noise of what it is compared with.
    assert finding.values["error"] == pytest.approx(1e3 * np.hypot(error, np.sqrt(3.0) * 1e-3), rel=0.4)
    assert finding.values["markers"] == {"LFIN": int(lost.sum())}
    assert np.array_equal(found.marker("LFIN")[~lost], good[~lost])


def test_long_gaps_stay_and_are_counted() -> None:
    gappy = captured().noisy().marker("LFIN").copy()
    gappy[100:400], gappy[:10] = np.nan, np.nan
    found = mended_capture(changed(LFIN=gappy))
    (finding,) = named(found, "marker-gaps-left")
    assert finding.values["markers"]["LFIN"] == pytest.approx(310 / 3000)
    assert np.isnan(found.marker("LFIN")[100:400]).all()
    never = mended_capture(changed(LFIN=np.full_like(gappy, np.nan)))
    assert np.isnan(never.marker("LFIN")).all()
