"""`dynid view`."""

from pathlib import Path
from typing import Annotated

import typer

from dynid.cli.app import errors_in_words


def view(
    motion: Annotated[
        Path,
        typer.Argument(
            metavar="TRAJECTORY",
            help="Trajectory or log: columns t, q_*, v_*, a_*, tau_*, or JSON of excite.",
        ),
    ],
    robot: Annotated[str, typer.Option("--robot", help="Robot: a file, or builtin:NAME.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the local web page.")] = 8080,
) -> None:
    """Show the robot on a trajectory or a log, in the browser.

    With its smallest distance from itself, the floor, walls and boxes at each moment. The page answers on this machine
    only, at the printed address with its token. Needs pip install 'dynid[view]'.
    """
    with errors_in_words():
        from dynid.cli.viewer_page import view as show

        show(motion, robot, port=port, announce=lambda page: typer.echo(f"Open {page} in a browser; Ctrl-C ends."))
        typer.echo("Ended.")
