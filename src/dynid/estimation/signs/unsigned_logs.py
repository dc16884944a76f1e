"""Logs whose torques have no signs: from logged magnitudes to samples that estimation can take.

Signs are put on what was logged, before filters and gears: a low-pass would round the kinks of magnitudes at zero.
After that everything goes on as with any log.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array, frozen
from dynid.estimation.physical.physical_estimate import Physics
from dynid.estimation.signs import Recovered, SegmentSign, Track, Word, recover_signs
from dynid.findings import Finding
from dynid.logs.drive import Transmission, transmission_of
from dynid.logs.log import Log
from dynid.logs.processing import signals
from dynid.logs.processing.automatic import PreparedLog
from dynid.logs.processing.position_replicas import replicas_of
from dynid.logs.processing.preparation import findings_on_log, findings_on_samples, stated_processing
from dynid.logs.processing.states import even_segments, segment_of, step_of
from dynid.logs.processing.unsigned_choices import chosen_without_signs
from dynid.logs.settings import Drive, Processing
from dynid.model import BaseParameters, Chunk


@dataclass(frozen=True, eq=False)
class SignedLogs:
    """Logs with signs again.

    Attributes:
        logs: Each log, ready for the model; rows of undecided segments are not kept.
        recovered: The signs, with their margins.
        agrees: For each segment whether its sign is that of the log, where the log had signs; else None.
        findings: What users should know about the signs.
    """

    logs: tuple[PreparedLog, ...]
    recovered: Recovered
    agrees: tuple[bool | None, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, eq=False)
class _Piece:
    """An even piece of a log: as logged, with its track of magnitudes."""

    log: Log
    rate: float
    track: Track
    signed: Array


def recover_logs(
    base: BaseParameters,
    physics: Physics,
    logs: Sequence[Log],
    drive: Drive,
    processing: Processing,
    *,
    practice: bool = False,
    names: Sequence[str] = (),
) -> SignedLogs:
    """Recover the signs of what was logged, and process it as usual.

    Args:
        base: The base parameters.
        physics: What decides between signs and their mirror image.
        logs: The logs; their torques are magnitudes, and signs that they have are not used.
        drive: From motors to joints.
        processing: What is done with the signals, once torques have signs.
        practice: Whether the logs have signs, discarded to see whether they are recovered.
        names: What the logs are called in findings, where there are several.

    Raises:
        SignsError: If no sign at all can be determined.
    """
    robot = base.model.robot
    stated = stated_processing(processing, drive, robot)
    transmission = transmission_of(drive, robot)
    chosen = [chosen_without_signs(log, transmission, stated, processing.free(), base.model) for log in logs]
    used = [one for one, _ in chosen]
    signed = with_signs(base, physics, logs, transmission, used, drive.delay, practice=practice)
    prepared = tuple(
        replace(
            ready,
            weight=log.weight,
            temperature=log.mean_temperature,
            replicas=replicas_of(log, transmission, ready.processing, ready.segments) if _are_coarse(notes) else (),
        )
        for ready, log, (_, notes) in zip(signed.logs, logs, chosen, strict=True)
    )
    on_logs, on_samples = list[Finding](), list[Finding]()
    for k, (log, ready, (_, notes)) in enumerate(zip(logs, prepared, chosen, strict=True)):
        own = (names[k],) if len(logs) > 1 and k < len(names) else ()
        on_logs += [replace(note, logs=own) for note in (*findings_on_log(log, drive, stated), *notes)]
        noticed = findings_on_samples(log, ready, base.model)
        on_samples += [replace(note, logs=own) for note in noticed if note.code != "torque-constant"]
    return replace(signed, logs=prepared, findings=(*on_logs, *signed.findings, *on_samples))


def _are_coarse(notes: Sequence[Finding]) -> bool:
    """Whether the steps of positions were found to matter."""
    return any(note.code == "positions-quantised" for note in notes)


def with_signs(
    base: BaseParameters,
    physics: Physics,
    logs: Sequence[Log],
    drive: Transmission,
    processing: Processing | Sequence[Processing],
    delay: float = 0.0,
    *,
    practice: bool = False,
) -> SignedLogs:
    """Recover the signs of what was logged, and process it as usual.

    Args:
        base: The base parameters.
        physics: What decides between signs and their mirror image.
        logs: The logs; their torques are magnitudes, and signs that they have are not used.
        drive: The drives.
        processing: What is done with the signals, once torques have signs; one for all logs, or one for each.
        delay: Time [s] by which torques were logged later than positions.
        practice: Whether the logs have signs, discarded to see whether they are recovered.

    Raises:
        SignsError: If no sign at all is determined.
    """
    of_log = [processing] * len(logs) if isinstance(processing, Processing) else list(processing)
    pieces = [piece for k, log in enumerate(logs) for piece in _pieces(log, k, drive, of_log[k], delay)]
    transmission = drive.joint_torques(np.eye(len(drive.matrix)))
    recovered = recover_signs(base, [piece.track for piece in pieces], physics, transmission)
    chunks: list[list[Chunk]] = [[] for _ in logs]
    for piece, torque, doubtful in zip(pieces, recovered.torques, recovered.doubtful, strict=True):
        k = piece.track.log
        chunks[k].append(_processed(piece, torque, doubtful, transmission, drive, of_log[k]))
    ready = [
        _ready(of_one, [piece for piece in pieces if piece.track.log == k], of_log[k], delay)
        for k, of_one in enumerate(chunks)
    ]
    agrees = tuple(_agrees(segment, pieces) for segment in recovered.segments)
    found = _findings(base.model.row_names, pieces, recovered, agrees, practice)
    return SignedLogs(tuple(ready), recovered, agrees, tuple(found))


def _pieces(log: Log, k: int, drive: Transmission, processing: Processing, delay: float) -> Iterator[_Piece]:
    """Even pieces of log k, with states of every sample and magnitudes of what was logged."""
    magnitudes_only = replace(log, torque=frozen(np.abs(log.torque)))
    pieces, rate = even_segments(magnitudes_only, processing)
    originals, _ = even_segments(log, processing)
    every = processing.but(torque_lowpass=None, trim=0, decimate=(), rate=None, velocity_threshold=None)
    for piece, original in zip(pieces, originals, strict=True):
        states = segment_of(piece, drive, every, rate, 0.0)
        magnitudes = np.abs(signals.delayed(piece.torque, rate, -delay))
        usable = np.ones(magnitudes.shape, dtype=bool)
        usable[: processing.trim] = usable[len(usable) - processing.trim :] = False
        if piece.missing is not None:
            usable &= ~piece.missing
        if processing.velocity_threshold is not None:
            fast = np.abs(states.v) >= np.array(processing.velocity_threshold)
            usable &= _for_channels(fast, drive)
        track = Track(replace(states, torque=magnitudes, keep=usable), rate, float(piece.time[0]), k)
        yield _Piece(piece, rate, track, signals.delayed(original.torque, rate, -delay))


def _for_channels(fast: NDArray[np.bool_], drive: Transmission) -> NDArray[np.bool_]:
    """Whether all joints that a logged torque depends on are fast, shape (samples, channels)."""
    depends = np.abs(np.linalg.inv(drive.joint_torques(np.eye(fast.shape[1])))) > 1e-12  # joints by channels
    return (~fast).astype(int) @ depends.astype(int) == 0


def _processed(
    piece: _Piece,
    torque: Array,
    doubtful: NDArray[np.bool_],
    transmission: Array,
    drive: Transmission,
    processing: Processing,
) -> Chunk:
    """Samples of a piece, with rows left out that an undecided segment has a part in."""
    chunk = segment_of(replace(piece.log, torque=frozen(torque)), drive, processing, piece.rate, 0.0)
    left_out = signals.trimmed((doubtful @ np.abs(transmission) > 0.0).astype(float), processing.trim)
    clean = left_out[:: step_of(piece.rate, processing.rate)] == 0.0
    return replace(chunk, keep=clean if chunk.keep is None else clean & chunk.keep)


def _ready(chunks: Sequence[Chunk], pieces: Sequence[_Piece], processing: Processing, delay: float) -> PreparedLog:
    """A log of some pieces, with the stamps of its samples."""
    rate = pieces[0].rate
    step = step_of(rate, processing.rate)
    stamps = [signals.trimmed(piece.log.time, processing.trim)[::step] for piece in pieces]
    return PreparedLog(tuple(chunks), tuple(stamps), processing, rate, delay, ())


def _agrees(segment: SegmentSign, pieces: Sequence[_Piece]) -> bool | None:
    """Whether a sign is that of the log, where the log's column has signs."""
    column = segment.channel
    if not any((piece.signed[:, column] < 0.0).any() for piece in pieces):
        return None
    total = 0.0
    for piece in pieces:
        track = piece.track
        if track.log == segment.log:
            time = track.start + np.arange(len(track)) / track.rate
            total += float(piece.signed[(time >= segment.start) & (time < segment.stop), column].sum())
    return total * segment.sign > 0.0


