"""Cases: a damaged file or an odd command line, what is run with it, and what must hold afterwards."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import typer
from lxml import etree
from typer.testing import CliRunner

import dynid
from dynid.cli import app
from dynid.cli.viewer_page import motion_to_show
from dynid.errors import DynidError
from dynid.excitation import robot_of_motion
from dynid.logs.tables import read_columns, source_of
from dynid.robot import triangles
from tests.fuzz.mutation import Rng, mutated

DESIGN = "--time-limit 0.7 --starts 1"
RESULT = (
    "report result --out new.html",
    "export result --to urdf --out new.urdf --anyway",
    "export result --to json --out new.json --anyway --json",
    "validate result log.csv --json",
    "identify logs.toml --add-to result --out new",
    "load result",
    "load result",
    "load result",
)
ROBOT = (
    "inspect {file}",
    "inspect {file} --json",
    "inspect {file} --floating --terms viscous,coulomb,armature",
    "convert {file} new.urdf",
    "repair {file}",
    f"excite {{file}} {DESIGN} --out new",
)
LOG = ("read {file}", "read {file}", "read {file}", "init arm.urdf {file} --out new.toml")


@dataclass(frozen=True)
class Target:
    """A kind of file, and what is run with a damaged one.

    Attributes:
        group: What it belongs to: readers, robots, experiments, results, trajectories.
        file: The file in the corpus.
        actions: Commands, or one of `FUNCTIONS`; `{file}` is the file and `{suffix}` its ending.
    """

    group: str
    file: str
    actions: tuple[str, ...]


LOGS = ("log.csv", "commas.csv", "log.txt", "packed.csv.gz", "log.parquet", "log.npz", "log.json", "log.jsonl")
LOGS += (
    "log.mat",
    "new.mat",
    "log.bag",
    "log.db3",
    "log.mcap",
    "bag_db3/metadata.yaml",
    "bag_mcap/metadata.yaml",
    "log.pt",
)

TARGETS = (
    *(Target("readers", name, LOG) for name in LOGS),
    Target("readers", "log.csv", ("identify experiment.toml --out new", "validate result log.csv --json")),
    *(Target("robots", name, ROBOT) for name in ("arm.urdf", "arm.xml", "arm.xacro", "two_link.toml", "tx40.toml")),
    Target("robots", "grip.srdf", (f"excite grip.urdf {DESIGN} --out new",)),
    Target("robots", "part.obj", ("mesh {file}", "inspect arm.urdf")),
    Target("robots", "part.stl", ("mesh {file}", "inspect arm.xml")),
    Target("robots", "part.xml", ("inspect arm.xml",)),
    Target("robots", "arm.urdf", ("export result --to urdf --out new.urdf --anyway", "report result --out new.html")),
    Target("experiments", "experiment.toml", ("identify experiment.toml --out new", f"excite {{file}} {DESIGN}")),
    Target("experiments", "logs.toml", ("validate result logs.toml", "identify logs.toml --add-to result --out new")),
    *(
        Target("results", f"result/{name}", RESULT)
        for name in ("result.json", "origin.json", "experiment.toml", "log_1.factors")
    ),
    *(
        Target("trajectories", f"motion/{name}", (f"show {of}", f"simulate arm.urdf --trajectory {of} --out new.csv"))
        for name, of in (("trajectory.csv", "{file}"), ("trajectory.json", "{file}"), ("excitation.json", "motion"))
    ),
)
"""Everything that is read; command lines, the group `arguments`, read no damaged file."""

GROUPS = (*dict.fromkeys(target.group for target in TARGETS), "arguments")

ODD = (
    "", "-1", "0", "1", "0.5", "nan", "inf", "1e308", "-1e30", "1e-320", "9" * 400, "a" * 5000, "/dev/null", "/", ".",
    "..", "\udcff.urdf", "n\udcff", "builtin:two_link", "builtin:nope", "arm.urdf", "log.csv", "result", "motion",
    "two_link.toml", "experiment.toml", "joint_1=0.5", "joint_1", "=", ",", ",,,,", "1,2,3", "1:2", "-1:1", "100",
    "new", "joint_1=-1:1", "[red]x[/red]", "new.urdf", "new.csv", "missing/new.csv", "--json", "--", "-", "~nobody/x",
    "$HOME", "viscous,coulomb", "motion/trajectory.csv", "fifo.toml", "fifo.csv", "json", "urdf", "csv,json", "m1=1",
    "q_*", "rad", "1e9", "é\u202e",
)  # fmt: skip
"""What arguments are made of; `\\udcff` is a byte that is no UTF-8."""


LIKELY = {
    "demo": (),
    "view": ("motion/trajectory.csv",),
    "identify": ("experiment.toml",),
    "init": ("arm.urdf", "log.csv"),
    "validate": ("result", "log.csv"),
    "report": ("result",),
    "export": ("result", "--to", "urdf"),
    "convert": ("arm.urdf", "new.urdf"),
    "simulate": ("arm.urdf", "--trajectory", "motion/trajectory.csv"),
}
"""Arguments that commands take; `arm.urdf` where they are not stated here."""


def _commands() -> dict[str, list[str]]:
    """Names of all commands with those of their options."""
    command: Any = typer.main.get_command(app)
    return {
        name: [text for option in one.params for text in option.opts if text.startswith("--") and text != "--help"]
        for name, one in command.commands.items()
    }


def _read(path: Path) -> None:
    source_of(path)
    read_columns(path)


def _show(path: Path) -> None:
    motion_to_show(path, robot_of_motion(dynid.load_robot("arm.urdf"), path))


FUNCTIONS: Mapping[str, Callable[[Path], object]] = {
    "read": _read,
    "show": _show,
    "mesh": triangles,
    "load": dynid.load_result,
}
"""What is run in Python, where a command would take longer for the same reader."""


@dataclass
class Outcome:
    """What came of a case.

    Attributes:
        group: The group of its target.
        kind: Its file, or the command.
        command: What was run.
        status: 0 or 2 as the command would exit, or -1.
        problem: What is wrong; empty where nothing is.
        warned: Warnings of libraries that users would see.
    """

    group: str
    kind: str
    command: str
    status: int = 0
    problem: str = ""
    warned: list[str] = field(default_factory=list)


def prepare(rng: Rng, corpus: Path, place: Path, group: str) -> tuple[Outcome, list[str]]:
    """Make the folder of a case, with one damaged file or none; gives what to run."""
    shutil.copytree(corpus, place)
    origin = place / "result" / "origin.json"
    origin.write_text(origin.read_text().replace(str(corpus), str(place)))
    if group == "arguments":
        for name in ("fifo.toml", "fifo.csv"):
            os.mkfifo(place / name)
        words = _command_line(rng)
        return Outcome(group, words[0], " ".join(words)), words
    targets = [target for target in TARGETS if target.group == group]
    target = targets[rng.integers(len(targets))]
    path = place / target.file
    others = [file.read_bytes() for file in sorted(corpus.glob("*")) if file.is_file()]
    path.write_bytes(mutated(rng, path.read_bytes(), others))
    action = target.actions[rng.integers(len(target.actions))]
    name = target.file if "metadata" not in target.file else str(Path(target.file).parent)
    words = [word.format(file=name, suffix=path.suffix) for word in action.split()]
    return Outcome(group, f"{action.split()[0]} {target.file}", " ".join(words)), words


def _command_line(rng: Rng) -> list[str]:
    known = _commands()
    name = sorted(known)[rng.integers(len(known))]
    odd = [word for word in ODD if name != "demo" or ("two_link" not in word and word != "arm.urdf")]
    words = list(LIKELY.get(name, ("arm.urdf",))) if rng.random() < 0.8 else []
    words += [odd[k] for k in rng.integers(len(odd), size=int(rng.choice([0, 0, 0, 1])))]
    for _ in range(int(rng.integers(0, 4))):
        words.append(known[name][rng.integers(len(known[name]))])
        if rng.random() < 0.8:
            words.append(odd[rng.integers(len(odd))])
    robot = odd[rng.integers(len(odd))] if name == "demo" or rng.random() < 0.3 else "arm.urdf"
    last = {"excite": DESIGN.split(), "demo": ["--robot", robot], "view": ["--robot", robot]}
    return [name, *words, *last.get(name, [])]


def run(words: list[str], outcome: Outcome, place: Path) -> None:
    """Run a case in its folder, in this process, and judge it."""
    before = _contents(place)
    os.chdir(place)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text = _function(words, outcome) if words[0] in FUNCTIONS else _command(words, outcome)
    outcome.warned = sorted({f"{w.category.__name__}: {str(w.message)[:100]}" for w in caught})
    os.chdir("/")
    if not outcome.problem:
        outcome.problem = _unsound(before, place, outcome, text)


def _function(words: list[str], outcome: Outcome) -> str:
    try:
        FUNCTIONS[words[0]](Path(words[1]))
    except DynidError as error:
        outcome.status = 2
        return f"dynid: {error}"
    except Exception as error:
        outcome.status, outcome.problem = -1, f"{type(error).__name__}: {error}"[:500]
    return ""


def _command(words: list[str], outcome: Outcome) -> str:
    done = CliRunner().invoke(app, words)
    outcome.status = done.exit_code
    if isinstance(done.exception, UnicodeEncodeError) and any("\udcff" in word for word in words):
        outcome.status = 0
        return ""  # the command's own streams replace what is no text; those of the runner do not
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        outcome.status, outcome.problem = -1, f"{type(done.exception).__name__}: {done.exception}"[:500]
    elif done.exit_code not in (0, 2):
        outcome.problem = f"status {done.exit_code}: {done.stderr[:300]}"
    elif "Traceback" in done.stderr:
        outcome.problem = f"prints a traceback: {done.stderr[-300:]}"
    elif done.exit_code == 2 and not done.stderr.strip():
        outcome.problem = "fails without a word"
    elif done.exit_code == 0 and words[-1] == "--json" and outcome.group != "arguments" and _is_no_json(done.stdout):
        outcome.problem = f"prints no JSON: {done.stdout[:200]}"
    return done.stderr if done.exit_code == 2 else ""


def _is_no_json(text: str) -> bool:
    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return "Usage" not in text
    return False


def _contents(place: Path) -> dict[str, str]:
    """A digest of every file in a folder."""
    files = (file for file in place.rglob("*") if file.is_file())
    return {str(file.relative_to(place)): hashlib.sha1(file.read_bytes()).hexdigest() for file in files}


def _unsound(before: dict[str, str], place: Path, outcome: Outcome, text: str) -> str:
    """What is wrong with the files after a case, or with its message."""
    after = _contents(place)
    is_forced = "--force" in outcome.command
    changed = [name for name, digest in before.items() if after.get(name) != digest]
    made = [name for name in after if name not in before]
    if changed and not is_forced:
        return f"changed {changed[:3]}"
    if hidden := [name for name in made if any(part.startswith(".") for part in Path(name).parts)]:
        return f"left {hidden[:3]} behind"
    if outcome.status == 2:
        if made:
            return f"failed, and left {made[:3]} behind"
        return "" if "\n" not in text.strip() or "Usage" in text else f"fails in several lines: {text[:300]}"
    return next((problem for name in made if (problem := _half_written(place / name))), "")


def _half_written(path: Path) -> str:
    """What is wrong with an output."""
    try:
        if path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix in (".urdf", ".xml"):
            etree.fromstring(path.read_bytes())
        elif path.suffix == ".html" and not path.read_text().rstrip().endswith("</html>"):
            return f"{path.name} has no end"
        elif path.suffix == ".factors":
            with np.load(path, allow_pickle=False) as arrays:
                _ = [arrays[name] for name in arrays.files]
    except Exception as error:
        return f"{path.name} is half written ({type(error).__name__}: {str(error)[:100]})"
    return ""
