"""Files of strangers: whatever their bytes, nothing but our own errors comes out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from dynid.errors import DynidError
from dynid.logs.readers import text as text_reader
from dynid.logs.readers.bags import SUFFIXES
from dynid.logs.tables import RecordingError, read_columns, source_of
from tests.bag_files import joint_states, write_bag
from tests.mat_files import version_73

T = np.arange(20) / 100
Q = np.column_stack([np.sin(T), np.cos(T)])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """One good file of each kind, as bytes, by its ending."""
    folder = tmp_path_factory.mktemp("corpus")
    table = {"t": T, "q_1": Q[:, 0], "q_2": Q[:, 1]}
    pl.DataFrame(table).write_csv(folder / "log.csv")
    pl.DataFrame(table).write_parquet(folder / "log.parquet")
    np.savez(folder / "log.npz", t=T, q=Q)
    savemat(folder / "log.mat", {"t": T[:, None], "q": Q, "s": {"tau": Q}})
    version_73(folder / "new.mat", {"t": T[:, None], "q": Q})
    states = {
        kind: {"/joint_states": ("sensor_msgs/msg/JointState", joint_states(kind, ["a", "b"], T, Q, Q))}
        for kind in ("bag", "db3", "mcap")
    }
    write_bag(folder / "one", "bag", states["bag"])
    files = [*folder.glob("log.*"), folder / "new.mat", folder / "one.bag"]
    files += [next(write_bag(folder / kind, kind, states[kind]).glob(f"*.{kind}")) for kind in ("db3", "mcap")]
    return {("new" if file.stem == "new" else "") + file.suffix: file.read_bytes() for file in files}


def error_of(path: Path) -> str:
    """What reading a file complains of in one line; just its path where it can be read all the same."""
    try:
        read_columns(path)
    except DynidError as error:
        return str(error) if "\n" not in str(error) else f"several lines: {error}"
    return str(path)


@settings(max_examples=120)
@given(data=st.data())
def test_damaged_files_give_our_own_errors_only(
    corpus: dict[str, bytes], data: st.DataObject, tmp_path_factory
) -> None:
    kind, other = data.draw(st.sampled_from(sorted(corpus))), data.draw(st.sampled_from(sorted(corpus)))
    content = bytearray(corpus[kind])
    if data.draw(st.booleans()):  # a piece of another file within it
        start, length = data.draw(st.integers(0, len(corpus[other]) - 1)), data.draw(st.integers(1, 200))
        where = data.draw(st.integers(0, len(content) - 1))
        content[where : where + data.draw(st.sampled_from([0, length]))] = corpus[other][start : start + length]
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(1, len(content)) | st.just(len(content)))]
    called = data.draw(st.sampled_from([kind, kind, kind, other]))
    path = tmp_path_factory.mktemp("damaged") / f"log{called.removeprefix('new')}"
    path.write_bytes(bytes(content))
    assert error_of(path).startswith(str(path))


@given(content=st.binary(max_size=300), suffix=st.sampled_from([*SUFFIXES, ".mat", ".csv", ".npz", ".parquet"]))
def test_any_bytes_give_our_own_errors_only(content: bytes, suffix: str, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("any") / f"log{suffix}"
    path.write_bytes(content)
    assert error_of(path).startswith(str(path))


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
