"""The application, and what its commands share: arguments, progress, errors and JSON."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from dynid.errors import DynidError, InvalidRequestError

app = typer.Typer(
    name="dynid",
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
        help="URDF (.urdf), MJCF (.xml) or DH table (.toml), or builtin:NAME "
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
