"""Where logs are reduced: in this process, in processes of this machine, or on a Dask cluster.

What a worker gets and gives back is pickled by Dask: use clusters on networks that you trust.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from dynid import __version__
from dynid.errors import DynidError, InvalidRequestError
from dynid.identification.task import Task

Progress = Callable[[str], None]

DEATHS = 3
"""Workers that a log may kill before it is given up."""

TOGETHER = 20
"""Logs that are read together, where no workers are asked for; of more, each is reduced by itself."""

ENVIRONMENT = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MALLOC_ARENA_MAX"), 1)
"""Of processes of this machine: one thread each. Dask's own would also have them give freed memory back at once, and
asking for it anew takes longer than the work on a log's arrays."""

WAITING = 4
"""Units that wait for each thread of the workers: enough that none is idle, few enough for any number of logs."""


class LogFailedError(DynidError):
    """A log could not be used.

    Attributes:
        name: What it is called.
        problem: Why.
    """

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        self.problem = problem
        super().__init__(f"{name}: {problem}")


@dataclass(frozen=True, eq=False)
class Workers:
    """Where logs are reduced.

    Attributes:
        count: Processes of this machine; none when zero.
        client: A `dask.distributed.Client`, or the address of a scheduler, such as "tcp://10.0.0.1:8786"; None for
            processes of this machine.
        strict: Whether a log that fails stops the run.
        cache: Whether reduced logs are kept for later runs.
    """

    count: int = 0
    client: Any = None
    strict: bool = False
    cache: bool = True
    _open: list[Any] = field(default_factory=list, repr=False)

    @staticmethod
    def of(workers: int | None, client: Any, *, strict: bool = False, cache: bool = True) -> Workers:
        """The workers that were asked for; checked.

        Raises:
            InvalidRequestError: If the number is negative, both are given, or Dask is not installed.
        """
        if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 0):
            raise InvalidRequestError(f"workers must be a whole number that is not negative, not {workers!r}")
        if workers and client is not None:
            raise InvalidRequestError("give either workers (of this machine) or a cluster, not both")
        made = Workers(workers or 0, client, strict, cache)
        if made.is_asked:
            _require_dask()
        return made

    def reduces(self, task: Task) -> bool:
        """Whether the logs of a task are reduced one by one, instead of being read together.

        They are where workers are asked for, or where they are many.

        Raises:
            InvalidRequestError: If workers are asked for what needs the samples of all logs together.
        """
        together = {
            "torque = 'magnitude'": task.torque == "magnitude",
            f"estimation.robust = '{task.estimation.robust}'": task.estimation.robust is not None,
        }
        needed = next((what for what, is_so in together.items() if is_so), None)
        if needed is not None and self.is_asked:
            raise InvalidRequestError(f"{needed} needs the samples of all logs together; leave the workers out, or it")
        return needed is None and (self.is_asked or len(task.logs) > TOGETHER)

    @property
    def is_asked(self) -> bool:
        """Whether logs are to be reduced in other processes."""
        return self.count > 0 or self.client is not None

    @property
    def threads(self) -> int:
        """How many units are worked on at a time."""
        return self.count or _threads(self.connected())

    @contextmanager
    def started(self) -> Iterator[Workers]:
        """The same, whose processes live for a while; they are started when they are first needed."""
        running = Workers(self.count, self.client, self.strict, self.cache)
        try:
            yield running
        finally:
            running.close()

    def connected(self) -> Any:
        """The client of the cluster, which is started or connected to once.

        Raises:
            InvalidRequestError: If there is no cluster there, it has no workers, or they run another version.
        """
        if self.client is not None and not isinstance(self.client, str):
            client = self.client
        elif self._open:
            return self._open[-1]
        else:
            client = self._started_client()
        _check_workers(client)
        return client

    def restarted(self) -> Any:
        """The client of other workers, where all have died.

        Raises:
            InvalidRequestError: If the cluster is somebody else's.
        """
        if self.client is not None:
            raise InvalidRequestError(
                "the cluster has lost all its workers; start it and identify again: logs that were reduced are kept"
            )
        self.close()
        return self.connected()

    def close(self) -> None:
        """End what was started."""
        while self._open:
            with suppress(OSError, RuntimeError, TimeoutError):
                self._open.pop().close()

    def _started_client(self) -> Any:
        import logging

        from dask import config
        from distributed import Client, LocalCluster

        if isinstance(self.client, str):
            try:
                client = Client(self.client, timeout=10, set_as_default=False)
            except (OSError, ValueError, TypeError) as error:
                problem = f"there is no Dask scheduler at '{self.client}' ({error})"
                raise InvalidRequestError(
                    f"{problem}; start one with 'dask scheduler', and workers beside it"
                ) from error
            self._open.append(client)
            return client
        failures = {"distributed.scheduler.allowed-failures": DEATHS - 1}
        with config.set(failures | {"distributed.nanny.pre-spawn-environ": ENVIRONMENT}):
            cluster = LocalCluster(
                n_workers=self.count,
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",
                memory_limit=0,
                silence_logs=logging.CRITICAL,
            )
            self._open.append(cluster)
            self._open.append(Client(cluster, set_as_default=False))
        return self._open[-1]


ALONE = Workers()
"""This process, without others."""


