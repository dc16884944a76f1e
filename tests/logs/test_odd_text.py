"""Text as people and programs write it: the same numbers come back from all of it."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

from dynid.logs.readers import text as text_reader
from dynid.logs.tables import RecordingError, read_columns, read_groups, source_of

VALUES = np.array([[0.0, 0.5, -1.25], [0.01, 0.75, 2.5], [0.02, 1.0, 1e-3]])


def lines(delimiter: str, *, comma: bool = False, end: str = "") -> list[str]:
    rows = [delimiter.join(map(repr, row)) + end for row in VALUES.tolist()]
    return [row.replace(".", ",") for row in rows] if comma else rows


def joined(*parts: str, ends: str = "\n") -> bytes:
    return (ends.join(parts) + ends).encode()


GOOD: dict[str, tuple[str, bytes]] = {
    "UTF-8 with a mark": ("a.csv", b"\xef\xbb\xbf" + joined("t,q_1,tau_1", *lines(","))),
    "UTF-16 as Excel writes it": (
        "a.csv",
        joined("t\tq_1\ttau_1", *lines("\t", comma=True), ends="\r\n").decode().encode("utf-16"),
    ),
    "UTF-16 without a mark": ("a.txt", joined("t\tq_1\ttau_1", *lines("\t")).decode().encode("utf-16-le")),
    "semicolons and decimal commas": ("a.csv", joined("t;q_1;tau_1", *lines(";", comma=True), ends="\r\n")),
    "tabs and decimal commas": ("a.txt", joined("t\tq_1\ttau_1", *lines("\t", comma=True))),
    "blanks and decimal commas": ("a.txt", joined("t q_1 tau_1", *lines("  ", comma=True))),
    "bars": ("a.csv", joined("t|q_1|tau_1", *lines("|"))),
    "aligned by blanks": ("a.txt", joined("     t    q_1   tau_1", *(f"   {row}" for row in lines("    ")))),
    "comments of MATLAB": ("a.txt", joined("% recorded on Monday", "% t q_1 tau_1", *lines(" "))),
    "comments with dashes": ("a.csv", joined("# robot: arm", "#", "t,q_1,tau_1", *lines(","))),
    "delimiters at the ends of lines": ("a.csv", joined("t,q_1,tau_1", *lines(",", end=","))),
    "delimiters at all ends": ("a.csv", joined("t;q_1;tau_1;", *lines(";", end=";"))),
    "tabs at all ends": ("a.txt", joined("t\tq_1\ttau_1\t", *lines("\t", end="\t"))),
    "quoted names": ("a.csv", joined('"t","q_1","tau_1"', *lines(","))),
    "separator stated for Excel": ("a.csv", joined("sep=;", "t;q_1;tau_1", *lines(";"))),
    "lines about the recording": (
        "a.csv",
        joined("Recorder 3.1", "Device: arm, left", "", "t,q_1,tau_1", *lines(",")),
    ),
    "packed with gzip": ("a.csv.gz", gzip.compress(joined("t,q_1,tau_1", *lines(",")))),
    "packed with xz": ("a.txt.xz", lzma.compress(joined("t q_1 tau_1", *lines(" ")))),
    "packed with bzip2": ("a.csv.bz2", bz2.compress(joined("t,q_1,tau_1", *lines(",")))),
    "zeros after a crash": ("a.csv", joined("t,q_1,tau_1", *lines(",")) + b"\0" * 100),
    "a cut number at the end": ("a.csv", joined("t,q_1,tau_1", *lines(",")) + b"0.03,1.25,-"),
    "a cut line at the end": ("a.csv", joined("t,q_1,tau_1", *lines(",")) + b"0.03,1.2"),
    "a cut line of blanks at the end": ("a.txt", joined("t q_1 tau_1", *lines(" ")) + b"0.03 1.2"),
    "names in the encoding of Windows": ("a.csv", joined("t,q_1,tau_1,°C", *(f"{row},20" for row in lines(",")))),
}
GOOD["names in the encoding of Windows"] = (
    "a.csv",
    GOOD["names in the encoding of Windows"][1].decode().encode("cp1252"),
)


@pytest.mark.parametrize("case", GOOD)
def test_numbers_come_back(case: str, tmp_path: Path) -> None:
    name, content = GOOD[case]
    path = tmp_path / name
    path.write_bytes(content)
    assert source_of(path).names[:3] == ("t", "q_1", "tau_1")
    assert np.array_equal(read_columns(path, columns=["t", "q_1", "tau_1"]), VALUES)


@pytest.mark.parametrize("units", ["s,deg,Nm", "[s],[deg],[Nm]", "(s),(deg),(Nm)"])
def test_a_line_of_units_below_the_header_is_part_of_the_names(units: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(joined("t,q_1,tau_1", units, *lines(",")))
    assert source_of(path).names == ("t [s]", "q_1 [deg]", "tau_1 [Nm]")
    assert np.array_equal(read_columns(path, columns=["t", "q_1", "tau_1 [Nm]"]), VALUES)
    assert read_groups(path, ["q_1"]).first_row == 3


def test_units_in_the_cells_of_the_header_need_not_be_named(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(joined("time (s),q_1 [deg],tau_1 [N m]", *lines(",")))
    assert np.array_equal(read_columns(path, columns=["time", "q_1", "tau_1"]), VALUES)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("end", ["0.03,1.2", "0.03,1.25,-", "0.03", "0.03,1.25,1e-"])
def test_an_incomplete_last_line_is_left_out_with_a_finding(
    end: str, large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(joined("t,q_1,tau_1", *lines(",")) + end.encode())
    if large:
        monkeypatch.setattr(text_reader, "LARGE", 1)
    table = read_groups(path, [None])
    assert np.array_equal(table.groups[0], VALUES)
    assert [(note.code, note.values["row"]) for note in table.notes] == [("log-end-damaged", 5)]


@pytest.mark.parametrize("damage", ["0.01,0.7", "0.01,0.75,oops", "0.01,0.75,2.5,9", "\x07\x07"])
def test_damaged_lines_are_named_unless_they_are_cut_off(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = lines(",")
    path.write_bytes(joined("t,q_1,tau_1", rows[0], damage, *rows))
    with pytest.raises(RecordingError, match=r"row 3 .*repair or remove this line.* \(it is sample 1"):
        read_groups(path, [None])
    table = read_groups(path, [None], damaged=True, finite=False)
    table.require_undamaged(slice(2, 5))
    assert np.array_equal(table.groups[0][2:], VALUES)
    with pytest.raises(RecordingError, match="row 3 "):
        table.require_undamaged(slice(0, 5))


def test_thousands_of_columns_are_read_quickly(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    values = np.arange(5 * 4000.0).reshape(5, 4000)
    np.savetxt(path, values, delimiter=",", header=",".join(f"c_{k}" for k in range(4000)), comments="")
    assert np.array_equal(read_columns(path, columns=["c_3999", "c_0"]), values[:, [3999, 0]])


def test_packed_text_that_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(b"t,q\n" + b"0,0\n" * 10_000))
    monkeypatch.setattr("dynid.logs.readers.text_layout.MOST_UNPACKED", 1000)
    with pytest.raises(RecordingError, match=r"unpacks to more than .* GB; unpack it to a file first"):
        read_columns(path)


def test_a_packed_file_that_is_damaged_inside_is_an_error(tmp_path: Path) -> None:
    content = bytearray(gzip.compress(b"t,q\n" + b"".join(b"%d,%d\n" % (k, k * 7919 % 1000) for k in range(5000))))
    content[200:260] = bytes(60)
    (tmp_path / "log.csv.gz").write_bytes(content)
    with pytest.raises(RecordingError, match="damaged"):
        source_of(tmp_path / "log.csv.gz")


ODD_LINES = ['t,"q"\r1,2\r3,4\r', 't,q\n1,"2\r3"\n', 't,q\n1,"' + "9" * 200_000 + "\n"]
ODD_LINES += ['1,2,3,4,5\n\nx = { x = 1, y = 2, z = 3 }\nlink = "one"']


@pytest.mark.parametrize("text", ODD_LINES)
def test_lines_that_no_csv_has_give_our_own_errors_only(text: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text, newline="")
    with contextlib.suppress(RecordingError):
        read_columns(path)
