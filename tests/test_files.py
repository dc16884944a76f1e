"""Files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dynid.errors import OutputExistsError
from dynid.files import OutputError, is_file, write_text


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


def test_new_files_have_the_usual_permissions(tmp_path: Path) -> None:
    ours, usual = tmp_path / "ours", tmp_path / "usual"
    write_text(ours, "")
    usual.write_text("")
    assert ours.stat().st_mode == usual.stat().st_mode


def test_names_that_cannot_be_files_are_none(tmp_path: Path) -> None:
    assert not is_file(tmp_path / ("x" * 400))
    with pytest.raises(OutputError, match="cannot be written"):
        write_text(tmp_path / ("x" * 400), "")
