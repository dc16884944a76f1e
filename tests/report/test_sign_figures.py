"""Figures of recovered signs."""

from __future__ import annotations

import numpy as np
import pytest

from dynid.identification.records import SignRecord
from dynid.report.signal_figures import sign_figure

TIME = np.linspace(0.0, 2.0, 21)
TORQUE = np.sin(3.0 * TIME)[:, None]
CURVES = {"time_1": TIME, "torque_1": TORQUE, "magnitude_1": np.abs(TORQUE), "predicted_1": 0.9 * TORQUE}


def test_a_figure_has_logged_recovered_and_predicted_torques() -> None:
    figure = sign_figure("signs", "elbow", 0, CURVES, [], "N m")
    assert [trace["name"] for trace in figure.data] == ["logged, without sign", "with recovered signs", "predicted"]
    assert figure.layout["shapes"] == []


@pytest.mark.parametrize(("word", "shaded"), [("sure", 0), ("likely", 1), ("undecided", 1)])
def test_segments_that_are_not_sure_are_shaded(word: str, shaded: int) -> None:
    segments = [SignRecord(log=1, joint="elbow", start=0.0, stop=1.0, sign=1, margin=3.0, word=word, agrees=None)]
    assert len(sign_figure("signs", "elbow", 0, CURVES, segments, "N m").layout["shapes"]) == shaded
