"""How often the verdict is right: wrong logs with a known truth, good ones, and good ones of difficult robots.

    python -m benchmarks.verdict_sweep --quick
    python -m benchmarks.verdict_sweep --json sweep.json --out docs/verdict.md
    python -m benchmarks.verdict_sweep --kinds "gear ratio" zero --robots ur5 --motions 0 1 --compare before.json

Kinds of mistake are in `tests/mistakes`. Seeds are fixed: the same code gives the same table.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.mistakes.catalogue import GOOD, KINDS, MOTIONS, Case, good_logs, mistakes, nuisances
from tests.mistakes.machines import NAMES
from tests.mistakes.records import Record

from benchmarks.marked_tables import with_table
from benchmarks.verdict_tables import by_kind, by_nuisance, details, mending, summary, trusted


def cases(options: argparse.Namespace) -> list[Case]:
    """What is asked for; with mistakes, the same logs without, for comparison."""
    kinds = [name for name in KINDS if not options.kinds or any(part in name for part in options.kinds)]
    robots, motions = options.robots, options.motions
    whole = not options.kinds
    found: list[Case] = [Case(robot, GOOD, motion) for robot in robots for motion in motions]
    found += mistakes(robots, kinds, motions)
    if whole or "good" in options.kinds:
        found += good_logs(robots, 4 if options.quick else 20)
    if options.nuisance or (whole and not options.quick):
        found += [one for one in nuisances(robots, motions) if whole or one.kind in (*kinds, GOOD)]
    return sorted(dict.fromkeys(found), key=lambda case: case.motion % 100)  # a run that is cut short has all kinds


def record(case: Case) -> Record:
    """A case, judged; whatever goes wrong is a record, too."""
    from tests.mistakes.judging import Judgement

    try:
        return Record.of(case)
    except Exception as error:  # a sweep of an hour does not end at one case
        return Record(case, Judgement("crashed", message=f"{type(error).__name__}: {error}"))


def records(todo: Sequence[Case], processes: int, path: Path | None) -> list[Record]:
    """All cases, judged in parallel, with progress on the terminal; those that a file has are taken from there."""
    done = loaded(path) if path and path.exists() else []
    there = {one.case for one in done}
    left = [case for case in todo if case not in there]
    start = time.perf_counter()
    with get_context("spawn").Pool(processes) as pool:
        for k, one in enumerate(pool.imap(record, left, chunksize=2), start=1):
            done.append(one)
            if k % 20 == 0 or k == len(left):
                print(f"{k} of {len(left)}, {time.perf_counter() - start:.0f} s", flush=True)
                _store(done, path)
    return with_excess(done)


def _store(found: Iterable[Record], path: Path | None) -> None:
    if path:
        path.write_text(json.dumps([one.to_dict() for one in with_excess(found)], indent=1, default=str))


def with_excess(found: Iterable[Record]) -> list[Record]:
    """Records with the growth of the squared residual against the same log without a mistake."""
    found = list(found)
    good = {(r.case.robot, r.case.motion, r.case.nuisance): r.judgement for r in found if r.case.kind == GOOD}
    grown = []
    for one in found:
        after, same = one.judgement, good.get((one.case.robot, one.case.motion, one.case.nuisance))
        pairs = () if same is None else zip(after.errors or after.rmse, same.errors or same.rmse, strict=False)
        ratios = [(x / y) ** 2 for x, y in pairs if y]
        grown.append(replace(one, excess=sum(ratios) / len(ratios) - 1.0 if ratios else None))
    return grown


def loaded(path: Path) -> list[Record]:
    """Records of an earlier run, scored by what counts as right now."""
    return [Record.from_dict(one) for one in json.loads(path.read_text(encoding="utf-8"))]


def main() -> None:
    """Run the sweep, print its tables, and write them where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--kinds", nargs="+", default=[], help="parts of the names of kinds; all when left out")
    parser.add_argument("--motions", nargs="+", type=int, default=list(range(MOTIONS)))
    parser.add_argument("--nuisance", action="store_true", help="nuisance with --quick or --kinds, too")
    parser.add_argument("--quick", action="store_true", help="one robot, one motion")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, help="where records are stored; those that are there are not made again")
    parser.add_argument("--load", type=Path, nargs="+", help="records of earlier runs instead of a new one")
    parser.add_argument("--compare", type=Path, help="records of an earlier run, shown beside")
    parser.add_argument("--details", action="store_true", help="every case that is not right, with what was said")
    parser.add_argument("--out", type=Path, help="page whose tables are replaced")
    options = parser.parse_args()
    if options.quick:
        options.robots, options.motions = options.robots[:1], options.motions[:1]
    if options.load:
        found = [one for path in options.load for one in loaded(path)]
    else:
        found = records(cases(options), options.processes, options.json)
    _store(found, options.json)
    there = {one.case for one in found}
    before = [one for one in loaded(options.compare) if one.case in there] if options.compare else None
    tables = {
        "sweep summary": summary(found, before),
        "sweep kinds": by_kind(found, before),
        "sweep nuisance": by_nuisance(found, before),
        "sweep mending": mending(found),
        "sweep trusted": trusted(found),
    }
    for name, table in tables.items():
        print(f"\n## {name}\n\n{table}")
    if options.details:
        print(details(found))
    if options.out:
        page = options.out.read_text()
        for name, table in tables.items():
            page = with_table(page, name, table)
        options.out.write_text(page)


if __name__ == "__main__":
    main()
