"""Columns of numbers: the same values from every format, and clear words for every file that holds none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dynid.logs.tables import Columns, RecordingError, read_columns, read_groups

NAMES = ("t", "q_1", "q_2", "q_10")


def values(samples: int = 20) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.normal(size=(samples, 4)) * 10.0 ** rng.integers(-12, 12, size=(samples, 4))


def text(table: np.ndarray, delimiter: str, header: str = "") -> str:
    lines = [delimiter.join(map(repr, row)) for row in table.tolist()]
    return "\n".join(([header] if header else []) + lines) + "\n"


def delimited(delimiter: str, *, header: bool = True, mark: str = "") -> Callable[[Path, np.ndarray], None]:
    title = mark + delimiter.join(NAMES) if header else ""
    return lambda path, table: (path.write_text(text(table, delimiter, title)), None)[1]


def write_parquet(path: Path, table: np.ndarray) -> None:
    pl.DataFrame(dict(zip(NAMES, table.T, strict=True))).write_parquet(path)


def write_npz(path: Path, table: np.ndarray) -> None:
    np.savez(path, **dict(zip(NAMES, table.T, strict=True)))  # pyright: ignore[reportArgumentType]


NAMED = {
    "comma.csv": delimited(","),
    "padded.csv": delimited(", "),
    "semicolon.CSV": delimited(";"),
    "tab.tsv": delimited("\t"),
    "blank.txt": delimited(" "),
    "blanks.dat": delimited("   "),
    "marked.txt": delimited(" ", mark="# "),
    "columnar.parquet": write_parquet,
    "arrays.npz": write_npz,
}
UNNAMED = {"comma.csv": delimited(",", header=False), "tab.tsv": delimited("\t", header=False)}
UNNAMED |= {"blank.txt": delimited(" ", header=False), "semicolon.dat": delimited(";", header=False)}


@pytest.mark.parametrize("name", NAMED)
def test_named_columns_come_back_exactly_from_every_format(name: str, tmp_path: Path) -> None:
    path, table = tmp_path / name, values()
    NAMED[name](path, table)
    assert np.array_equal(read_columns(path), table)
    assert np.array_equal(read_columns(path, columns=["q_10", "t"]), table[:, [3, 0]])
    assert np.array_equal(read_columns(path, columns="q_*", count=3), table[:, 1:])
    assert np.array_equal(read_columns(path, columns=["t", 2]), table[:, [0, 2]])
    assert read_columns(path, columns=1).dtype == np.float64


@pytest.mark.parametrize("name", UNNAMED)
def test_columns_without_names_are_found_by_position(name: str, tmp_path: Path) -> None:
    path, table = tmp_path / name, values()
    UNNAMED[name](path, table)
    assert np.array_equal(read_columns(path, columns=[3, 1]), table[:, [3, 1]])
    assert read_groups(path, [None]).first_row == 1
    with pytest.raises(RecordingError, match=r"no names, so give positions from 0 to 3 instead of 'q_1'"):
        read_columns(path, columns="q_1")


def test_patterns_match_in_the_order_people_count(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("q_10,q_2,q_1,dq_1\n10,2,1,0\n")
    table = read_groups(path, ["q_*", "dq_*"])
    assert table.names == (("q_1", "q_2", "q_10"), ("dq_1",))
    assert table.groups[0].tolist() == [[1, 2, 10]]
    assert table.first_row == 2


def test_names_are_literal_before_they_are_patterns(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('"q[1]", q1\n1, 2\n')
    assert read_columns(path, columns="q[1]").tolist() == [[1]]


def test_flat_text_is_cut_into_samples(tmp_path: Path) -> None:
    path, table = tmp_path / "flat.txt", values()
    path.write_text("\n".join(map(repr, table.ravel().tolist())))
    assert np.array_equal(read_columns(path, width=4), table)
    assert np.array_equal(read_columns(path, width=4, columns=[2]), table[:, 2:3])
    assert np.array_equal(read_columns(path), table.reshape(-1, 1))
    with pytest.raises(RecordingError, match="80 numbers are not a multiple of 7"):
        read_columns(path, width=7)


def test_arrays_of_an_npz_are_columns_together(tmp_path: Path) -> None:
    path, table = tmp_path / "log.npz", values()
    np.savez(path, time=table[:, 0], q=table[:, 1:], image=np.zeros((2, 2, 2)), short=np.zeros(9))
    time, q = read_groups(path, ["time", "q"]).groups
    assert np.array_equal(np.column_stack([time, q]), table)
    assert np.array_equal(read_columns(path, columns="q[2]"), table[:, 3:])
    with pytest.raises(RecordingError, match=r"'image' has the shape \(2, 2, 2\)"):
        read_columns(path, columns="image")
    with pytest.raises(RecordingError, match="'short' has 9 samples, but 'time' has 20"):
        read_columns(path, columns=["time", "short"])


def test_decimal_commas_byte_order_marks_and_line_ends_of_windows(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"\xef\xbb\xbft;q\r\n0,5;-1,25\r\n1;2\r\n\r\n")
    assert read_columns(path, columns=["t", "q"]).tolist() == [[0.5, -1.25], [1, 2]]


def test_text_beside_the_wanted_columns_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("state,q\nidle,1\nmoving,2\n")
    assert read_columns(path, columns="q").tolist() == [[1], [2]]
    path.write_text("idle,1\nmoving,2\n")
    assert read_columns(path, columns=[1]).tolist() == [[1], [2]]


def test_a_single_column_may_have_a_name_of_several_words(tmp_path: Path) -> None:
    path = tmp_path / "time.txt"
    path.write_text("time [s]\n0\n1\n")
    assert read_columns(path, columns="time [s]").tolist() == [[0], [1]]


BAD: dict[str, tuple[str, bytes, Columns, str]] = {
    "missing column": ("a.csv", b"t,q_1\n0,1\n", "q1", r"no column 'q1'; did you mean 'q_1'\? the columns are t, q_1"),
    "missing pattern": ("a.csv", b"t,q_1\n0,1\n", "x_*", r"no column 'x_\*'.*the columns are t, q_1"),
    "position too large": ("a.csv", b"t,q_1\n0,1\n", [2], "no column 2; columns are counted from 0 to 1"),
    "negative position": ("a.csv", b"t,q_1\n0,1\n", -1, "no column -1"),
    "one column twice": ("a.csv", b"t,q_1\n0,1\n", ["t", 0], "chosen twice: t, t"),
    "two of one name": ("a.csv", b"q,q\n0,1\n", "q", "2 columns are called 'q'"),
    "only a header": ("a.csv", b"t,q\n", None, "no rows of numbers"),
    "nothing": ("a.csv", b"", None, "is empty"),
    "blanks only": ("a.txt", b" \n\n", None, "is empty"),
    "comments only": ("a.txt", b"# t q\n", None, "no rows of numbers"),
    "NaN": ("a.csv", b"t,q\n0,1\n1,nan\n2,nan\n", None, "'q' holds 2 values that are NaN, Inf or missing.* row 3"),
    "infinity": ("a.txt", b"0 1\ninf 2\n", None, "'0' holds 1 values .* row 2"),
    "missing value": ("a.csv", b"t,q\n0,1\n1,\n", None, "'q' holds 1 values that are NaN, Inf or missing.* row 3"),
    "text": ("a.csv", b"t,q\n0,1\n1,oops\n", None, "row 3 of column 'q' holds 'oops' instead of a number"),
    "text between blanks": ("a.txt", b"t q\n0 1\n1 oops\n", None, "row 3 of column 'q' holds 'oops'"),
    "too many fields": ("a.csv", b"t,q\n0,1\n1,2,3\n", None, "row 3 has 3 fields instead of 2"),
    "too few fields": ("a.txt", b"t q\n0 1\n1\n2 3\n", None, "row 3 has 1 fields instead of 2.* sample 1"),
    "too many fields, padded": ("a.csv", b"t, q\n0, 1\n1, 2, 3\n", "t", "row 3 has 3 fields instead of 2"),
    "too many fields between blanks": ("a.txt", b"0 1\n1 2 3\n", [0], "row 2 has 3 fields instead of 2"),
    "too many fields beside": ("a.csv", b"t,q\n0,1\n1,2,3\n", "t", "row 3 has 3 fields instead of 2"),
    "comment among rows": (
        "a.csv",
        b"t,q\n0,1\n# end,\n",
        "t",
        "row 3 of column 't' holds '# end' instead of a number",
    ),
    "blank line below the header": ("a.csv", b"t,q\n\n0,1\n1,x\n", None, "row 4 of column 'q' holds 'x'"),
    "underscores": ("a.csv", b"t,q\n0,1_0\n", None, "row 2 of column 'q' holds '1_0'"),
    "header of other length": ("a.txt", b"time [s] q\n0 1\n", None, "the header has 3 fields, but row 2 has 2"),
    "not UTF-8": ("a.csv", b"t,q\xe9\x00\x01\n0,1\n", None, r"not UTF-8 text \(byte 4\)"),
    "damaged packing": ("a.csv.gz", b"\x1f\x8b nothing", None, "packed file is damaged"),
    "packed what?": ("a.log.gz", b"\x1f\x8b", None, r"end in '.gz' cannot be read.*\.csv\.gz"),
    "unknown suffix": ("a.xlsx", b"t", None, r"end in '.xlsx' cannot be read; use .csv"),
    "no Parquet": ("a.parquet", b"PAR1 nothing", None, "no Parquet file, or it is damaged"),
    "no NPZ": ("a.npz", b"PK nothing", None, "no NPZ file, or it is damaged"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_read_is_named(case: str, tmp_path: Path) -> None:
    name, content, columns, words = BAD[case]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=words) as caught:
        read_columns(path, columns=columns)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("name", ["columnar.parquet", "arrays.npz"])
@pytest.mark.parametrize("place", [0.2, 0.5, 0.9])
def test_files_with_their_end_cut_off_are_refused(name: str, place: float, tmp_path: Path) -> None:
    path, table = tmp_path / name, values(2000)
    NAMED[name](path, table)
    content = path.read_bytes()
    path.write_bytes(content[: int(place * len(content))])
    with pytest.raises(RecordingError, match="damaged"):
        read_columns(path)


def test_any_wrong_byte_of_an_npz_is_refused_or_does_no_harm(tmp_path: Path) -> None:
    path, table = tmp_path / "log.npz", values(5)
    np.savez_compressed(path, a=table)
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for place in range(len(content)):
        wrong = bytearray(content)
        wrong[place] ^= int(rng.integers(1, 256))
        path.write_bytes(wrong)
        try:
            found = read_columns(path)
        except RecordingError:
            continue
        assert np.array_equal(found, table)


def test_flat_text_holds_finite_numbers_only(tmp_path: Path) -> None:
    path = tmp_path / "flat.txt"
    path.write_text("1\n2\nthree\n4\n")
    with pytest.raises(RecordingError, match="number 3 is 'three'"):
        read_columns(path, width=2)
    path.write_text("1\n2\nnan\n4\n")
    with pytest.raises(RecordingError, match="'0' holds 1 values that are NaN"):
        read_columns(path, width=2)
    for name, width in (("flat.npz", 2), ("flat.txt", 0)):
        (tmp_path / name).write_text("1\n")
        with pytest.raises(RecordingError, match=f"width = {width} does not fit"):
            read_columns(tmp_path / name, width=width)


def test_types_that_are_no_numbers_are_named(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pl.DataFrame({"q": [1, 2], "state": ["a", "b"]}).write_parquet(path)
    assert read_columns(path, columns="q").tolist() == [[1], [2]]
    with pytest.raises(RecordingError, match="column 'state' holds String instead of numbers"):
        read_columns(path)
    pl.DataFrame({"q": [1.0, None]}).write_parquet(path)
    with pytest.raises(RecordingError, match="'q' holds 1 values that are NaN, Inf or missing"):
        read_columns(path)
    np.savez(tmp_path / "log.npz", q=np.array([{}, 1], dtype=object), c=np.ones(2, dtype=complex))
    with pytest.raises(RecordingError, match="'q' holds Python objects"):
        read_columns(tmp_path / "log.npz", columns="q")
    with pytest.raises(RecordingError, match="'c' holds complex128"):
        read_columns(tmp_path / "log.npz", columns="c")


def test_missing_files_and_folders_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such file"):
        read_columns(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(RecordingError, match="this is a folder"):
        read_columns(tmp_path / "folder.csv")


def test_the_number_of_columns_can_be_demanded(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("q_1,q_2\n1,2\n")
    with pytest.raises(RecordingError, match=r"2 columns are chosen \(q_1, q_2\) instead of 6"):
        read_columns(path, columns="q_*", count=6)


def test_empty_tables_have_no_rows(tmp_path: Path) -> None:
    pl.DataFrame({"q": pl.Series([], dtype=pl.Float64)}).write_parquet(tmp_path / "log.parquet")
    np.savez(tmp_path / "log.npz", q=np.zeros((0, 3)))
    for name in ("log.parquet", "log.npz"):
        with pytest.raises(RecordingError, match="no rows"):
            read_columns(tmp_path / name)
