"""How the lines of a log that is being written become samples: which columns, in which units."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.logs.contacts import CONTACT, WRENCH
from dynid.logs.quantities import quantities_of
from dynid.logs.readers.json_records import flattened
from dynid.logs.readers.source import RecordingError
from dynid.logs.readers.text_layout import as_utf8, layout_of_text
from dynid.logs.settings import Drive, LogSource
from dynid.logs.sources import decided, read_each_file_once
from dynid.logs.streams.packets import json_object
from dynid.logs.streams.samples import MalformedSampleError, Sample, SampleForm
from dynid.logs.units import in_si, kind_of
from dynid.robot import Robot

LINES = (".jsonl", ".ndjson")
"""Endings of files with one JSON record on each line; all others are delimited text."""

FOLLOWED = (".csv", ".tsv", ".txt", ".dat", *LINES)
"""Endings of files that can be followed while they grow."""


@dataclass(frozen=True)
class LineForm:
    """Reads lines of one file.

    Attributes:
        form: What each sample must have.
        fields: The fields of a line, by place or, of JSON records, by name.
        places: Keys of the fields of each quantity.
        units: The units of each quantity's fields.
        rate: Sampling rate [Hz] where lines have no time.
        contacts: Body and sign of each contact, by the role of its wrench.
        width: How many fields each line has, so that one that was cut, or two that became one, are known; None where
            fields have names.
    """

    form: SampleForm
    fields: Callable[[str], Sequence[str] | Mapping[str, object]]
    places: Mapping[str, tuple[int | str, ...]]
    units: Mapping[str, tuple[str, ...]]
    rate: float | None
    contacts: Mapping[str, tuple[str, int]]
    width: int | None = None

    def read(self, line: str, number: int) -> Sample:
        """The sample of a line, which is the so-many-th.

        Raises:
            MalformedSampleError: If it has none; says why.
        """
        found = self.fields(line)
        if self.width is not None and len(found) != self.width:
            raise MalformedSampleError("damaged-line")
        values = {role: self._values(found, role) for role in self.places}
        time = float(values["time"][0]) if "time" in values else number / (self.rate or 1.0)
        wrenches = {body: sign * _widened(values[role]) for role, (body, sign) in self.contacts.items()}
        parts = {role: values.get(role) for role in ("torque", "velocity", "base_pose")}
        return self.form.checked(Sample(time, values["position"], wrenches=wrenches, **parts))  # type: ignore[arg-type]

    def _values(self, found: Sequence[str] | Mapping[str, object], role: str) -> Array:
        try:
            raw = np.array([[_number(found[place]) for place in self.places[role]]])  # type: ignore[call-overload]
        except (IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise MalformedSampleError("damaged-line") from error
        return in_si(kind_of(role), raw, self.units[role])[0]


def _number(field: object) -> float:
    text = field.replace(",", ".") if isinstance(field, str) else field
    return float(text)  # type: ignore[arg-type]


def _widened(wrench: Array) -> Array:
    """A wrench of six numbers, of forces alone or of all."""
    return wrench if len(wrench) == WRENCH else np.concatenate([wrench, np.zeros(WRENCH - len(wrench))])


def line_form(source: LogSource, robot: Robot, form: SampleForm, drive: Drive | None = None) -> LineForm:
    """How lines are read, of the first lines of a file in a file of their own.

    Args:
        source: Where the quantities are: all in one file.
        robot: The robot, whose joints the columns must fit.
        form: What each sample must have.
        drive: The drives, which must fit the unit of torques.

    Raises:
        RecordingError: If columns are missing, or are not all in one file.
        InvalidRequestError: If there are not as many columns as joints.
    """
    path = source.position.path
    if any(quantity.path != path for quantity in source.quantities) or source.position.flat:
        raise RecordingError(path, "a file that is followed holds all quantities of a sample on one line; write it so")
    where = {
        role: one for role, one in quantities_of(source, robot).items() if role in _USED or role.startswith(CONTACT)
    }
    tables = read_each_file_once(where, robot, lambda _: None)
    tables, units, _ = decided(source, where, tables, robot, drive)
    is_json = path.suffix.lower() in LINES
    places = {role: table.names[group] if is_json else table.places[group] for role, (table, group) in tables.items()}
    own = [(contact.body, contact.sign) for contact in source.contact or () if contact.wrench is not None]
    roles = [role for role in where if role.startswith(CONTACT)]
    layout = None if is_json else layout_of_text(path, as_utf8(path, path.read_bytes()))
    fields, width = (_by_name, None) if layout is None else (layout.fields, layout.width)
    found = LineForm(form, fields, places, units, source.rate, dict(zip(roles, own, strict=True)), width)
    if len(places.get("time", ())) > 1:
        raise RecordingError(path, "time stamps of several columns cannot be followed; write seconds into one column")
    return found


_USED = ("time", "position", "torque", "velocity", "base_pose")


def _by_name(line: str) -> Mapping[str, object]:
    return dict(flattened(json_object(line)))
