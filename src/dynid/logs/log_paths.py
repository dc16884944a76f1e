"""Names of logs that stand for several: patterns (`logs/*.mcap`), folders, addresses (`s3://bucket/*.csv`), data sets.

A name becomes files in one place, before anything is read, so that whoever names a log may name many.
"""

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from dynid.files import FileKind, kind_of
from dynid.logs.fetched_files import is_url, listed_addresses, shown
from dynid.logs.named_files import quantities_in, with_files
from dynid.logs.readers.bags import is_bag
from dynid.logs.readers.isolated import episodes_of
from dynid.logs.readers.lerobot import data_set_at, data_set_of, with_episode
from dynid.logs.readers.listed_cells import is_name_file
from dynid.logs.readers.source import RecordingError
from dynid.logs.tables import is_log_name

WILD = re.compile(r"\*\*/?|[*?]|\[!?[^\]]+\]")
"""What stands for anything in a name: `**`, `*`, `?`, `[a-z]`."""


@dataclass(frozen=True)
class NamedFile:
    """A file that a name stands for.

    Attributes:
        name: Its path or address; of an episode in a file of several, as file-000.parquet#episode_000012.
        stands_for: What each star of the name stands for; of a file in a folder, its name without its ending.
    """

    name: str
    stands_for: tuple[str, ...] = ()


def stands_for_many(name: str) -> bool:
    """Whether a name is a pattern, a folder of logs, or a file of several episodes.

    A ROS 2 bag is one log, though it is a folder.
    """
    name = local_name(name)
    if is_url(name):
        address = name.partition("?")[0] if name.startswith("http") else name  # else a query is no pattern
        return address.endswith("/") or WILD.search(address) is not None
    path = Path(name)
    try:
        if path.exists():
            return _is_packed(path) or (path.is_dir() and not is_bag(path) and kind_of(path) is FileKind.UNKNOWN)
    except OSError:
        return False
    return WILD.search(name) is not None


def files_of(name: str | os.PathLike[str]) -> tuple[NamedFile, ...]:
    """The files that a name stands for, in natural order (`run2` before `run10`); a plain name stands for itself.

    Args:
        name: A path, a pattern, a folder, or an address of any of these.

    Raises:
        RecordingError: If a pattern or a folder stands for no file, or cannot be looked at.
    """
    text = local_name(os.fspath(name))
    if not stands_for_many(text):
        return (NamedFile(text),)
    if is_url(text):
        pattern = f"{text}*" if text.endswith("/") else text
        found = [one for one in listed_addresses(pattern) if not text.endswith("/") or is_log_name(Path(one))]
    elif Path(text).is_dir():
        pattern, found = str(Path(text) / "*"), _in_folder(Path(text))
    elif Path(text).exists():
        pattern, found = text, [text]
    else:
        matching = glob.glob(text, recursive=True)  # noqa: PTH207 (patterns may be absolute)
        pattern, found = text, [one for one in matching if _is_log(Path(one))] or matching
    if not found:
        kind = "no file matches this pattern" if WILD.search(text) else "no log that can be read is in this folder"
        raise RecordingError(shown(text), f"{kind}; check the name and the folder")
    stars = _stars(pattern)
    named = [file for one in found for file in _episodes(one, _stem(stars, one))]
    return tuple(sorted(named, key=lambda file: natural(file.name)))


def _episodes(name: str, stars: tuple[str, ...]) -> Iterator[NamedFile]:
    """The logs in a file: its episodes where it is one of a data set that has several in a file, otherwise itself."""
    path = Path(name)
    if is_url(name) or not _is_packed(path):
        yield NamedFile(name, stars)
        return
    numbers = episodes_of(path)
    if not numbers:
        raise RecordingError(path, "it has no column episode_index, which says what episode a row is of")
    for own in (with_episode(path, number) for number in numbers):
        yield NamedFile(str(own), (*stars, own.name.partition("#")[2]))


def _is_packed(path: Path) -> bool:
    """Whether a file of a data set holds several episodes."""
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return False
    data_set = data_set_of(path)
    return data_set is not None and data_set.is_packed


def local_name(name: str) -> str:
    """A name as it is; of an address such as `file:///logs/run.csv`, the path."""
    return url2pathname(urlsplit(name).path) if name.startswith("file://") else name


