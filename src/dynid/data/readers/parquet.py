"""Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dynid.data.readers.source import RecordingError, Source


def parquet(path: Path) -> Source:
    """The columns of a Parquet file."""
    import polars as pl

    damage = (pl.exceptions.PolarsError, pl.exceptions.PanicException)  # some wrong bytes make Polars panic
    try:
        schema = pl.read_parquet_schema(path)
    except damage as error:
        raise RecordingError(path, "this is no Parquet file, or it is damaged; write or copy it again") from error
    names = tuple(schema)

    def load(positions: list[int]) -> Sequence[np.ndarray]:
        for p in positions:
            if not schema[names[p]].is_numeric():
                raise RecordingError(path, f"column '{names[p]}' holds {schema[names[p]]} instead of numbers")
        try:
            frame = pl.read_parquet(path, columns=[names[p] for p in positions])
        except (*damage, OSError) as error:
            raise RecordingError(path, "the Parquet file is damaged; write or copy it again") from error
        return [frame[names[p]].cast(pl.Float64).to_numpy() for p in positions]

    return Source(names, load)
