"""The command: `python -m tests.fuzz --minutes 60 --seed 1 [--only readers] [--case 123]`."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from tempfile import mkdtemp

from tests.fuzz.cases import GROUPS
from tests.fuzz.corpus import write_corpus
from tests.fuzz.watching import Limits, Tally, fuzz


def main() -> int:
    """Fuzz for a time; the exit status is 1 if a case failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz all readers and commands.")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same cases")
    parser.add_argument("--only", choices=GROUPS, action="append", help="groups of cases; may be repeated")
    parser.add_argument("--case", type=int, help="run this case alone")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="folder for cases that fail")
    parser.add_argument("--limit", type=float, default=60.0, help="time [s] that a case may take")
    given = parser.parse_args()
    work = Path(mkdtemp(prefix="dynid_fuzz_"))
    corpus, start = write_corpus(work / "corpus"), time.monotonic()
    groups = given.only or list(GROUPS)

    def until(number: int) -> bool:
        if given.case is not None:
            return number > given.case
        return time.monotonic() - start > 60.0 * given.minutes

    def on_failure(said: dict) -> None:
        kept = given.out.absolute() / f"seed_{given.seed}_case_{said['number']}"
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(work / "cases" / str(said["number"]), kept)
        only = "".join(f" --only {group}" for group in given.only or ())
        again = f"python -m tests.fuzz --seed {given.seed} --case {said['number']}{only}"
        (kept / "case.txt").write_text(f"dynid {said['command']}\n{said['problem']}\n{again}\n", errors="replace")
        print(
            f"FAILED {said['number']}: {said['command'][:200]!a}: {said['problem']!a}\n  {kept}\n  {again}", flush=True
        )

    try:
        tally = fuzz(
            corpus,
            work / "cases",
            seed=given.seed,
            groups=groups,
            until=until,
            first=given.case if given.case is not None else given.first,
            limits=Limits(given.limit),
            on_failure=on_failure,
        )
    finally:
        shutil.rmtree(work, ignore_errors=True)
    show(tally, time.monotonic() - start)
    return 1 if tally.failures else 0


def show(tally: Tally, seconds: float) -> None:
    """Print how many cases were run, by group and exit status."""
    print(f"{tally.cases} cases in {seconds / 60:.1f} min; {len(tally.failures)} failed.")
    for group in dict.fromkeys(group for group, _ in sorted(tally.kinds)):
        by_status = {status: count for (of, status), count in sorted(tally.kinds.items()) if of == group}
        shown = ", ".join(f"{count} with status {status}" for status, count in by_status.items())
        print(f"  {group}: {sum(by_status.values())} ({shown})")
    print(f"Slowest: case {tally.slowest[1]}, {tally.slowest[0]:.1f} s of processor time.")
    for text, count in tally.warnings.most_common(20):
        print(f"  warned {count} times: {text}")


if __name__ == "__main__":
    sys.exit(main())
