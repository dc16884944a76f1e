"""Numbers from texts and from types of time: dates, times of day, and stamps that count from 1970.

Stamps come as numbers since the first of them, because a double has no room for nanoseconds since 1970: the first is
kept beside them as their origin.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dynid.arrays import Array

if TYPE_CHECKING:
    import polars as pl

EPOCH = 1e8
"""Size from which numbers are counted from the first: stamps since 1970 are larger, and no other quantity is."""

NOTHING = ("", "nan", "na", "n/a", "#n/a", "null", "none", "nil", "-", "--", "?", "missing")
"""Words for a cell without a number, in lower case."""

INFINITE = ("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity")

_ZONE = r"\s*(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?"
_CLOCK = r"(\d{1,2}):(\d{2}):(\d{2})(?:[.,:](\d{1,9})\d*)?"
PATTERNS = (
    rf"(?i)^(?:(?P<y>\d{{4}})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}})[T\s_]\s*)?{_CLOCK}{_ZONE}$",
    rf"(?i)^(?P<d>\d{{1,2}})\.(?P<m>\d{{1,2}})\.(?P<y>\d{{4}})[T\s]\s*{_CLOCK}{_ZONE}$",
    rf"(?i)^(?P<y>\d{{4}})(?P<m>\d{{2}})(?P<d>\d{{2}})[T\s_](\d{{2}})(\d{{2}})(\d{{2}})(?:[.,](\d{{1,9}})\d*)?{_ZONE}$",
    r"^(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})()()()()()$",
)
"""ISO 8601 and its relatives: with or without a date; the day first, between dots; without marks; and a date alone."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column as numbers.

    Attributes:
        values: The numbers, NaN where there is none, shape (samples,).
        origin: What was taken off them.
        misfits: Samples that hold something else, which are NaN, shape (misfits,).
    """

    values: Array
    origin: float = 0.0
    misfits: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))

    @property
    def whole(self) -> Array:
        """The numbers as they were, as well as doubles have them."""
        return self.values + self.origin if self.origin else self.values


class SamePiece:
    """Converts a column piece by piece as if it were whole: all pieces are counted from the column's first number."""

    def __init__(self, convert: Callable[[Any], Numbers | None], joined: Callable[[list[Any]], Any]) -> None:
        self._convert, self._joined, self._first = convert, joined, None

    def __call__(self, piece: Any) -> Numbers | None:
        """The next piece as numbers; None where it holds something else."""
        if self._first is not None:
            found = self._convert(self._joined([self._first, piece]))
            return None if found is None else Numbers(found.values[1:], found.origin, found.misfits - 1)
        found = self._convert(piece)
        there = [] if found is None else np.flatnonzero(np.isfinite(found.values))
        if len(there):
            self._first = piece[int(there[0]) : int(there[0]) + 1]
        return found


def of_texts(texts: "pl.Series", *, stamps: bool = False) -> Numbers:
    """Numbers, dates and times of day in a column of texts; arguments as `of_array`."""
    import polars as pl

    texts = texts.str.strip_chars(' \t\r"')
    lower = texts.str.to_lowercase()
    texts = pl.select(pl.when(lower.is_in((*NOTHING, *INFINITE))).then(None).otherwise(texts)).to_series()
    given = texts.is_not_null().to_numpy()
    plain = texts.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy().copy()
    is_plain = np.isfinite(plain)
    if not is_plain[given].all():
        dates = _of_dates(texts, given)
        if dates is not None and len(dates.misfits) < np.count_nonzero(given & ~is_plain):
            return dates
    misfits = np.flatnonzero(given & ~is_plain)
    if stamps and is_plain.any() and abs(plain[is_plain][0]) >= EPOCH and not len(misfits):
        exact = _exact(texts, given)
        return Numbers(plain) if exact is None else exact
    return Numbers(plain, misfits=misfits)


def _exact(texts: "pl.Series", given: np.ndarray) -> Numbers | None:
    """Large decimal numbers since the first of them; None where they are written in another way."""
    import polars as pl

    parts = texts.str.extract_groups(r"^([+-]?\d+)(?:\.(\d*))?$").struct.unnest()
    whole = parts["1"].cast(pl.Int64, strict=False)
    if whole.null_count() > len(given) - np.count_nonzero(given):
        return None
    digits = (pl.lit("0.") + parts["2"].fill_null("")).alias("digits")
    fraction = pl.select(digits).to_series().cast(pl.Float64).to_numpy()
    number = whole.fill_null(0).to_numpy()
    fraction = np.where(number < 0, -fraction, fraction)
    first = int(np.flatnonzero(given)[0])
    values = (number - number[first]).astype(np.float64) + (fraction - fraction[first])
    return Numbers(np.where(given, values, np.nan), float(number[first]) + float(fraction[first]))


def _of_dates(texts: "pl.Series", given: np.ndarray) -> Numbers | None:
    """Dates and times of day in seconds since the first; None where there are none."""
    best: Numbers | None = None
    for pattern in PATTERNS:
        found = _of_pattern(texts, pattern, given)
        if found is not None and (best is None or len(found.misfits) < len(best.misfits)):
            best = found
        if best is not None and not len(best.misfits):
            break
    return best


