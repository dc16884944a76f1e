"""How often captures are said to be wrong that are good, and how often mistakes are found: `docs/captures.md`.

Simulated persons of women's and men's tables move on two force plates. Their segments are 6 % off the model's lengths
at random, their markers 10 mm away from its in each direction and 1 mm noisy, their plates 1 N and 0.3 N m noisy. Each
mistake is made in each capture.

    python -m benchmarks.capture_checks 10 [--write]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.captured_bodies import captured

from benchmarks.marked_tables import with_table
from dynid import Capture, Robot, human
from dynid.findings import Finding
from dynid.logs.captures import of_robot
from dynid.logs.captures.capture_reading import mended_capture
from dynid.logs.captures.capture_units import length_unit
from dynid.logs.captures.exchanged_sides import other_side

LENGTHS = ("thigh", "shank", "upper_arm", "forearm", "torso", "foot", "pelvis", "head")

Mistake = Callable[[Capture, np.random.Generator], Capture]


def model_of(seed: int, sex: str, height: float, mass: float) -> Robot:
    """A robot file whose segments are 6 % off the person's, at random."""
    rng = np.random.default_rng([seed, 1])
    true = human(sex=sex, height=height, mass=mass)
    lengths = {}
    for name in LENGTHS:
        frames = {"thigh": "shank_left", "shank": "foot_left", "upper_arm": "forearm_left", "forearm": "hand_left"}
        if name in frames:
            joint = next(
                j for j in true.description.joints if j.parent == f"{name}_left" and j.child.startswith(frames[name])
            )
            lengths[name] = float(np.linalg.norm(joint.placement[:3, 3]) * (1.0 + 0.06 * rng.standard_normal()))
    return human(sex=sex, height=height, mass=mass, lengths=lengths)


def recording(seed: int) -> tuple[Robot, Capture]:
    """A model, and a capture of somebody else with nearly its size."""
    rng = np.random.default_rng([seed, 2])
    sex, height = ("female", "male")[seed % 2], float(rng.uniform(1.5, 1.95))
    mass = float(22.5 * height**2 * rng.uniform(0.85, 1.2))
    truth = captured(seed, sex, height, mass)
    moved = replace(truth.capture, markers=_misplaced(truth.robot, truth.q, truth.capture, rng))
    good = replace(truth, capture=moved).noisy(seed)
    return model_of(seed, sex, height, mass), good


def _misplaced(robot: Robot, q: np.ndarray, capture: Capture, rng: np.random.Generator) -> np.ndarray:
    """Markers that are 10 mm away from those of the model, in the frame of their bodies."""
    from dynid.model import body_pose

    found = capture.markers.copy()
    for k, name in enumerate(capture.names):
        R, p = body_pose(robot, name, q)
        found[:, k] = p + R @ (0.01 * rng.standard_normal(3))
    return found


def exchanged(capture: Capture, one: int, other: int, rows: slice) -> Capture:
    """A capture with two labels exchanged in some samples."""
    markers = capture.markers.copy()
    markers[rows, one], markers[rows, other] = capture.markers[rows, other], capture.markers[rows, one]
    return replace(capture, markers=markers)


def for_a_while(capture: Capture, rng: np.random.Generator) -> Capture:
    one, other = rng.choice(len(capture.names), 2, replace=False)
    start = int(rng.integers(200, 2500))
    return exchanged(capture, one, other, slice(start, start + int(rng.integers(20, 300))))


def throughout(capture: Capture, rng: np.random.Generator) -> Capture:
    one, other = rng.choice(len(capture.names), 2, replace=False)
    return exchanged(capture, one, other, slice(None))


def sides(capture: Capture, rng: np.random.Generator) -> Capture:
    name = str(rng.choice(["KNE", "ANK", "ELB", "TOE", "THI"]))
    pair = (capture.names.index(f"L{name}"), capture.names.index(f"R{name}"))
    return exchanged(capture, *pair, slice(None))


def all_sides(capture: Capture, _: np.random.Generator) -> Capture:
    return replace(capture, names=tuple(other_side(name, capture.names) or name for name in capture.names))


