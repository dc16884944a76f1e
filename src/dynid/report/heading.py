"""What stands at the top of a report: the robot, when and with what it was identified, from which logs, and how."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dynid.identification import Result
from dynid.logs import Log
from dynid.report.drawn_signals import DRAWN, Signals
from dynid.report.subject import Subject


@dataclass(frozen=True)
class HeadLog:
    """A log in the heading; numbers are None where it could not be read.

    Attributes:
        name: Its name.
        use: "identified from" or "held out".
        seconds: Its length [s].
        rate: Its sampling rate [Hz].
        samples: Its number of samples.
    """

    name: str
    use: str
    seconds: float | None = None
    rate: float | None = None
    samples: int | None = None


@dataclass(frozen=True)
class Heading:
    """The heading of one result.

    Attributes:
        name: The result's name.
        robot_file: Name of the robot's file, or that of a built-in robot.
        date: When it was identified, in words; empty where that is not known.
        version: The version of dynid that identified it.
        command: The command that gives the same numbers; empty where there is none.
        logs: The logs.
    """

    name: str
    robot_file: str
    date: str
    version: str
    command: str
    logs: tuple[HeadLog, ...]


def heading_of(subject: Subject) -> Heading:
    """The heading of a result; the same whenever it is asked for."""
    result = subject.result
    used = _logs(subject.signals, "identified from") or _named(result)[:DRAWN]
    more = len(result.task.logs) - len(used)
    if more > 0:
        used = (*used, HeadLog(f"{more} more logs", "identified from"))
    source = result.robot.description.source
    return Heading(
        name=subject.name,
        robot_file=source if source.startswith("builtin:") else Path(source).name,
        date=_date(result),
        version=result.record.version,
        command=_command(result),
        logs=(*used, *_logs(subject.held_out, "held out")),
    )


def _logs(signals: Signals | None, use: str) -> tuple[HeadLog, ...]:
    logs = () if signals is None else signals.logs
    return tuple(HeadLog(log.name, use, log.seconds, log.rate, log.samples) for log in logs)


def _named(result: Result) -> tuple[HeadLog, ...]:
    """Logs that could not be read, by what the task says of them."""
    names: Sequence[str] = [
        (log.name or f"log {k}") if isinstance(log, Log) else (log.name or Path(log.position.file).name)
        for k, log in enumerate(result.task.logs, start=1)
    ]
    return tuple(HeadLog(name, "identified from") for name in names)


def _date(result: Result) -> str:
    """When a result was identified: by its record, or else by its file; UTC, so that it reads the same everywhere."""
    try:
        if result.record.date:
            when = datetime.fromisoformat(result.record.date).astimezone(UTC)
        elif result.folder is not None:
            when = datetime.fromtimestamp((result.folder / "result.json").stat().st_mtime, UTC)
        else:
            return ""
    except (ValueError, OSError):
        return ""
    return f"{when.day} {when:%B %Y, %H:%M} UTC"


def _command(result: Result) -> str:
    if result.file is None:
        return ""
    words = ["dynid", "identify", result.file.path.name]
    return shlex.join(words if result.folder is None else [*words, "--out", result.folder.resolve().name])
