"""Contacts and false alarms of the observer: on a simulated elbow with the errors of real logs, and on real logs.

Run: DYNID_DATASETS=... python -m benchmarks.observer [panda tx40 alarms] (with --write, into docs/contacts.md)

`elbow_contacts` says what is simulated, `alarm_rates` how stretches of real logs are left out. The draws of the table
begin at `FIRST_DRAW`; those before served to choose what is measured here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.alarm_rates import RATES, AlarmCount, alarms, left_out
from benchmarks.elbow_contacts import DIRECTIONS, Draw, ElbowCase, drawn
from benchmarks.marked_tables import with_table
from dynid.arrays import Array

PAGE = Path(__file__).parents[1] / "docs" / "contacts.md"
EXPERIMENTS = Path(__file__).parent / "experiments"

CASES = (
    ElbowCase(
        name="Panda",
        experiment=EXPERIMENTS / "panda.toml",
        shoulder=2,
        elbow=4,
        postures={
            "ready": (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785),
            "reaching": (-0.5, 0.7, 0.3, -1.3, 0.2, 2.0, 0.4),
            "elbow out": (0.5, 0.6, 1.2, -1.6, -0.4, 1.8, 0.0),
            "upright": (0.5, 0.0, 0.0, -1.571, 0.0, 1.571, 0.0),
        },
        position_noise=2e-6,
    ),
    ElbowCase(
        name="TX40",
        experiment=EXPERIMENTS / "tx40.toml",
        shoulder=2,
        elbow=3,
        postures={
            "up": (0.0, -1.2, 1.5, 0.0, 0.5, 0.0),
            "reaching": (0.5, -0.3, 0.8, 0.3, 0.8, 0.0),
            "low": (-0.5, 0.3, 0.3, -0.3, 0.8, 0.5),
        },
        position_noise=2e-6,
        force=150.0,
    ),
)
"""The robots. Noise of positions is that of second differences of the real logs."""

LOGS = ("panda", "ur10e", "tx40", "tiago")
"""Real logs with torques."""

FIRST_DRAW, DRAWS = 50, 5
"""The draws that are reported."""

IN_TIME = 30.0
"""Delay [ms] that contacts are wanted within."""

SIDES = {"sideways": (0, 4), "oblique": (1, 3, 5, 7), "in the arm's plane": (2, 6)}
"""Directions of the force by number."""


def elbow_rows(case: ElbowCase, draws: Sequence[Draw]) -> list[list[str]]:
    """A row for each posture and side: the torque, delays at rest and in motion, and how many were in time."""
    rows = []
    for posture, q in case.postures.items():
        for side, numbers in SIDES.items():
            torque = min(np.abs(case.contact(np.array(q), 2.0 * np.pi * k / DIRECTIONS)).max() for k in numbers)
            delays = [
                np.concatenate([draw.delays[posture, moves][:, list(numbers)].ravel() for draw in draws])
                for moves in (False, True)
            ]
            both = np.concatenate(delays)
            cells = [f"{case.name}, {case.force:.0f} N", posture, side, f"{torque:.1f}", *map(_spread, delays)]
            rows.append([*cells, f"{np.sum(both <= IN_TIME)} of {len(both)}"])
    return rows


def _spread(delays: Array) -> str:
    """Smallest, middle and largest."""
    return " / ".join("missed" if np.isinf(x) else f"{x:.0f}" for x in (delays.min(), np.median(delays), delays.max()))


def alarm_words(case: ElbowCase, draws: Sequence[Draw]) -> str:
    """Sentences on false alarms without contacts, and on the errors."""
    counts = [len(draw.free.contacts) for draw in draws]
    minutes = sum(draw.free.seconds for draw in draws) / 60.0
    expected = draws[0].limits.false_alarms_per_minute * minutes
    rms = [np.array([draw.limits.stds for draw in draws]).mean(axis=0), np.array(case.limits.stds)]
    ratio = np.exp(np.mean(np.log(rms[0] / rms[1])))
    return (
        f"{case.name}, {len(draws)} draws: {sum(count == 0 for count in counts)} of {len(counts)} motions of ten "
        f"minutes without contacts gave no alarm; alarms in {minutes:.0f} minutes: {sum(counts)}, and {expected:.1f} "
        f"at the stated rate. Residuals without contacts are {ratio:.2f} times those of the real log (geometric mean "
        "over joints)."
    )


def real_row(name: str, counts: Sequence[AlarmCount]) -> list[str]:
    """Observed rates at each stated rate."""
    cells = [f"{one.observed:.1f} ({one.alarms})" if one.seconds else "refused" for one in counts]
    refused = max(one.refused for one in counts)
    return [name + (f", {refused} stretches refused" if refused else ""), f"{counts[0].seconds:.0f}", *cells]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def elbow_text(case: ElbowCase, count: int) -> str:
    """The table of a robot, and what was counted without contacts."""
    draws = []
    for seed in range(FIRST_DRAW, FIRST_DRAW + count):
        draws.append(drawn(case, seed))
        print(f"{case.name} {seed}: {draws[-1].limits}, {draws[-1].free}", file=sys.stderr, flush=True)
    head = ("contact", "posture", "direction", "torque [N m]", "at rest [ms]", "moving [ms]", "within 30 ms")
    return f"{table(head, elbow_rows(case, draws))}\n\n{alarm_words(case, draws)}"


def alarms_text() -> str:
    """The table of real logs."""
    rows = []
    for name in LOGS:
        rows.append(real_row(name, alarms(list(left_out(EXPERIMENTS / f"{name}.toml")))))
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    return table(("log", "seconds", *(f"stated {rate:g}" for rate in RATES)), rows)


def main() -> None:
    """Print the tables in Markdown; with `--write`, put them into the page."""
    parts = {case.name.lower(): case for case in CASES}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=[*parts, "alarms"], help=f"{', '.join(parts)}, alarms")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/contacts.md")
    parser.add_argument("--draws", type=int, default=DRAWS)
    options = parser.parse_args()
    for part in options.parts:
        text = alarms_text() if part == "alarms" else elbow_text(parts[part], options.draws)
        name = "contacts, false alarms" if part == "alarms" else f"contacts, {part}"
        print(f"{text}\n", flush=True)
        if options.write:
            PAGE.write_text(with_table(PAGE.read_text(), name, text))


if __name__ == "__main__":
    main()
