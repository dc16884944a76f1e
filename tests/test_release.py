"""What is released: contents and metadata of the package, and what other systems than the developers' need."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynid
from dynid import DynamicModel, Robot, load_robot
from dynid.model.sampling import random_states
from tests.references import assert_same_torques, pinocchio_torques
from tests.source_trees import nodes
from tests.strategies import robots

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def needed_files() -> set[str]:
    """Files beside the code that the package needs when it runs, or that type checkers read."""
    source = ROOT / "src" / "dynid"
    return {
        path.relative_to(ROOT / "src").as_posix()
        for path in source.rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")
    }


def test_the_wheel_holds_the_whole_package_and_nothing_else(tmp_path: Path, monkeypatch) -> None:
    hatchling = pytest.importorskip("hatchling.build", reason="hatchling is not installed: pip install 'dynid[dev]'")
    import zipfile

    monkeypatch.chdir(ROOT)
    names = set(zipfile.ZipFile(tmp_path / hatchling.build_wheel(str(tmp_path))).namelist())
    assert {name for name in names if not name.startswith("dynid-")} == needed_files()
    information = f"dynid-{dynid.__version__}.dist-info"
    assert {f"{information}/licenses/LICENSE", f"{information}/METADATA", f"{information}/entry_points.txt"} <= names


def test_the_source_archive_holds_what_its_tests_need(tmp_path: Path, monkeypatch) -> None:
    hatchling = pytest.importorskip("hatchling.build", reason="hatchling is not installed: pip install 'dynid[dev]'")
    import tarfile

    monkeypatch.chdir(ROOT)
    with tarfile.open(tmp_path / hatchling.build_sdist(str(tmp_path))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ("README.md", "CHANGELOG.md", "CITATION.cff", "Makefile", "mkdocs.yml", "tests/test_docs.py")
    assert {*wanted, "docs/index.md", "examples/panda.toml", "scripts/docs_hooks.py", "src/dynid/py.typed"} <= names
    assert not {name for name in names if name.startswith((".venv", "build", "dist", ".git/"))}


def test_data_files_of_every_kind_are_in_the_package() -> None:
    kinds = {Path(name).suffix or name for name in needed_files()}
    assert {".py", ".pyi", ".toml", ".html", ".css", ".js", ".typed"} <= kinds | {Path("py.typed").suffix}
    assert {"dynid/py.typed", "dynid/findings.toml", "dynid/robot/builtin/ur5.toml"} <= needed_files()


def test_the_versions_agree() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {re.escape(dynid.__version__)}$", citation, re.MULTILINE)
    assert PROJECT["project"]["dynamic"] == ["version"]


def test_every_supported_python_is_named() -> None:
    named = {c.rpartition(" ")[2] for c in PROJECT["project"]["classifiers"] if "Python :: 3." in c}
    assert named == {"3.11", "3.12", "3.13"}
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in named


def test_every_import_of_another_package_is_a_dependency() -> None:
    """Those of extras, and of functions that say how to install what they need, apart."""
    words = {re.split(r"[<>=;\[ ]", text)[0] for text in PROJECT["project"]["dependencies"]}
    installed = importlib.metadata.packages_distributions()
    modules = {
        name for name, owners in installed.items() if {owner.lower().replace("_", "-") for owner in owners} & words
    }
    for name, module in (("pin", "pinocchio"), ("coal", "coal")):  # in a folder that a path file adds: not in metadata
        modules |= {module} if name in words else set()
    optional = {
        "viser",
        "trimesh",
        "IPython",
        "pandas",
        "xacro",
        "llvmlite",
        "dask",
        "distributed",
        "fsspec",
        "websockets",
        "ezc3d",
    }
    for path, parts in nodes().items():
        for node in parts:
            found = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in {each.partition(".")[0] for each in found}:
                known = name in sys.stdlib_module_names or name in modules | optional | {"dynid"}
                assert known, f"{path.name} imports {name}"


def test_text_is_read_and_written_in_a_stated_encoding() -> None:
    """That of other systems is another; ruff's PLW1514 sees only what it knows to be a path."""
    others = [each for folder in ("scripts", "examples") for each in (ROOT / folder).rglob("*.py")]
    walked = {path: tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for path in others}
    for path, parts in (nodes() | walked).items():
        for node in parts:
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            text = node.func.attr in ("read_text", "write_text") or (node.func.attr == "open" and not node.args)
            if not text:
                continue
            stated = {word.arg for word in node.keywords} | {ast.unparse(argument) for argument in node.args}
            binary = bool({"'rb'", "'wb'"} & stated)
            assert binary or "encoding" in stated, f"{path.name}, line {node.lineno}"


