"""Watching the process that runs cases: it is ended where a case hangs or takes too much memory, and started anew."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ENDLESS = 10**9
"""More cases than there will be."""


@dataclass
class Tally:
    """What came of all cases.

    Attributes:
        kinds: Cases by group and exit status.
        failures: Cases that failed, as the process said it.
        warnings: Warnings of libraries that users would see, with how many cases had each.
        slowest: Processor time [s] of the slowest case, and its number.
    """

    kinds: Counter[tuple[str, int]] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, int] = (0.0, -1)

    @property
    def cases(self) -> int:
        """How many cases were run."""
        return sum(self.kinds.values())

    def add(self, said: dict[str, Any]) -> None:
        """Count a case."""
        self.kinds[said["group"], said["status"]] += 1
        self.warnings.update(said["warned"])
        self.slowest = max(self.slowest, (said.get("seconds", 0.0), said["number"]))
        if said["problem"]:
            self.failures.append(said)


@dataclass(frozen=True)
class Limits:
    """What a case may take: time [s] on the clock, and memory [bytes]."""

    seconds: float = 60.0
    memory: float = 3e9


def fuzz(
    corpus: Path,
    scratch: Path,
    *,
    seed: int,
    groups: Sequence[str],
    until: Callable[[int], bool],
    first: int = 0,
    limits: Limits | None = None,
    on_failure: Callable[[dict[str, Any]], None] = lambda _: None,
    command: Sequence[str] = (sys.executable, "-m", "tests.fuzz.worker"),
) -> Tally:
    """Run cases until `until`, which is given the number of the next, says to end.

    Args:
        corpus: The folder of valid files.
        scratch: A folder for the cases; those that fail stay in it.
        seed: The seed.
        groups: Groups of targets to draw from.
        until: Whether to end before the case of a number.
        first: Number of the first case.
        limits: What a case may take.
        on_failure: Callback; receives what the process said of a case that failed.
        command: The process that runs cases.
    """
    tally, limits, next_number = Tally(), limits or Limits(), first
    request = {"seed": seed, "groups": list(groups), "corpus": str(corpus), "scratch": str(scratch), "last": ENDLESS}
    while not until(next_number):
        worker = _Worker(command, request | {"first": next_number})
        try:
            for said in worker.cases(limits):
                tally.add(said)
                next_number = said["number"] + 1
                if said["problem"]:
                    on_failure(said)
                if until(next_number):
                    break
        finally:
            worker.end()
    return tally


class _Worker:
    """The process that runs cases."""

    def __init__(self, command: Sequence[str], request: dict[str, Any]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        self.lines: queue.Queue[bytes] = queue.Queue()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(b"")

    def cases(self, limits: Limits) -> Iterator[dict[str, Any]]:
        """What came of each case; a case that the process does not survive is the last."""
        running: dict[str, Any] | None = None
        since = time.monotonic()
        while True:
            try:
                line = self.lines.get(timeout=0.2)
            except queue.Empty:
                line, late = None, time.monotonic() - since > limits.seconds * (1 if running else 5)
                much = _memory(self.process.pid) > limits.memory
                if running is None and late:
                    raise RuntimeError("the process that runs cases does not start") from None
                if running is not None and (late or much):
                    problem = f"takes over {limits.memory / 1e9:.1f} GB" if much else f"hangs ({limits.seconds:.0f} s)"
                    yield running | {"status": -1, "problem": problem}
                    return
            if line is None:
                continue
            if not line:
                if running is None:
                    raise RuntimeError("the process that runs cases does not start")
                status = self.process.wait()
                yield running | {"status": -1, "problem": f"ends the interpreter (status {status})"}
                return
            since, said = time.monotonic(), json.loads(line)
            running = said
            if not said.pop("started", False):
                yield said

    def end(self) -> None:
        """End the process and those that it started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.listener.join(timeout=10.0)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


def _memory(pid: int) -> float:
    """Resident memory [bytes] of a process and those that it started; 0 where the system does not say."""
    total = 0.0
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        total += pages * os.sysconf("SC_PAGE_SIZE")
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, ValueError, IndexError):
        return total
    return total + sum(_memory(int(child)) for child in children)
