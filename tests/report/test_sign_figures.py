"""Pictures of recovered signs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynid.report.sign_figures import read_curves, sign_figure

TIME = np.linspace(0.0, 2.0, 21)
TORQUE = np.sin(3.0 * TIME)[:, None]
CURVES = {"time_1": TIME, "torque_1": TORQUE, "magnitude_1": np.abs(TORQUE), "predicted_1": 0.9 * TORQUE}


def test_a_figure_has_what_was_logged_what_was_found_and_what_is_predicted() -> None:
    figure = sign_figure("signs", "elbow", 0, CURVES, [], "N m")
    assert [trace["name"] for trace in figure.data] == ["logged, without signs", "with the signs found", "predicted"]
    assert figure.layout["shapes"] == []


@pytest.mark.parametrize(("word", "shaded"), [("sure", 0), ("likely", 1), ("undecided", 1)])
def test_segments_that_are_not_sure_are_shaded(word: str, shaded: int) -> None:
    segments = [{"start": 0.0, "stop": 1.0, "word": word, "margin": 3.0}]
    assert len(sign_figure("signs", "elbow", 0, CURVES, segments, "N m").layout["shapes"]) == shaded


def test_curves_are_read_from_a_result_and_missing_ones_are_none(tmp_path: Path) -> None:
    assert read_curves(tmp_path) is None
    (tmp_path / "signs.npz").write_bytes(b"no archive")
    assert read_curves(tmp_path) is None
    np.savez_compressed(tmp_path / "signs.npz", **CURVES)
    found = read_curves(tmp_path)
    assert found is not None
    assert np.array_equal(found["torque_1"], TORQUE)
