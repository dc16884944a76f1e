"""Logs that are replayed: each sample when its time has come."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import dynid
from dynid.errors import InvalidRequestError
from dynid.logs.streams.inbox import Inbox
from dynid.logs.streams.replayed_log import ReplayedLog
from dynid.logs.streams.samples import SampleForm

LOG = dynid.Log(time=np.linspace(5.0, 5.99, 100), position=np.arange(100.0), torque=np.ones(100))


def test_a_log_takes_its_time() -> None:
    inbox, begun = Inbox(), time.monotonic()
    ReplayedLog(LOG, SampleForm(1, 1), inbox, speed=5.0).run(threading.Event())
    assert 0.17 < time.monotonic() - begun < 2.0
    assert [sample.position[0] for sample, _ in inbox.take(0.0)] == list(range(100))


def test_as_fast_as_possible_waits_for_who_uses_the_samples() -> None:
    log = dynid.Log(time=np.linspace(0.0, 2.999, 3000), position=np.zeros(3000), torque=np.zeros(3000))
    inbox, stop = Inbox(most=10_000_000), threading.Event()
    ReplayedLog(log, SampleForm(1, 1), inbox, speed=np.inf).run(stop)
    assert inbox.counts.accepted == 3000


def test_samples_that_do_not_fit_are_counted() -> None:
    inbox = Inbox()
    ReplayedLog(LOG, SampleForm(2, 2), inbox, speed=np.inf).run(threading.Event())
    assert inbox.counts.malformed["wrong-count"] == 100


def test_it_ends_when_told() -> None:
    stop = threading.Event()
    stop.set()
    inbox = Inbox()
    ReplayedLog(LOG, SampleForm(1, 1), inbox).run(stop)
    assert inbox.counts.accepted <= 1
    with pytest.raises(InvalidRequestError):
        ReplayedLog(LOG, SampleForm(1, 1), inbox, speed=0.0)
