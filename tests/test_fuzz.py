"""The fuzzer: a short run over all readers and commands finds nothing, and it would see what it looks for."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.cases import GROUPS, Outcome, prepare, run
from tests.fuzz.corpus import write_corpus
from tests.fuzz.watching import Limits, fuzz
from tests.kills import kill

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fuzzer ends processes by signals")

SECONDS = 6.0
"""How long the short run takes, once its process has started."""

WORKER = """
import json, sys, time, os
request = json.loads(sys.stdin.readline())
def say(number, **more):
    print(json.dumps(dict(number=number, group="g", kind="k", command="c", status=0, problem="", warned=[], **more)))
    sys.stdout.flush()
for number in range(request["first"], 10):
    say(number, started=True)
    if number == 1: time.sleep(100)
    if number == 3: os.kill(os.getpid(), 11)
    if number == 5: held = bytearray(b"x" * 300_000_000); time.sleep(100)
    say(number)
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("fuzz") / "corpus")


def test_a_short_run_finds_nothing(corpus: Path, tmp_path: Path) -> None:
    """The long run is `make fuzz`."""
    since: list[float] = []

    def until(number: int) -> bool:
        if number == 1:
            since.append(time.monotonic())
        return number >= 400 or bool(since and time.monotonic() - since[0] > SECONDS)

    tally = fuzz(corpus, tmp_path / "cases", seed=7, groups=GROUPS, until=until, limits=Limits(120.0))
    assert [(said["number"], said["command"], said["problem"]) for said in tally.failures] == []
    assert tally.cases


def test_hangs_crashes_and_memory_are_seen_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text(WORKER)
    command = (sys.executable, str(tmp_path / "worker.py"))
    limits, failed = Limits(seconds=1.0, memory=2e8), []
    tally = fuzz(
        tmp_path,
        tmp_path,
        seed=1,
        groups=("g",),
        until=lambda n: n >= 8,
        limits=limits,
        on_failure=lambda said: failed.append((said["number"], said["problem"].split()[0])),
        command=command,
    )
    assert failed == [(1, "hangs"), (3, "ends"), (5, "takes")]
    assert tally.cases == 8


def test_a_case_of_a_seed_is_always_the_same(corpus: Path, tmp_path: Path) -> None:
    made = []
    for k in range(2):
        outcome, _ = prepare(np.random.default_rng([1, 2]), corpus, tmp_path / str(k), "robots")
        files = sorted(file for file in (tmp_path / str(k)).rglob("*") if file.name != "origin.json" and file.is_file())
        made.append((outcome.command, [file.read_bytes() for file in files]))
    assert made[0] == made[1]


def test_files_left_behind_and_half_written_are_seen(corpus: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content, expected in (
        ("new.json", "{", "half written"),
        (".new.x", "", "behind"),
        ("a.csv", "", "changed"),
    ):
        place = tmp_path / name.strip(".")
        place.mkdir()
        (place / "a.csv").write_text("old")
        outcome = Outcome("g", "k", "c")
        monkeypatch.setattr("tests.fuzz.cases.FUNCTIONS", {"do": lambda path, text=content: path.write_text(text)})
        run(["do", name], outcome, place)
        assert expected in outcome.problem


def test_killed_commands_leave_whole_outputs_or_none(corpus: Path, tmp_path: Path) -> None:
    """All commands, at many moments: `make kills`."""
    shutil.copytree(corpus, tmp_path / "work")
    kills = kill("export", 2, tmp_path / "work")
    assert kills.problems == []
