"""PyTorch files read as the arrays that they hold; anything else in them is refused, and nothing is ever run."""

from __future__ import annotations

import os
import pickle
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from dynid.logs import RecordingError
from dynid.logs.readers.torch_file import torch_file
from dynid.logs.tables import read_columns, read_groups, source_of
from tests.datasets import needs_logs
from tests.mat_files import version_73
from tests.torch_files import STORAGES, Called, Named, Stored, instructions, tensor, torch_save, write_archive

T = np.arange(50) / 100
Q = np.column_stack([np.sin(T), np.cos(T), T])
KP = np.array([20.0, 25.0, 40.0])


def test_tensors_arrays_lists_and_constants_of_a_dictionary_are_columns(tmp_path: Path) -> None:
    content = {"time": T, "dof_pos": Q, "gains": {"kp": KP, "kd": [1.0, 2.0, 3.0]}, "mass": 3, "note": "a text"}
    path = torch_save(tmp_path / "run.pt", content, kind="float64")
    time, q, kp, kd, mass = read_groups(path, ["time", "dof_pos", "gains.kp", "gains.kd", "mass"]).groups
    assert np.array_equal(np.column_stack([time, q]), np.column_stack([T, Q]))
    assert np.array_equal(kp, np.tile(KP, (50, 1)))
    assert np.array_equal(kd, np.tile([1.0, 2.0, 3.0], (50, 1)))
    assert np.array_equal(mass, np.full((50, 1), 3.0))
    assert np.array_equal(read_columns(path, columns="dof_pos[1]"), Q[:, 1:2])
    assert source_of(path).unread == {"note": "a text"}


@pytest.mark.parametrize("suffix", ["pt", "npz", "mat", "new.mat"])
def test_constants_read_alike_in_all_formats_of_arrays(suffix: str, tmp_path: Path) -> None:
    path, content = tmp_path / f"run.{suffix}", {"t": T, "q": Q, "kp": KP, "kd": KP[None, :], "mass": np.array(3.0)}
    if suffix == "npz":
        np.savez(path, **content)  # pyright: ignore[reportArgumentType]
    elif suffix == "pt":
        torch_save(path, content)
    else:
        upright = {name: np.atleast_2d(values) for name, values in content.items()}
        savemat(path, upright) if suffix == "mat" else version_73(path, upright)
    found = read_groups(path, ["mass", "kp", "q", "kd"]).groups
    expected = np.hstack([np.full((50, 1), 3.0), np.tile(KP, (50, 1)), Q, np.tile(KP, (50, 1))])
    assert np.allclose(np.hstack(found), expected, rtol=1e-7)
    assert np.array_equal(read_columns(path, columns="kp"), np.tile(KP, (50, 1)))


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("kind", [kind for kind in STORAGES if kind != "complex64"])
def test_all_kinds_of_numbers_read_as_they_are(kind: str, order: str, tmp_path: Path) -> None:
    numbers = (np.arange(60).reshape(30, 2) % 100).astype(kind)
    data = numbers.byteswap().tobytes() if order != sys.byteorder else numbers.tobytes()
    path = write_archive(tmp_path / "a.pt", instructions({"q": tensor(numbers, "0")}), {"0": data}, order=order)
    assert np.array_equal(read_columns(path), numbers)


