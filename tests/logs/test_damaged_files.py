"""Files of strangers: whatever their bytes, nothing but our own errors comes out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynid.errors import DynidError
from dynid.logs.readers import text as text_reader
from dynid.logs.tables import RecordingError, read_columns, source_of
from tests.fuzz.corpus import write_logs
from tests.fuzz.mutation import mutated


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """One good file of each kind, as bytes, by its name."""
    folder = tmp_path_factory.mktemp("corpus")
    write_logs(folder)
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}


def error_of(path: Path) -> str:
    """What reading a file complains of in one line; just its path where it can be read all the same."""
    try:
        read_columns(path)
    except DynidError as error:
        return str(error) if "\n" not in str(error) else f"several lines: {error}"
    return str(path)


def test_damaged_files_give_our_own_errors_only(corpus: dict[str, bytes], tmp_path: Path) -> None:
    """Damage as the fuzzer does it, to readers alone; some files are called by the ending of another."""
    names, contents = list(corpus), list(corpus.values())
    for k in range(120):
        rng = np.random.default_rng([11, k])
        name = names[k % len(names)]
        ending = name if rng.random() < 0.8 else names[rng.integers(len(names))]
        content = mutated(rng, corpus[name], contents) if k % 6 else rng.bytes(int(rng.integers(300)))
        path = tmp_path / f"{k}_{ending}"
        path.write_bytes(content)
        assert error_of(path).startswith(str(path)), f"example {k}"


@pytest.mark.parametrize("text", ["t,q\n1,2\n3,4\n", "# made\nt\tq\n1\t2,5\n3\t4\n", "t q\n1 2\n3 4\n", "1;2\n3;4\n"])
def test_large_text_is_read_as_small_text_is(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.txt"
    path.write_text(text)
    whole = read_columns(path)
    monkeypatch.setattr(text_reader, "LARGE", 1)
    assert np.array_equal(read_columns(path), whole)
    assert source_of(path).names
    path.write_text(text + "x" + text[-4:])
    with pytest.raises(RecordingError):
        read_columns(path)


def test_text_that_does_not_fit_into_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.csv"
    path.write_text("t,q\n" + "1,2\n" * 1000)
    monkeypatch.setattr(text_reader, "LARGE", 1)
    monkeypatch.setattr("dynid.logs.readers.source.available_bytes", lambda: 10_000)
    with pytest.raises(RecordingError, match=r"takes about .* GB of memory"):
        read_columns(path)
