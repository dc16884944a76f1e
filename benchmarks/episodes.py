"""Data sets of episodes in three layouts, 50 and 200 episodes: time and memory of `init`, `identify` and `report`.

A two-link arm with friction moves for some seconds an episode. The same numbers are written as LeRobot v2 (a file for
each episode), LeRobot v3 (64 episodes a file) and ALOHA's HDF5 files. Time is that of all processors; memory is that of
the largest process of a command.

    python -m benchmarks.episodes [--seconds 4] [--layout "LeRobot v3"] [--write]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.datasets import ROOT
from tests.episode_files import Episode, aloha, lerobot
from tests.experiment.test_episode_series import JOINTS, RATE, moving

from benchmarks.marked_tables import with_table

COUNTS = (50, 200)

LAYOUTS = ("LeRobot v2", "LeRobot v3", "ALOHA HDF5")

MEASURED = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "dynid.cli", *sys.argv[1:]], capture_output=True)
assert done.returncode == 0, done.stderr.decode()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def command(*arguments: object) -> str:
    """Seconds of all processors that a command takes, and the memory of its largest process, in words."""
    done = subprocess.run([sys.executable, "-c", MEASURED, *map(str, arguments)], stdout=subprocess.PIPE, check=True)
    seconds, memory = map(float, done.stdout.split())
    return f"{seconds:.0f} s, {memory / 1024.0:.0f} MB"


def written(layout: str, folder: Path, episodes: Sequence[Episode]) -> Path:
    """A data set of some layout."""
    if layout == "ALOHA HDF5":
        return aloha(folder, episodes)
    version, names = ("v2.1", JOINTS) if layout == "LeRobot v2" else ("v3.0", {"motors": JOINTS})
    return lerobot(folder, episodes, version=version, names=names, per_file=64)


def row(layout: str, count: int, seconds: float) -> str:
    """What the three commands take."""
    with tempfile.TemporaryDirectory() as place:
        folder, file = Path(place, "set"), Path(place, "arm.toml")
        written(layout, folder, [moving(k, round(seconds * RATE)) for k in range(count)])
        rate = ("--rate", RATE) if layout == "ALOHA HDF5" else ()
        steps = (
            command("init", "builtin:two_link", folder, "--out", file, *rate),
            command("identify", file, "--out", Path(place, "result"), "--no-cache"),
            command("report", Path(place, "result")),
        )
    return f"| {layout} | {count} | {' | '.join(steps)} |"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--layout", choices=LAYOUTS, action="append", help="one of them; all when left out")
    parser.add_argument("--write", action="store_true", help="write the table into docs/logs.md")
    options = parser.parse_args()
    lines = ["| layout | episodes | `init` | `identify` | `report` |", "|" + " --- |" * 5]
    for layout in options.layout or LAYOUTS:
        for count in COUNTS:
            lines.append(row(layout, count, options.seconds))
            print(lines[-1], flush=True)
    if options.write:
        page = ROOT / "docs/logs.md"
        page.write_text(with_table(page.read_text(encoding="utf-8"), "episodes", "\n".join(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