def frozen(capture: Capture, rng: np.random.Generator) -> Capture:
    markers, k = capture.markers.copy(), int(rng.integers(len(capture.names)))
    start = int(rng.integers(100, 2800))
    markers[start : start + 40, k] = markers[start, k]
    return replace(capture, markers=markers)


def jumping(capture: Capture, rng: np.random.Generator) -> Capture:
    markers, k = capture.markers.copy(), int(rng.integers(len(capture.names)))
    markers[rng.integers(100, 2800, 5), k] += 0.15 * rng.standard_normal((5, 3)) + 0.05
    return replace(capture, markers=markers)


def of_plate(capture: Capture, change: np.ndarray | float, scale: float = 1.0) -> Capture:
    first, *others = capture.plates
    return replace(capture, plates=(replace(first, wrench=first.wrench * scale + change), *others))


def offset(capture: Capture, rng: np.random.Generator) -> Capture:
    return of_plate(capture, np.array([5.0, 5.0, 10.0, 2.0, 2.0, 2.0]) * rng.standard_normal(6))


def turned(capture: Capture, _: np.random.Generator) -> Capture:
    return of_plate(capture, 0.0, -1.0)


def drifting(capture: Capture, _: np.random.Generator) -> Capture:
    time = capture.plates[0].time
    return of_plate(capture, np.outer(time / time[-1], [0.0, 0.0, 12.0, 0.0, 0.0, 0.0]))


def in_millimetres(capture: Capture, _: np.random.Generator) -> Capture:
    return replace(capture, markers=1e3 * capture.markers)


MISTAKES: dict[str, tuple[Mistake, str]] = {
    "none": (lambda capture, _: capture, ""),
    "two labels exchanged for a while": (for_a_while, "markers-exchanged"),
    "two labels exchanged throughout": (throughout, "markers-swapped"),
    "left and right of a marker exchanged throughout": (sides, "markers-swapped"),
    "left and right of all labels exchanged": (all_sides, "marker-sides-exchanged"),
    "a marker that freezes for 0.4 s": (frozen, "markers-frozen"),
    "five samples that jump by 0.25 m": (jumping, "markers-jump"),
    "millimetres for metres": (in_millimetres, "capture-unit-wrong"),
    "an offset of 10 N": (offset, "plate-offset"),
    "a drift of 12 N": (drifting, "plate-drifts"),
    "a plate with the other sign": (turned, "plate-wrench-turned-round"),
}


def findings_on(robot: Robot, capture: Capture) -> tuple[Capture, list[Finding]]:
    """What is said of a capture that a file states in metres, and what it becomes."""
    unit, notes = length_unit(capture.markers, "m", "file")
    found = mended_capture(replace(capture, markers=unit * capture.markers))
    fitted, others = of_robot(robot, found)
    return fitted, [*notes, *found.findings, *others]


HEAD = ("| mistake | named | other findings | markers right afterwards |", "| --- | --- | --- | --- |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=4, help="captures")
    parser.add_argument(
        "--first", type=int, default=200, help="number of the first; thresholds come from those below 200"
    )
    parser.add_argument("--write", action="store_true", help="write the table to docs/captures.md")
    given = parser.parse_args()
    cases = [recording(seed) for seed in range(given.first, given.first + given.count)]
    lines: list[str] = [*HEAD]
    for name, (make, code) in MISTAKES.items():
        named = other = right = 0
        for seed, (robot, good) in enumerate(cases):
            wrong = make(good, np.random.default_rng([seed, 3]))
            found, findings = findings_on(robot, wrong)
            codes = [finding.code for finding in findings]
            named += code in codes
            other += bool(set(codes) - {code, "marker-gaps-filled", "marker-gaps-left"})
            right += bool(np.nanmax(np.abs(found.markers - good.markers)) < 0.03)
        counts = (f"{n} of {given.count}" if n else "none" for n in (named, other, right))
        lines.append(f"| {name} | {' | '.join(counts)} |")
        print(lines[-1], flush=True)
    if given.write:
        page = Path("docs/captures.md")
        written = with_table(page.read_text(encoding="utf-8"), "capture_checks", "\n".join(lines))
        page.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
