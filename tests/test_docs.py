"""What the documentation shows is what happens."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dynid.cli import app
from dynid.findings import catalogue
from tests.browser import needs_chromium, opened
from tests.coverage_study import FENCE, Tutorial
from tests.designs import design_once

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RETIRED = re.compile(
    r"\btells?\b|\btold\b|links that can exist|possible links|what is left|samples a second|thinned out|a row a "
    r"|believe these|what can be known|what joints add|files of strangers|(?<!standard )\bdeviations?\b",
    re.IGNORECASE,
)
"""Words that the project no longer uses: CONTRIBUTING.md has the field's own."""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


def generated_pages():
    """The script that writes the generated parts of pages."""
    spec = importlib.util.spec_from_file_location("docs_hooks", ROOT / "scripts" / "docs_hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PYTHON = [(page, number) for page in PAGES for number in range(len(blocks(page, "python")))]


@pytest.mark.parametrize(("page", "number"), PYTHON, ids=lambda value: getattr(value, "stem", str(value)))
def test_python_examples_run(page: Path, number: int, tmp_path: Path, monkeypatch) -> None:
    code = blocks(page, "python")[number]
    if page.stem.startswith(("from_zero", "tutorial_")):
        pytest.skip("its blocks need the files of those before: the tests of the tutorials run them")
    monkeypatch.chdir(tmp_path)
    design_once(monkeypatch)  # pages begin with the same motion
    exec(compile(code, str(page), "exec"), {})


def test_python_examples_need_few_imports() -> None:
    for page, number in PYTHON:
        code = blocks(page, "python")[number]
        assert len(re.findall(r"^(?:import|from) ", code, re.MULTILINE)) <= 4, f"{page.name}: {code}"


def test_toml_examples_are_robots() -> None:
    from dynid.robot.formats.denavit_hartenberg import parse_table

    examples = blocks(ROOT / "docs" / "tables.md", "toml")
    assert examples
    for text in examples:
        parse_table(text, "docs/tables.md")


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=lambda page: page.name)
def test_console_examples_show_the_real_output(page: Path) -> None:
    """`python scripts/docs_hooks.py` writes it; the smallest numbers are rounding, and differ between machines."""
    text = page.read_text()
    shown, real = (
        re.sub(r"\d(\.\d)?e-1[5-7]", "~0", each) for each in (text, generated_pages().with_real_output(text))
    )
    assert shown == real


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_generated_parts_are_current(page: Path) -> None:
    """`python scripts/docs_hooks.py` writes them."""
    assert page.read_text() == generated_pages().on_page_markdown(page.read_text())


def test_the_page_of_findings_covers_every_code_with_its_severity_and_meaning() -> None:
    text = (ROOT / "docs" / "findings.md").read_text()
    for code, entry in catalogue().items():
        assert f"### `{code}`\n\n**{entry.severity.value}** · {entry.meaning}\n" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_use_the_words_of_the_field(page: Path) -> None:
    assert not RETIRED.findall(page.read_text())


def test_files_that_pages_name_exist() -> None:
    for page in PAGES:
        for name in re.findall(r"`(?:python |pytest )?((?:[a-z_]+/)+[a-z_0-9]+\.(?:py|toml|ipynb))`", page.read_text()):
            assert (ROOT / name).exists() or (ROOT / "src" / "dynid" / name).exists(), f"{page.name}: {name}"


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


def follow(page: Path, folder: Path) -> dict[str, str]:
    """Do what a tutorial says, block by block, in a folder that is the current one; gives what each command printed."""
    printed = {}
    for language, title, text in FENCE.findall(page.read_text(encoding="utf-8")):
        if title:
            (folder / title).write_text(text, encoding="utf-8")
        if language == "python":
            exec(compile(text, title, "exec"), {})
        if language == "toml" and not title:  # what the command before it wrote
            assert (folder / "arm.toml").read_text(encoding="utf-8") == text
        for command in text.splitlines() if language == "sh" else ():
            done = CliRunner().invoke(app, shlex.split(command)[1:])
            assert done.exit_code == 0, f"{command}: {done.output}"
            printed[command] = done.output
    return printed