def _of_pattern(texts: "pl.Series", pattern: str, given: np.ndarray) -> Numbers | None:
    import polars as pl

    parts = texts.str.extract_groups(pattern).struct.unnest()
    names = parts.columns
    own = [name for name in names if name not in ("y", "m", "d")]

    def integer(name: str, missing: int) -> np.ndarray:
        return parts[name].cast(pl.Int64, strict=False).fill_null(missing).to_numpy()

    hour, minute, second = (integer(name, 0) for name in own[:3])
    year, month, day = integer("y", 1970), integer("m", 1), integer("d", 1)
    digits = parts[own[3]].fill_null("").str.pad_end(9, "0").cast(pl.Int64, strict=False).fill_null(0).to_numpy()
    matched = given & parts[own[2]].is_not_null().to_numpy()
    matched &= (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31) & (hour <= 24) & (minute <= 59) & (second <= 60)
    if not matched.any():
        return None
    months = np.clip(year - 1970, -250, 250) * 12 + np.clip(month, 1, 12) - 1
    days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) + day - 1
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second - _offsets(parts[own[4]])
    moments = seconds * 1_000_000_000 + digits
    first = int(np.flatnonzero(matched)[0])
    values = np.where(matched, (moments - moments[first]) / 1e9, np.nan)
    return Numbers(values, float(seconds[first] + digits[first] / 1e9), np.flatnonzero(given & ~matched))


def _offsets(zones: "pl.Series") -> np.ndarray:
    """Seconds by which zones such as +02:00 are ahead; zero where none is stated."""
    import polars as pl

    parts = zones.fill_null("").str.extract_groups(r"^([+-])(\d{2}):?(\d{2})?$").struct.unnest()
    hours, minutes = (parts[k].cast(pl.Int64, strict=False).fill_null(0).to_numpy() for k in ("2", "3"))
    return np.where((parts["1"] == "-").fill_null(value=False).to_numpy(), -1, 1) * (60 * hours + minutes) * 60


def of_array(values: np.ndarray, *, stamps: bool = False) -> Numbers | None:
    """Numbers of an array of numbers, stamps, spans of time or texts; None where it holds something else.

    Args:
        values: The array, shape (samples,).
        stamps: Whether large numbers are counted from the first; dates always are.
    """
    if values.dtype.kind in "Mm":
        unit, count = np.datetime_data(values.dtype)
        if unit in ("generic", "Y", "M"):
            return None
        size = float(np.timedelta64(count, unit) / np.timedelta64(1, "s"))
        there = ~np.isnat(values)
        since = _since_first(values.astype(np.int64), there)
        return Numbers(np.where(there, since.values * size, np.nan), since.origin * size)
    if values.dtype.kind in "iu":
        large = stamps and len(values) and abs(int(values[0])) >= EPOCH
        return _since_first(values, np.ones(len(values), dtype=bool)) if large else Numbers(values.astype(np.float64))
    if values.dtype.kind in "USO":
        return _of_objects(values)
    if values.dtype.kind not in "bf":
        return None
    numbers = values.astype(np.float64)
    return since_first(numbers) if stamps else Numbers(numbers)


def since_first(values: Array) -> Numbers:
    """Stamps since the first of them, where they are large."""
    there = np.flatnonzero(np.isfinite(values))
    origin = float(values[there[0]]) if len(there) else 0.0
    return Numbers(values - origin, origin) if abs(origin) >= EPOCH else Numbers(values)


def _of_objects(values: np.ndarray) -> Numbers | None:
    import polars as pl

    texts = [x.decode("utf-8", "replace") if isinstance(x, bytes) else x for x in values.tolist()]
    if not all(x is None or isinstance(x, str) for x in texts):
        return None
    found = of_texts(pl.Series(texts, dtype=pl.String))
    return None if len(found.misfits) else found


def _since_first(values: np.ndarray, there: np.ndarray) -> Numbers:
    """Whole numbers since the first that is there."""
    if not there.any():
        return Numbers(np.full(len(values), np.nan))
    first = values[int(np.flatnonzero(there)[0])]
    apart = np.where(values >= first, (values - first).astype(np.float64), -(first - values).astype(np.float64))
    return Numbers(np.where(there, apart, np.nan), float(first))


def of_series(series: "pl.Series", *, stamps: bool = False) -> Numbers | None:
    """Numbers of a Polars column of numbers, dates, spans of time or texts; arguments as `of_array`."""
    import polars as pl

    kind: Any = series.dtype
    if kind == pl.String:
        found = of_texts(series)
        return None if len(found.misfits) else found
    if kind.is_temporal():
        there = series.is_not_null().to_numpy()
        if kind == pl.Date:
            series = series.cast(pl.Datetime("us"))
        whole = series.to_physical().cast(pl.Int64).fill_null(0).to_numpy()
        unit = "ns" if kind == pl.Time else getattr(series.dtype, "time_unit", "us")
        since = _since_first(whole, there)
        size = {"ms": 1e3, "us": 1e6, "ns": 1e9}[unit]
        return Numbers(since.values / size, since.origin / size)
    if kind.is_integer() and series.dtype != pl.Int128:
        there = series.is_not_null().to_numpy()
        whole = series.fill_null(0).to_numpy()
        large = stamps and there.any() and abs(int(whole[int(np.flatnonzero(there)[0])])) >= EPOCH
        return _since_first(whole, there) if large else Numbers(np.where(there, whole.astype(np.float64), np.nan))
    if kind.is_numeric() or kind == pl.Boolean:
        numbers = series.cast(pl.Float64).to_numpy()
        return since_first(numbers) if stamps else Numbers(numbers)
    return None
