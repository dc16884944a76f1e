"""Files are written whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dynid.errors import OutputExistsError
from dynid.files import (
    InUseError,
    OutputError,
    is_file,
    read_arrays,
    replace_folder,
    reserved,
    write_bytes,
    write_text,
)


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


def test_folders_change_places_in_one_step(tmp_path: Path, monkeypatch) -> None:
    """Where the system can do that, no moment is without the folder; elsewhere the old one is moved aside."""
    folder = tmp_path / "out"

    def fill(text: str) -> Callable[[Path], None]:
        def write(made: Path) -> None:
            (made / "a.txt").write_text(text)
            assert not folder.exists() or (folder / "a.txt").exists()

        return write

    for text in ("one", "two"):
        replace_folder(folder, fill(text))
    monkeypatch.setattr("dynid.files._exchange", lambda *_: False)
    assert (folder / "a.txt").read_text() == "two"
    replace_folder(folder, fill("three"))
    assert (folder / "a.txt").read_text() == "three"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such call")
def test_exchanging_leaves_no_moment_without_the_folder(tmp_path: Path, monkeypatch) -> None:
    moves: list[Path] = []
    monkeypatch.setattr(Path, "replace", lambda self, _: moves.append(self))
    (tmp_path / "out").mkdir()
    replace_folder(tmp_path / "out", lambda made: (made / "new").touch())
    assert (moves, (tmp_path / "out/new").exists()) == ([], True)


@pytest.mark.parametrize("content", [b"", b"PK", b"\x93NUMPY", b"{"])
def test_damaged_archives_of_arrays_are_seen(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + content
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00\x46\x00" + head.ljust(0x46))
        archive.writestr("b", b"no array")
    with pytest.raises(ValueError, match="no archive of arrays"):
        read_arrays(path)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="no archive of arrays"):
        read_arrays(path)
    np.savez(path, a=np.ones(2))
    assert read_arrays(path)["a"].tolist() == [1.0, 1.0]
