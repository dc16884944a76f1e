"""Numbers that decide what users are told have names and reasons, and stand together beside the decision."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.thresholds_reference import Decision, decisions

from tests import source_trees
from tests.source_trees import PACKAGE

ROOT = Path(__file__).parents[1]

OPEN = {
    "estimation/drive_signs.py",
    "experiment/first/first_experiment.py",
    "experiment/first/needed_drives.py",
    "identification/pipeline.py",
    "logs/magnitudes.py",
    "logs/processing/velocities.py",
    "logs/timing.py",
}
"""Modules with findings whose numbers are not yet gathered."""

OPEN_ROOMS = ("cli", "estimation/diagnosis", "experiment/first", "identification", "logs", "report")
"""Rooms in which constants may still be called by one vague word, and thresholds need not state their calibration."""

NUMERICAL = {
    "estimation/diagnosis/extra_body.py": {"FITTED": "starts of a fit", "STEPS": "steps of a fit"},
    "estimation/drive_sign_findings.py": {"SAMPLES": "samples that are looked at"},
    "estimation/factors/reduced_logs.py": {"FOLDS": "parts of a log", "FOLD_GAP": "space between them"},
    "estimation/physical/physical_links.py": {"POSTURES": "postures that are sampled"},
    "estimation/residuals.py": {"BINS": "bins of a histogram", "SLOW_BINS": "the same for what changes slowly"},
    "excitation/exciting_motion.py": {
        "_CHECKED_SAMPLES": "samples that are checked",
        "_MOST_SLOW_SAMPLES": "samples that are written",
    },
    "excitation/friction_runs.py": {
        "_LINE": "postures that are looked at",
        "_STANDS": "postures that are looked at",
        "_GENTLER": "steps of a search",
    },
    "findings.py": {"NAMED": "items of a list that a sentence names"},
    "identification/other_stances.py": {"LOOKED_AT": "samples that are looked at"},
    "logs/held_samples.py": {"WINDOW": "samples that are looked at first"},
    "logs/long_filling.py": {"AROUND": "samples around a block that are looked at first"},
    "logs/readers/source.py": {"MEMORY": "bytes that reading may take"},
    "logs/missing_cells.py": {
        "POINTS": "degrees of polynomials",
        "TRIALS": "places that are looked at",
        "UNBROKEN": "places that are looked at",
        "TILE": "samples at a time",
    },
    "logs/processing/long_preparation.py": {
        "LONG_SAMPLES": "samples that are held in memory",
        "CHOOSING_STRETCHES": "parts of a log that are looked at",
        "CHOOSING_SAMPLES": "samples of such a part",
        "KEPT_TEMPERATURES": "samples that are drawn",
        "BEFORE_MOTION": "samples beside those that are looked at",
        "MOVED_SHARE": "rounding",
        "NOISE_STEPS": "rounding",
    },
    "logs/processing/periods.py": {"MOST_POINTS": "points of a search", "SAME_MOTION": "rounding"},
    "logs/units.py": {"KELVIN": "zero of a scale"},
    "logs/wrapped_angles.py": {"TILE": "samples at a time"},
    "model/base_parameters.py": {"_TEXT_TOLERANCE": "coefficients that texts leave out"},
    "simulation/loop.py": {"DONE": "how a run ends", "FAR": "the same"},
}
"""Constants that decide no finding beside those that do, and short names of codes, each with what it is."""

VAGUE = frozenset(
    re.findall(
        r"\w+",
        """
    ABOVE ALL BAND BATCH BELOW BEYOND BIG BLOCKS CHANCE CLEAN CLEAR CLOSE CONDITION COSTLY DIFFERENT DONE DOUBTFUL
    ENOUGH EXACT FAR FEW FEWEST FINE GAIN GAP GOOD GUESSED HALF HARMLESS HEAVY HUGE LARGE LARGEST LASTING LENGTH
    LIGHT LIKELY LIMIT LONGEST LOWEST MANY MARGIN MATTERS MOST MOVED MOVES MUCH NAMED NEAR NOISE NOISY NORMAL
    NOTICED PIECE POOR POWER QUICK QUIET QUIETER RANK REST ROUGH ROUNDING SAME SCREEN SHARE SHORTEST SIGNIFICANT
    SILENT SIZE SLIGHT SLOW SMALL SMALLEST STEEP STILL STRETCH SUFFICIENT SURE TARGET TOLERANCE UNKNOWN UNSURE
    UNTRIED USABLE WAITING WORSE WORTH WRONG
    """,
    )
)
"""Words that say nothing alone: `SURE` of what, `MOST` of which?"""


def trees() -> dict[str, ast.Module]:
    return {path.relative_to(PACKAGE).as_posix(): tree for path, tree in source_trees.trees().items()}


def is_number(node: ast.AST) -> bool:
    """Whether an expression is a number, several of them, or arithmetic with numbers."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return bool(parts) and all(map(is_number, parts))
    return False


def numbers(tree: ast.Module) -> Iterator[str]:
    """Names of the numeric constants of a module."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and is_number(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))


def makes_findings(module: str) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == "of" and isinstance(node.value, ast.Name)
        and node.value.id == "Finding"
        for node in source_trees.nodes()[PACKAGE / module]
    )  # fmt: skip


def test_modules_that_make_findings_have_their_thresholds_in_settings_objects() -> None:
    loose = {
        module: [name for name in numbers(tree) if name not in NUMERICAL.get(module, ())]
        for module, tree in trees().items()
        if module not in OPEN and makes_findings(module)
    }
    assert {module: names for module, names in loose.items() if names} == {}


def test_exceptions_are_still_needed() -> None:
    every = trees()
    for module, names in NUMERICAL.items():
        assert set(names) <= set(numbers(every[module])), module


def test_no_constant_is_called_by_a_word_that_says_nothing_alone() -> None:
    vague = {
        module: [name for name in numbers(tree) if name.strip("_") in VAGUE]
        for module, tree in trees().items()
        if not module.startswith(OPEN_ROOMS) or module.startswith("logs/processing")
    }
    allowed = set(NUMERICAL) | OPEN
    assert {module: names for module, names in vague.items() if names and module not in allowed} == {}


@pytest.mark.parametrize("decision", decisions(), ids=lambda decision: decision.name)
def test_settings_objects_are_frozen_and_every_threshold_says_what_it_means(decision: Decision) -> None:
    module = importlib.import_module(".".join(("dynid", *decision.module.with_suffix("").parts)))
    settings = getattr(module, decision.name)()
    assert dataclasses.is_dataclass(settings)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(settings, decision.thresholds[0].name, 0.0)
    assert decision.meaning
    assert {one.name for one in decision.thresholds} == {field.name for field in dataclasses.fields(settings)}
    assert [one.name for one in decision.thresholds if not one.meaning] == []


@pytest.mark.parametrize("decision", decisions(), ids=lambda decision: decision.name)
def test_every_threshold_says_where_it_was_calibrated(decision: Decision) -> None:
    assert decision.calibration or [one.name for one in decision.thresholds if not one.calibration] == []


def test_names_of_decisions_stand_once_and_all_are_on_the_page() -> None:
    names = [decision.name for decision in decisions()]
    assert len(set(names)) == len(names)
    page = (ROOT / "docs" / "thresholds.md").read_text()
    for decision in decisions():
        assert f"### {decision.name}\n" in page
        assert all(f"| `{one.name}` | {one.value} |" in page for one in decision.thresholds)
