"""Paths that are no files, too long, or no text: one sentence and status 2; no traceback, hang or half a file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import dynid
from dynid.errors import RobotFileError
from dynid.estimation.factors.factors import Factors, FactorsFileError
from tests.commands import run
from tests.practice_logs import MODEL, PROCESSING, in_memory, log

LONG = "a" * 5000

OTHERS = ["identify {}.toml", "excite {}.toml", "init builtin:two_link {}.csv", "init builtin:two_link {}.mcap"]

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes and devices as files")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd") / "result"
    dynid.identify(MODEL.robot, in_memory(log(seconds=3.0)), MODEL.terms, processing=PROCESSING).save(folder)
    return folder


@pytest.mark.parametrize(
    "command",
    [
        f"inspect {LONG}.urdf",
        f"convert builtin:two_link {LONG}.urdf",
        f"repair {LONG}.urdf",
        f"init builtin:two_link {LONG}.csv",
        f"identify {LONG}.toml",
        f"excite builtin:two_link --out {LONG} --starts 1",
        f"simulate builtin:two_link --trajectory {LONG}.csv",
        f"validate {LONG} {LONG}.csv",
        f"report {LONG}",
        f"export {LONG} --to urdf",
        f"demo --out {LONG}",
    ],
    ids=lambda command: command.split()[0],
)
def test_names_of_5000_letters_are_refused_in_a_sentence(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, error = run(*command.split())
    assert status == 2
    assert error.startswith("dynid: ")
    assert list(tmp_path.iterdir()) == []


@posix
@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("command", [f"inspect {{}}.{kind}" for kind in ("urdf", "xml", "xacro", "toml")] + OTHERS)
def test_pipes_and_devices_are_not_read(kind: str, command: str, tmp_path: Path) -> None:
    words = command.format(tmp_path / "odd").split()
    path = Path(words[-1])
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    status, _, error = run(*words)
    assert status == 2
    assert path.name in error


@posix
def test_folders_whose_names_are_no_text_have_reports_too(result: Path, tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xff"))
    shutil.copytree(result, folder)
    command = [sys.executable, "-m", "dynid.cli", "report", folder]
    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "utf-8"}, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (folder / "report.html").stat().st_size > 100_000


def test_damaged_factors_are_refused_in_a_sentence(result: Path, tmp_path: Path) -> None:
    path = tmp_path / "log_1.factors"
    content = bytearray((result / "log_1.factors").read_bytes())
    with zipfile.ZipFile(result / "log_1.factors") as archive:
        offsets = [entry.header_offset for entry in archive.infolist()]
    for offset in offsets:
        content[offset + 8] = 99  # a method of compression that nobody has
    directory = content.find(b"PK\x01\x02")
    while directory >= 0:
        content[directory + 10] = 99
        directory = content.find(b"PK\x01\x02", directory + 4)
    path.write_bytes(content)
    with pytest.raises(FactorsFileError, match="holds no factors"):
        Factors.load(path)


@pytest.mark.parametrize("where", ["body", "inertial"])
@pytest.mark.parametrize("quat", ["1e200 0 0 0", "1e308 0 0 1e308", "1e-200 0 0 0"])
def test_quaternions_of_enormous_length_are_refused(quat: str, where: str, tmp_path: Path) -> None:
    quats = {where: f'quat="{quat}"'}
    path = tmp_path / "arm.xml"
    path.write_text(
        f'<mujoco><worldbody><body name="a" {quats.get("body", "")}><joint/><inertial pos="0 0 0" mass="1" '
        f'diaginertia="1 1 1" {quats.get("inertial", "")}/></body></worldbody></mujoco>'
    )
    with pytest.raises(RobotFileError, match="is no rotation"):
        dynid.load_robot(path)
