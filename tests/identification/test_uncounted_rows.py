"""Rows that count in no log, because a contact that acts on them was not measured, are named."""

import numpy as np
import pytest

import dynid
from dynid.identification.uncounted_rows import UncountedRowsError
from tests.standing_biped import LEFT, RIGHT, on_one_foot, two_feet

PLAIN = {"fit": False}


def test_rows_that_a_contact_keeps_from_counting_are_named() -> None:
    robot = two_feet(5)
    left = on_one_foot(robot, LEFT, 0)
    with pytest.raises(UncountedRowsError) as error:
        dynid.identify(robot, left.log(wrench=False, torques=True), physical=PLAIN)
    assert error.value.uncounted == tuple(f"left_{k}" for k in range(6))
    assert error.value.bodies == (LEFT,)
    assert "mx1" in error.value.names


def test_rows_that_count_in_another_log_are_not_blamed_on_a_contact() -> None:
    robot = two_feet(5)
    stood = (on_one_foot(robot, LEFT, 0), on_one_foot(robot, RIGHT, 1))
    logs = [one.log(wrench=False, torques=True) for one in stood]
    result = dynid.identify(robot, logs, physical=PLAIN)
    assert np.abs([row.value for row in result.parameters] - result.base.to_base(robot.parameters)).max() < 1e-6