def test_brain_floats_and_untyped_storages_are_read(tmp_path: Path) -> None:
    numbers = np.array([[1.0, -2.5], [3.0, 0.125], [-7.0, 96.0]], dtype=np.float32)
    upper = (numbers.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    empty, shape = Called("collections OrderedDict"), (0, (3, 2), (2, 1), False)
    brain = Called("torch._utils _rebuild_tensor_v2", (Stored("0", "torch BFloat16Storage", 6), *shape, empty))
    words = (Stored("1", "torch.storage UntypedStorage", 12), *shape, empty, Named("torch uint16"))
    pickled = instructions({"q": brain, "n": Called("torch._utils _rebuild_tensor_v3", words)})
    path = write_archive(tmp_path / "a.pt", pickled, {"0": upper, "1": np.arange(6, dtype=np.uint16).tobytes()})
    assert np.array_equal(
        np.hstack(read_groups(path, ["q", "n"]).groups), np.hstack([numbers, np.arange(6).reshape(3, 2)])
    )


def test_views_are_read_by_their_offset_and_strides_and_dimensions_of_one_are_left_out(tmp_path: Path) -> None:
    content = np.arange(200, dtype=np.float64)
    grid = content.reshape(50, 4)
    views = {
        "turned": tensor(content.reshape(4, 50).T, "0"),
        "middle": tensor(grid[:, 1:3], "0", offset=1),
        "batch": tensor(grid[None, :, None, :2], "0"),
        "same": tensor(np.zeros((50, 2)), "0", stride=(0, 1), offset=7),
        "parameter": Called("torch._utils _rebuild_parameter", (tensor(grid, "0"), True, {})),
    }
    path = write_archive(tmp_path / "a.pt", instructions(views), {"0": content.tobytes()})
    found = dict(zip(views, read_groups(path, list(views)).groups, strict=True))
    assert np.array_equal(found["turned"], content.reshape(4, 50).T)
    assert np.array_equal(found["middle"], grid[:, 1:3])
    assert np.array_equal(found["batch"], grid[:, :2])
    assert np.array_equal(found["same"], np.tile([7.0, 8.0], (50, 1)))
    assert np.array_equal(found["parameter"], grid)


def test_lists_of_tensors_and_scalars_of_each_step_are_columns(tmp_path: Path) -> None:
    steps = {"q": list(Q), "t": T.tolist(), "rows": Q.tolist(), "numpy": [np.float64(x) for x in T]}
    path = torch_save(tmp_path / "run.pth", steps, kind="float64")
    q, t, rows, scalars = read_groups(path, ["q", "t", "rows", "numpy"]).groups
    assert np.array_equal(np.hstack([q, t, rows, scalars]), np.hstack([Q, T[:, None], Q, T[:, None]]))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_arrays_of_numpy_read_as_numpy_writes_them(protocol: int, tmp_path: Path) -> None:
    arrays = {"q": Q, "turned": np.asfortranarray(Q), "n": np.arange(50), "big": T.astype(">f4"), "kp": KP}
    arrays |= {"words": np.array(["a", "b"]), "things": np.array([{}, 1], dtype=object), "x": np.float32(2.0)}
    path = write_archive(tmp_path / "a.pt", pickle.dumps(arrays, protocol=protocol)[2:-1], {})
    found = read_groups(path, ["q", "turned", "n", "big", "kp", "x"]).groups
    assert np.allclose(np.hstack(found[:4]), np.column_stack([Q, Q, np.arange(50), T]), rtol=1e-7)
    assert np.array_equal(np.hstack(found[4:]), np.tile([*KP, 2.0], (50, 1)))
    assert set(source_of(path).unread) == {"words", "things"}


HOSTILE = {
    "os.system": Called("os system", ("touch {ran}",)),
    "posix.system": Called("posix system", ("touch {ran}",)),
    "builtins.eval": Called("builtins eval", ("open('{ran}', 'w')",)),
    "__builtin__.exec": Called("__builtin__ exec", ("open('{ran}', 'w')",)),
    "builtins.getattr": Called("builtins getattr", (Named("numpy ndarray"), "tofile")),
    "numpy.load": Called("numpy load", ("{ran}",)),
    "numpy.memmap": Called("numpy memmap", ("{ran}", "u1", "w+", 0, (4,))),
    "torch.load": Called("torch load", ("{ran}",)),
    "torch.storage._load_from_bytes": Called("torch.storage _load_from_bytes", ("{ran}",)),
    "torch.hub.load": Called("torch.hub load", ("{ran}",)),
    "subprocess.Popen": Called("subprocess Popen", (["touch", "{ran}"],)),
    "pathlib.Path": Called("pathlib Path", ("{ran}",)),
    "tensordict._td.TensorDict": Called("tensordict._td TensorDict", ({},)),
    "codecs.open": Called("codecs open", ("{ran}", "w")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_pickle_imports_besides_tensors_is_refused_and_nothing_is_run(name: str, tmp_path: Path) -> None:
    ran, call = tmp_path / "ran", HOSTILE[name]

    def put(value: object) -> object:
        if isinstance(value, str):
            return value.replace("{ran}", str(ran))
        return [put(one) for one in value] if isinstance(value, list) else value

    evil = Called(call.name, [put(one) for one in call.arguments])
    content = instructions({"time": tensor(T, "0"), "evil": evil})
    path = write_archive(tmp_path / "a.pt", content, {"0": T.tobytes()})
    for read in (torch_file, read_columns):  # in this process, and in the one that reads untrusted files
        with pytest.raises(RecordingError, match=f"it holds {name}, which is no tensor"):
            read(path)
    assert not ran.exists()


class Runs:
    """An object that runs something when a pickle of it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self.path, "w")


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_objects_that_run_something_when_loaded_are_refused_in_every_protocol(protocol: int, tmp_path: Path) -> None:
    ran, content = tmp_path / "ran", pickle.dumps({"q": Runs(tmp_path / "ran")}, protocol=protocol)
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as archive:
        archive.writestr("a/data.pkl", content)
    (tmp_path / "plain.pt").write_bytes(content)
    for name in ("a.pt", "plain.pt"):
        with pytest.raises(RecordingError):
            torch_file(tmp_path / name)
    assert not ran.exists()
    with pickle.loads(content)["q"]:
        assert ran.exists()  # it would have run


HIDDEN = {
    "a call of what is no name": b"}(X\x01\x00\x00\x00q]" + b")R" + b"u",
    "state of a name": b"ctorch\nFloatStorage\n}b",
    "an instance by its class": b"cnumpy\nndarray\n)\x81",
    "an old instance": b"(ios\nsystem\n",
    "an extension": b"\x82\x01",
    "a set": b"\x8f",
    "entries put into a tuple": b")(K\x01e",
    "a call of a type": b"cnumpy\nndarray\n)R",
}


@pytest.mark.parametrize("what", HIDDEN)
def test_instructions_that_make_anything_else_are_refused(what: str, tmp_path: Path) -> None:
    path = write_archive(tmp_path / "a.pt", HIDDEN[what], {})
    with pytest.raises(RecordingError, match="which is no tensor, array"):
        torch_file(path)


def _reaching(**changes: object) -> bytes:
    return instructions({"q": tensor(np.zeros((50, 3)), "0", **changes)})  # pyright: ignore[reportArgumentType]


BROKEN = {
    "beyond its numbers": (_reaching(offset=1), "reaches beyond its 1200 bytes"),
    "strides beyond": (_reaching(stride=(4, 1)), "reaches beyond its 1200 bytes"),
    "strides backwards": (_reaching(stride=(-3, 1)), "no PyTorch file, or it is damaged"),
    "an offset before": (_reaching(offset=-1), "no PyTorch file, or it is damaged"),
    "no entry": (instructions({"q": tensor(Q, "../secret")}), "is missing"),
    "a storage without end": (
        instructions({"q": tensor(np.broadcast_to(1.0, (2**40, 2)), "0", stride=(0, 0))}),
        "a column would take",
    ),
    "wide without end": (
        instructions({"q": tensor(np.broadcast_to(1.0, (2, 2**40)), "0", stride=(0, 0))}),
        "columns, and at most",
    ),
    "an array of another size": (instructions({"q": Q}).replace(b"K2K\x03", b"K3K\x03"), "damaged"),
    "no columns": (instructions({"a": "text", "images": tensor(np.zeros((5, 5, 6)), "0")}), "no tensors with samples"),
    "a text": (instructions("a text"), "no tensors with samples, but tensor"),
    "complex numbers": (instructions({"c": tensor(np.zeros(50, np.complex64), "0")}), r"c \(a tensor of complex64\)"),
    "lists in lists": (b"]q\x00" + b"(h\x00h\x00e", "no tensors with samples"),
    "laughter": (b"}q\x00(K\x01K\x01u" + b"".join(
        b"}q%c(K\x01h%cK\x02h%cK\x03h%cK\x04h%cu" % (k, k - 1, k - 1, k - 1, k - 1) for k in range(1, 9)
    ) + b"q\x20(h\x20t", "more than 20000 entries|damaged"),
    "lists without end": (
        b"}(X\x01\x00\x00\x00q](" + b"K\x01" * 30_000 + b"eq\x01X\x01\x00\x00\x00v](" + b"h\x01" * 30_000 + b"eu",
        r"lists hold 9e\+08 entries, and at most 1e\+06",
    ),
    "lists of lists without end": (
        b"](" + b"K\x01" * 90 + b"e" + b"".join(b"q%c0](" % k + b"h%c" % k * 90 + b"e" for k in range(1, 8)),
        "entries, and at most",
    ),
    "tensors without end": (
        b"](" + instructions(tensor(np.broadcast_to(1.0, (50_000, 200)), "0", stride=(0, 0))) + b"q\x01"
        + b"h\x01" * 999 + b"e",
        "larger than such a file can hold",
    ),
    "keys without end": (b"})" + b"\x85" * 50_000 + b"K\x01s", "keys that are no texts"),
    "cut off": (b"}(X\x01\x00\x00\x00q", "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_what_does_not_fit_the_file_is_refused_with_a_sentence(what: str, tmp_path: Path) -> None:
    content, message = BROKEN[what]
    path = write_archive(tmp_path / "a.pt", content, {"0": np.zeros((50, 3)).tobytes()})
    with pytest.raises(RecordingError, match=message):
        read_columns(path)


def test_files_that_are_no_archive_of_tensors_are_refused_with_a_sentence(tmp_path: Path) -> None:
    path, magic = tmp_path / "a.pt", pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2)
    for content, message in (
        (magic + pickle.dumps(1001, protocol=2), "before version 1.6"),
        (pickle.dumps({"q": [1.0]}), "a pickle, and no file of torch.save"),
        (b"something else", "no PyTorch file"),
    ):
        path.write_bytes(content)
        with pytest.raises(RecordingError, match=message):
            read_columns(path)
    for entries, message in (
        ({"a.txt": b""}, "not one that torch.save wrote"),
        ({"a/data.pkl": b"\x80\x02}.", "a/code/__torch__.py": b""}, "TorchScript"),
    ):
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in entries.items():
                archive.writestr(name, content)
        with pytest.raises(RecordingError, match=message):
            read_columns(path)


def test_an_archive_that_states_more_than_it_may_hold_is_refused(tmp_path: Path) -> None:
    path = torch_save(tmp_path / "a.pt", {"q": Q})
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"a/data/0") - 46  # of the directory at the end of the file
    content[entry + 24 : entry + 28] = (2**32 - 2).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(RecordingError, match="would unpack to"):
        read_columns(path)


@needs_logs
def test_real_logs_of_a_quadruped_are_read_with_their_gains() -> None:
    path = Path(os.environ["DYNID_DATASETS"]) / "go2" / "traj_0.pt"
    time, q, command, kp, kd = read_groups(path, ["time", "dof_pos", "des_dof_pos", "kp", "kd"]).groups
    assert time.shape == (4781, 1)
    assert q.shape == command.shape == kp.shape == kd.shape == (4781, 12)
    assert 23.0 < time[-1, 0] < 24.0
    assert 0.05 < np.sqrt(np.mean((q - command) ** 2)) < 0.1  # about 79 mrad, as its publishers measured
    assert np.array_equal(kp[0], [20.0, 20.0, 40.0] * 4)
    assert np.array_equal(kd[0], [1.0, 1.0, 2.0] * 4)


def test_names_of_joints_beside_tensors_name_their_columns(tmp_path: Path) -> None:
    content = {"t": T, "dof_pos": Q, "kp": KP, "joint_names": ["hip", "knee", "ankle"], "files": ["a", "b"]}
    path = torch_save(tmp_path / "run.pt", content, kind="float64")
    assert source_of(path).names == (
        "t",
        *(f"{key}.{name}" for key in ("dof_pos", "kp") for name in content["joint_names"]),
    )
    turned = read_groups(path, ["dof_pos.*", "kp.*"], joints=["ankle", "hip", "knee"]).groups
    assert np.array_equal(np.hstack(turned), np.hstack([Q, np.tile(KP, (50, 1))])[:, [2, 0, 1, 5, 3, 4]])


def test_a_list_of_views_of_one_tensor_is_read_once(tmp_path: Path) -> None:
    steps, content = 1000, np.arange(3000.0).reshape(1000, 3)
    views = [tensor(content[k], "0", offset=3 * k) for k in range(steps)]
    path = write_archive(tmp_path / "a.pt", instructions({"q": views}), {"0": content.tobytes()})
    assert np.array_equal(read_columns(path), content)
