"""A capture and its force plates: shapes, clocks and names are checked where they come in."""

from typing import Any

import numpy as np
import pytest

from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.logs.captures.capture import Capture, ForcePlate

SQUARE = [[0.0, 0.0, 0.0], [0.4, 0.0, 0.0], [0.4, 0.6, 0.0], [0.0, 0.6, 0.0]]


def plate(**other: Any) -> ForcePlate:
    given: dict[str, Any] = {
        "name": "p",
        "time": [0.0, 0.1],
        "wrench": np.zeros((2, 6)),
        "pose": np.eye(4),
        "corners": SQUARE,
    }
    return ForcePlate(**{**given, **other})


def seen(time: Any, markers: Any, names: Any, plates: Any = ()) -> Capture:
    return Capture(time, markers, names, plates)


def test_arrays_that_do_not_fit_are_refused() -> None:
    for wrong in ({"wrench": np.zeros((3, 6))}, {"wrench": np.zeros((2, 3))}, {"corners": SQUARE[:3]}):
        with pytest.raises(ShapeError):
            plate(**wrong)
    with pytest.raises(ShapeError, match=r"\(2, 1, 3\)"):
        seen([0.0, 0.1], np.zeros((2, 2, 3)), ("A",))
    with pytest.raises(ShapeError):
        seen([[0.0, 0.1]], np.zeros((2, 1, 3)), ("A",))


def test_numbers_that_are_none_are_refused_but_for_markers_that_were_not_seen() -> None:
    capture = seen([0.0, 0.1], [[[np.nan] * 3], [[1.0, 2.0, 3.0]]], ("A",))
    assert capture.is_seen.tolist() == [[False], [True]]
    with pytest.raises(InvalidRequestError, match="'B'"):
        seen([0.0], [[[0.0, 0.0, 0.0], [np.inf, 0.0, 0.0]]], ("A", "B"))
    with pytest.raises(InvalidRequestError, match="row 1"):
        plate(wrench=[[0.0] * 6, [np.nan] * 6])
    with pytest.raises(InvalidRequestError, match="no rotation"):
        plate(pose=2.0 * np.eye(4))
    for time in ([0.0, 0.0], [0.0, np.nan], [1.0, 0.0]):
        with pytest.raises(InvalidRequestError, match="does not increase at sample 1"):
            seen(time, np.zeros((2, 1, 3)), ("A",))


def test_markers_are_found_by_name_and_no_name_stands_twice() -> None:
    places = np.arange(12.0).reshape(2, 2, 3)
    capture = seen([0.0, 0.1], places, ("LKNE", "RKNE"), [plate()])
    assert capture.marker("RKNE").tolist() == places[:, 1].tolist()
    assert capture.at(slice(1, None)).marker("LKNE").tolist() == [places[1, 0].tolist()]
    assert "1 force plate" in repr(capture)
    with pytest.raises(UnknownNameError, match="LKNE"):
        capture.marker("LKNEE")
    with pytest.raises(InvalidRequestError, match="two markers"):
        seen([0.0, 0.1], places, ("LKNE", "LKNE"))
