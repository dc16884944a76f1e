"""Logs reduced one by one: in this process, in processes of this machine, or on a Dask cluster.

All ways do the same work on the same units, so that they give the same numbers. What a worker gets and gives back is
pickled by Dask: use clusters on networks that you trust.
"""

from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

from dynid import __version__
from dynid.errors import DynidError, InvalidRequestError
from dynid.identification.factor_cache import FactorCache
from dynid.identification.log_factors import LogFactors, LogWithoutSamples, Reduction, key_of, reduced_log
from dynid.identification.task import Task
from dynid.logs import Log, LogSource, PreparedLog, Processing, Quantity, is_long, is_url

Progress = Callable[[str], None]

DEATHS = 3
"""Workers that a log may kill before it is given up."""

TOGETHER = 20
"""Logs that are read together, where no workers are asked for; of more, each is reduced by itself."""

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
        with config.set({"distributed.scheduler.allowed-failures": DEATHS - 1}):
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


@dataclass(frozen=True, eq=False)
class ReducedTask:
    """All logs of a task, reduced.

    Attributes:
        numbers: Numbers of the logs that could be used, counted from 0.
        logs: These logs, without samples.
        failed: Why the others could not, by their numbers.
        computed: Number of logs that were reduced now; the others were in the cache.
        cache: Where they are.
        reduction: How they were reduced.
    """

    numbers: tuple[int, ...]
    logs: tuple[LogWithoutSamples, ...]
    failed: Mapping[int, str]
    computed: int
    cache: FactorCache
    reduction: Reduction

    def load(self, k: int) -> LogFactors:
        """The factors of one of the logs that could be used, counted from 0."""
        return self.cache.load(self.numbers[k], self.reduction)


def reduce_all(
    sources: Sequence[Log | LogSource],
    names: Sequence[str],
    reduction: Reduction,
    workers: Workers,
    ready: Mapping[int, PreparedLog],
    failed: Mapping[int, str],
    progress: Progress = lambda _: None,
) -> ReducedTask:
    """Reduce logs, each once, where the workers are; those in the cache are not reduced again.

    Args:
        sources: The logs.
        names: What they are called.
        reduction: How they are reduced.
        workers: Where.
        ready: Logs that are prepared already, by their numbers; they are reduced here.
        failed: Logs that are known to fail, by their numbers.
        progress: Callback; receives a short description of each step.

    Raises:
        LogFailedError: If a log fails and the workers are strict, or all fail.
    """
    cache, problems = FactorCache(keep=workers.cache), dict(failed)
    found: dict[int, LogWithoutSamples] = {}
    keys, common = dict.fromkeys(range(len(sources)), ""), pickle.dumps(reduction)
    wanted = [k for k in keys if k not in problems]
    if workers.cache:
        progress(f"Looking for reduced logs of earlier runs ({len(wanted)} logs)")
        beside = replace(workers, count=0)  # processes of this machine have no other files than this one
        for k, answer in _done(partial(_key, common), [*map(_everywhere, sources)], wanted, beside):
            if isinstance(answer, _Failed):
                _note(problems, names, k, answer, workers.strict)
            else:
                keys[k] = answer
                known = cache.find(k, answer, reduction)
                found |= {} if known is None else {k: known.log}
    missing = [k for k in wanted if k not in found and k not in problems]
    for done, (k, answer) in enumerate(_reduced(common, reduction, sources, missing, ready, workers), start=1):
        progress(f"Reduced {done} of {len(missing)} logs ({names[k]})")
        if isinstance(answer, _Failed):
            _note(problems, names, k, answer, workers.strict)
            continue
        found[k] = LogFactors.from_bytes(answer, reduction).log
        cache.put(k, keys[k], answer)
    cache.trim()
    for k in missing:
        if k not in found and k not in problems:  # never without a word
            _note(problems, names, k, _LOST, workers.strict)
    numbers = tuple(sorted(found))
    if not numbers:
        first = min(problems)
        raise LogFailedError(names[first], problems[first])
    computed = sum(k not in problems for k in missing)
    return ReducedTask(numbers, tuple(found[k] for k in numbers), problems, computed, cache, reduction)


@dataclass(frozen=True)
class _Failed:
    """Why a unit failed, in words: errors themselves need not survive the way between processes."""

    problem: str


def _note(problems: dict[int, str], names: Sequence[str], k: int, failed: _Failed, strict: bool) -> None:
    if strict:
        raise LogFailedError(names[k], failed.problem)
    problems[k] = failed.problem


def _reduced(
    common: bytes,
    reduction: Reduction,
    sources: Sequence[Log | LogSource],
    missing: Sequence[int],
    ready: Mapping[int, PreparedLog],
    workers: Workers,
) -> Iterator[tuple[int, Any]]:
    """Each missing log with its reduced form, as they finish."""
    here = [k for k in missing if k in ready or not workers.is_asked]
    for k in here:

        def work(k: int = k) -> bytes:
            found = reduction.of(ready[k]) if k in ready else reduced_log(sources[k], reduction, alone=False)
            assert found is not None  # the first part of a log is always there
            return found.to_bytes()

        yield k, _guarded(work)
    there = [k for k in missing if k not in here]
    if there:
        yield from _reduced_in_parts(common, reduction, sources, there, workers)


LARGE_FILE = 50_000_000
"""Bytes of a file from which its log is worth being split between workers."""


