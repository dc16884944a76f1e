"""Files are written whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dynid.errors import OutputExistsError
from dynid.files import InUseError, OutputError, is_file, reserved, write_bytes, write_text


def test_an_existing_file_is_left_alone_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "one")
    with pytest.raises(OutputExistsError, match="exists already"):
        write_text(path, "two")
    assert path.read_text() == "one"
    write_text(path, "two", overwrite=True)
    assert path.read_text() == "two"


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdopen", fail)
    with pytest.raises(OutputError, match="No space left"):
        write_text(tmp_path / "a.txt", "one")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_fails_its_check_is_not_put_in_place(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def refuse(written: Path) -> None:
        assert (written.read_text(), written.suffix, written.parent) == ("new", ".txt", tmp_path)
        raise OutputExistsError(written)

    with pytest.raises(OutputExistsError):
        write_bytes(path, b"new", overwrite=True, check=refuse)
    assert [entry.read_text() for entry in tmp_path.iterdir()] == ["old"]


def test_a_file_that_is_read_only_and_a_folder_are_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(OutputError, match="read-only"):
        write_text(path, "new", overwrite=True)
    with pytest.raises(OutputError, match="folder"):
        write_text(tmp_path, "new", overwrite=True)


def test_new_files_have_the_usual_permissions(tmp_path: Path) -> None:
    ours, usual = tmp_path / "ours", tmp_path / "usual"
    write_text(ours, "")
    usual.write_text("")
    assert ours.stat().st_mode == usual.stat().st_mode


def test_names_that_cannot_be_files_are_none(tmp_path: Path) -> None:
    assert not is_file(tmp_path / ("x" * 400))
    with pytest.raises(OutputError, match="cannot be written"):
        write_text(tmp_path / ("x" * 400), "")


HOLD = """
import sys, time
from pathlib import Path
from dynid.files import reserved
with reserved(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_of_two_runs_into_one_folder_one_is_refused_and_a_killed_one_is_taken_over(tmp_path: Path) -> None:
    place = tmp_path / "result"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(place)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(InUseError, match=f"process {other.pid} on"), reserved(place):
            pass
        other.kill()
    lock = tmp_path / ".result.lock"
    assert lock.exists()  # nobody was left to delete it
    with reserved(place), reserved(place):  # once more by the same process
        assert lock.read_text().split()[0] == str(os.getpid())
    assert not lock.exists()


def test_the_lock_of_another_host_is_left_alone(tmp_path: Path) -> None:
    lock = tmp_path / ".result.lock"
    lock.write_text("1 elsewhere\n")
    with pytest.raises(InUseError, match="process 1 on elsewhere"), reserved(tmp_path / "result"):
        pass
    assert lock.read_text() == "1 elsewhere\n"
