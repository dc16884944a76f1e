"""Files of one log that were sampled by themselves: joined on their time stamps."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dynid.arrays import Array
from dynid.logs.missing_cells import held
from dynid.logs.readers.source import RecordingError
from dynid.logs.settings import COMMANDS, Quantity
from dynid.logs.tables import Table, read_groups
from dynid.logs.units import in_si


def joined_on_time(
    where: Mapping[str, Quantity], tables: Mapping[str, tuple[Table, int]], units: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[Table, int]]:
    """Tables whose rows are those of the log's time stamps.

    A quantity that states the `time` of its own file is interpolated linearly to the log's time stamps, and is missing
    (NaN) where its file has no samples. Commands are held until the next one. Other tables stay as they are.

    Args:
        where: Where each quantity is.
        tables: The table of each quantity, and which of its groups it is.
        units: Units of each quantity; clocks of all files have that of time.

    Raises:
        RecordingError: If two files have no time in common, or time goes backwards in one.
    """
    found = dict(tables)
    for role, quantity in where.items():
        if quantity.time is None:
            continue
        lead, place = tables["time"]
        at = in_si("time", lead.groups[place], units["time"])[:, 0]
        clock = read_groups(quantity.path, [quantity.time], stamps=[0])
        apart = clock.origins.get(0, (0.0,))[0] - lead.origins.get(place, (0.0,))[0]  # both are counted from the first
        own = in_si("time", clock.groups[0] + apart, units["time"])[:, 0]
        table, group = tables[role]
        if np.any(np.diff(own) <= 0):
            row = table.first_row + 1 + int(np.argmax(np.diff(own) <= 0))
            problem = f"column '{quantity.time}' of time does not advance in row {row}"
            raise RecordingError(quantity.path, f"{problem}; files are joined on time only where it does")
        if own[-1] < at[0] or own[0] > at[-1]:
            spans = [f"from {one[0]:.6g} s to {one[-1]:.6g} s" for one in (own, at)]
            problem = f"its time stamps go {spans[0]}, and those of {lead.path.name} {spans[1]}"
            raise RecordingError(quantity.path, f"{problem}: they have no time in common; are they of one recording?")
        if role in COMMANDS:
            joined = held(table.groups[group])[_last_before(at, own)]
        else:
            columns = [np.interp(at, own, column, left=np.nan, right=np.nan) for column in table.groups[group].T]
            joined = np.column_stack(columns)
        moved = replace(
            table,
            groups=(joined,),
            names=(table.names[group],),
            places=(table.places[group],),
            first_row=lead.first_row,
        )
        found[role] = (moved, 0)
    return found


SAME = 1e-3
"""Steps of the log by which stamps of two files may differ that are those of one moment, but for rounding."""


def _last_before(at: Array, own: Array) -> np.ndarray:
    """Which sample of a file acts at each of the log's time stamps: the last one up to it, or the first."""
    step = float(np.nanmedian(np.diff(at))) if len(at) > 1 else 0.0
    return np.clip(np.searchsorted(own, at + SAME * max(step, 0.0), side="right") - 1, 0, None)