def _reduced_in_parts(
    common: bytes,
    reduction: Reduction,
    sources: Sequence[Log | LogSource],
    missing: Sequence[int],
    workers: Workers,
) -> Iterator[tuple[int, Any]]:
    """The same by workers: where they are more than logs, each reduces a part in time of a long log."""
    each = max(1, -(-workers.threads // max(len(missing), 1))) if reduction.form.name == "torque" else 1
    shares = {k: each if _is_large(sources[k]) else 1 for k in missing}
    units = [(k, (i, shares[k])) for k in missing for i in range(shares[k])]
    items = [(_everywhere(sources[k]), share) for k, share in units]
    found: dict[int, list[Any]] = {k: [] for k in missing}
    for unit, answer in _done(partial(_unit, common), items, range(len(items)), workers):
        k = units[unit][0]
        found[k].append((units[unit][1], answer))
        if len(found[k]) == shares[k]:
            yield k, _joined(found.pop(k), reduction)


def _joined(parts: list[tuple[tuple[int, int], Any]], reduction: Reduction) -> Any:
    """A reduced log from its parts, or why one of them failed; later parts of logs that are not long are empty."""
    answers = [answer for _, answer in sorted(parts, key=lambda part: part[0])]
    failed = next((answer for answer in answers if isinstance(answer, _Failed)), None)
    if failed is not None or len(answers) == 1:
        return failed or answers[0]
    return LogFactors.joined([LogFactors.from_bytes(answer, reduction) for answer in answers if answer]).to_bytes()


def _is_large(source: Log | LogSource) -> bool:
    """Whether a log is surely long."""
    if isinstance(source, Log):
        return is_long(source, Processing())
    try:
        return Path(source.position.file).stat().st_size > LARGE_FILE
    except OSError:  # it may be there for the workers alone
        return False


def _done(
    work: Callable[[Any], Any], sources: Sequence[Any], numbers: Iterable[int], workers: Workers
) -> Iterator[tuple[int, Any]]:
    """Work on some of the sources, each with its result, as they finish."""
    if not workers.is_asked:
        yield from ((k, work(sources[k])) for k in numbers)
        return
    numbers = list(numbers)
    if not numbers:
        return
    killers, window = list[int](), WAITING * _threads(workers.connected())
    for k, answer in _on_workers(workers, work, sources, numbers, window):
        if answer is None:
            killers.append(k)
        else:
            yield k, answer
    for k, answer in _on_workers(workers, work, sources, killers, 1):  # alone: another may have been the cause
        killed = _Failed(f"it killed {DEATHS} workers, by a crash or for lack of memory; cut it into parts")
        yield k, killed if answer is None else answer


def _on_workers(
    workers: Workers, work: Callable[[Any], Any], sources: Sequence[Any], numbers: Sequence[int], window: int
) -> Iterator[tuple[int, Any]]:
    """Results as they finish, None where workers died over a unit; few units wait at a time.

    What is lost with a worker after it was done is done again, and so is all where no worker is left.
    """
    waiting, running, lost = iter(numbers), dict[Any, int](), Counter[int]()
    client = workers.connected()
    watch = _Watch(client)

    def submit(these: Iterable[int]) -> None:
        running.update((client.submit(work, sources[k], pure=False), k) for k in these)

    submit(islice(waiting, window))
    try:
        while running:
            done = [future for future in running if future.done()]
            if not done:
                time.sleep(POLL)
            if not done and watch.has_lost_all():
                client, again = workers.restarted(), list(running.values())
                watch = _Watch(client)
                running.clear()
                lost.update(again)
                submit(k for k in again if lost[k] < DEATHS)
                yield from ((k, None) for k in again if lost[k] >= DEATHS)
            for future in done:
                k = running.pop(future)
                answer = _answer(future)
                if answer is _LOST and lost[k] < DEATHS:
                    lost[k] += 1
                    submit([k])
                    continue
                yield k, answer
            submit(islice(waiting, max(0, window - len(running))))  # before it is seen whether any is left
    finally:
        for future in running:
            future.release()


_LOST = _Failed("its workers were lost; identify again")

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
        return _LOST
    except Exception as error:
        return _Failed(_in_words(error))


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


def _unit(common: bytes, unit: tuple[Log | LogSource, tuple[int, int]]) -> bytes | _Failed:
    """A reduced log, or a part of it, as bytes, none where there is no such part; runs on a worker."""

    def work() -> bytes:
        found = reduced_log(unit[0], _reduction(common), unit[1])
        return b"" if found is None else found.to_bytes()

    return _guarded(work)


def _key(common: bytes, source: Log | LogSource) -> str | _Failed:
    """What a reduced log is kept under; runs on a worker."""
    return _guarded(lambda: key_of(source, _reduction(common)))


def _guarded(work: Callable[[], Any]) -> Any:
    """What work gives, or why it failed: one log must not stop the others."""
    try:
        return work()
    except Exception as error:
        return _Failed(_in_words(error))


def _in_words(error: BaseException) -> str:
    if isinstance(error, DynidError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'it'} cannot be read ({error.strerror or error})"
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


@lru_cache(maxsize=2)
def _reduction(common: bytes) -> Reduction:
    """How logs are reduced, unpacked once on each worker; the bytes are those that the client itself made."""
    return pickle.loads(common)


def _everywhere(source: Log | LogSource) -> Log | LogSource:
    """Where a log is, with paths that hold in any folder."""
    if isinstance(source, Log):
        return source
    whole = {
        role: part.model_copy(update={"file": str(Path(part.file).absolute())})
        for role, part in source
        if isinstance(part, Quantity) and not is_url(part.file)
    }
    return source.model_copy(update=whole)


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
