"""The application, and what its commands share: arguments, progress, errors and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from dynid.errors import DynidError

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
