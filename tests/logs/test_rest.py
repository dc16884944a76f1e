"""Joints that do not move."""

from __future__ import annotations

import numpy as np

from dynid import DynamicModel, Processing, load_robot
from dynid.logs.processing.automatic import PreparedLog
from dynid.logs.processing.preparation import findings_on_rest
from dynid.model.chunks import Chunk

MODEL = DynamicModel(load_robot("builtin:two_link"))


def log(*moves: bool) -> PreparedLog:
    v = np.sin(np.linspace(0.0, 6.0, 50))[:, None] * np.array(moves)
    return PreparedLog((Chunk(v, v, v, v),), (np.arange(50.0),), Processing(), 1.0, 0.0, ())


def test_a_joint_that_moves_in_another_log_does_not_count_as_resting() -> None:
    assert not findings_on_rest(MODEL, [log(True, True), log(False, True)])


def test_a_joint_that_rests_in_all_logs_is_named() -> None:
    (finding,) = findings_on_rest(MODEL, [log(False, True), log(False, True)])
    assert (finding.code, finding.subject) == ("joint-never-moves", "joint 'joint_1'")
