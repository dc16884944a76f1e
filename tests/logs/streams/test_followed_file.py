"""Files that grow: whole lines as they come, also where they begin anew."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid.experiment.log_files import guessed_source
from dynid.logs import RecordingError
from dynid.logs.streams.followed_file import LONGEST_LINE, FollowedFile, GrowingText
from dynid.logs.streams.inbox import Inbox
from dynid.logs.streams.line_form import LineForm, line_form
from dynid.logs.streams.samples import SampleForm

ARM = dynid.load_robot("builtin:two_link")
FORM = SampleForm(2, 2)
HEADER = "time [ms];q_1 [deg];q_2 [deg];tau_1;tau_2"


def form_of(path: Path) -> LineForm:
    return line_form(guessed_source([path], ARM)[0], ARM, FORM)


def rows(first: int, last: int) -> list[str]:
    t = 0.01 * np.arange(first, last)
    q = np.rad2deg(np.stack([np.sin(3 * t), np.cos(2 * t)], axis=1))
    return [f"{1000 * s:.3f};{a:.6f};{b:.6f};{a / 10:.6f};{b / 10:.6f}" for s, (a, b) in zip(t, q, strict=True)]


def followed(path: Path, work) -> Inbox:
    """Follow a file while something is done."""
    inbox, stop = Inbox(), threading.Event()
    thread = threading.Thread(target=FollowedFile(path, form_of, inbox).run, args=(stop,), daemon=True)
    thread.start()
    work(inbox)
    stop.set()
    thread.join(timeout=10.0)
    return inbox


def until(inbox: Inbox, accepted: int) -> None:
    end = time.monotonic() + 10.0
    while inbox.counts.accepted < accepted and time.monotonic() < end:
        time.sleep(0.01)
    assert inbox.counts.accepted == accepted


def test_columns_and_units_are_found_and_half_a_line_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"

    def work(inbox: Inbox) -> None:
        lines = [HEADER, *rows(0, 100)]
        with path.open("w") as stream:
            stream.write("\n".join(lines[:60]) + "\n" + lines[60][:9])
            stream.flush()
            until(inbox, 59)
            time.sleep(0.12)
            assert inbox.counts.accepted == 59
            stream.write(lines[60][9:] + "\n" + "12;x\n" + ";;;;\n" + "\n".join(lines[61:]) + "\n")
        until(inbox, 100)

    inbox = followed(path, work)
    samples = [sample for sample, _ in inbox.take(0.0)]
    assert np.allclose([sample.time for sample in samples], 0.01 * np.arange(100))
    assert np.allclose([sample.position[0] for sample in samples], np.sin(0.03 * np.arange(100)), atol=1e-6)
    assert inbox.counts.to_dict()["malformed"] == {"damaged-line": 2}


def test_lines_that_were_cut_or_ran_together_are_no_samples(tmp_path: Path) -> None:
    """The last number of one, and the time of the next, would be one number: a torque that nobody measured."""
    path, lines = tmp_path / "run.csv", rows(0, 40)

    def work(inbox: Inbox) -> None:
        path.write_text(
            "\n".join([HEADER, *lines[:30], lines[30].rsplit(".", 1)[0] + lines[31], lines[32][:20], *lines[33:]])
            + "\n"
        )
        until(inbox, 37)

    assert followed(path, work).counts.malformed == {"damaged-line": 2}


def test_files_that_are_cut_off_or_replaced_begin_anew(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"

    def work(inbox: Inbox) -> None:
        path.write_text("\n".join([HEADER, *rows(0, 50)]) + "\n")
        until(inbox, 50)
        path.write_text("\n".join([HEADER, *rows(60, 65)]) + "\n")  # cut off: the same file, shorter
        until(inbox, 55)
        with path.open("a") as stream:
            stream.write("\n".join(rows(65, 67)) + "\n")
        path.rename(tmp_path / "run.csv.1")  # rotated, with lines that were not read yet
        other = tmp_path / "new"
        other.write_text("\n".join([HEADER, *rows(70, 80)]) + "\n")
        other.rename(path)
        until(inbox, 67)

    inbox = followed(path, work)
    assert inbox.counts.to_dict()["malformed"] == {}
    assert [round(100 * sample.time) for sample, _ in inbox.take(0.0)][50:] == [*range(60, 67), *range(70, 80)]


def test_lines_of_json_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    def work(inbox: Inbox) -> None:
        t = 0.01 * np.arange(60)
        lines = [json.dumps({"t": s, "q": [np.sin(3 * s), np.cos(s)], "tau": [s, -s]}) for s in t.tolist()]
        path.write_text("\n".join([*lines[:50], "{", *lines[50:]]) + "\n")
        until(inbox, 60)

    inbox = followed(path, work)
    assert np.array(inbox.take(0.0)[-1][0].torque).tolist() == pytest.approx([0.59, -0.59])
    assert inbox.counts.to_dict()["malformed"] == {"not-json": 1}


def test_endless_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_bytes(b"a\n" + b"x" * (3 * LONGEST_LINE) + b"\nb\n")
    text = GrowingText(path)
    assert list(text.new_lines()) == ["a", "b"]
    assert text.too_long == 1
    text.close()


def test_why_nothing_is_read_yet_is_said(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    hints: list[str] = []

    def work(inbox: Inbox) -> None:
        for text, words in (("", "no run.csv"), ("a,b\n1,2\n", "2 lines"), ("1,2\n" * 40, "run.csv: ")):
            if text:
                with path.open("a") as file:
                    file.write(text)
            end = time.monotonic() + 5.0
            while words not in inbox.hint and time.monotonic() < end:
                time.sleep(0.01)
            hints.append(inbox.hint)

    followed(path, work)
    assert ["no run.csv" in hints[0], "2 lines" in hints[1], "run.csv: " in hints[2]] == [True] * 3


def test_a_folder_is_no_file_to_follow(tmp_path: Path) -> None:
    (tmp_path / "run.csv").mkdir()
    with pytest.raises(RecordingError, match="cannot be read"):
        FollowedFile(tmp_path / "run.csv", form_of, Inbox()).run(threading.Event())


def test_columns_that_are_not_found_are_an_error_at_last(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("a,b\n" + "1,2\n" * 3000)
    with pytest.raises(RecordingError, match=r"run\.csv"):
        FollowedFile(path, form_of, Inbox()).run(threading.Event())
    with pytest.raises(RecordingError, match="--replay"):
        FollowedFile(tmp_path / "run.mcap", form_of, Inbox())
