"""The application, and what its commands share: arguments, progress, errors and JSON."""

import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dynid.errors import DynidError, InvalidRequestError, as_written

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # type: ignore[assignment]
"""Typer's own, or that of Click, whichever this version of Typer stands on."""


class _Commands(TyperGroup):
    """The commands; what is wrong with arguments also says what the files among them are."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; on a usage error, name the files that were given and the command that takes them."""
        given = [*getattr(ctx, "_protected_args", ()), *ctx.args]
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            hint = _hint_on_files(given[1:])
            before = (vars(error).get("message") or "").replace("Value error, ", "").rstrip(".")
            vars(error)["message"] = f"{before}. {hint}".removeprefix(". ")
            raise


def _hint_on_files(arguments: list[str]) -> str:
    """What files on the command line are, and what to do with them; empty where there are none that are known."""
    from dynid.files import FileKind, kind_of, use_of

    kinds = {name: kind_of(name) for name in arguments if not name.startswith("-")}
    robots, logs = ([n for n, kind in kinds.items() if kind is one] for one in (FileKind.ROBOT, FileKind.LOG))
    if len(robots) == 1 and logs:
        files = " ".join([*robots, *logs])
        return f"To identify a robot from logs: 'dynid init {files}', then 'dynid identify experiment.toml'."
    known = [(name, use_of(name, "something else")) for name, kind in kinds.items() if kind is not FileKind.UNKNOWN]
    return "" if not known else f"{known[0][0]} {known[0][1].replace(', and something else was expected', '')}."


app = typer.Typer(
    name="dynid",
    cls=_Commands,
    help="Identify the dynamic parameters of robots.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

RobotArgument = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        help="URDF (.urdf or .xacro), MJCF (.xml) or DH table (.toml), or builtin:NAME "
        "(pendulum, two_link, spatial_3r, ur5, tx40, panda, lwr4).",
    ),
]
ExactFramesOption = Annotated[
    bool,
    typer.Option("--exact-frames", help="Keep right angles that the robot file rounds, such as 1.5708, as they are."),
]
FullOption = Annotated[bool, typer.Option("--full", help="Print all tables and notes.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        from dynid import __version__

        typer.echo(f"dynid {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    """Identify the dynamic parameters of robots."""


def echo_json(data: Any) -> None:
    """Print JSON."""
    typer.echo(json.dumps(data, indent=2, allow_nan=False))


@contextmanager
def steps_shown() -> Iterator[Callable[[str], None]]:
    """A progress callback that shows each step on standard error, where that is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("Working ...") as status:
        yield lambda what: status.update(f"{what} ...")


@contextmanager
def errors_in_words() -> Iterator[None]:
    """Turn errors that users can fix into one sentence and exit status 2."""
    try:
        yield
    except DynidError as error:
        typer.echo(f"dynid: {error}", err=True)
        raise typer.Exit(2) from error
    except OSError as error:
        where = "" if error.filename is None else f"{shortened(os.fsdecode(error.filename))}: "
        typer.echo(f"dynid: {where}{error.strerror or error}; check the path, its permissions and the disk", err=True)
        raise typer.Exit(2) from error


LONGEST_PATH = 200
"""Characters of a path that a message shows."""


def shortened(path: str) -> str:
    """A path as it can be shown: its end, where it is very long, and no bytes that are not text."""
    shown = as_written(path.encode(errors="replace").decode())
    return shown if len(shown) <= LONGEST_PATH else f"...{shown[-LONGEST_PATH:]}"


def words(*texts: str) -> list[str]:
    """Words that are separated by commas."""
    return [word.strip() for text in texts for word in text.split(",") if word.strip()]


def assignments(option: str, *texts: str) -> dict[str, float | None]:
    """NAME or NAME=VALUE, separated by commas."""
    values: dict[str, float | None] = {}
    for word in words(*texts):
        name, equals, text = word.partition("=")
        value = number(option, text) if equals else None
        if values.get(name.strip(), value) != value:
            raise InvalidRequestError(f"{option}: '{name.strip()}' has two values; give one")
        values[name.strip()] = value
    return values


def values(option: str, *texts: str) -> dict[str, float]:
    """NAME=VALUE, separated by commas."""
    found = assignments(option, *texts)
    bare = next((name for name, value in found.items() if value is None), None)
    if bare is not None:
        raise InvalidRequestError(f"{option}: '{bare}' has no value; write {bare}=VALUE")
    return {name: value for name, value in found.items() if value is not None}


def per_joint(option: str, *texts: str) -> float | tuple[float, ...] | dict[str, float] | None:
    """One number for all joints, one for each, or NAME=VALUE for some; None where nothing is given."""
    given = words(*texts)
    if not any("=" in word for word in given):
        found = tuple(number(option, word) for word in given)
        return None if not found else found[0] if len(found) == 1 else found
    return values(option, *texts)


def ranges_per_joint(option: str, *texts: str) -> tuple[Any, ...] | dict[str, tuple[float, float]] | None:
    """LOWER:UPPER for all joints, one for each, or NAME=LOWER:UPPER for some; None where nothing is given."""
    given = words(*texts)
    pairs = [
        (name.strip() if equals else "", _range(option, text if equals else name), bool(equals))
        for name, equals, text in (word.partition("=") for word in given)
    ]
    if not pairs:
        return None
    by_name = {name: ends for name, ends, named in pairs if named}
    if by_name and len(by_name) < len(pairs):
        raise InvalidRequestError(f"{option}: give LOWER:UPPER or NAME=LOWER:UPPER, not both")
    ends = tuple(pair for _, pair, _ in pairs)
    return by_name or (ends[0] if len(ends) == 1 else ends)


def _range(option: str, text: str) -> tuple[float, float]:
    lower, colon, upper = text.partition(":")
    if not colon:
        raise InvalidRequestError(f"{option}: '{text.strip()}' is no range; write LOWER:UPPER, such as -1.57:1.57")
    return number(option, lower), number(option, upper)


def numbers(option: str, text: str) -> list[float]:
    """Numbers that are separated by commas."""
    return [number(option, word) for word in words(text)]


def number(option: str, text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) <= 1e30:
        raise InvalidRequestError(f"{option}: '{text.strip()}' is no number; expected one such as 1.57")
    return value