@given(robots(), st.integers(0, 1000))
def test_torques_without_pinocchio_are_pinocchios(robot: Robot, seed: int) -> None:
    """Windows has no wheels of Pinocchio."""
    from dynid.robot.newton_euler import inverse_dynamics
    from dynid.robot.pinocchio import to_pinocchio

    q, v, a = random_states(DynamicModel(robot), 2, np.random.default_rng(seed))
    found = np.array([inverse_dynamics(robot, q[k], v[k], a[k]) for k in range(2)])
    assert_same_torques(found, pinocchio_torques(robot, to_pinocchio(robot), q, v, a))


@pytest.mark.parametrize("name", ["new.urdf", "new.xml"])
def test_written_files_are_checked_without_pinocchio(name: str, tmp_path: Path, monkeypatch) -> None:
    from dynid.robot import pinocchio
    from dynid.robot.formats.write_back import write_back

    def missing(*_: object) -> None:
        raise ImportError("No module named 'pinocchio'")

    monkeypatch.setattr(pinocchio, "is_installed", lambda: False)
    monkeypatch.setattr(pinocchio, "to_pinocchio", missing)
    robot = load_robot("builtin:ur5")
    form = "urdf" if name.endswith("urdf") else "mjcf"
    assert write_back(robot, robot.parameters, {}, tmp_path / name, format=form).difference <= 1e-9
    other = load_robot("builtin:ur5", gravity=(0, 0, -9.8))
    assert pinocchio.largest_difference(robot, other) > 1e-4


def test_compiled_code_has_a_folder_even_where_nothing_can_be_written(monkeypatch) -> None:
    """As in a container whose user has no home and did not install dynid."""
    import numba.core.caching as numba_caching
    from numba import config as numba_config

    from dynid.model.kernels import cached_code

    config: Any = numba_config
    monkeypatch.setattr(config, "CACHE_DIR", "")
    first = numba_caching.CacheImpl._locator_classes[:1]  # of a folder that the user names
    monkeypatch.setattr(numba_caching.CacheImpl, "_locator_classes", first)
    assert not cached_code.has_folder()
    cached_code.require_folder()
    assert cached_code.has_folder()
    assert Path(config.CACHE_DIR).stat().st_mode & 0o077 == 0


def test_files_are_read_where_the_system_refuses_limits(tmp_path: Path, monkeypatch) -> None:
    """As macOS does for address space, of which it does not say how much is in use."""
    resource = pytest.importorskip("resource")
    from dynid.logs.readers import helper

    asked = []

    def refuses(what: int, limits: tuple[int, int]) -> None:
        asked.append(what)
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(helper, "used_bytes", lambda: 0)
    monkeypatch.setattr(resource, "setrlimit", refuses)
    path = tmp_path / "log.npz"
    np.savez(path, q=np.zeros(3))
    assert helper._answer({"path": str(path), "reader": "npz"})["names"] == ("q",)
    assert asked
    assert resource.RLIMIT_AS not in asked


def test_an_experiment_may_name_files_on_another_drive(monkeypatch, tmp_path: Path) -> None:
    import os

    from dynid.experiment.first.experiment_text import relative

    def refuses(*_: object) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    monkeypatch.setattr(os.path, "relpath", refuses)
    assert relative(tmp_path / "a.csv", tmp_path) == (tmp_path / "a.csv").resolve().as_posix()
