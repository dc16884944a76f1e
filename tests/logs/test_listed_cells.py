"""Text with lists in its cells reads as the same numbers in columns of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynid.logs import RecordingError, files_of, read_columns, source_of
from dynid.logs.readers import text

Q = np.random.default_rng(1).normal(size=(40, 3))


def written(path: Path, rows: np.ndarray = Q, *, between: str = ", ", delimiter: str = ",", quote: str = '"') -> Path:
    lines = [delimiter.join(("kind", "stamp", "positions", "torques"))]
    for k, row in enumerate(rows.tolist()):
        cells = [f"{quote}[{between.join(map(repr, part))}]{quote}" for part in (row, row[::-1])]
        lines.append(delimiter.join(("STATE", str(20.5 * k), *cells)))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("between", "delimiter", "quote"),
    [(", ", ",", '"'), (",", ",", '"'), (" ", ",", ""), (", ", ";", ""), (" ", "\t", "")],
)
def test_lists_in_cells_are_columns(between: str, delimiter: str, quote: str, tmp_path: Path) -> None:
    path = written(tmp_path / "run.csv", between=between, delimiter=delimiter, quote=quote)
    assert source_of(path).names[2:5] == ("positions[0]", "positions[1]", "positions[2]")
    np.testing.assert_array_equal(read_columns(path, columns="positions"), Q)
    np.testing.assert_array_equal(read_columns(path, columns="torques"), Q[:, ::-1])


def test_a_file_of_names_beside_a_log_names_the_entries_of_its_lists(tmp_path: Path) -> None:
    path = written(tmp_path / "run.csv")
    (tmp_path / "joint_list.txt").write_text("Pan\nLift\nJaw\n", encoding="utf-8")
    assert source_of(path).names[2:5] == ("positions.Pan", "positions.Lift", "positions.Jaw")
    np.testing.assert_array_equal(read_columns(path, columns="positions.Jaw")[:, 0], Q[:, 2])


def test_names_of_another_number_of_joints_do_not_count(tmp_path: Path) -> None:
    path = written(tmp_path / "run.csv")
    (tmp_path / "joint_list.txt").write_text("Pan\nLift\n", encoding="utf-8")
    assert source_of(path).names[2] == "positions[0]"


def test_a_file_of_names_is_no_log_of_its_folder(tmp_path: Path) -> None:
    path = written(tmp_path / "run.csv")
    (tmp_path / "joint_list.txt").write_text("Pan\nLift\nJaw\n", encoding="utf-8")
    assert [file.name for file in files_of(tmp_path)] == [str(path)]


def test_large_text_with_lists_is_read_in_pieces_as_the_same_numbers(tmp_path: Path, monkeypatch) -> None:
    path = written(tmp_path / "run.csv", np.tile(Q, (50, 1)))
    whole = read_columns(path, columns="positions")
    monkeypatch.setattr(text, "LARGE", 1)
    monkeypatch.setattr(text, "CHUNK", 3000)
    np.testing.assert_array_equal(read_columns(path, columns="positions"), whole)


def test_a_list_of_another_length_is_refused_with_its_row(tmp_path: Path) -> None:
    path = written(tmp_path / "run.csv")
    lines = path.read_text().splitlines()
    lines[7] = 'STATE,1,"[0.1, 0.2]","[0.1, 0.2, 0.3]"'
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RecordingError) as refused:
        read_columns(path, columns="positions")
    assert "row 8" in str(refused.value)


def test_a_last_line_that_was_cut_off_within_a_list_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "run.csv")
    path.write_text(path.read_text()[:-20], encoding="utf-8")
    np.testing.assert_array_equal(read_columns(path, columns="positions"), Q[:-1])


def test_units_in_brackets_are_no_lists(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("t [s],q [deg]\n0,1\n1,2\n2,3\n", encoding="utf-8")
    assert source_of(path).names == ("t [s]", "q [deg]")
