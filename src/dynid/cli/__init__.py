"""The `dynid` command: parse, call, print. One module for each command."""

import gc
import sys
from io import TextIOWrapper

from dynid.cli.app import app
from dynid.cli.compare import compare
from dynid.cli.demo import demo
from dynid.cli.excite import excite
from dynid.cli.export import export
from dynid.cli.gains import gains
from dynid.cli.gravity import gravity
from dynid.cli.identify import identify
from dynid.cli.init import init
from dynid.cli.inspect import inspect
from dynid.cli.live import live
from dynid.cli.observe import observe
from dynid.cli.payload_commands import load, payload
from dynid.cli.report import report
from dynid.cli.robot_files import convert, repair
from dynid.cli.simulate import simulate
from dynid.cli.validate import validate
from dynid.cli.view import view

__all__ = ["app", "main"]

COMMANDS = (
    *(inspect, init, excite, simulate, identify, validate, compare, payload, load, gains, gravity),
    *(observe, export, report, view, live, convert, repair, demo),
)

for command in COMMANDS:
    app.command()(command)


def main() -> None:
    """Run the command."""
    gc.set_threshold(200_000, 20, 20)  # imports make many objects that stay: looking for garbage among them is a tenth
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # names of files need not be text, nor terminals UTF-8
    app(prog_name="dynid")
