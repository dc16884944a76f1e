"""C3D files, as the helper process reads them: arrays go to files of a folder, parameters are plain data."""

from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.logs.readers.source import RecordingError

GROUPS = ("POINT", "ANALOG", "FORCE_PLATFORM")
"""Groups of parameters that make a capture."""

MOST_COUNTED = 2**16 - 1
"""Samples from which on the header of a C3D file has no room to count them."""

INSTALL = "pip install 'dynid[mocap]'"
"""What brings the library that reads C3D files."""


def written_c3d(path: Path, folder: Path) -> dict[str, Any]:
    """Read a C3D file; what is large goes to `points.npy` and `analogs.npy` of a folder.

    Args:
        path: The file.
        folder: The folder; points get the shape (samples, points, 3), with NaN where one was not seen, and analog
            channels (samples, channels).

    Returns:
        Its parameters by group and name, and its rates [Hz].

    Raises:
        RecordingError: If it is no C3D file, or damaged, or the library that reads it is not installed.
    """
    try:
        import ezc3d
    except ImportError as error:
        raise RecordingError(path, f"C3D files are read by ezc3d, which is not installed; run {INSTALL}") from error
    if not path.stat().st_size:
        raise RecordingError(path, "the file is empty")
    try:
        file: Any = ezc3d.c3d(str(path))
        points, analogs = _points(file), np.asarray(file["data"]["analogs"], dtype=float)[0].T
        header = file["header"]
        rates = {"points": header["points"]["frame_rate"], "analogs": header["analogs"]["frame_rate"]}
        parameters = {group: _plain(file["parameters"][group]) for group in GROUPS if group in file["parameters"]}
        require_whole(path, file)
    except (MemoryError, RecordingError):
        raise
    except Exception as error:  # on untrusted bytes the library raises anything
        raise RecordingError(path, "this is no C3D file, or it is damaged; export it again") from error
    np.save(folder / "points.npy", points)
    np.save(folder / "analogs.npy", analogs)
    return {"parameters": parameters, "rates": {name: float(rate) for name, rate in rates.items()}}


def require_whole(path: Path, file: Any) -> None:
    """Refuse a file that ends before its last sample: the library counts what is left.

    Raises:
        RecordingError: If its header states more samples.
    """
    with path.open("rb") as stream:
        header = stream.read(512)
        stream.seek(512 * (header[0] - 1) + 3)  # where parameters begin, and what kind of processor wrote them
        order = "big" if stream.read(1) == b"\x56" else "little"
    first, last = (int.from_bytes(header[k : k + 2], order) for k in (6, 8))  # type: ignore[arg-type]
    stated, found = last - first + 1, int(file["data"]["points"].shape[2])
    if found < stated < MOST_COUNTED:
        raise RecordingError(path, f"it is cut off: {found} of its {stated} samples are there; copy or export it again")


def _points(file: Any) -> Array:
    """Where points were, in the file's unit; NaN where residuals are negative, or all coordinates are zero."""
    places = np.array(file["data"]["points"][:3], dtype=float).transpose(2, 1, 0)
    residuals = np.asarray(file["data"]["meta_points"]["residuals"], dtype=float)
    lost = ~places.any(axis=2)
    if residuals.size:
        lost |= residuals[0].T < 0.0
    places[lost] = np.nan
    return places


def _plain(group: Any) -> dict[str, Any]:
    """The parameters of a group as plain data."""
    found = {}
    for name, parameter in group.items():
        if name != "__METADATA__":
            value = parameter["value"]
            found[name] = value.tolist() if isinstance(value, np.ndarray) else list(value)
    return found
