"""Series of logs that one name stands for, such as the episodes of a data set: one table `[[log]]` states them all."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from dynid.experiment.first import guesses
from dynid.experiment.first.guesses import Group, Layout
from dynid.findings import Finding
from dynid.logs import UNITS, Progress, RecordingError, data_set_of, is_bag, read_columns, source_of


@dataclass(frozen=True)
class Series:
    """Logs that one name stands for, each in a file of its own or an episode of one, and laid out alike.

    Attributes:
        name: The name: a pattern, a folder, or the folder of a data set.
        files: Their files.
        rates: Sampling rate of each that was found by its time stamps [Hz], by file.
    """

    name: str
    files: tuple[Path, ...]
    rates: Mapping[Path, float] = field(default_factory=dict)

    def findings(self) -> tuple[Finding, ...]:
        """What is odd about the series as a whole."""
        return (*self._on_missing_episodes(), *self._on_rates())

    def _on_missing_episodes(self) -> Iterator[Finding]:
        data_set = data_set_of(self.files[0]) if self.files else None
        if data_set is None or data_set.total is None or Path(self.name).resolve() != data_set.folder.resolve():
            return  # a pattern leaves out what it leaves out
        if len(self.files) < data_set.total:
            yield Finding.of("episodes-missing", "log", found=len(self.files), stated=data_set.total)

    def _on_rates(self) -> tuple[Finding, ...]:
        rates = np.array(list(self.rates.values()))
        if not len(rates) or float(np.ptp(rates)) <= guesses.THRESHOLDS.rates_apart * float(np.median(rates)):
            return ()
        usual = float(np.median(rates))
        odd = [path for path, rate in self.rates.items() if abs(rate - usual) > guesses.THRESHOLDS.rates_apart * usual]
        values = {"usual": usual, "count": len(odd), "logs": [path.name for path in odd], "of": len(self.files)}
        values |= {"lowest": float(rates.min()), "highest": float(rates.max())}
        return (Finding.of("rates-differ", "log", **values),)

    def stated(self, layout: Layout) -> Layout:
        """A layout of one of its logs as the table that states all of them."""

        def named(group: Group) -> Group:
            return replace(group, file=Path(self.name))

        groups = {role: getattr(layout, role) for role in ("position", "torque", "velocity", "time", "beside")}
        own = {role: named(group) for role, group in groups.items() if group is not None}
        commands = {role: named(one) if isinstance(one, Group) else one for role, one in layout.commands.items()}
        return replace(layout, **own, commands=commands)


def looked_at(files: Sequence[Path]) -> tuple[Path, ...]:
    """The logs of a series whose numbers are looked at: some, evenly spread, with the first and the last."""
    count = guesses.THRESHOLDS.looked_at
    if len(files) <= count:
        return tuple(files)
    return tuple(files[k] for k in np.linspace(0, len(files) - 1, count).round().astype(int))


def series_of(name: str, files: Sequence[Path], layouts: Sequence[Layout], progress: Progress) -> Series | None:
    """The series of some logs; None where each needs a table of its own.

    Args:
        name: The name that stands for the files.
        files: The files.
        layouts: What was found in those that were looked at.
        progress: Callback; receives a short description of each step.

    Raises:
        RecordingError: If one of the others has other columns, as an episode of another robot has.
    """
    first = layouts[0]
    if len(files) < 2 or any(map(is_bag, files)) or not all(len(_files(layout)) == 1 for layout in layouts):
        return None
    known = {_files(layout)[0]: layout for layout in layouts}
    names, time = source_of(files[0]).names, first.time
    if len(layouts) < len(files) or data_set_of(files[0]) is not None:
        for file in files[1:]:
            _require_columns(file, names, files[0])
    if not all(_is_alike(first, other) for other in layouts):
        return None
    rates: dict[Path, float] = {}
    for k, file in enumerate(files):
        if file in known:
            stamps = known[file].stamps
        else:
            progress(f"Looking at log {k + 1} of {len(files)}")
            stamps = None if time is None or time.columns is None else _stamps(file, time)
        if stamps is not None and len(stamps) > 1:
            rates[file] = 1.0 / float(np.nanmedian(np.diff(stamps)))
    return Series(name, tuple(files), rates)


def _stamps(file: Path, time: Group) -> np.ndarray:
    """Time stamps of a log [s]."""
    size = UNITS["time"][time.unit] if isinstance(time.unit, str) else 1.0
    return read_columns(file, columns=time.columns)[:, 0] * size


def _require_columns(file: Path, names: Sequence[str], first: Path) -> None:
    """Refuse a log that has other columns than the first.

    Raises:
        RecordingError: If it has; names some of them.
    """
    own = source_of(file).names
    if tuple(own) != tuple(names):
        only = [name for name in own if name not in names], [name for name in names if name not in own]
        which = "; ".join(
            f"{', '.join(each[:6])} in {where.name} only"
            for each, where in zip(only, (file, first), strict=True)
            if each
        )
        problem = f"it has other columns than {first.name} ({which or 'in another order'}): is it of another robot?"
        raise RecordingError(file, f"{problem} Name the logs of one robot by a pattern")


def _files(layout: Layout) -> list[Path]:
    """The files of a log."""
    groups = (layout.position, layout.torque, layout.velocity, layout.time, *layout.commands.values())
    return list(dict.fromkeys(group.file for group in groups if isinstance(group, Group)))


def _is_alike(first: Layout, other: Layout) -> bool:
    """Whether a log is in one file, and stated as the first is but for its name."""
    if other.rows is not None or (other.is_open and other is not first) or other.position is None:
        return False
    alike = Series("", ())
    return _plain(alike.stated(first)) == _plain(alike.stated(other))


def _plain(layout: Layout) -> tuple[object, ...]:
    """What a table `[[log]]` would state."""
    groups = (layout.position, layout.torque, layout.velocity, layout.time)
    stated = [None if group is None else replace(group, why="") for group in groups]
    commands = {role: replace(one, why="") if isinstance(one, Group) else one for role, one in layout.commands.items()}
    return (*stated, sorted(commands.items(), key=lambda item: item[0]), layout.rate, layout.joints)
