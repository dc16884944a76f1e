"""Samples of a stream on disk while they come, and as a log file at the end."""

from __future__ import annotations

import io
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, OutputExistsError
from dynid.files import OutputError, write_bytes
from dynid.logs.streams.samples import Sample, SampleForm

LARGEST = 1_500_000_000
"""Bytes of samples that are kept: three hours of a 7-axis arm at 1 kHz. What comes then is not recorded."""


class Recorder:
    """Keeps samples, and writes them as an NPZ file, which `dynid init` reads.

    Args:
        path: The file that is written at the end.
        form: What each sample has.
        overwrite: Whether the file may be replaced.

    Attributes:
        samples: Samples that were kept.
        lost: Samples that were not, because there were too many.

    Raises:
        OutputExistsError: If the file exists and may not be replaced.
        OutputError: If nothing can be written to its folder.
        InvalidRequestError: If its name does not end in .npz.
    """

    def __init__(self, path: Path, form: SampleForm, *, overwrite: bool = False) -> None:
        if path.suffix.lower() != ".npz":
            raise InvalidRequestError(f"{path} is no name of a recording; let it end in .npz")
        if path.exists() and not overwrite:
            raise OutputExistsError(path)
        self.path, self.form, self._overwrite = path, form, overwrite
        self.samples = self.lost = 0
        self._columns = {"t": 1, "q": form.positions, "v": form.torques, "tau": form.torques, "base_pose": 7}
        self._columns |= {f"wrench_{body}": 6 for body in form.contacts}
        self._width = sum(self._columns.values())
        self._is_full = False
        try:  # beside the file, so that a folder that cannot be written to is known now, and not after an hour
            self._spool: IO[bytes] = tempfile.TemporaryFile(prefix=".dynid-", dir=path.parent)  # noqa: SIM115 (`finish`)
        except OSError as error:
            raise OutputError(path, error) from error

    def add(self, sample: Sample) -> None:
        """Keep a sample."""
        if self._is_full or (self.samples + 1) * self._width * 8 > LARGEST:
            self.lost += 1
            return
        parts = [np.array([sample.time]), sample.position, sample.velocity, sample.torque, sample.base_pose]
        parts += [sample.wrenches.get(body) for body in self.form.contacts]
        row = [
            np.full(width, np.nan) if part is None else part
            for part, width in zip(parts, self._columns.values(), strict=True)
        ]
        try:
            self._spool.write(np.concatenate(row).tobytes())
        except OSError:  # the disk is full
            self._is_full = True
            self.lost += 1
            return
        self.samples += 1

    def finish(self) -> Path | None:
        """Write the file, whole or not at all; None where nothing was kept.

        Where another file has come to be there meanwhile, or its folder takes nothing any more, the recording gets
        another name: it cannot be made again.

        Returns:
            The file that was written.

        Raises:
            OutputError: If it can be written nowhere.
        """
        with suppress(OSError):
            self._spool.flush()
        self._spool.seek(0)
        content = self._spool.read()
        with suppress(OSError):
            self._spool.close()
        rows: Array = np.frombuffer(content[: len(content) // (8 * self._width) * 8 * self._width], dtype=float)
        rows = rows.reshape(-1, self._width)
        if not len(rows):
            return None
        arrays, first = {}, 0
        for name, width in self._columns.items():
            part = rows[:, first : first + width]
            first += width
            if not np.isnan(part).all():
                arrays[name] = part[:, 0] if name == "t" else part
        packed = io.BytesIO()
        np.savez_compressed(packed, **arrays)
        other = f"{self.path.stem}-{secrets.token_hex(4)}.npz"
        for path in (self.path, self.path.with_name(other)):
            try:
                write_bytes(path, packed.getvalue(), overwrite=self._overwrite)
            except (OutputExistsError, OutputError):
                continue
            return path
        path = Path(tempfile.gettempdir()) / other
        write_bytes(path, packed.getvalue())
        return path
