"""Parquet files."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dynid.logs.readers.source import Progress, RecordingError, Source, silent


def parquet(path: Path, progress: Progress = silent) -> Source:
    """The columns of a Parquet file."""
    import polars as pl

    damage = (pl.exceptions.PolarsError, pl.exceptions.PanicException)  # some wrong bytes make Polars panic
    try:
        schema = pl.read_parquet_schema(path)
    except damage as error:
        raise RecordingError(path, "this is no Parquet file, or it is damaged; write or copy it again") from error
    names = tuple(schema)

    def load(positions: list[int]) -> Iterator[np.ndarray]:
        for p in positions:
            if not schema[names[p]].is_numeric():
                raise RecordingError(path, f"column '{names[p]}' holds {schema[names[p]]} instead of numbers")
        for k, p in enumerate(positions, 1):  # one column at a time is held
            try:
                column = pl.read_parquet(path, columns=[names[p]])[names[p]].cast(pl.Float64).to_numpy()
            except (*damage, OSError) as error:
                raise RecordingError(path, "the Parquet file is damaged; write or copy it again") from error
            progress(f"{path.name}: {k} of {len(positions)} columns")
            yield column

    return Source(names, load)
