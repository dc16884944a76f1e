"""The logs of a task reduced one by one, by this process or by workers; those that were reduced before are not again.

All ways do the same work on the same units, so that they give the same numbers.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from dynid.identification.factor_cache import FactorCache
from dynid.identification.log_factors import LogFactors, LogWithoutSamples, Reduction, key_of, reduced_log
from dynid.identification.workers import LOST, Failed, LogFailedError, Workers, done_by, guarded
from dynid.logs import Log, LogSource, PreparedLog, Processing, is_long, is_url

Progress = Callable[[str], None]


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
        for k, answer in done_by(_key, common, [*map(_everywhere, sources)], wanted, beside):
            if isinstance(answer, Failed):
                _note(problems, names, k, answer, workers.strict)
            else:
                keys[k] = answer
                known = cache.find(k, answer, reduction)
                found |= {} if known is None else {k: known.log}
    missing = [k for k in wanted if k not in found and k not in problems]
    for done, (k, answer) in enumerate(_reduced(common, reduction, sources, missing, ready, workers), start=1):
        progress(f"Reduced {done} of {len(missing)} logs ({names[k]})")
        if isinstance(answer, Failed):
            _note(problems, names, k, answer, workers.strict)
            continue
        found[k] = LogFactors.from_bytes(answer, reduction).log
        cache.put(k, keys[k], answer)
    cache.trim()
    for k in missing:
        if k not in found and k not in problems:  # never without a word
            _note(problems, names, k, LOST, workers.strict)
    numbers = tuple(sorted(found))
    if not numbers:
        first = min(problems)
        raise LogFailedError(names[first], problems[first])
    computed = sum(k not in problems for k in missing)
    return ReducedTask(numbers, tuple(found[k] for k in numbers), problems, computed, cache, reduction)


def _note(problems: dict[int, str], names: Sequence[str], k: int, failed: Failed, strict: bool) -> None:
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

        yield k, guarded(work)
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
    for unit, answer in done_by(_unit, common, items, range(len(items)), workers):
        k = units[unit][0]
        found[k].append((units[unit][1], answer))
        if len(found[k]) == shares[k]:
            yield k, _joined(found.pop(k), reduction)


def _joined(parts: list[tuple[tuple[int, int], Any]], reduction: Reduction) -> Any:
    """A reduced log from its parts, or why one of them failed; later parts of logs that are not long are empty."""
    answers = [answer for _, answer in sorted(parts, key=lambda part: part[0])]
    failed = next((answer for answer in answers if isinstance(answer, Failed)), None)
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


def _unit(common: bytes, unit: tuple[Log | LogSource, tuple[int, int]]) -> bytes | Failed:
    """A reduced log, or a part of it, as bytes, none where there is no such part; runs on a worker."""

    def work() -> bytes:
        found = reduced_log(unit[0], _reduction(common), unit[1])
        return b"" if found is None else found.to_bytes()

    return guarded(work)


def _key(common: bytes, source: Log | LogSource) -> str | Failed:
    """What a reduced log is kept under; runs on a worker."""
    return guarded(lambda: key_of(source, _reduction(common)))


@lru_cache(maxsize=2)
def _reduction(common: bytes) -> Reduction:
    """How logs are reduced, unpacked once on each worker; the bytes are those that the client itself made."""
    return pickle.loads(common)


def _everywhere(source: Log | LogSource) -> Log | LogSource:
    """Where a log is, with paths that hold in any folder."""
    if isinstance(source, Log):
        return source
    return source.with_files(lambda name: name if is_url(name) else str(Path(name).absolute()))
