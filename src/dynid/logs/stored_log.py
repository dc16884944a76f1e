"""A long log on disk, of which a part is in memory at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.findings import Finding
from dynid.logs.log import Log
from dynid.logs.readers.column_store import Column
from dynid.robot import Load

LONG_LOG = 40_000_000
"""Bytes of columns from which a log is long. Tests lower it."""


@dataclass(frozen=True, eq=False, repr=False)
class StoredLog:
    """A long log on disk, in SI units, of which a part is in memory at a time.

    Its temporary files are removed when nothing uses them any more, or the process ends.

    Attributes:
        time: Time stamps [s].
        signals: Columns of "position", "torque" and others.
        missing: Of joints whose torques were not all measured, which were not (1.0, otherwise 0.0).
        name: What the log is called in reports.
        weight: Rows of this log are multiplied with it in the estimation.
        source: The files it was read from.
        findings: What was noticed while it was read.
        first_stamp: Time stamp [s] of the first sample before the log was cut.
        load: What the robot carried, as in a `Log`.
        wrench_body: Name of the body whose frame is that of a force-torque sensor, likewise.
    """

    time: Column
    signals: Mapping[str, tuple[Column, ...]]
    missing: Mapping[int, Column]
    name: str
    weight: float
    source: tuple[Path, ...]
    findings: tuple[Finding, ...]
    first_stamp: float
    load: Load | str | None = None
    wrench_body: str | None = None

    def __len__(self) -> int:
        return len(self.time)

    @property
    def joints(self) -> int:
        """Number of columns of positions."""
        return len(self.signals["position"])

    def __getitem__(self, rows: slice) -> Log:
        """Some of the samples, in memory."""
        first, last = self._ends(rows)
        missing = None
        if self.missing:
            missing = np.zeros((last - first, self.joints), dtype=bool)
            for k, column in self.missing.items():
                missing[:, k] = column.read(first, last)
        signals: dict[str, Any] = {role: _together(columns, first, last) for role, columns in self.signals.items()}
        return Log(
            time=self.time.read(first, last),
            **signals,
            name=self.name,
            weight=self.weight,
            source=self.source,
            findings=self.findings,
            first_stamp=self.first_stamp,
            missing=missing,
            load=self.load,
            wrench_body=self.wrench_body,
        )

    def stamps(self, rows: slice) -> Array:
        """Time stamps [s] of some of the samples, shape (samples,)."""
        return self.time.read(*self._ends(rows))

    def at(self, rows: np.ndarray) -> tuple[Array, Array]:
        """Time stamps [s], shape (samples,), and positions, shape (samples, joints), of single samples."""
        found = [[column.read(row, row + 1)[0] for row in rows.tolist()] for column in self.signals["position"]]
        return np.array([self.time.read(row, row + 1)[0] for row in rows.tolist()]), np.array(found).T

    def _ends(self, rows: slice) -> tuple[int, int]:
        first, last, step = rows.indices(len(self))
        if step != 1:
            raise InvalidRequestError(f"samples of a long log are read in a row, and not in steps of {step}")
        return first, max(first, last)

    def __repr__(self) -> str:
        ends = self.time.read(0, 1)[0], self.time.read(len(self) - 1)[0]
        name = f" '{self.name}'" if self.name else ""
        n = self.joints
        what = f"{len(self)} samples in {ends[1] - ends[0]:.4g} s"
        return f"StoredLog{name}: {what}, {n} joint{'s' if n > 1 else ''}"


def _together(columns: tuple[Column, ...], first: int, last: int) -> Array:
    """Columns side by side, shape (samples, columns)."""
    values = np.empty((last - first, len(columns)))
    for k, column in enumerate(columns):
        values[:, k] = column.read(first, last)
    return values