def test_the_tutorial_runs_from_its_first_block_to_its_last(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(follow(ROOT / "docs" / "from_zero.md", tmp_path)) >= 4
    assert "This model can be trusted" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("robot", ["ur", "panda", "ros2"])
def test_tutorials_of_robots_end_with_a_validated_model(robot: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    design_once(monkeypatch)
    follow(ROOT / "docs" / f"tutorial_{robot}.md", tmp_path)
    assert "This model can be trusted" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_tutorial_on_currents_shows_a_right_drive_and_names_what_is_wrong_with_another(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    follow(ROOT / "docs" / "tutorial_currents.md", tmp_path)
    right, wrong = (json.loads((tmp_path / name / "result.json").read_text()) for name in ("result", "wrong"))
    assert right["verdict"]["answer"] == "fits; not validated"
    assert wrong["verdict"]["answer"] == "no"
    named = [finding["subject"] for finding in wrong["findings"] if finding["code"] == "torque-sign-flipped"]
    assert named
    assert all("wrist_1_joint" in subject for subject in named)


def test_commands_of_pages_have_the_options_that_they_show() -> None:
    """Of all `sh` blocks; those of tutorials are run as well."""
    import typer.main

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for page in PAGES:
        for line in "\n".join(blocks(page, "sh")).splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["dynid"] and len(words) > 1:
                known = {option for parameter in commands[words[1]].params for option in parameter.opts} | {"--help"}
                assert {word for word in words if word.startswith("--")} <= known, f"{page.name}: {line}"


def test_the_tutorial_finds_the_friction_that_its_script_states(tmp_path: Path) -> None:
    """With the experiment file of the page: one-sided filters had biased dry friction by five standard deviations."""
    tutorial = Tutorial(tmp_path)
    errors, held = [], []
    for seed in range(1, 16):
        result = tutorial.as_stated(seed)
        true = dict(zip(result.base.names, result.base.to_base(tutorial.truth).tolist(), strict=True))
        errors += [(row.value - true[row.name]) / row.std for row in result.parameters if row.name.startswith("f")]
        held += [row.lower <= true[row.name] <= row.upper for row in result.parameters]
    assert np.abs(errors).max() < 4.5
    assert abs(np.mean(errors)) < 0.6
    assert np.mean(held) > 0.88


def test_the_reference_of_the_experiment_file_has_every_key_and_no_other() -> None:
    from scripts.experiment_reference import MEANINGS, reference_markdown

    from dynid.experiment.experiment import Experiment

    text = reference_markdown()
    schema = Experiment.model_json_schema()
    keys = {
        f"{name}.{key}"
        for name, table in (schema["$defs"] | {"Experiment": schema}).items()
        for key in table.get("properties", ())
    }
    assert not MEANINGS.keys() - keys
    for key in keys:
        assert f"| `{key.rpartition('.')[2]}` |" in text


def test_every_page_is_in_the_site() -> None:
    listed = (ROOT / "mkdocs.yml").read_text()
    assert all(f" {page.name}" in listed for page in PAGES[1:])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation as a folder of pages; its build must not warn."""
    import subprocess
    import sys

    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'dynid[docs]'")
    pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed: pip install 'dynid[docs]'")
    folder = tmp_path_factory.mktemp("built") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_builds_without_warnings(site: Path) -> None:
    assert "velocity_threshold" in (site / "experiment_reference.html").read_text(encoding="utf-8")


@needs_chromium
def test_the_site_is_searched_without_a_server_or_network(site: Path) -> None:
    pytest.importorskip("playwright.sync_api")
    with opened(site / "troubleshooting.html") as watched:
        watched.page.click(".md-search__input")
        watched.page.keyboard.type("velocity_threshold")
        watched.page.wait_for_selector(".md-search-result__item", state="attached", timeout=30_000)
        assert "matching documents" in watched.page.inner_text(".md-search-result__meta")
        assert watched.errors == []
        assert watched.requests == []


@pytest.mark.parametrize("picture", sorted((ROOT / "docs" / "images").iterdir()), ids=lambda path: path.name)
def test_pictures_are_small_and_shown(picture: Path) -> None:
    assert picture.suffix == ".png"
    assert picture.stat().st_size < 150_000
    assert any(f"images/{picture.name}" in page.read_text(encoding="utf-8") for page in PAGES)