def natural(name: str) -> list[tuple[int, str]]:
    """Order of names in which numbers count: `run2` comes before `run10`.

    >>> sorted(["run10", "run2"], key=natural)
    ['run2', 'run10']
    """
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def single_logs(log: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The logs that one table `[[log]]` stands for: one for each file that its names match.

    Where quantities are in different files, these are paired by what the stars of their names stand for.

    Args:
        log: The table, as plain data; quantities are mappings with a key "file".

    Raises:
        RecordingError: If a name stands for no file, or the files of quantities do not pair.
    """
    names = {place: part["file"] for place, part in quantities_in(log) if _is_text(part["file"])}
    if not any(map(stands_for_many, names.values())):
        return [with_files(log, lambda name, place: local_name(name) if place in names else name)]
    found = {name: files_of(name) for name in dict.fromkeys(names.values())}
    first = next(name for name in found if stands_for_many(name))
    places = {name: _by_stars(name, files) for name, files in found.items()}
    for name, files in found.items():
        _require_pairs(first, found[first], name, files)
    logs = []
    for file in found[first]:
        own = {place: places[name][file.stands_for].name for place, name in names.items()}
        parts = with_files(log, lambda name, place, own=own: own.get(place, name))
        if _is_text(log.get("name")) and len(found[first]) > 1:
            parts["name"] = f"{log['name']} {'/'.join(file.stands_for)}"
        logs.append(parts)
    return logs


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _by_stars(name: str, files: Sequence[NamedFile]) -> dict[tuple[str, ...], NamedFile]:
    places = {file.stands_for: file for file in files}
    if len(places) < len(files):
        twice = next(file for file in files if places[file.stands_for] is not file)
        problem = f"{Path(twice.name).name} and {Path(places[twice.stands_for].name).name} differ in their ending only"
        raise RecordingError(shown(name), f"{problem}; name one kind of file, such as '*{Path(twice.name).suffix}'")
    return places


def _require_pairs(first: str, files: Sequence[NamedFile], name: str, others: Sequence[NamedFile]) -> None:
    """Refuse files of two quantities that do not go together."""
    if len(files) != len(others):
        problem = f"it stands for {len(others)} file(s), and {shown(first)} for {len(files)}"
        raise RecordingError(shown(name), f"{problem}; quantities of one log need as many files each")
    known = {file.stands_for for file in files}
    alone = next((file for file in others if file.stands_for not in known), None)
    if alone is not None:
        problem = f"{Path(alone.name).name} has no counterpart among the files of {shown(first)}"
        raise RecordingError(shown(name), f"{problem}; files pair where their stars stand for the same")


def _in_folder(folder: Path) -> list[str]:
    """Logs in a folder: files of a kind that can be read, and ROS 2 bags; of a data set, the files of its episodes."""
    data_set = data_set_at(folder)
    if data_set is not None:
        return [str(path) for path in data_set.files()]
    try:
        return [str(path) for path in folder.iterdir() if not path.name.startswith(".") and _is_log(path)]
    except OSError as error:
        problem = f"the folder cannot be read ({error.strerror or error}); check its permissions"
        raise RecordingError(folder, problem) from error


def _is_log(path: Path) -> bool:
    """Whether a file may be a log, by its name; JSON may be something else that dynid wrote."""
    if path.is_dir():
        return is_bag(path)
    other = path.suffix.lower() == ".json" and kind_of(path) not in (FileKind.LOG, FileKind.UNKNOWN)
    return is_log_name(path) and not other and not is_name_file(path)


def _stars(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression, with a group for each of its stars."""
    parts, end = [], 0
    for wild in WILD.finditer(pattern):
        parts.append(re.escape(pattern[end : wild.start()]))
        text, end = wild[0], wild.end()
        if text.startswith("**"):
            parts.append("((?:.*/)?)" if text == "**/" else "(.*)")
        elif text.startswith("["):
            parts.append(f"({'[^' + text[2:] if text[1] == '!' else text})")
        else:
            parts.append("([^/]*)" if text == "*" else "([^/])")
    return re.compile("".join([*parts, re.escape(pattern[end:])]), re.DOTALL)


def _stem(stars: re.Pattern[str], name: str) -> tuple[str, ...]:
    """What the stars of a pattern stand for in a name; endings such as `.csv` do not count where a star covers them."""
    match = stars.fullmatch(name)
    if match is None:  # written in another way by the file system
        return (Path(name).stem,)
    return tuple(Path(part).stem if is_log_name(Path(part)) else part for part in match.groups())
