"""Writing trajectories: one function per format, in one registry, written on request.

A trajectory that violates limits carries a warning, which every format puts where whoever runs it must see it.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import FileProblemError, InvalidRequestError, UnknownNameError
from dynid.excitation.lerobot_files import replay_files
from dynid.excitation.replay_frames import Commands, ReplayFrames, ReplayNumbers, problem_of_rate
from dynid.excitation.replay_settings import ReplaySettings
from dynid.excitation.stated_family import family_data
from dynid.excitation.trajectories.family import ParametricTrajectory
from dynid.excitation.trajectories.fourier import Fourier
from dynid.excitation.trajectories.moves import Moves
from dynid.excitation.trajectory_files import SCHEMA
from dynid.robot import Robot

DEFAULT = ("csv", "json")
"""Formats that are written by default."""

FIRST_SPEED = 0.1
"""Part of its speed at which a program runs until its user raises it."""

_SERVO_STEP = 0.008
"""Time between set points of a UR arm [s]."""
_SAME_TIME = 1e-9
"""Times [s] that are nearer than this are the same."""
_NOT_A_SERIES = "computes Fourier series on the robot's controller, and the trajectory is of another family"
"""Why URScript is not written."""
_AT_REST = 1e-9
"""Velocities and accelerations of ends below this [rad or m, s] are rounding."""


class ExcitationFolderError(FileProblemError):
    """A folder cannot take the files of a trajectory."""


@dataclass(frozen=True, eq=False)
class Written:
    """What a format writes.

    Attributes:
        motion: The motion.
        joints: Names of its joints.
        rate: Sampling rate [Hz] of formats that hold samples.
        warning: What whoever runs it must know; empty where all limits are kept.
        robot: Name of the robot, for headers.
        numbers: What the numbers of a replay stand for; None where there is to be none.
        commands: Commands under which servos follow the motion; its positions where None.
    """

    motion: Moves
    joints: tuple[str, ...]
    rate: float
    warning: str = ""
    robot: str = ""
    numbers: ReplayNumbers | None = None
    commands: Commands | None = None


@dataclass(frozen=True)
class Format:
    """A format of trajectory files.

    Attributes:
        suffix: How the name of its file ends, or of the first of several.
        text: Writes a motion; None for formats of several files.
        meaning: What it is for.
        any_motion: Whether it holds samples of any motion: slower runs, and the ways from and to home, are written,
            too. Others hold the coefficients of the trajectory itself.
        refuses: Why it cannot be written for a robot and a family; empty where it can.
        files: Writes a motion as several files, by the ends of their names; None for formats of one.
    """

    suffix: str
    text: Callable[[Written], str] | None
    meaning: str
    any_motion: bool = False
    refuses: Callable[[Robot, str], str] = lambda _robot, _family: ""
    files: Callable[[Written], Mapping[str, str | bytes]] | None = None

    @property
    def is_replay(self) -> bool:
        """Whether it has frames at whole rates, in an arm's own numbers."""
        return self.files is not None

    def of(self, name: str, written: Written) -> dict[str, str | bytes]:
        """The files of a motion of some name, such as "trajectory", by their names."""
        if self.files is not None:
            return {f"{name}_{end}": content for end, content in self.files(written).items()}
        assert self.text is not None  # a format writes one file or several
        return {f"{name}{self.suffix}": self.text(written)}


def require_formats(
    names: Iterable[str],
    robot: Robot | None = None,
    family: str = Fourier.name,
    *,
    holds_samples: bool = False,
    rate: float | None = None,
    replay: ReplaySettings | None = None,
) -> tuple[str, ...]:
    """Names of formats, each once.

    Args:
        names: What was asked for.
        robot: The robot; any when None.
        family: The family of the trajectories.
        holds_samples: Whether only formats that hold samples suit the motion, as one that stops between its parts. Of
            the formats by default these are meant then.
        rate: Sampling rate [Hz]; any when None.
        replay: What the numbers of replays stand for; not looked at when None.

    Raises:
        UnknownNameError: If there is no such format.
        InvalidRequestError: If one cannot be written for the robot, or for trajectories of the family.
    """
    chosen = tuple(dict.fromkeys(names))
    if holds_samples and chosen == DEFAULT:
        chosen = tuple(name for name in chosen if FORMATS[name].any_motion)
    for name in chosen:
        if name not in FORMATS:
            raise UnknownNameError("trajectory format", name, FORMATS)
        problem = "" if robot is None else FORMATS[name].refuses(robot, family)
        if holds_samples and not FORMATS[name].any_motion:
            sampled = ", ".join(key for key, form in FORMATS.items() if form.any_motion)
            problem = f"holds coefficients, which this motion has not ({sampled} hold samples)"
        if FORMATS[name].is_replay:
            _require_replay(name, robot, rate, replay)
        if problem:
            raise InvalidRequestError(f"the format {name} {problem}; leave it out")
    return chosen


