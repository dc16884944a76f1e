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
    from dynid.robot.formats.denavit_hartenberg import parse_table

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
    from dynid.experiment.reading import read_experiment

    path = tmp_path / "experiment.toml"
    path.write_text(blocks(ROOT / "docs" / "experiments.md", "toml")[0])
    assert read_experiment(path).estimation.method == "wls"


def test_the_bag_experiment_of_the_documentation_is_one(tmp_path: Path) -> None:
    from dynid.experiment.reading import read_experiment

    path = tmp_path / "experiment.toml"
    path.write_text(blocks(ROOT / "docs" / "logs.md", "toml")[0])
    assert read_experiment(path).log[0].position.topic == "/joint_states"


def test_links_between_pages_lead_somewhere() -> None:
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)


def test_the_tutorial_runs_from_its_first_block_to_its_last(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    steps = FENCE.findall((ROOT / "docs" / "from_zero.md").read_text())
    assert [language for language, _, _ in steps].count("sh") == 4
    for language, title, text in steps:
        if title:
            (tmp_path / title).write_text(text)
        if language == "python":
            exec(compile(text, title, "exec"), {})
        for command in text.splitlines() if language == "sh" else ():
            done = CliRunner().invoke(app, command.removeprefix("dynid ").split())
            assert done.exit_code == 0, f"{command}: {done.output}"
    verdict = (tmp_path / "report.html").read_text()
    assert "This model can be trusted" in verdict


def test_the_reference_of_the_experiment_file_has_every_key_and_no_other() -> None:
    from dynid.experiment.experiment import Experiment
    from dynid.experiment.reference import MEANINGS, reference_markdown

    text = reference_markdown()
    schema = Experiment.model_json_schema()
    keys = {
        f"{name}.{key}"
        for name, table in (schema["$defs"] | {"Experiment": schema}).items()
        for key in table["properties"]
    }
    assert not MEANINGS.keys() - keys
    for key in keys:
        assert f"| `{key.rpartition('.')[2]}` |" in text


def test_every_page_is_in_the_site() -> None:
    listed = (ROOT / "mkdocs.yml").read_text()
    assert all(f" {page.name}" in listed for page in PAGES[1:])


def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    import subprocess
    import sys

    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'dynid[docs]'")
    pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed: pip install 'dynid[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "velocity_threshold" in (tmp_path / "site" / "experiment_reference.html").read_text()