@dataclass(frozen=True)
class Failed:
    """Why a unit failed, in words: errors themselves need not survive the way between processes."""

    problem: str


def guarded(work: Callable[[], Any]) -> Any:
    """What work gives, or why it failed: one log must not stop the others."""
    try:
        return work()
    except Exception as error:
        return Failed(_in_words(error))


def _in_words(error: BaseException) -> str:
    if isinstance(error, DynidError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'it'} cannot be read ({error.strerror or error})"
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


Work = Callable[[bytes, Any], Any]
"""Work on one source, with what is common to all of them."""


def done_by(
    work: Work, common: bytes, sources: Sequence[Any], numbers: Iterable[int], workers: Workers
) -> Iterator[tuple[int, Any]]:
    """Work on some of the sources, each with its result, as they finish."""
    if not workers.is_asked:
        yield from ((k, work(common, sources[k])) for k in numbers)
        return
    numbers = list(numbers)
    if not numbers:
        return
    killers, window = list[int](), WAITING * _threads(workers.connected())
    for k, answer in _on_workers(workers, work, common, sources, numbers, window):
        if answer is None:
            killers.append(k)
        else:
            yield k, answer
    for k, answer in _on_workers(workers, work, common, sources, killers, 1):  # alone: another may have been the cause
        killed = Failed(f"it killed {DEATHS} workers, by a crash or for lack of memory; cut it into parts")
        yield k, killed if answer is None else answer


def _on_workers(
    workers: Workers, work: Work, common: bytes, sources: Sequence[Any], numbers: Sequence[int], window: int
) -> Iterator[tuple[int, Any]]:
    """Results as they finish, None where workers died over a unit; few units wait at a time.

    What is lost with a worker after it was done is done again, and so is all where no worker is left.
    """
    waiting, running, lost = iter(numbers), dict[Any, int](), Counter[int]()
    client = workers.connected()
    watch, name = _Watch(client), _given_to(client, common)

    def submit(these: Iterable[int]) -> None:
        running.update((client.submit(_with_given, work, name, sources[k], pure=False), k) for k in these)

    submit(islice(waiting, window))
    try:
        while running:
            done = [future for future in running if future.done()]
            if not done:
                time.sleep(POLL)
            if not done and watch.has_lost_all():
                client, again = workers.restarted(), list(running.values())
                watch, name = _Watch(client), _given_to(client, common)
                running.clear()
                lost.update(again)
                submit(k for k in again if lost[k] < DEATHS)
                yield from ((k, None) for k in again if lost[k] >= DEATHS)
            for future in done:
                k = running.pop(future)
                answer = _answer(future)
                if answer is LOST and lost[k] < DEATHS:
                    lost[k] += 1
                    submit([k])
                    continue
                yield k, answer
            submit(islice(waiting, max(0, window - len(running))))  # before it is seen whether any is left
    finally:
        for future in running:
            future.release()


_GIVEN: dict[str, bytes] = {}


def _given_to(client: Any, content: bytes) -> str:
    """Give something to all workers of a cluster, also to those that start later: the name that they have it under.

    It goes to each of them once. What goes with a unit is kept by Dask for longer than the unit, and would add up.
    """
    from distributed import WorkerPlugin

    name = f"dynid-{hashlib.sha256(content).hexdigest()[:16]}"

    class Given(WorkerPlugin):
        def setup(self, worker: Any) -> None:
            from dynid.identification import workers

            workers._GIVEN[name] = content

    client.register_plugin(Given(), name=name)
    return name


def _with_given(work: Work, name: str, source: Any) -> Any:
    """Work on one source; runs on a worker."""
    return work(_GIVEN[name], source)


LOST = Failed("its workers were lost; identify again")

POLL = 0.02
"""Seconds between looks at units."""

PATIENCE = 30.0
"""Seconds to wait for results that are there, and for workers where none is left."""


def _answer(future: Any) -> Any:
    """What became of a unit that is done; None where it killed its workers."""
    from distributed import CancelledError, KilledWorker

    try:
        return future.result(timeout=PATIENCE)
    except KilledWorker:
        return None
    except (CancelledError, TimeoutError):
        return LOST
    except Exception as error:
        return Failed(_in_words(error))


class _Watch:
    """Looks now and then whether a cluster still has workers."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._looked = self._seen = time.monotonic()

    def has_lost_all(self) -> bool:
        """Whether there have been no workers for long."""
        now = time.monotonic()
        if now - self._looked < 2.0:
            return False
        self._looked = now
        with suppress(OSError, RuntimeError, ValueError):  # where the scheduler does not answer
            self._seen = now if self._client.nthreads() else self._seen
        return now - self._seen > PATIENCE


def _threads(client: Any) -> int:
    return max(1, sum(client.nthreads().values()))


def _check_workers(client: Any) -> None:
    """Refuse a cluster without workers, and workers of another version."""
    found = client.run(_version)
    if not found:
        raise InvalidRequestError("the cluster has no workers; start some with 'dask worker ADDRESS'")
    other = next((version for version in found.values() if version != __version__), None)
    if other is not None:
        raise InvalidRequestError(f"a worker runs dynid {other}, and this is {__version__}; install the same on all")


def _version() -> str:
    return __version__


def _require_dask() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise InvalidRequestError(
            "workers need Dask, which is not installed; run pip install 'dynid[cluster]'"
        ) from error
