"""LeRobot data sets: what joints their columns are of, by `meta/info.json`, and which rows are which episode.

Version 2 has a Parquet file for each episode, `data/chunk-000/episode_000000.parquet`; version 3 has files of many,
`data/chunk-000/file-000.parquet`, whose column `episode_index` says which rows are of which. An episode of such a file
is called `file-000.parquet#episode_000012`, and is a log like any other.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynid.logs.readers.source import RecordingError

INFO = Path("meta") / "info.json"

FIRST_VERSION = Path("meta_data") / "info.json"
"""Where data sets before version 2 describe themselves."""

MOST_BYTES = 10_000_000
"""Bytes that `meta/info.json` may have: those that LeRobot writes have some thousand."""

LONGEST = 200
"""Letters that the name of a joint may have."""

EPISODES = "episode_index"
"""The column that says which episode a row is of."""

_EPISODE = re.compile(r"#episode_(\d{1,12})$")


@dataclass(frozen=True)
class DataSet:
    """A LeRobot data set.

    Attributes:
        folder: Its folder.
        version: Version of its layout, such as "v2.1".
        rate: Frames per second that it states [Hz]; None where it states none.
        names: What the entries of each feature are called, by feature; without those that have no names.
        features: All features that it states.
        is_packed: Whether its files hold several episodes.
        total: Number of episodes that it states; None where it states none.
    """

    folder: Path
    version: str
    rate: float | None
    names: Mapping[str, tuple[str, ...]]
    features: frozenset[str]
    is_packed: bool
    total: int | None = None

    def files(self) -> list[Path]:
        """The files of its episodes.

        Raises:
            RecordingError: If there are none.
        """
        found = sorted(self.folder.glob("data/*/*.parquet"))
        if not found:
            problem = "this is a LeRobot data set without episodes: no file fits data/*/*.parquet"
            raise RecordingError(self.folder, f"{problem}; download its folder 'data', too")
        return found


def data_set_at(folder: Path) -> DataSet | None:
    """The data set whose folder this is; None where it is something else.

    Raises:
        RecordingError: If its `meta/info.json` cannot be read, or its version is not read.
    """
    path = folder / INFO
    if (folder / FIRST_VERSION).is_file():
        raise _too_old(folder, "1")
    if not path.is_file():
        return None
    info = _info(path)
    version = info.get("codebase_version")
    if not isinstance(version, str):
        return None
    if version.startswith("v1"):
        raise _too_old(folder, version[:20])
    features = info.get("features")
    features = features if isinstance(features, dict) else {}
    names = {str(key): own for key, feature in features.items() if (own := _names(feature))}
    template = info.get("data_path")
    is_packed = EPISODES not in template if isinstance(template, str) else not version.startswith("v2")
    total = info.get("total_episodes")
    total = total if isinstance(total, int) and not isinstance(total, bool) and 0 < total < 1e9 else None
    return DataSet(folder, version, _rate(info.get("fps")), names, frozenset(map(str, features)), is_packed, total)


def _too_old(folder: Path, version: str) -> RecordingError:
    problem = f"this is a LeRobot data set of version {version}, and those from v2.0 on are read"
    return RecordingError(folder, f"{problem}; convert it with the script of LeRobot")


def _rate(value: Any) -> float | None:
    """A frame rate; None where it is none."""
    is_rate = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e6
    return float(value) if is_rate else None


def data_set_of(path: Path) -> DataSet | None:
    """The data set that a file of episodes lies in; None where it lies in none. Errors as `data_set_at`."""
    folders = whole_file(path).absolute().parents
    return data_set_at(folders[2]) if len(folders) > 2 and folders[1].name == "data" else None


def _info(path: Path) -> dict[str, Any]:
    """What a data set says of itself."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise RecordingError(
                path, f"it has more than {MOST_BYTES / 1e6:.0f} MB, and describes a data set; is it one?"
            )
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise RecordingError(path, f"the file cannot be read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise RecordingError(path, "it is damaged: it holds no JSON; download the data set again") from error
    if not isinstance(found, dict):
        raise RecordingError(path, "it holds no JSON object, as those of LeRobot do; download the data set again")
    return found


def _names(feature: Any) -> tuple[str, ...]:
    """Names of a feature's entries: a list, or one list in an object; empty where there is none that can be used."""
    names = feature.get("names") if isinstance(feature, dict) else None
    if isinstance(names, dict):
        if len(names) == 1 and isinstance(next(iter(names.values())), list):
            names = next(iter(names.values()))
        elif sorted(map(str, names.values())) == sorted(map(str, range(len(names)))):  # by name, its place
            names = [name for name, _ in sorted(names.items(), key=lambda item: int(item[1]))]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return ()
    is_unique = len(set(names)) == len(names)
    return tuple(names) if is_unique and all(0 < len(name) <= LONGEST for name in names) else ()


def labels_of(names: Sequence[str], count: int, key: str) -> tuple[str, ...]:
    """What the columns of a list are called: by the names of its entries where there are as many, otherwise by number.

    >>> labels_of(["hip.pos", "knee.pos"], 2, "action"), labels_of([], 2, "action")
    (('action.hip.pos', 'action.knee.pos'), ('action[0]', 'action[1]'))
    """
    if len(names) == count:
        return tuple(f"{key}.{name}" for name in names)
    return tuple(f"{key}[{k}]" for k in range(count))


def whole_file(path: Path) -> Path:
    """The file that an episode is in; any other path as it is."""
    name = _EPISODE.sub("", path.name)
    return path if name == path.name or not name else path.with_name(name)


def episode_of(path: Path) -> int | None:
    """The episode that a path names; None where it names a file.

    >>> episode_of(Path("data/chunk-000/file-000.parquet#episode_000012"))
    12
    """
    found = _EPISODE.search(path.name)
    return int(found[1]) if found is not None else None


def with_episode(path: Path, episode: int) -> Path:
    """The path of an episode in a file."""
    return path.with_name(f"{path.name}#episode_{episode:06d}")