def _findings(
    names: Sequence[str],
    pieces: Sequence[_Piece],
    recovered: Recovered,
    agrees: Sequence[bool | None],
    practice: bool,
) -> Iterator[Finding]:
    for column, name in enumerate(names):
        logged = np.concatenate([piece.signed[:, column] for piece in pieces])
        subject = f"joint '{name}'"
        if np.ptp(np.abs(logged)) == 0.0:
            yield Finding.of("torque-constant", subject, torque=float(abs(logged[0])), samples=len(logged))
        elif not practice and (logged < 0.0).any():
            yield Finding.of("torque-has-signs", subject, share=float(np.mean(logged < 0.0)))
        undecided = [s for s in recovered.segments if s.channel == column and s.word is Word.UNDECIDED]
        if undecided:
            spans = [f"{s.start:.2f} to {s.stop:.2f} s" for s in undecided]
            yield Finding.of("signs-undecided", subject, count=len(undecided), segments=spans)
    known = [(s.word, right) for s, right in zip(recovered.segments, agrees, strict=True) if right is not None]
    if known:
        sure = [right for word, right in known if word is Word.SURE]
        yield Finding.of(
            "signs-agree" if all(sure) else "signs-contradict",
            "signs",
            right=sum(right for _, right in known),
            segments=len(known),
            sure_right=sum(sure),
            sure=len(sure),
        )
