"""The live page: samples come in, the estimate and the robot go out to browsers, and proposals are looked for."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from dynid.cli.page_guard import PageGuard
from dynid.cli.page_server import PageServer
from dynid.errors import DynidError
from dynid.estimation.streams.alarms import Alarm
from dynid.estimation.streams.stream_estimate import StreamEstimate
from dynid.identification import LiveSession, LiveState
from dynid.logs.streams import Inbox, MalformedSampleError, Recorder, Sample
from dynid.report.live_scene import LiveScene, live_page
from dynid.robot import Robot

POSTURES_A_SECOND = 20.0
"""How often the page moves the robot."""

STATES_A_SECOND = 4.0
"""How often the page shows numbers, at most; seldom where they take longer than a tenth of the time."""

LARGEST_SHARE = 0.1
"""Part of the time that estimates for the page may take from the stream."""

PROPOSAL_REST = 2.0
"""Time [s] between two searches for the next motion, at least; and four times as long as one takes."""

FRAMES = 60
"""Postures of the motion that the page can show."""

SILENT = 1.5
"""Without samples for so long [s], the page says that it waits."""


class Source(Protocol):
    """Where samples come from."""

    def run(self, stop: threading.Event) -> None:
        """Put samples into the inbox until told to stop, or until there are no more."""


class LivePage:
    """A page that shows how well a robot is determined while samples come in; see `dynid.live`.

    Args:
        session: The stream.
        inbox: Where samples arrive.
        source: Where they come from; None where only `update` brings them.
        text: The same in words.
        guard: Who may see the page.
        port: The port of the page.
        is_stated: Whether it must be that port.
        recorder: What keeps the samples; None for nothing.

    Raises:
        InvalidRequestError: If the port is taken.
    """

    def __init__(
        self,
        session: LiveSession,
        inbox: Inbox,
        source: Source | None,
        text: str,
        guard: PageGuard,
        port: int,
        *,
        is_stated: bool = False,
        recorder: Recorder | None = None,
    ) -> None:
        self._session, self._inbox, self._source, self._recorder = session, inbox, source, recorder
        self._scene = LiveScene(session.robot)
        page, hashes = live_page(self._scene, session.posture, text)
        self._server = PageServer(guard, page, hashes, port, is_stated=is_stated)
        self._stop, self._changed = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []
        self._problem: BaseException | None = None
        self._last_sample = -np.inf
        self._shown: object = None
        self.recorded: Path | None = None
        self.not_recorded = 0
        self.state: LiveState = session.state(inbox.counts)

    @property
    def address(self) -> str:
        """The address of the page, with its token."""
        return self._server.address

    @property
    def robot(self) -> Robot:
        """The robot that is shown."""
        return self._session.robot

    @property
    def waiting(self) -> int:
        """How many samples wait to be used."""
        return self._inbox.waiting

    @property
    def hint(self) -> str:
        """Why nothing is read yet, in words; empty where that is not known."""
        return self._inbox.hint

    @property
    def estimate(self) -> StreamEstimate:
        """What is determined so far."""
        return self._session.estimate

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """The changes that were noticed so far."""
        return self._session.alarms

    def start(self) -> LivePage:
        """Show the page, and take samples from now on."""
        self._publish()
        self._server.start()
        work = [("samples", self._use_samples), ("proposals", self._propose)]
        work += [] if self._source is None else [("source", self._run_source)]
        for name, target in work:
            thread = threading.Thread(target=self._guarded(target), name=f"dynid {name}", daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def update(
        self,
        t: float,
        q: Any,
        tau: Any = None,
        *,
        v: Any = None,
        base_pose: Any = None,
        wrenches: dict[str, Any] | None = None,
    ) -> bool:
        """Give the page a sample, from a loop of one's own; it never waits.

        Args:
            t: Time stamp [s].
            q: Positions of the joints [rad or m], shape (joints,).
            tau: Torques of the joints [N m or N], shape (joints,).
            v: Velocities of the joints, if they were measured.
            base_pose: Pose of a floating base: x, y, z [m] and a quaternion (x, y, z, w).
            wrenches: Wrench [N, N m] of each contact by its body, shape (6,).

        Returns:
            Whether it is used: late ones are not, nor malformed ones, nor those for which there is no room, nor any
            after the page was closed or something went wrong, which `wait` and the end of a `with` block raise.
        """
        try:
            arrays = [None if part is None else np.array(part, dtype=float) for part in (q, tau, v, base_pose)]
            own = {body: np.array(wrench, dtype=float) for body, wrench in (wrenches or {}).items()}
            sample = Sample(float(t), *arrays, wrenches=own)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            self._inbox.refuse("not-a-number")
            return False
        try:
            sample = self._session.samples.form.checked(sample)
        except MalformedSampleError as error:
            self._inbox.refuse(error.kind)
            return False
        return self._inbox.put(sample)

    def wait(
        self,
        seconds: float = np.inf,
        *,
        until_end: bool = False,
        on_alarm: Callable[[Alarm], object] = lambda _: None,
    ) -> None:
        """Wait, and raise what went wrong meanwhile.

        Args:
            seconds: How long at most [s].
            until_end: Whether to wait no longer than samples come.
            on_alarm: Called with each change that is noticed, and again once its cause is settled.

        Raises:
            DynidError: If the source cannot go on.
        """
        end, told = time.monotonic() + seconds, self.alarms
        while time.monotonic() < end and not self._stop.is_set():
            if self._problem is not None:
                raise self._problem
            is_over, now = self._inbox.is_done and self._changed.is_set(), self.alarms
            for alarm in now:
                if alarm not in told:
                    on_alarm(alarm)
            told = now
            if until_end and is_over:
                return
            self._stop.wait(min(0.1, max(end - time.monotonic(), 0.0)))

    def close(self) -> None:
        """End: no more samples, no page; what was recorded is written."""
        self._stop.set()
        self._inbox.close()
        for thread in self._threads:
            thread.join(timeout=30.0)
        self._publish()
        self._server.stop()
        if self._recorder is not None:
            recorder, self._recorder = self._recorder, None
            self.not_recorded = recorder.lost
            self.recorded = recorder.finish()

    def __enter__(self) -> LivePage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if kind is None and self._problem is not None:
            raise self._problem

    def __repr__(self) -> str:
        state = self.state
        return f"LivePage({self.address}: {state.samples} samples, {state.rank} of {state.parameters} base parameters)"

    def _guarded(self, target: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                target()
            except BaseException as error:
                self._problem = error
                self._inbox.close()

        return run

    def _run_source(self) -> None:
        assert self._source is not None
        try:
            self._source.run(self._stop)
        except DynidError as error:
            self._inbox.close(error)
            raise
        self._inbox.close()

    def _use_samples(self) -> None:
        posture_due = state_due = time.monotonic()
        while not self._stop.is_set():
            taken = self._inbox.take(0.02)
            if taken:
                self._session.include(taken)
                self._session.count(len(taken))
            for sample, _ in taken if self._recorder is not None else ():
                self._recorder.add(sample)  # type: ignore[union-attr]
            now = time.monotonic()
            if taken:
                self._last_sample = now
            if now >= posture_due:
                self._publish_posture()
                posture_due = now + 1.0 / POSTURES_A_SECOND
            if now >= state_due:
                self._publish()
                took = time.monotonic() - now
                state_due = now + max(1.0 / STATES_A_SECOND, took / LARGEST_SHARE)
                if self._inbox.is_done:
                    self._changed.set()

    def _propose(self) -> None:
        while not self._stop.is_set():
            begun = time.monotonic()
            self._session.propose(self._stop.is_set)
            self._publish_motion()
            self._stop.wait(max(PROPOSAL_REST, 4.0 * (time.monotonic() - begun)))

    def _publish_posture(self) -> None:
        self._send("posture", self._scene.frames(self._session.posture))

    def _publish(self) -> None:
        state = self._session.state(self._inbox.counts)
        status, words = self._status()
        data = state.to_dict() | {"status": status, "status_text": words, "waiting": self._inbox.waiting}
        self._publish_posture()
        self._send("state", data)
        self.state = state

    def _publish_motion(self) -> None:
        movement = self._session.movement
        if movement is None or movement is self._shown:
            return
        self._shown = movement
        q, seconds = self._session.way_of(movement, FRAMES)
        self._send("motion", {"frames": [self._scene.frames(one) for one in q], "seconds": seconds})

    def _send(self, name: str, data: Any) -> None:
        self._server.newest.publish(name, json.dumps(data, allow_nan=False, separators=(",", ":")).encode())

    def _status(self) -> tuple[str, str]:
        """Whether samples come, as a word and in words."""
        if self._inbox.is_done:
            return "ended", "ended"
        if time.monotonic() - self._last_sample < SILENT:
            return "streaming", "streaming"
        if self._inbox.counts.accepted:
            return "waiting", "no samples at present"
        return "waiting", f"waiting: {self._inbox.hint}" if self._inbox.hint else "waiting for samples"
