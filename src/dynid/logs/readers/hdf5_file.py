"""HDF5 files with arrays of samples, as ALOHA writes an episode: `/observations/qpos`, `/action`, without stamps."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dynid.findings import Finding
from dynid.logs.readers.array_columns import ArrayColumns, Shape
from dynid.logs.readers.column_store import joined
from dynid.logs.readers.hdf5_entries import BLOCK, MOST, WIDEST, entries, exact_kind, is_elsewhere
from dynid.logs.readers.source import Progress, RecordingError, Source, silent
from dynid.logs.readers.stamps import Numbers, SamePiece, of_array

ADVICE = "save the signals of all samples as arrays of shape (samples,) or (samples, joints)"


@dataclass(frozen=True, eq=False)
class _Content:
    """What an HDF5 file holds.

    Attributes:
        shapes: Shapes of its arrays of samples, by name.
        places: Where they are in the file.
        others: What else there is: names, each with what it is.
        is_simulated: Whether the file says that its log was simulated.
    """

    shapes: dict[str, Shape]
    places: dict[str, str]
    others: dict[str, str]
    is_simulated: bool


def hdf5(path: Path, progress: Progress = silent) -> Source:
    """The columns of the arrays of an HDF5 file, those in groups as `group.array[0]`; images are not read."""
    try:
        content = _content(path)
    except MemoryError:
        raise
    except Exception as error:  # on untrusted bytes HDF5 raises anything
        raise RecordingError(path, "this is no HDF5 file, or it is damaged; write or copy it again") from error
    if not content.shapes:
        found = ", ".join(f"{name} ({what})" for name, what in list(content.others.items())[:20]) or "nothing"
        raise RecordingError(path, f"it holds no arrays of samples, but {found}; {ADVICE}")
    arrays = ArrayColumns(path, content.shapes)

    def pieces(positions: list[int], stamps: bool) -> Iterator[tuple[int, Numbers]]:
        try:
            yield from _pieces(arrays, content.places, positions, stamps, progress)
        except (RecordingError, MemoryError, GeneratorExit):
            raise
        except Exception as error:
            raise RecordingError(path, "the HDF5 file is damaged; write or copy it again") from error

    def load(positions: list[int]) -> Iterator[np.ndarray]:
        return joined(pieces(positions, False), len(positions))

    notes = (Finding.of("log-simulated", path.name),) if content.is_simulated else ()
    return Source(arrays.names, load, notes=notes, unread=content.others, pieces=pieces, samples=arrays.length)


def _content(path: Path) -> _Content:
    """What a file holds, without its numbers."""
    import h5py

    shapes: dict[str, Shape] = {}
    places: dict[str, str] = {}
    others: dict[str, str] = {}
    with h5py.File(path, "r") as file:
        for name, item in islice(entries(file), MOST):
            key, what = name.replace("/", "."), _problem(item)
            if what:
                others[key] = what
            else:
                shapes[key], places[key] = tuple(item.shape), item.name
        return _Content(shapes, places, others, _is_true(file.attrs.get("sim")))


def _pieces(
    arrays: ArrayColumns, places: Mapping[str, str], positions: list[int], stamps: bool, progress: Progress
) -> Iterator[tuple[int, Numbers]]:
    """The numbers of columns, piece by piece."""
    import h5py

    wanted = arrays.wanted(positions)
    samples = arrays.samples(wanted)
    convert = [SamePiece(lambda values: of_array(values, stamps=stamps), np.concatenate) for _ in positions]
    with h5py.File(arrays.path, "r") as file:
        for name, own in wanted.items():
            progress(f"{arrays.path.name}: {name}")
            if name in arrays.constants:
                values = next(_rows(file[places[name]])).reshape(-1)
                yield from ((n, Numbers(np.full(samples, values[k]))) for n, k in own)
                continue
            for rows in _rows(file[places[name]]):
                yield from ((n, convert[n](rows[:, k]) or Numbers(np.zeros(0))) for n, k in own)


def _problem(item: Any) -> str:
    """Why an array makes no columns; empty where it does."""
    if is_elsewhere(item):
        return "an array in another file"
    if item.dtype.kind not in "biuf":
        return "texts" if item.dtype.kind in "OSU" else str(item.dtype)
    if item.shape is None or 0 in item.shape:
        return "an empty array"
    is_wide = len(item.shape) == 2 and item.shape[1] > WIDEST
    return f"an array of shape {item.shape}, such as images" if len(item.shape) > 2 or is_wide else ""


def _rows(item: Any) -> Iterator[np.ndarray]:
    """Rows of an array in parts, shape (rows, columns)."""
    if not item.shape:
        yield np.array([[float(item[()])]])
        return
    width = item.shape[1] if len(item.shape) > 1 else 1
    step = max(1, BLOCK // (width * item.dtype.itemsize))
    for first in range(0, item.shape[0], step):
        yield item[first : first + step].reshape(-1, width).astype(exact_kind(item), copy=False)


def _is_true(value: Any) -> bool:
    """Whether an attribute says yes."""
    return isinstance(value, bool | np.bool_ | int | np.integer) and bool(value)
