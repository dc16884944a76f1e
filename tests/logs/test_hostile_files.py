"""Files that were made to do harm: they are refused in one sentence, soon, without much memory and without running."""

from __future__ import annotations

import contextlib
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from lz4.frame import LZ4FrameCompressor
from rosbags.rosbag1 import Writer

from dynid.logs.readers import isolated
from dynid.logs.tables import RecordingError, read_columns
from tests.mat_files import Q, version_73

TOPICS = """CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT,
offered_qos_profiles TEXT); INSERT INTO topics VALUES (1, '/j', 'sensor_msgs/msg/JointState', 'cdr', '');"""
ENDLESS = """CREATE VIEW messages AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
SELECT x AS id, 1 AS topic_id, x AS timestamp, zeroblob(9) AS data FROM c;"""
COMPUTED = """CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER,
data BLOB AS (zeroblob(900000000))); INSERT INTO messages(topic_id, timestamp) VALUES (1, 1);"""


@pytest.mark.parametrize("messages", [ENDLESS, COMPUTED])
def test_databases_that_compute_are_refused(messages: str, tmp_path: Path) -> None:
    path = tmp_path / "run.db3"
    connection = sqlite3.connect(path)
    connection.executescript(TOPICS + messages)
    connection.close()
    with pytest.raises(RecordingError, match="'messages', which computes"):
        read_columns(path)


def _definition(*types: tuple[str, str]) -> str:
    first, *others = types
    return first[1] + "".join(f"{'=' * 80}\nMSG: {name}\n{text}" for name, text in others)


def _nested(leaf: str) -> str:
    """Each type holds the next one twice: thirty of them make a billion fields."""
    parts = [(f"a/T{k}", f"a/T{k + 1} a\na/T{k + 1} b\n") for k in range(30)]
    return _definition(*parts, ("a/T30", leaf))


def _wide() -> str:
    """Each of four types holds the next one 400 times."""
    parts = [(f"a/T{k}", "".join(f"a/T{k + 1} f{i}\n" for i in range(400))) for k in range(3)]
    return _definition(*parts, ("a/T3", "".join(f"float64 f{i}\n" for i in range(400))))


def _bag(path: Path, definition: str, message: bytes) -> Path:
    with Writer(path) as writer:
        link = writer.add_connection("/x", "a/msg/A", msgdef=definition, md5sum="0" * 32)
        writer.write(link, 1, message)
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (_definition(("a/A", "a/E[] e\nfloat64[] x\n"), ("a/E", "\n")), "no definition in the bag"),
        (_definition(("a/A", "a/E[4000000000] e\nfloat64[] x\n"), ("a/E", "\n")), "no definition in the bag"),
        (_nested("\n"), "no definition in the bag"),
        (_nested("uint8 z\n"), "there are no numbers"),
        (_wide(), "there are no numbers"),
        ("a/A x\nfloat64 y\n", "recursion"),
        ("float64[] x\nfloat64 __class__\nfloat64 import\n", "no definition in the bag"),
    ],
    ids=["empty list", "empty array", "nested nothing", "nested", "wide", "recursive", "names"],
)
def test_message_definitions_cost_no_more_than_the_message(text: str, words: str, tmp_path: Path) -> None:
    message = struct.pack("<I", 2**32 - 1) + b"\0" * 60
    with pytest.raises(RecordingError, match=words):  # words of its own: a reader that was killed says something else
        read_columns(_bag(tmp_path / "run.bag", text, message))


def test_constants_of_a_message_definition_are_never_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    text = f'int32 X=open("{trace}", "w").close()\nfloat64 x\n'
    path = _bag(tmp_path / "run.bag", text, struct.pack("<d", 1.5))
    with contextlib.suppress(RecordingError):
        read_columns(path)
    assert not trace.exists()


def _record(code: int, content: bytes) -> bytes:
    return bytes([code]) + struct.pack("<Q", len(content)) + content


def _text(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def test_a_chunk_that_unpacks_to_more_than_there_may_be_is_refused(tmp_path: Path) -> None:
    size, packer = 3 * 10**9, LZ4FrameCompressor()
    packed = b"".join([packer.begin(), *(packer.compress(bytes(10**8)) for _ in range(size // 10**8)), packer.flush()])
    chunk = struct.pack("<QQQI", 0, 1, size, 0) + _text(b"lz4") + struct.pack("<Q", len(packed)) + packed
    magic, path = b"\x89MCAP0\r\n", tmp_path / "run.mcap"
    start, end = _record(1, _text(b"ros2") + _text(b"x")), _record(2, struct.pack("<QQI", 0, 0, 0))
    path.write_bytes(magic + start + _record(6, chunk) + end + magic)
    with pytest.raises(RecordingError):
        read_columns(path)


def test_an_npz_that_declares_more_than_there_may_be_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    with zipfile.ZipFile(path, "w") as archive, archive.open("q.npy", "w") as stream:
        head = {"descr": "<f8", "fortran_order": False, "shape": (2**40,)}
        np.lib.format.write_array_header_1_0(stream, head)
    with pytest.raises(RecordingError, match="a column would take"):
        read_columns(path)


def _elsewhere(file: h5py.File, folder: Path) -> None:
    secret = folder / "secret.bin"
    secret.write_bytes(Q.tobytes())
    file.create_dataset("stored", Q.T.shape, "f8", external=[(str(secret), 0, Q.nbytes)])
    file["linked"] = h5py.ExternalLink(str(folder / "other.h5"), "q")
    layout = h5py.VirtualLayout(Q.T.shape, "f8")
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "q", Q.T.shape)
    file.create_virtual_dataset("virtual", layout)


def _endless(file: h5py.File, _: Path) -> None:
    file["loop"] = h5py.SoftLink("/loop")
    file["a/b"] = file["/"]
    file["a/c"] = file["a"]
    file["/".join(["deep"] * 500)] = Q.T


def _huge(file: h5py.File, _: Path) -> None:
    file.create_dataset("q", (2, 2**40), "f8", chunks=(1, 2**20))


@pytest.mark.parametrize(
    ("fill", "message"),
    [
        (_elsewhere, r"but stored \(an array in another file\), virtual \("),
        (_endless, "no arrays"),
        (_huge, "a column would take"),
    ],
)
def test_arrays_elsewhere_without_end_or_beyond_memory_are_refused(
    fill: Callable[[h5py.File, Path], None], message: str, tmp_path: Path
) -> None:
    path = version_73(tmp_path / "run.mat", {})
    with h5py.File(path, "r+") as file:
        fill(file, tmp_path)
    with pytest.raises(RecordingError, match=message):
        read_columns(path)


def test_temporary_files_of_a_killed_helper_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    np.savez(path, q=Q)
    read_columns(path)
    helper = isolated._helper
    assert helper is not None
    folder = Path(isolated._folders[helper.pid])
    (folder / "unpacked.db3").write_bytes(bytes(100))
    helper.kill()
    helper.wait()
    assert np.array_equal(read_columns(path), Q)
    assert not folder.exists()