def _require_replay(name: str, robot: Robot | None, rate: float | None, replay: ReplaySettings | None) -> None:
    """Refuse a rate that is none of a replay, and joints whose numbers are not known."""
    problem = "" if rate is None else problem_of_rate(rate)
    if problem:
        raise InvalidRequestError(f"the format {name} {problem}")
    if robot is not None and replay is not None:
        ReplayNumbers.of(robot, replay)


def require_free(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that trajectories cannot be saved as.

    Raises:
        ExcitationFolderError: If it is one.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ExcitationFolderError(folder, "is a file; name a folder for the trajectory")
    if not any(folder.iterdir()):
        return
    if not (folder / "excitation.json").exists():
        raise ExcitationFolderError(folder, "holds something else than a trajectory and is left as it is; name another")
    if not overwrite:
        problem = "holds a trajectory already; name another folder, or add --force (in Python: overwrite=True)"
        raise ExcitationFolderError(folder, problem)


def sample_times(motion: Moves, rate: float) -> Array:
    """Times [s] from the start at a sampling rate [Hz], and the end, which may be nearer to the one before it."""
    times = np.arange(int(motion.duration * rate * (1.0 + 1e-12)) + 1) / rate
    return times if motion.duration - times[-1] < _SAME_TIME else np.append(times, motion.duration)


def samples(motion: Moves, rate: float) -> tuple[Array, Array, Array, Array]:
    """Times and states; rounding of a motion that starts or ends at rest is zero."""
    times = sample_times(motion, rate)
    q, v, a = motion.states(times)
    for part in (v, a):
        ends = part[[0, -1]]
        part[[0, -1]] = np.where(np.abs(ends) < _AT_REST, 0.0, ends)
    return times, q, v, a


def csv_text(written: Written) -> str:
    """A table with the columns t, q_NAME..., v_NAME..., a_NAME... [s, rad or m]."""
    stream = io.StringIO()
    if written.warning:
        stream.write(f"# WARNING: {written.warning}\n")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["t", *(f"{what}_{name}" for what in "qva" for name in written.joints)])
    rows = np.column_stack(samples(written.motion, written.rate))
    writer.writerows([[f"{value:.12g}" for value in row] for row in rows])
    return stream.getvalue()


def json_text(written: Written) -> str:
    """The coefficients of a trajectory of a family; `read_coefficients` reads them back."""
    trajectory = written.motion
    if not isinstance(trajectory, ParametricTrajectory):
        raise InvalidRequestError("only trajectories of a family can be written with their coefficients; write csv")
    data = {
        "schema": SCHEMA,
        **({"warning": written.warning} if written.warning else {}),
        **family_data(trajectory.family),
        "speed": trajectory.speed,
        "joints": list(written.joints),
        "coefficients": trajectory.coefficients.T.tolist(),
        "order": f"for each joint: {trajectory.family.meaning}",
    }
    return json.dumps(data, indent=1) + "\n"


def ros_text(written: Written) -> str:
    """A `trajectory_msgs/JointTrajectory` message as YAML; a warning stands in the header, which messages keep."""
    warning = f"WARNING: {written.warning}" if written.warning else ""
    lines = [
        *([f"# {warning}"] if warning else []),
        f"header: {{stamp: {{sec: 0, nanosec: 0}}, frame_id: {json.dumps(warning) if warning else chr(39) * 2}}}",
        f"joint_names: {json.dumps(list(written.joints))}",
        "points:",
    ]
    for t, q, v, a in zip(*samples(written.motion, written.rate), strict=True):
        seconds, nanoseconds = divmod(round(t * 1e9), 10**9)
        lines.append(
            f"- {{positions: {_numbers(q)}, velocities: {_numbers(v)}, accelerations: {_numbers(a)}, effort: [], "
            f"time_from_start: {{sec: {seconds}, nanosec: {nanoseconds}}}}}"
        )
    return "\n".join(lines) + "\n"


_URSCRIPT = """# Exciting trajectory for {robot}, designed by dynid: {duration:g} s at full speed.
# Run it at 10 % first, with a hand on the stop: speed = {speed!r} takes {slow:g} s. Then raise speed, up to 1.0.
def dynid_excitation():
{warning}  speed = {speed!r}
  frequency = {frequency!r}
  duration = {duration!r}
  constant = {constant}
  cosines = {cosines}
  sines = {sines}
  q = {start}
  movej(q, a=0.3, v=0.2)
  t = 0.0
  while t < duration:
    joint = 0
    while joint < 6:
      position = constant[joint]
      k = 0
      while k < {harmonics}:
        phase = (k + 1) * frequency * t
        wave = joint * {harmonics} + k
        position = position + cosines[wave] * cos(phase) + sines[wave] * sin(phase)
        k = k + 1
      end
      q[joint] = position
      joint = joint + 1
    end
    servoj(q, 0, 0, {step}, 0.1, 300)
    t = t + {step} * speed
  end
  stopj(1.0)
end
dynid_excitation()
"""


