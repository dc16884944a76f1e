"""Commands that are killed (SIGKILL) at random moments: outputs are whole or absent, and a later run works.

`python -m tests.kills --count 50` kills each of `identify`, `export`, `report` and `excite` so many times: every second
time at any moment of its run, the other times just when it has begun to write. Every second run replaces an output that
was there before, which then must be there, old or new.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

import dynid
from dynid.excitation import read_trajectory
from tests.fuzz.corpus import write_corpus

WHOLE_RUNS_EVERY = 5
"""After every so many kills, the command is run again to its end."""


def _is_result(path: Path) -> None:
    dynid.load_result(path)


def _is_robot(path: Path) -> None:
    dynid.load_robot(path)


def _is_page(path: Path) -> None:
    if not path.read_text().rstrip().endswith("</html>"):
        raise ValueError("no end")


def _is_motion(path: Path) -> None:
    for name in ("trajectory.csv", "trajectory.json"):
        read_trajectory(path / name, dynid.load_robot(path.parent / "arm.urdf"))


@dataclass(frozen=True)
class Killed:
    """A command that is killed.

    Attributes:
        arguments: Its arguments.
        output: What it writes.
        check: Raises an error where the output is not whole.
    """

    arguments: str
    output: str
    check: Callable[[Path], None]


COMMANDS = {
    "identify": Killed("identify experiment.toml --out out", "out", _is_result),
    "export": Killed("export result --to urdf --anyway --out out.urdf", "out.urdf", _is_robot),
    "report": Killed("report result --out out.html", "out.html", _is_page),
    "excite": Killed("excite arm.urdf --time-limit 1 --starts 1 --out moved", "moved", _is_motion),
}


@dataclass
class Kills:
    """What came of killing a command.

    Attributes:
        seconds: Time [s] that a whole run takes.
        counts: How often the output was absent, whole, or the old one; the run had ended before; a later run worked.
        problems: What was neither whole nor absent, or did not work later.
    """

    seconds: float
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def kill(name: str, count: int, folder: Path, seed: int = 1) -> Kills:
    """Kill a command so many times, in a folder that holds the corpus.

    Args:
        name: The command.
        count: How many times.
        folder: The folder.
        seed: Seed of the moments.
    """
    command, rng = COMMANDS[name], np.random.default_rng([seed, len(name)])
    output, before, files = folder / command.output, time.monotonic(), _files(folder)
    if _run(command, folder, force=False) != 0:
        return Kills(0.0, problems=["it does not work without being killed"])
    kills = Kills(time.monotonic() - before)
    whole = _inside(output)
    command.check(output)
    for k in range(count):
        replaces = k % 4 >= 2
        if not replaces:
            _remove(output)
        elif not output.exists() and _run(command, folder, force=False) != 0:
            kills.problems.append(f"{k}: a later run fails")
        old = _stamp(output)
        moment = float(rng.uniform(0.0, 1.05)) * kills.seconds if k % 2 == 0 else None
        has_ended = _killed(command, folder, moment, float(rng.exponential(0.005)), force=replaces, known=files)
        _judge(kills, k, command, folder, old, whole)
        kills.counts["ended before"] += has_ended
        for left in _left(folder, files, output):
            kills.counts["temporary left"] += 1
            _remove(left)
        if k % WHOLE_RUNS_EVERY == WHOLE_RUNS_EVERY - 1:
            works = _run(command, folder, force=output.exists()) == 0
            kills.counts["later runs that work"] += works
            kills.problems += [] if works else [f"{k}: a later run fails"]
    return kills


def _judge(kills: Kills, k: int, command: Killed, folder: Path, old: object, whole: set[str]) -> None:
    output = folder / command.output
    if not output.exists():
        kills.counts["absent"] += 1
        if old is not None:
            kills.problems.append(f"{k}: the output that was there is gone")
        return
    try:
        command.check(output)
    except Exception as error:
        kills.problems.append(f"{k}: {type(error).__name__}: {error}")
        return
    if _inside(output) != whole:
        kills.problems.append(f"{k}: other files than in a whole output: {sorted(_inside(output) ^ whole)}")
    kills.counts["the old one, whole" if old == _stamp(output) else "new, whole"] += 1


def _started(command: Killed, folder: Path, force: bool) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "dynid.cli", *command.arguments.split(), *(["--force"] if force else [])]
    return subprocess.Popen(
        words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def _run(command: Killed, folder: Path, *, force: bool) -> int:
    return _started(command, folder, force).wait()


def _killed(command: Killed, folder: Path, moment: float | None, delay: float, *, force: bool, known: set[str]) -> bool:
    """Kill a command at a moment [s], or a delay [s] after it has begun to write; whether it had ended before."""
    process, start = _started(command, folder, force), time.monotonic()
    known = known | {command.output}
    while process.poll() is None:
        if moment is not None and time.monotonic() - start >= moment:
            break
        if moment is None and _files(folder) - known:
            time.sleep(delay)
            break
        time.sleep(0.0005 if moment is None else 0.01)
    has_ended = process.poll() is not None
    if not has_ended:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return has_ended


def _files(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def _left(folder: Path, known: set[str], output: Path) -> list[Path]:
    return [folder / name for name in _files(folder) - known - {output.name}]


def _inside(output: Path) -> set[str]:
    return {str(file.relative_to(output)) for file in output.rglob("*")} if output.is_dir() else set()


def _stamp(output: Path) -> object:
    """What changes where an output is replaced; None where there is none."""
    return output.stat().st_ino if output.exists() else None


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def main() -> int:
    """Kill all commands and print what came of it; the exit status is 1 if an output was neither whole nor absent."""
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description="Kill commands at random moments.")
    parser.add_argument("--count", type=int, default=50, help="kills of each command (default: 50)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=COMMANDS, action="append")
    given = parser.parse_args()
    work, failed = Path(mkdtemp(prefix="dynid_kills_")), False
    try:
        write_corpus(work / "corpus")
        for name in given.only or COMMANDS:
            kills = kill(name, given.count, work / "corpus", given.seed)
            counts = ", ".join(f"{text}: {count}" for text, count in sorted(kills.counts.items()))
            print(f"{name} ({kills.seconds:.1f} s), {given.count} kills: {counts}; {len(kills.problems)} problems")
            for problem in kills.problems:
                print(f"  {problem}")
            sys.stdout.flush()
            failed = failed or bool(kills.problems)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
