"""How often confidence intervals hold the true value, over many logs with other noise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid import Log, Result, identify, read_log
from dynid.arrays import Array
from tests.truth_logs import Motion, Practice, Sensors, Truth, random_arm, white

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
"""Blocks of a page: language, title, text."""

RANGE = (0.93, 0.97)
"""Shares of 95 % intervals that may hold the truth."""


@dataclass(frozen=True)
class Coverage:
    """Intervals that hold the truth.

    Attributes:
        white: For each interval for white residuals, whether it does.
        blocks: The same for the block bootstrap.
    """

    white: tuple[bool, ...]
    blocks: tuple[bool, ...]

    def __str__(self) -> str:
        shares = [f"{np.mean(held):.3f} of {len(held)}" for held in (self.white, self.blocks) if held]
        return " | ".join(shares)


def coverage(results: Iterable[tuple[Result, Array]]) -> Coverage:
    """Which intervals hold the truth.

    Args:
        results: Results, each with the true standard parameters p, shape (parameters,).
    """
    white_held, blocks_held = [], []
    for result, p in results:
        for row, true in zip(result.parameters, result.base.to_base(p), strict=True):
            white_held.append(bool(row.lower <= true <= row.upper))
            if row.bootstrap_lower is not None and row.bootstrap_upper is not None:
                blocks_held.append(bool(row.bootstrap_lower <= true <= row.bootstrap_upper))
    return Coverage(tuple(white_held), tuple(blocks_held))


class Tutorial:
    """The tutorial `docs/from_zero.md` in a folder: its files, its robot with known parameters, its experiment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for _, title, text in FENCE.findall((ROOT / "docs" / "from_zero.md").read_text()):
            if title:
                (folder / title).write_text(text.replace('"arm.urdf"', f'"{folder / "arm.urdf"}"'))
        script = (folder / "record.py").read_text().replace('record("run', f'record("{folder}/run')
        self.names: dict[str, Any] = {}
        exec(compile(script, "record.py", "exec"), self.names)

    @property
    def truth(self) -> Array:
        """True standard parameters, shape (parameters,)."""
        return self.names["truth"]

    def log(self, seed: int) -> Log:
        """A log as the tutorial's script writes it."""
        path = self.folder / "again.csv"
        self.names["record"](str(path), seed)
        return read_log(path, self.folder / "arm.urdf")

    def as_stated(self, seed: int) -> Result:
        """The result of the tutorial's experiment file for a log with another seed."""
        self.names["record"](str(self.folder / "run1.csv"), seed)
        return identify(self.folder / "arm.toml")

    def automatic(self, seed: int) -> Result:
        """The result of the tutorial's call in Python, which states nothing about processing."""
        model = self.names["model"]
        return identify(model.robot, [self.log(seed)], ["viscous", "coulomb"], physical={"fit": False})


def random_robot(number: int) -> Practice:
    """A random robot, motion and rate; torques have white noise of 0.5, 1 or 3 %, positions that of a good encoder."""
    rng = np.random.default_rng((number, 5))
    truth = Truth(random_arm(200 + number, 2 + number % 4), ("viscous", "coulomb"), seed=number)
    motion = Motion(float(rng.uniform(15.0, 30.0)), float(rng.uniform(0.07, 0.15)))
    rate = float(rng.choice([100.0, 125.0, 200.0, 500.0]))
    return Practice(truth, motion, Sensors(rate, white(1e-6), torque=white((0.005, 0.01, 0.03)[number % 3])))


def random_results(number: int, seeds: Iterable[int]) -> Iterator[tuple[Result, Array]]:
    """Results of a random robot with default processing: the same motion with other noise."""
    practice = random_robot(number)
    truth = practice.truth
    for seed in seeds:
        log = practice.log(seed, motion_seed=number)
        yield identify(truth.robot, [log], truth.terms, physical={"fit": False}), truth.parameters
