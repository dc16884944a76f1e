"""What the documentation shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dynid.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_python_examples_run(page: Path) -> None:
    for code in blocks(page, "python"):
        exec(compile(code, str(page), "exec"), {})


def test_toml_examples_are_robots() -> None:
    from dynid.robot.denavit_hartenberg import parse_table

    examples = blocks(ROOT / "docs" / "tables.md", "toml")
    assert examples
    for text in examples:
        parse_table(text, "docs/tables.md")


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=lambda page: page.name)
def test_console_examples_show_the_real_output(page: Path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    for example in blocks(page, "console"):
        command, _, shown = example.partition("\n")
        arguments = command.removeprefix("$ dynid ").split()
        output = CliRunner().invoke(app, arguments).stdout
        # The smallest numbers are rounding, and differ between machines.
        outputs = [re.sub(r"\d\.\de-1[5-7]", "~0", text) for text in (output, shown)]
        lines = [[line.rstrip() for line in text.strip().splitlines()] for text in outputs]
        assert lines[0] == lines[1]


def test_the_experiment_of_the_documentation_is_one(tmp_path: Path) -> None:
    from dynid.config import read_experiment

    path = tmp_path / "experiment.toml"
    path.write_text(blocks(ROOT / "docs" / "experiments.md", "toml")[0])
    assert read_experiment(path).estimation.method == "wls"


def test_the_bag_experiment_of_the_documentation_is_one(tmp_path: Path) -> None:
    from dynid.config import read_experiment

    path = tmp_path / "experiment.toml"
    path.write_text(blocks(ROOT / "docs" / "logs.md", "toml")[0])
    assert read_experiment(path).log[0].position.topic == "/joint_states"


def test_links_between_pages_lead_somewhere() -> None:
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
