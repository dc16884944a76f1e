"""The `dynid` command, run in this process."""

from __future__ import annotations

from typer.testing import CliRunner

from dynid.cli import app


def run(*arguments: object) -> tuple[int, str, str]:
    """Run `dynid` with some arguments; gives its status, output and errors."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr
