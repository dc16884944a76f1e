"""The command itself, and what its parts share: arguments, steps, errors and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from dynid.errors import DynidError

app = typer.Typer(
    name="dynid",
    help="Dynamic parameters of robots: what can be known, how to excite it, what it is and how sure we are.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

RobotArgument = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        help="A URDF (.urdf), MJCF (.xml) or table (.toml) file, or builtin:NAME "
        "(pendulum, two_link, spatial_3r, ur5, tx40, panda, lwr4).",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of tables.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        from dynid import __version__

        typer.echo(f"dynid {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    """Dynamic parameters of robots."""


def echo_json(data: Any) -> None:
    """Print what programs read."""
    typer.echo(json.dumps(data, indent=2, allow_nan=False))


@contextmanager
def steps_shown() -> Iterator[Callable[[str], None]]:
    """Something to tell steps to, which shows them on standard error while a person watches."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("Working ...") as status:
        yield lambda what: status.update(f"{what} ...")


@contextmanager
def errors_in_words() -> Iterator[None]:
    """Turn errors that users can mend into one sentence and exit status 2."""
    try:
        yield
    except DynidError as error:
        typer.echo(f"dynid: {error}", err=True)
        raise typer.Exit(2) from error
