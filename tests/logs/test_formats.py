"""A log that is written in any format reads as the same arrays."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from dynid import Log, read_log
from tests.mat_files import version_73


def columns(log: Log) -> dict[str, np.ndarray]:
    return {name: column.to_numpy() for name, column in log.to_frame().to_dict().items()}


def csv(log: Log, delimiter: str = ",") -> bytes:
    stream = io.BytesIO()
    log.to_frame().write_csv(stream, separator=delimiter)
    return stream.getvalue()


def blanks(log: Log) -> bytes:
    rows = [" ".join(map(repr, row)) for row in zip(*(c.tolist() for c in columns(log).values()), strict=True)]
    return "\n".join([" ".join(columns(log)), *rows]).encode()


def records(log: Log) -> list[dict[str, float]]:
    return log.to_frame().to_dicts()


def npz(log: Log) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, t=log.time, q=log.position, tau=log.torque)
    return stream.getvalue()


def lists(log: Log, path: Path) -> None:
    rows = {"t": log.time, "q": log.position.tolist(), "tau": pl.Series(log.torque.tolist())}
    frame = pl.DataFrame(rows).with_columns(pl.col("tau").cast(pl.Array(pl.Float64, log.torque.shape[1])))
    frame.write_parquet(path)


WRITERS: dict[str, Callable[[Log, Path], object]] = {
    "comma.csv": lambda log, path: path.write_bytes(csv(log)),
    "semicolon.csv": lambda log, path: path.write_bytes(csv(log, ";").replace(b".", b",")),
    "tab.tsv": lambda log, path: path.write_bytes(csv(log, "\t")),
    "blanks.txt": lambda log, path: path.write_bytes(blanks(log)),
    "wide.csv": lambda log, path: path.write_bytes(csv(log).decode().encode("utf-16")),
    "packed.csv.gz": lambda log, path: path.write_bytes(gzip.compress(csv(log))),
    "columns.parquet": lambda log, path: log.to_frame().write_parquet(path),
    "lists.parquet": lists,
    "arrays.npz": lambda log, path: path.write_bytes(npz(log)),
    "five.mat": lambda log, path: savemat(path, {"t": log.time[:, None], "q": log.position, "tau": log.torque}),
    "seven.mat": lambda log, path: version_73(path, {"t": log.time[:, None], "q": log.position, "tau": log.torque}),
    "records.json": lambda log, path: path.write_text(json.dumps(records(log))),
    "columns.json": lambda log, path: path.write_text(json.dumps({n: c.tolist() for n, c in columns(log).items()})),
    "lines.jsonl": lambda log, path: path.write_text("\n".join(map(json.dumps, records(log)))),
}


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), joints=st.integers(1, 4))
def test_arrays_come_back(name: str, seed: int, joints: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = np.random.default_rng(seed)
    q, tau = rng.normal(size=(2, 30, joints)) * 10.0 ** rng.integers(-9, 4, size=(2, 1, 1))
    log = Log(time=np.arange(30, dtype=np.float64) * float(rng.uniform(1e-3, 0.1)), position=q, torque=tau)
    path = tmp_path_factory.mktemp("log") / name
    WRITERS[name](log, path)
    flat = path.suffix in (".npz", ".mat") or name == "lists.parquet"
    found = read_log(path, position="q" if flat else "q_*", torque="tau" if flat else "tau_*", time="t")
    for one, other in ((found.time, log.time), (found.position, log.position), (found.torque, log.torque)):
        assert np.array_equal(one, other)
    assert found.missing is None
