"""A process that runs cases one after another and says on standard output which, and what came of each."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

from dynid.cli import viewer_page
from tests.fuzz.cases import prepare, run


def main() -> None:
    """Run the cases of a request on standard input: seed, first and last number, groups, corpus and scratch folder."""
    request = json.loads(sys.stdin.readline())
    corpus, scratch = Path(request["corpus"]), Path(request["scratch"])
    channel = os.fdopen(os.dup(1), "w")  # libraries print
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    viewer_page.serve = lambda *_, **__: None  # a page is served until it is interrupted
    for number in range(request["first"], request["last"]):
        rng = np.random.default_rng([request["seed"], number])
        place = scratch / str(number)
        shutil.rmtree(place, ignore_errors=True)
        group = request["groups"][rng.integers(len(request["groups"]))]
        outcome, words = prepare(rng, corpus, place, group)
        _say(channel, {"number": number, "started": True, **asdict(outcome)})
        start = time.process_time()
        run(words, outcome, place)
        _say(channel, {"number": number, "seconds": time.process_time() - start, **asdict(outcome)})
        if not outcome.problem:
            shutil.rmtree(place, ignore_errors=True)


def _end_with_parent() -> None:
    """End this process where the one that watches it has ended."""
    sys.stdin.read()
    os._exit(1)


def _say(channel: object, what: dict[str, object]) -> None:
    print(json.dumps(what), file=channel, flush=True)  # type: ignore[call-overload]


if __name__ == "__main__":
    main()
