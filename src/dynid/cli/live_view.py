"""`dynid.live`: a page on this machine that shows how well a robot is determined while data stream in."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dynid.arrays import Array
from dynid.cli.live_page import LivePage, Source
from dynid.cli.page_guard import HOST, PageGuard
from dynid.errors import InvalidRequestError
from dynid.estimation.streams.causal_filter import CausalFilter
from dynid.estimation.streams.change_thresholds import THRESHOLDS, ChangeThresholds
from dynid.experiment import read_log
from dynid.experiment.log_files import guessed_source
from dynid.files import FileKind, kind_of, use_of
from dynid.identification import LiveSamples, LiveSession, Result, Stream, contacts_of_log, load_result
from dynid.identification.task import Task, experiment_file
from dynid.logs import Drive, Log, LogSource, Stance, local_file, read_source, streams
from dynid.logs.contacts import checked_pose
from dynid.model import TORQUES, WRENCH, DynamicModel, Observed, Term
from dynid.robot import Robot, load_robot
from dynid.settings import checked

PORT = 8090
"""Port of the page, or the first free one from there on."""


@dataclass(frozen=True, eq=False)
class _Subject:
    """What is looked at.

    Attributes:
        model: The model, or a result whose data count.
        source: Where logs of an experiment are; None without one.
        drive: From motors to joints.
    """

    model: DynamicModel | Result
    source: LogSource | Log | None = None
    drive: Drive = field(default_factory=Drive)

    @property
    def dynamics(self) -> DynamicModel:
        """The model."""
        return self.model.model if isinstance(self.model, Result) else self.model


def live(
    source: Robot | DynamicModel | Result | str | os.PathLike[str],
    terms: str | Sequence[Term | str] = (),
    *,
    follow: str | os.PathLike[str] | None = None,
    udp: str | None = None,
    replay: Log | str | os.PathLike[str] | None = None,
    speed: float = 1.0,
    contacts: Mapping[str, Any] | Sequence[str] = (),
    stance: Stance | str | None = None,
    torques: bool = True,
    floating_base: bool = False,
    drive: Drive | Mapping[str, Any] | None = None,
    forgetting: float | None = None,
    noise: float | Sequence[float] | Mapping[str, float] | None = None,
    cutoff: float = 20.0,
    changes: ChangeThresholds | None = THRESHOLDS,
    record: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    host: str = HOST,
    port: int | None = None,
    token: str | None = None,
) -> LivePage:
    """Show how well each segment of a robot or body is determined while data stream in, and which motion to make next.

    The page is at `LivePage.address`, on this machine unless a host is stated. Samples come from a file that is being
    written, by UDP, from a log that is replayed, or from `LivePage.update` in a loop of one's own. Close it, or use it
    in a `with` block.

    Args:
        source: The robot (also a path, or `builtin:NAME`), a model, an experiment file, or a result (also its folder),
            whose data then count, too.
        terms: Friction and actuator terms of a robot.
        follow: A file that is being written: CSV or other text, or JSON lines.
        udp: Where packets arrive: `HOST:PORT`, such as "127.0.0.1:5005".
        replay: A log of any format, or one in memory, which is replayed at its own speed.
        speed: How much faster than it was recorded; infinite for as fast as possible.
        contacts: Bodies with a floating base that surroundings act on: names of those with a sensor, or for each the
            pose of the force plate below it, shape (4, 4), and None for a sensor.
        stance: The body that rests on the ground, from which the pose of the base follows; samples have it when None.
        torques: Whether samples have torques of joints; without them, contacts alone identify.
        floating_base: Whether the base of a robot that is loaded from a file is free.
        drive: Gear ratios, couplings, torque constants, signs, offsets: keys as in `[drive]` of an experiment.
        forgetting: Time constant [s] with which older samples fade; nothing is forgotten when None.
        noise: Standard deviation of the errors of each row [N m or N]; found from residuals when None.
        cutoff: Cut-off frequency [Hz] of the causal filter that makes velocities and accelerations: a few times above
            the motion, below half the sampling rate.
        changes: When changes, such as payloads and friction, raise an alarm; nothing is watched when None.
        record: An NPZ file that the samples are written to at the end.
        overwrite: Whether that file may be replaced.
        host: The address to serve the page at. Others than 127.0.0.1 need a token.
        port: The port of the page; the first free one from 8090 when None.
        token: What the page's address, and packets from other machines, must know; 16 letters or more.

    Raises:
        DynidError: If something cannot be used; says what and what to try.

    >>> with live("builtin:two_link") as page:
    ...     page.update(0.0, [0.1, 0.2], [3.0, 1.0])
    True
    """
    if sum(one is not None for one in (follow, udp, replay)) > 1:
        raise InvalidRequestError("samples come from one place; give one of follow, udp and replay")
    if udp is not None and token is None and not streams.Address.of(udp).is_loopback:
        raise InvalidRequestError(
            f"other machines can send to {udp}, so that packets need a token; state one, such as "
            f"{secrets.token_urlsafe(24)}, or listen at 127.0.0.1"
        )
    guard = PageGuard(token, host)
    subject = _subject(source, terms, drive, floating_base, contacts, stance, torques)
    log = None if replay is None else _replayed(replay, subject)
    plates = _contacts(contacts) or _stated_contacts(log if log is not None else subject.source)
    resting = stance if stance is not None else _stated_stance(log if log is not None else subject.source)
    held = Stance(resting) if isinstance(resting, str) else resting
    both = CausalFilter(cutoff, 0.5 * cutoff)
    stream = Stream(subject.model, forgetting=forgetting, noise=noise, causal_filter=both, changes=changes)
    samples = LiveSamples(subject.dynamics, plates, held, subject.drive, stream.unmeasured)
    session, inbox = LiveSession(stream, samples), streams.Inbox()
    recorder = None if record is None else streams.Recorder(Path(record), samples.form, overwrite=overwrite)
    outside = token if udp is not None and not streams.Address.of(udp).is_loopback else None
    found, text = _source(follow, udp, log, speed, subject, samples, inbox, outside)
    try:
        page = LivePage(
            session,
            inbox,
            found,
            text,
            guard,
            PORT if port is None else port,
            is_stated=port is not None,
            recorder=recorder,
        )
    except BaseException:
        if isinstance(found, streams.UdpPackets):
            found.close()  # its port is free for the next attempt
        raise
    return page.start()


def _subject(
    source: Robot | DynamicModel | Result | str | os.PathLike[str],
    terms: str | Sequence[Term | str],
    drive: Drive | Mapping[str, Any] | None,
    floating_base: bool,
    contacts: Mapping[str, Any] | Sequence[str],
    stance: Stance | str | None,
    torques: bool,
) -> _Subject:
    """What is looked at, of what a user names."""
    if isinstance(source, str | os.PathLike):
        kind = kind_of(source)
        if kind is FileKind.RESULT:
            source = load_result(Path(source))
        elif kind is FileKind.EXPERIMENT:
            _refuse(drive is not None or bool(terms) or floating_base, "an experiment")
            return _of_task(experiment_file(Path(source)).task)
        elif kind in (FileKind.ROBOT, FileKind.UNKNOWN):
            source = load_robot(source, floating_base=floating_base)
        else:
            raise InvalidRequestError(f"{source} {use_of(source, 'a robot, an experiment or a result')}")
    stated = checked(Drive, drive, "drive") if drive is not None else Drive()
    if isinstance(source, Result):
        _refuse(drive is not None or bool(terms), "a result")
        return _Subject(source, next(iter(source.task.all_logs), None), source.task.drive)
    if isinstance(source, DynamicModel):
        _refuse(bool(terms), "a model")
        return _Subject(source, drive=stated)
    if source.has_floating_base:
        measured = (WRENCH, TORQUES) if contacts and torques else (WRENCH,) if contacts else (TORQUES,)
        body = stance.body if isinstance(stance, Stance) else stance
        observed = Observed(measured, stands_on=() if body is None or WRENCH not in measured else (body,))
        return _Subject(DynamicModel(source, terms, observed), drive=stated)
    return _Subject(DynamicModel(source, terms), drive=stated)


def _refuse(is_stated: bool, what: str) -> None:
    if is_stated:
        raise InvalidRequestError(f"{what} states its own terms, drives and base; leave them out")


def _of_task(task: Task) -> _Subject:
    if task.is_commanded or task.torque == "magnitude":
        raise InvalidRequestError(
            "the experiment has commands or torques without sign, which cannot be streamed; use dynid identify"
        )
    return _Subject(_measured(task.model, task.drive), next(iter(task.logs), None), task.drive)


def _measured(model: DynamicModel, drive: Drive) -> DynamicModel:
    """A model of the rows that have a signal: without those of drives whose torque was not measured."""
    silent = {model.robot.joint(name).name for name in drive.unmeasured or ()}
    if not silent or TORQUES not in model.observed.measured:
        return model
    joints = tuple(joint.name for joint in model.robot.axes if joint.name not in silent)
    others = tuple(word for word in model.observed.measured if word != TORQUES)
    if not model.robot.has_floating_base:
        others = ()
    return DynamicModel(model.robot, model.terms, replace(model.observed, measured=(*others, *joints)))


def _contacts(stated: Mapping[str, Any] | Sequence[str]) -> dict[str, Array | None]:
    """Contacts by their bodies, with the plates below them."""
    if isinstance(stated, Mapping):
        return {
            body: None if plate is None else checked_pose(plate, f"the plate under '{body}'")
            for body, plate in stated.items()
        }
    return dict.fromkeys([stated] if isinstance(stated, str) else stated)


def _stated_contacts(source: LogSource | Log | None) -> dict[str, Array | None]:
    """The contacts of a log whose wrenches are measured, with their plates."""
    if isinstance(source, LogSource):
        tables = source.contact or ()
        found = source.contacts_with({}) or ()
        return {one.body: one.pose for one, table in zip(found, tables, strict=True) if table.wrench is not None}
    return {} if source is None else contacts_of_log(source)


def _stated_stance(source: LogSource | Log | None) -> Stance | str | None:
    if source is None or source.base_pose is not None:
        return None
    return next(iter(source.standing), None) if isinstance(source, Log) else next(iter(source.standing or ()), None)


def _replayed(replay: Log | str | os.PathLike[str], subject: _Subject) -> Log:
    """The log that is replayed."""
    if isinstance(replay, Log):
        return replay
    path = str(local_file(os.fspath(replay), lambda _: None))
    robot = subject.dynamics.robot
    if isinstance(subject.source, LogSource):
        return read_source(subject.source.with_files(lambda _: path), robot, drive=subject.drive)
    return read_log(path, robot)


def _source(
    follow: str | os.PathLike[str] | None,
    udp: str | None,
    log: Log | None,
    speed: float,
    subject: _Subject,
    samples: LiveSamples,
    inbox: streams.Inbox,
    token: str | None,
) -> tuple[Source | None, str]:
    """Where samples come from, and the same in words."""
    if udp is not None:
        packets = streams.UdpPackets(streams.Address.of(udp), streams.PacketReader(samples.form, token), inbox)
        shown = packets.address
        return packets, f"UDP at {shown.host}:{shown.port}"
    if log is not None:
        name = log.name or "a log"
        fast = (
            " as fast as possible"
            if speed == float("inf")
            else ""
            if speed == 1.0
            else f" at {speed:g} times its speed"
        )
        return streams.ReplayedLog(log, samples.form, inbox, speed), f"replaying {name}{fast}"
    if follow is None:
        return None, "samples of a program"
    robot = samples.robot

    def form_of(snapshot: Path) -> Any:
        if isinstance(subject.source, LogSource):
            stated = subject.source.with_files(lambda _: str(snapshot)).model_copy(
                update={"rows": None, "seconds": None}
            )
        else:
            stated, _ = guessed_source([snapshot], robot)
        return streams.line_form(stated, robot, samples.form, subject.drive)

    return streams.FollowedFile(Path(follow), form_of, inbox), f"following {Path(follow).name}"