def urscript_text(written: Written) -> str:
    """A program for a UR arm, which computes the Fourier series on the robot's own controller.

    It moves slowly to the start, follows the motion by `servoj`, and stops. Its `speed` is a tenth of the designed one,
    for a careful first run; users raise it. A warning must be confirmed on the pendant before anything moves.

    Raises:
        InvalidRequestError: If the motion is no Fourier series of six joints.
    """
    trajectory, family = written.motion, getattr(written.motion, "family", None)
    if not (isinstance(trajectory, ParametricTrajectory) and isinstance(family, Fourier)):
        raise InvalidRequestError(f"the format urscript {_NOT_A_SERIES}; leave it out")
    if trajectory.joints != 6:
        raise InvalidRequestError(f"URScript is for arms of six joints, and this one has {trajectory.joints}")
    C, n = trajectory.coefficients, family.harmonics
    plain, robot = (_plain(text) for text in (written.warning, written.robot or "a UR arm"))
    speed = FIRST_SPEED * trajectory.speed
    warning = (
        f'  # WARNING: {plain}\n  textmsg("WARNING: {plain}")\n'
        f'  popup("{plain}", title="dynid: limits violated", warning=True, blocking=True)\n'
    )
    return _URSCRIPT.format(
        warning=warning if plain else "",
        robot=robot,
        speed=float(f"{speed:.6g}"),
        slow=family.duration / speed,
        frequency=float(family.frequency),
        duration=float(family.duration),
        constant=_numbers(C[0]),
        cosines=_numbers(C[1 : n + 1].T.ravel()),
        sines=_numbers(C[n + 1 :].T.ravel()),
        start=_numbers(trajectory.states(np.zeros(1))[0][0]),
        harmonics=n,
        step=_SERVO_STEP,
    )


def _no_urscript(robot: Robot, family: str) -> str:
    if family != Fourier.name:
        return _NOT_A_SERIES
    joints = robot.independent_joints
    if len(joints) == 6 and all(joint.kind.is_angular for joint in joints):
        return ""
    return f"is for arms of six revolute joints, and '{robot.name}' is none"


def _frames(written: Written) -> ReplayFrames:
    if written.numbers is None:
        raise InvalidRequestError("what a replay's numbers stand for is not known; save the excitation, or write csv")
    return ReplayFrames.of(written.motion, written.rate, written.numbers, written.commands)


def _replay(kind: str) -> Callable[[Written], Mapping[str, str | bytes]]:
    """The files of a motion in a format of replays."""
    return lambda written: replay_files(kind, _frames(written), _plain(written.robot), _plain(written.warning))


FORMATS: dict[str, Format] = {
    "csv": Format(".csv", csv_text, "t, q_JOINT, v_JOINT, a_JOINT at the sampling rate", any_motion=True),
    "json": Format(".json", json_text, "the coefficients: exact positions and derivatives at any time"),
    "ros": Format(".yaml", ros_text, "a ROS trajectory_msgs/JointTrajectory message", any_motion=True),
    "urscript": Format(".script", urscript_text, "a program for UR arms", refuses=_no_urscript),
    "lerobot": Format(
        "_lerobot/meta/info.json",
        None,
        "a LeRobot data set of version 3.0 for lerobot-replay",
        any_motion=True,
        files=_replay("lerobot"),
    ),
    "lerobot2": Format(
        "_lerobot2/meta/info.json",
        None,
        "the same in version 2.1",
        any_motion=True,
        files=_replay("lerobot2"),
    ),
    "actions": Format(
        "_actions.csv", None, "the commands of a replay as CSV and JSON", any_motion=True, files=_replay("actions")
    ),
}
"""Formats by the names that users write. To add one, write its function above and a line here."""


def _numbers(values: Iterable[float]) -> str:
    """A list of numbers that everyone reads as such: YAML and URScript want a point in each."""
    texts = [repr(float(f"{value:.10g}")) for value in values]
    return "[" + ", ".join(text if "." in text else text.replace("e", ".0e") for text in texts) + "]"


def _plain(text: str) -> str:
    """Words for a comment or a message of a program, on one line: names come from untrusted files."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return line.replace('"', "'").encode("ascii", "replace").decode()


def texts_of(
    formats: Sequence[str], trajectory: Written, others: Iterable[tuple[str, Written]] = ()
) -> dict[str, str | bytes]:
    """The files of a trajectory by name, in some formats; others, by name, are written where a format holds samples."""
    made: dict[str, str | bytes] = {}
    for name in formats:
        made |= FORMATS[name].of("trajectory", trajectory)
    sampled = [FORMATS[name] for name in formats if FORMATS[name].any_motion]
    for name, other in others:
        for form in sampled:
            made |= form.of(name, other)
    return made
