"""What commands print, at 80 and 120 columns, beside what they printed when somebody last looked at it.

Words must be the same, and numbers nearly. `DYNID_WRITE_GOLDEN=1` writes the screens anew: look at them then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynid
from tests.commands import run
from tests.first_hours import sums_of_sines
from tests.urdf_texts import joint, urdf

SCREENS = Path(__file__).parents[1] / "data" / "screens"
WIDTHS = (80, 120)

COMMANDS = {
    "help": "--help",
    "convert": "convert builtin:ur5 arm.urdf --force",
    "repair": "repair wrong.urdf --out mended.urdf --force",
    "inspect": "inspect arm.urdf --terms viscous,coulomb",
    "inspect_full": "inspect arm.urdf --terms viscous,coulomb --full",
    "excite": "excite builtin:pendulum --terms viscous --period 5 --harmonics 2 --starts 1 --out motion --force",
    "excite_full": "excite builtin:pendulum --terms viscous --period 5 --harmonics 2 --starts 1 --full",
    "simulate": "simulate arm.urdf --trajectory motion.csv --out run.csv --log-rate 100 --terms "
    "viscous,coulomb --set fv*=2,fs*=1 --noise 0.1 --seed 1 --lead-in 1 --force",
    "simulate_other": "simulate arm.urdf --trajectory motion.csv --out other.csv --log-rate 100 --terms "
    "viscous,coulomb --set fv*=2,fs*=1 --noise 0.1 --seed 2 --lead-in 1 --force",
    "init": "init arm.urdf run.csv --out arm.toml --force",
    "identify": "identify run.toml --out result --force",
    "identify_full": "identify run.toml --full",
    "validate": "validate result other.csv",
    "validate_full": "validate result other.csv --full",
    "validate_control": "validate result other.csv --control",
    "export": "export result --to urdf --force",
    "report": "report result --validate other.csv --force",
    "compare": "report result result --out comparison.html --force",
}
"""Commands by the name of their screen, each working on the files of those before it."""

SEARCHED = ("excite", "excite_full")
"""Screens of a search among equally good motions (a pendulum may swing to either side first): the rounding of the
processor decides which one is found. tests/excitation checks their numbers."""

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")
ROUNDING = 1e-12
MEASURED = re.compile(r"\d+(?:\.\d+)? (?:s|ms|MB)\b")
"""Times and sizes, which are never the same twice."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("screens")
    (made / "wrong.urdf").write_text(urdf(joint("elbow", "base", "arm")).replace('ixx="1"', 'ixx="9"'))
    robot, t = dynid.load_robot("builtin:ur5"), np.arange(0.0, 10.0, 0.01)
    motion = np.column_stack([t, *sums_of_sines(robot, np.random.default_rng(3), t)])
    names = [f"{letter}_{joint.name}" for letter in "qva" for joint in robot.joints]
    np.savetxt(made / "motion.csv", motion, delimiter=",", header=",".join(["t", *names]), comments="")
    return made


@pytest.fixture(scope="module")
def remembered() -> Callable[[str], Callable[..., Any]]:
    """Functions of the package that do what takes long once, and answer the same question with the same object."""
    answers: dict[tuple[object, ...], Any] = {}

    def of(name: str) -> Callable[..., Any]:
        work = getattr(dynid, name)

        def answer(*arguments: object, **options: object) -> Any:
            key = (name, *map(str, arguments), *(f"{k}={v}" for k, v in options.items() if k != "progress"))
            if key not in answers:
                answers[key] = work(*arguments, **options)
            return answers[key]

        return answer

    return of


def test_screens_are_as_when_they_were_last_looked_at(
    folder: Path, remembered: Callable[[str], Callable[..., Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for name in ("excite", "identify", "validate"):
        monkeypatch.setattr(dynid, name, remembered(name))
    different = []
    for width, (name, command) in product(WIDTHS, COMMANDS.items()):
        monkeypatch.setenv("COLUMNS", str(width))
        status, shown, error = run(*command.split())
        assert status == 0, error
        assert "\u2026" not in shown, name
        assert name != "help" or "..." not in shown.partition("Commands:")[2], "the line of a command is cut off"
        assert max(len(line.rstrip()) for line in shown.splitlines()) <= width, name
        path = SCREENS / f"{name}_{width}.txt"
        if os.environ.get("DYNID_WRITE_GOLDEN"):
            path.parent.mkdir(exist_ok=True)
            path.write_text("\n".join(line.rstrip() for line in shown.splitlines()) + "\n", encoding="utf-8")
        if not alike(shown, path.read_text(encoding="utf-8"), compare_numbers=name not in SEARCHED):
            different.append((name, shown))
    assert different == []


def alike(shown: str, golden: str, *, compare_numbers: bool) -> bool:
    """Whether two screens have the same words, and numbers that differ by two percent, or two of their last digit.

    Numbers below ROUNDING are what is left of a zero, and differ from processor to processor.
    """
    mine, theirs = (MEASURED.sub("", text) for text in (shown, golden))
    words = [" ".join(re.sub(r"[\s─]+", " ", NUMBER.sub("#", text)).split()) for text in (mine, theirs)]
    numbers = zip(NUMBER.findall(mine), NUMBER.findall(theirs), strict=False)
    return words[0] == words[1] and all(
        not compare_numbers
        or abs(float(one) - float(other)) <= 0.02 * abs(float(other)) + max(2.0 * _last_digit(other), ROUNDING)
        for one, other in numbers
    )


def _last_digit(number: str) -> float:
    """What the last digit of a number is worth."""
    digits, _, power = number.partition("e")
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
