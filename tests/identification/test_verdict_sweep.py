"""A small part of the verdict sweep: mistakes are named, good and difficult logs are not accused."""

import pytest

from tests.mistakes.catalogue import GOOD, KINDS, Case
from tests.mistakes.records import Record

NAMED = (
    "sign of one torque",
    "sign of one position",
    "torques of two joints swapped",
    "one torque x 2",
    "torques in N mm",
    "torques 20 ms late",
    "time stamps x 2",
    "gravity inverted",
    "base tilted by 10 degrees",
    "two whole joints swapped",
    "gear ratio x 1.3",
    "encoder zero 0.3 rad off",
    "payload of 3 kg",
    "all friction missing",
    "motor inertia missing",
    "torque saturated",
    "angles wrapped at pi",
    "torques with gravity removed",
    "velocities of two joints swapped",
)
"""Mistakes that the first finding must name."""


def test_there_are_enough_kinds_of_mistake():
    assert len(KINDS) >= 40
    assert all(kind.expected for kind in KINDS.values())


@pytest.mark.parametrize("kind", NAMED)
def test_a_mistake_is_named(kind):
    record = Record.of(Case("ur5", kind, 1), mend=False)
    assert record.outcome == "right", record.judgement.causes
    assert not record.absurd


@pytest.mark.parametrize("case", [Case("ur5", GOOD, motion) for motion in (1, 103)], ids=str)
def test_a_good_log_is_called_good(case):
    record = Record.of(case, mend=False)
    assert record.outcome == "good", record.judgement.causes
    assert not record.is_wrong


@pytest.mark.parametrize("nuisance", ["jitter of stamps", "encoders of 12 bits", "30 Hz", "links 10 % unlike the file"])
def test_a_difficult_log_is_not_accused(nuisance):
    record = Record.of(Case("ur5", GOOD, 1, (nuisance,)), mend=False)
    assert record.judgement.answer != "no"
    assert not record.false_causes


def test_a_case_is_the_same_whenever_it_is_made():
    first, second = (Case("ur5", "gear ratio x 1.3", 2, ("30 Hz",)).made() for _ in range(2))
    assert first.joints == second.joints
    assert (first.given.log.torque == second.given.log.torque).all()
