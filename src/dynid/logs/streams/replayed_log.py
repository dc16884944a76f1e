"""A log that was recorded, replayed at its own speed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Event

from dynid.errors import InvalidRequestError
from dynid.logs.log import Log
from dynid.logs.streams.inbox import MOST_WAITING, Inbox
from dynid.logs.streams.samples import MalformedSampleError, Sample, SampleForm

TICK = 0.005
"""How often samples are sent [s]: those that are due by then, together."""


@dataclass(frozen=True, eq=False)
class ReplayedLog:
    """Samples of a log, each when its time has come.

    Attributes:
        log: The log.
        form: What each sample must have.
        inbox: Where samples go.
        speed: How much faster than it was recorded; infinite for as fast as samples are used.
        clock: A clock [s] that never goes back.
    """

    log: Log
    form: SampleForm
    inbox: Inbox
    speed: float = 1.0
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        if not self.speed > 0.0:
            raise InvalidRequestError(f"a speed of {self.speed:g} replays nothing; give a positive number, such as 2")

    def run(self, stop: Event) -> None:
        """Replay it until its end, or until told to stop."""
        start, first = self.clock(), float(self.log.time[0])
        for sample in samples_of(self.log, self.form.contacts):
            due = start + (sample.time - first) / self.speed
            while not stop.is_set() and (due - self.clock() > TICK or self.inbox.waiting >= MOST_WAITING // 2):
                stop.wait(max(TICK, min(due - self.clock(), 0.2)))
            if stop.is_set():
                return
            try:
                self.inbox.put(self.form.checked(sample))
            except MalformedSampleError as error:
                self.inbox.refuse(error.kind)


def samples_of(log: Log, contacts: tuple[str, ...] = ()) -> Iterator[Sample]:
    """The samples of a log, one by one.

    Args:
        log: The log.
        contacts: Bodies whose wrenches are wanted.
    """
    wrenches = {
        contact.body: contact.wrench
        for contact in log.contacts or ()
        if contact.wrench is not None and contact.body in contacts
    }
    for k, stamp in enumerate(log.time.tolist()):
        yield Sample(
            stamp,
            log.position[k],
            log.torque[k] if log.has_torques else None,
            None if log.velocity is None else log.velocity[k],
            None if log.base_pose is None else log.base_pose[k],
            {body: wrench[k] for body, wrench in wrenches.items()},
        )
