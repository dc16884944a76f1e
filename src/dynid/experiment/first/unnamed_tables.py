"""Tables whose columns have no names: what they hold by the names of files, by their width and by their numbers."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.experiment.first.candidate import Candidate
from dynid.experiment.first.naming import KNOWN, Quality, label_of, parts_of, quality_of
from dynid.experiment.first.questions import Question
from dynid.findings import Finding
from dynid.logs import Source, read_columns, read_groups
from dynid.robot import Robot


def has_names(source: Source) -> bool:
    """Whether columns have names that say something; those of one array, such as data[0], only count them."""
    arrays = {match[1] if (match := re.fullmatch(r"(.*)\[\d+\]", name)) else None for name in source.names}
    is_array = len(source.names) > 1 and len(arrays) == 1 and None not in arrays
    return source.named and not (is_array and not label_of(str(arrays.pop())).role)


def unnamed_in(path: Path, width: int, of_file: str, n: int) -> list[Candidate]:
    """A file without names of columns: one column of time, one per joint, or one number per line."""
    words = frozenset(str(part) for part in parts_of(path.stem))
    whole = Candidate(of_file, path, (), quality=quality_of(("", *sorted(words & KNOWN))), words=words)
    if of_file == "time":
        return [replace(whole, columns=(0,))]
    if width == 1 and n > 1:
        return [replace(whole, columns=tuple(range(n)), width=n)]
    if width == n + 1 and bool(np.all(np.diff(read_columns(path, columns=0)[:, 0]) > 0)):
        time = Candidate("time", path, (0,), words=words)
        return [time, replace(whole, columns=tuple(range(1, width)))]
    return [replace(whole, columns=tuple(range(width)))]


def by_width(path: Path, width: int, robot: Robot, joints: Sequence[str]) -> tuple[list[Candidate], Question | None]:
    """A table without names: time, positions, velocities and torques by their number, with the question that leaves.

    More blocks than these three are candidates for torques of which none is chosen.
    """
    chains = {len(list(robot.chain(k))) for k in range(len(robot.joints))}
    sizes = [n for n in (len(joints), *sorted(chains - {len(joints)}, reverse=True)) if n > 1 or len(joints) == 1]
    fits = [(n, first) for n in sizes for first in (1, 0) if width > n + first and (width - first) % n == 0]
    numbers = read_columns(path, columns=0)[:, 0] if fits else np.zeros(0)
    is_time = len(numbers) > 1 and bool(np.mean(np.diff(numbers) > 0) > 0.99)
    fits = [(n, first) for n, first in fits if bool(first) == is_time]
    if not fits:
        return [], None
    n, first = fits[0]
    blocks = [tuple(range(at, at + n)) for at in range(first, width, n)]
    made = [Candidate("position", path, blocks[0])]
    made += [Candidate("time", path, (0,))] if first else []
    rest = blocks[1:]
    if len(blocks) == 3 or (len(blocks) > 3 and _is_derivative(path, blocks[0], blocks[1], numbers if first else None)):
        made.append(Candidate("velocity", path, blocks[1]))
        rest = blocks[2:]
    quality = Quality.PLAIN if len(rest) == 1 else Quality.PART
    made += [Candidate("torque", path, block, quality=quality) for block in rest]
    named = [f"{one.role} {one.pattern}" for one in made if one.quality is Quality.PLAIN]
    finding = Finding.of("choose-by-width", "log", width=width, joints=len(joints), taken=named)
    letters = ("q", "v", "tau") if any(one.role == "velocity" for one in made) else ("q", "tau")
    example = ",".join([*(["t"] if first else []), *(f"{letter}1..{letter}{n}" for letter in letters)])
    return made, Question(finding, "position", tuple(named), made[0].pattern, f"--columns {example}")


def _is_derivative(path: Path, positions: tuple[int, ...], rates: tuple[int, ...], time: Array | None) -> bool:
    """Whether some columns move as the derivatives of others do."""
    q, v = read_groups(path, [positions, rates], finite=False).groups
    t = np.arange(len(q)) if time is None else time
    with np.errstate(all="ignore"):
        slope = np.diff(q, axis=0) / np.diff(t)[:, None]
    middle, good = 0.5 * (v[1:] + v[:-1]), np.isfinite(slope).all(axis=1)
    both = [np.corrcoef(slope[good, k], middle[good, k])[0, 1] for k in range(q.shape[1]) if np.ptp(q[:, k]) > 0]
    return bool(both) and float(np.nanmedian(both)) > 0.8
