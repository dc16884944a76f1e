"""`dynid live`."""

from __future__ import annotations

import signal
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynid.cli.app import JsonOption, echo_json, errors_in_words, number, words
from dynid.cli.inspect import TermsOption

if TYPE_CHECKING:
    from dynid.cli.live_page import LivePage

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT|EXPERIMENT|RESULT", help="Robot file or builtin:NAME, experiment (.toml) or result folder."
    ),
]


def live(
    source: SourceArgument,
    follow: Annotated[
        Path | None, typer.Option(help="Follow a file that is being written: text or JSON lines.")
    ] = None,
    udp: Annotated[str, typer.Option(metavar="HOST:PORT", help="Receive packets: 127.0.0.1:5005.")] = "",
    replay: Annotated[Path | None, typer.Option(help="Replay a log of any format at its own speed.")] = None,
    speed: Annotated[float, typer.Option(help="With --replay: how much faster; inf for as fast as possible.")] = 1.0,
    terms: TermsOption = [],  # noqa: B006 (Typer copies it)
    floating: Annotated[bool, typer.Option("--floating", help="Floating base.")] = False,
    contact: Annotated[list[str], typer.Option(help="Bodies with a sensor of the contact wrench.")] = [],  # noqa: B006
    plate: Annotated[
        list[str], typer.Option(help="Bodies on a force plate, whose wrench is in the axes of the world.")
    ] = [],  # noqa: B006
    stance: Annotated[str, typer.Option(help="Body that rests on the ground, where no base_pose is sent.")] = "",
    no_torques: Annotated[bool, typer.Option("--no-torques", help="No torques of joints are measured.")] = False,
    forgetting: Annotated[float | None, typer.Option(help="Time constant [s] with which old samples fade.")] = None,
    cutoff: Annotated[
        float, typer.Option(help="Cut-off [Hz] of the causal filter, below half the sampling rate.")
    ] = 20.0,
    learning: Annotated[
        float, typer.Option(help="Motion [s] that shows what is normal, before changes raise alarms; 0 for none.")
    ] = 30.0,
    record: Annotated[Path | None, typer.Option(help="Write the samples to this .npz file at the end.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the recording if it exists.")] = False,
    seconds: Annotated[str, typer.Option(help="End by itself after so long [s].")] = "",
    host: Annotated[str, typer.Option(help="Address of the page; others than 127.0.0.1 need --token.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port of the page.")] = None,
    token: Annotated[str | None, typer.Option(help="Token of the page and of packets from other machines.")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open the page.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Show live how well each segment is determined.

    The page also proposes which motion to make next. Data come from a file that is being written, by UDP, or from a
    log that is replayed. The page answers on this machine only, at the printed address with its token. Ctrl-C ends it;
    with --json a replay ends by itself.
    """
    with errors_in_words():
        import numpy as np

        from dynid.cli.live_view import live as show
        from dynid.errors import InvalidRequestError
        from dynid.estimation.streams.change_thresholds import ChangeThresholds

        if follow is None and not udp and replay is None:
            raise InvalidRequestError(
                "there is nothing to look at; give --follow FILE, --udp 127.0.0.1:5005 or --replay LOG"
            )
        bodies: dict[str, Any] = dict.fromkeys(words(*contact)) | dict.fromkeys(words(*plate), np.eye(4))
        if not learning >= 0.0:
            raise InvalidRequestError(f"a time of learning of {learning:g} s makes no sense; give 30, or 0 for none")
        limit = number("--seconds", seconds) if seconds else float("inf")
        page = show(
            source,
            words(*terms),
            follow=follow,
            udp=udp or None,
            replay=replay,
            speed=speed,
            contacts=bodies,
            stance=stance or None,
            torques=not no_torques,
            floating_base=floating,
            forgetting=forgetting,
            cutoff=cutoff,
            changes=ChangeThresholds(learning=learning) if learning else None,
            record=record,
            overwrite=force,
            host=host,
            port=port,
            token=token,
        )
        try:
            with ended_as_by_interrupt():
                typer.echo(f"Open {page.address} in a browser; Ctrl-C ends.", err=json_output)
                if not no_browser:
                    webbrowser.open(page.address)
                page.wait(
                    limit, until_end=json_output, on_alarm=lambda alarm: typer.echo(f"Change: {alarm}", err=json_output)
                )
        except KeyboardInterrupt:
            pass
        finally:
            page.close()
    if json_output:
        recorded = {
            "recorded": None if page.recorded is None else str(page.recorded),
            "not_recorded": page.not_recorded,
        }
        echo_json(page.state.to_dict() | recorded)
    else:
        show_end(page, source)


@contextmanager
def ended_as_by_interrupt() -> Iterator[None]:
    """Let a terminal that closes, and services that stop the command, end it as Ctrl-C does: recordings are written."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows: no SIGHUP
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def show_end(page: LivePage, source: str) -> None:
    """Print what was determined, what arrived, and what to do next."""
    from dynid.cli.console import plain_console, plain_table, show_next

    output, state = plain_console(), page.state
    condition = "infinite" if state.condition_number is None else f"{state.condition_number:.0f}"
    output.print(
        f"\nEnded after {state.samples} samples in {state.seconds:.1f} s: {state.rank} of {state.parameters} base "
        f"parameters determined, condition number {condition}."
    )
    if state.samples:
        table = plain_table(("segment",), ("determined",))
        for name, share in state.segments.items():
            table.add_row(name, "not identifiable" if share is None else f"{100 * share:.0f} %")
        output.print(table)
    settled = [alarm for alarm in page.alarms if alarm.is_settled]
    if settled:
        output.print("Changes:", *(f"  {alarm}" for alarm in settled), sep="\n")
    ignored = ", ".join(f"{kind} {count}" for kind, count in state.counts["malformed"].items())
    lost = ", ".join(f"{name} {state.counts[name]}" for name in ("late", "dropped", "gaps") if state.counts[name])
    if ignored or lost:
        output.print(f"Ignored or missing: {', '.join(part for part in (ignored, lost) if part)}.")
    if page.not_recorded:
        output.print(f"Not recorded: {page.not_recorded} samples, for which there was no room.")
    if page.recorded is not None and page.robot.has_floating_base:
        advice = "with an experiment that says what holds the robot, see docs/live.md, Recordings"
        show_next(output, f"identify from the recording {page.recorded} {advice}")
    elif page.recorded is not None:
        robot = source if source.endswith((".urdf", ".xacro", ".xml")) or source.startswith("builtin:") else "ROBOT"
        show_next(output, f"identify from the recording: dynid init {robot} {page.recorded}, then dynid identify")
    elif state.samples:
        show_next(output, "keep the samples next time: --record run.npz, then dynid init and dynid identify")
    else:
        why = f" ({page.hint})" if page.hint else ""
        show_next(output, f"no sample arrived{why}; see docs/live.md for what is read, and check address and columns")
