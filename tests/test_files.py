"""Files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dynid.errors import OutputExistsError
from dynid.files import OutputError, is_file, write_bytes, write_text


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
