"""Samples that wait: in order, never too many, and all counted."""

from __future__ import annotations

import numpy as np

from dynid.logs.streams.inbox import LONGEST_PAUSE, RESTART, Inbox
from dynid.logs.streams.samples import Sample


def at(time: float) -> Sample:
    return Sample(time, np.zeros(1), np.zeros(1))


def test_a_flood_is_dropped_and_counted() -> None:
    inbox = Inbox(most=10)
    assert sum(inbox.put(at(0.001 * k)) for k in range(1000)) == 10
    assert (inbox.waiting, inbox.counts.accepted, inbox.counts.dropped) == (10, 10, 990)
    assert [sample.time for sample, _ in inbox.take(0.0)] == [0.001 * k for k in range(10)]


def test_late_samples_and_those_that_come_twice_are_counted() -> None:
    inbox = Inbox()
    for time in (0.0, 0.1, 0.1, 0.05, 0.2):
        inbox.put(at(time))
    assert [sample.time for sample, _ in inbox.take(0.0)] == [0.0, 0.1, 0.2]
    assert inbox.counts.late == 2


def test_after_a_gap_a_stretch_of_time_begins() -> None:
    inbox = Inbox()
    for time in (0.0, 0.1, 0.2 + LONGEST_PAUSE):
        inbox.put(at(time))
    assert [begins for _, begins in inbox.take(0.0)] == [True, False, True]
    assert inbox.counts.gaps == 1


def test_a_sender_that_starts_again_is_followed() -> None:
    """Also after a stamp that was far in the future."""
    inbox = Inbox()
    for time in (5.0, 5.1, 1e9, *(0.1 * k for k in range(RESTART + 3))):
        inbox.put(at(time))
    found = inbox.take(0.0)
    assert [round(sample.time, 3) for sample, _ in found[3:]] == [0.4, 0.5, 0.6, 0.7]
    assert found[3][1]
    assert (inbox.counts.restarts, inbox.counts.late) == (1, RESTART - 1)


def test_reasons_are_counted_by_kind_and_the_end_is_known() -> None:
    inbox = Inbox()
    inbox.refuse("not-json")
    inbox.refuse("not-json")
    inbox.put(at(0.0))
    inbox.close()
    assert not inbox.is_done
    inbox.take(0.0)
    assert inbox.is_done
    assert inbox.take(5.0) == []  # at once
    assert inbox.counts.to_dict()["malformed"] == {"not-json": 2}
