"""Which columns are the positions, velocities, torques and times of a log, and which joints they belong to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.experiment.first.candidate import Candidate
from dynid.experiment.first.candidates import candidates_in, stated, stated_topic
from dynid.experiment.first.column_questions import about_joints, for_missing, misfit, passed_over, which
from dynid.experiment.first.command_columns import FEED_FORWARD, CommandColumns, commands_among, without_total
from dynid.experiment.first.episode_doubts import findings_on_actions
from dynid.experiment.first.guesses import THRESHOLDS
from dynid.experiment.first.joint_matching import Match, beyond_limits, matched
from dynid.experiment.first.naming import LINK_SIDE, MOTOR_SIDE, Quality
from dynid.experiment.first.questions import Answers, Question
from dynid.experiment.first.unnamed_tables import by_width, has_names
from dynid.findings import Finding, Severity
from dynid.logs import COMMANDS, Progress, is_bag, source_of, unit_in
from dynid.robot import Robot


@dataclass(frozen=True)
class Choice:
    """Where all quantities of a log are.

    Attributes:
        joints: Joints that the log has, in the robot's order.
        places: Places of "position", "torque" or "current", perhaps "velocity" and "time", in the joints' order.
        by: How joints were matched, as in `Match`.
        clocks: Other columns of time.
        commands: Columns of what was commanded, where they stand in for torques.
        beside: Columns of positions that were commanded beside measured torques.
        questions: What is open.
        findings: Notes on columns that were passed over, and why.
    """

    joints: tuple[str, ...]
    places: Mapping[str, Candidate]
    by: str
    clocks: tuple[Candidate, ...] = ()
    commands: CommandColumns = field(default_factory=CommandColumns)
    beside: Candidate | None = None
    questions: tuple[Question, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def drive(self) -> str:
        """Whether torques or currents were logged."""
        return "current" if "current" in self.places else "torque"


@dataclass
class Chooser:
    """Chooses columns among candidates, and collects what stays open.

    Attributes:
        paths: Files of the recording.
        robot: The robot.
        joints: Names of its joints that are not locked.
        answers: What was stated.
        found: All candidates.
        questions: What is open.
        findings: Notes on what was passed over.
        read: Numbers that were looked at.
        beside: Columns of positions that were commanded beside measured torques.
    """

    paths: Sequence[Path]
    robot: Robot
    joints: Sequence[str]
    answers: Answers
    found: Sequence[Candidate]
    questions: list[Question] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    read: dict[Candidate, Array] = field(default_factory=dict)
    beside: Candidate | None = None

    def choice(self) -> Choice:
        """The columns of each quantity."""
        position, match = self._positions()
        places: dict[str, Candidate] = {}
        joints = tuple(self.joints) if match is None else self._with_torques(match.joints)
        if position is not None and match is not None:
            places["position"] = position.only([match.columns[match.joints.index(name)] for name in joints])
        commands = self._commands(joints, places.get("position"))
        torque = None if commands.places else self._torques(joints, places.get("position"))
        if torque is not None:
            places[torque.role] = torque
        velocity = self._velocities(joints, places.get("position"))
        if velocity is not None:
            places["velocity"] = velocity
        clocks = self._times(position or torque)
        places |= {"time": clocks[0]} if clocks else {}
        return Choice(
            joints, places, "" if match is None else match.by, tuple(clocks[1:]), commands, self.beside,
            tuple(self.questions), tuple(self.findings),
        )  # fmt: skip

    def _commands(self, joints: Sequence[str], position: Candidate | None) -> CommandColumns:
        """Commands, where no torque was measured: there is none, it never changes, or it was commanded, too."""
        if position is None or position.quality is Quality.COMMANDED or self._stated("torque") is not None:
            return CommandColumns()
        found = commands_among(self.found, position, lambda one: self._aligned(one, joints, position), self._values)
        given = {role: one for role in COMMANDS if (one := self._stated(role)) is not None}
        own = {role: self._required_columns(one, joints) for role, one in given.items()}
        found = CommandColumns({**found.places, **own}, {**found.gains, **self.answers.gains})
        if "position_command" not in found.places:
            measured = any(one.role in ("torque", "current") and one.quality < Quality.COMMANDED for one in self.found)
            align = lambda one: self._aligned(one, joints, position)  # noqa: E731
            self.findings += () if measured else findings_on_actions(self.found, position, align, self._values)
            return CommandColumns()
        notes: tuple[Finding, ...] = ()
        if "torque_command" not in own:
            found, notes = without_total(found, position, self._velocities(joints, position), self._values)
        if "position_command" in own:
            self.findings += notes
            return found
        pool = [one for one in self.found if one.role in ("torque", "current") and not one.words & FEED_FORWARD]
        options = [own for one in pool if (own := self._aligned(one, joints, position)) is not None]
        varying = [one for one in options if self._varies(one)]
        if any(one.quality < Quality.COMMANDED for one in varying) or (varying and not found.has_stiffness):
            self.beside = found.places["position_command"]
            return CommandColumns()
        still = [one for one in options if one not in varying]
        self.findings += [*notes, *(Finding.of("torques-constant", "torques", columns=one.shown) for one in still)]
        pool = [one for one in self.found if one.role == "position" and one.quality < Quality.COMMANDED]
        self.findings = [one for one in self.findings if one.values.get("quantity") != "position"]
        self.findings += passed_over("position", position, pool, "", self.paths)
        return found

    def _varies(self, candidate: Candidate) -> bool:
        """Whether any column has two values."""
        values = self._values(candidate)
        known = np.isfinite(values)
        highest, lowest = np.where(known, values, -np.inf).max(axis=0), np.where(known, values, np.inf).min(axis=0)
        return bool((highest > lowest).any())

    def _positions(self) -> tuple[Candidate | None, Match | None]:
        given = self._stated("position")
        if given is not None:
            return given, self._required_match(given)
        pool = [one for one in self.found if one.role == "position"]
        useful = [one for one in pool if one.quality < Quality.PART]
        options = [(one, match) for one in useful if (match := self._match(one)) is not None]
        if not options:
            self.questions.append(for_missing("position", self.paths, pool, self.found))
            return None, None
        options = [pair for pair in options if pair[0].quality < Quality.COMMANDED] or options
        most = max(len(match.joints) for _, match in options)
        options = [pair for pair in options if len(pair[1].joints) == most]
        finest = min(one.quality for one, _ in options)
        best = sorted((pair for pair in options if pair[0].quality is finest), key=lambda pair: _simplicity(pair[0]))
        taken, why = self._of_equals(best)
        self._tell_choice("position", taken[0], pool, why)
        if taken[1].by == "meaning":
            own = [str(column) for column in taken[0].only(taken[1].columns).stated]
            self.findings.append(
                Finding.of("joints-by-meaning", "positions", joints=dict(zip(own, taken[1].joints, strict=True)))
            )
        self.questions += about_joints(*taken, self.joints)
        return taken

    def _of_equals(self, pairs: Sequence[tuple[Candidate, Match]]) -> tuple[tuple[Candidate, Match], str]:
        """Of positions that serve equally well by their names, those behind the gears, or the first; and why."""
        if len(pairs) == 1:
            return pairs[0], ""
        links = [pair for pair in pairs if pair[0].words & LINK_SIDE]
        links = links or [pair for pair in pairs if not pair[0].words & MOTOR_SIDE]
        within = [pair for pair in pairs if self._beyond(*pair) == 0]
        behind = [pair for pair in links if pair in (within or links)]
        if len(behind) == 1:
            fits = ", where a gear ratio of 1 fits the limits" if within else ""
            return behind[0], f" (behind the gears{fits})" if len(links) < len(pairs) else " (it fits the limits)"
        pairs = behind or pairs
        first, second = (self._values(pair[0].only(pair[1].columns)) for pair in pairs[:2])
        if len(pairs) == 2 and first.shape == second.shape and _are_alike(first, second):
            return pairs[0], " (both agree)"
        if pairs[0][0].rank == pairs[1][0].rank:
            asked = which("position", [one for one, _ in pairs], pairs[0][0], self.paths)
            is_of_topics = pairs[0][0].topic != pairs[1][0].topic  # two robots in one bag: either is as likely
            self.questions.append(replace(asked, guess=None) if is_of_topics else asked)
        return pairs[0], ""

    def _torques(self, joints: Sequence[str], position: Candidate | None) -> Candidate | None:
        given = self._stated("torque")
        if given is not None:
            return self._required_columns(given, joints)
        pool = [one for one in self.found if one.role in ("torque", "current")]
        useful = [one for one in pool if one.quality < Quality.PART]
        options = [own for one in useful if (own := self._aligned(one, joints, position)) is not None]
        if position is not None and position.topic is not None:  # another topic is another robot, or another clock
            options = [own for own in options if own.topic == position.topic] or options
        if not options:
            self.questions.append(for_missing("torque", self.paths, pool, self.found))
            return None
        best = sorted(options, key=lambda one: (_preference(one), bool(one.words & MOTOR_SIDE), _simplicity(one)))
        taken = best[0]
        equals = [one for one in best if _preference(one) == _preference(taken) and one.rank == taken.rank]
        sides = [one for one in equals if not one.words & MOTOR_SIDE] or equals
        if len(sides) > 1:
            self.questions.append(which("torque", equals, taken, self.paths))
        self._tell_choice("torque", taken, pool, "")
        return taken

    def _with_torques(self, joints: tuple[str, ...]) -> tuple[str, ...]:
        """Joints of positions that have torques or currents, too: those of a gripper may have none."""
        pool = [one for one in self.found if one.role in ("torque", "current") and one.quality < Quality.PART]
        if "torque" in self.answers.columns or any(self._aligned(one, joints) is not None for one in pool):
            return joints
        matches = [match for one in pool if (match := self._match(one)) is not None and not match.rivals]
        common = [tuple(name for name in joints if name in match.joints) for match in matches if match.by != "part"]
        most = max(common, key=len, default=())
        if most:
            missing = [name for name in joints if name not in most]
            self.findings.append(Finding.of("joints-without-torque", "lock", joints=missing))
        return most or joints

    def _velocities(self, joints: Sequence[str], position: Candidate | None) -> Candidate | None:
        given = self._stated("velocity")
        if given is not None:
            return self._required_columns(given, joints)
        pool = [one for one in self.found if one.role == "velocity" and one.quality < Quality.ESTIMATED]
        own = [one for candidate in pool if (one := self._aligned(candidate, joints, position)) is not None]
        if not own or position is None:
            return None
        either = MOTOR_SIDE | LINK_SIDE
        own.sort(key=lambda one: (one.words & either != position.words & either, one.quality, _simplicity(one)))
        return None if own[0].words & MOTOR_SIDE and not position.words & MOTOR_SIDE else own[0]

    def _times(self, of: Candidate | None) -> list[Candidate]:
        """Columns of time, best first."""
        if self.answers.rate is not None or (of is not None and is_bag(of.file)):
            return []
        given = self._stated("time")
        if given is not None and len(given.columns) != 1:
            raise InvalidRequestError(
                f"time: {given.pattern} are {len(given.columns)} columns, but time is one; name it"
            )
        if given is not None:
            return [given]
        found = [one for one in self.found if one.role == "time" and one.quality < Quality.PART]
        if not found:
            is_array = self.paths[0].suffix.lower() in (".hdf5", ".h5")
            finding = Finding.of("choose-rate-of-episodes" if is_array else "choose-rate", "log", Severity.WARNING)
            self.questions.append(Question(finding, "rate", (), None, "--rate 50" if is_array else "--rate HZ"))
        place = of.file if of is not None else self.paths[0]
        if len(found) > 1:
            found.sort(key=lambda one: (not self._advances(one), _clock_preference(one, place)))
            found = found if self._advances(found[0]) else self._added_up(found)
        return found

    def _added_up(self, clocks: Sequence[Candidate]) -> list[Candidate]:
        """Columns of seconds and of nanoseconds in the same file, which are parts of one stamp."""
        units = {unit_in(one.labels[0].name, "time"): one for one in reversed(clocks) if one.labels}
        whole, part = units.get("s"), units.get("ns") or units.get("us")
        if whole is None or part is None or whole.file != part.file:
            return list(clocks)
        labels = (*whole.labels, *part.labels)
        return [replace(whole, columns=(int(whole.columns[0]), int(part.columns[0])), labels=labels)]

    def _advances(self, clock: Candidate) -> bool:
        """Whether a column goes on as time does: neither a part of it, such as nanoseconds, nor of seconds."""
        stamps = self._values(clock)[:, 0]
        steps = np.diff(stamps[np.isfinite(stamps)])
        return bool(len(steps)) and bool(np.median(steps) > 0 and np.sum(steps) > 0.5 * np.sum(np.abs(steps)))

    def _stated(self, role: str) -> Candidate | None:
        """The columns that were stated for a quantity, in the first file that has them, or in the one that is named."""
        if role not in self.answers.columns:
            return None
        if is_bag(self.paths[0]):
            return stated_topic(self.paths[0], self.found, self.answers.columns[role], role)
        items = [str(item) for item in self.answers.columns[role]]
        named = [path for path in self.paths if any(item.startswith(f"{path.name}:") for item in items)]
        joints, errors = [joint.name for joint in self.robot.independent_joints], []
        for path in named or self.paths:
            try:
                return stated(path, joints, self.answers, role)
            except InvalidRequestError as error:
                errors.append(error)
        raise errors[0]

    def _required_match(self, given: Candidate) -> Match:
        """The joints of columns that were stated."""
        match = self._match(given)
        if match is None or match.by == "part" or len(given.columns) != len(match.joints):
            raise InvalidRequestError(misfit("position", given, self.joints, match))
        self.questions += about_joints(given, match, self.joints) if match.rivals else []
        return match

    def _required_columns(self, given: Candidate, joints: Sequence[str]) -> Candidate:
        own = self._aligned(given, joints)
        if own is None:
            role = "torque" if given.role == "current" else given.role
            raise InvalidRequestError(misfit(role, given, joints, matched(given, self.robot, joints)))
        return own

    def _match(self, candidate: Candidate) -> Match | None:
        return matched(candidate, self.robot, self.joints, lambda: self._values(candidate))

    def _aligned(
        self, candidate: Candidate, joints: Sequence[str], position: Candidate | None = None
    ) -> Candidate | None:
        """The columns of a candidate that belong to the joints of the log; on a topic, those named as positions are."""
        if position is not None and position.topic is not None and set(position.columns) <= set(candidate.columns):
            return candidate.only([list(candidate.columns).index(key) for key in position.columns])
        match = matched(candidate, self.robot, joints)
        if match is None or match.joints != tuple(joints) or match.by == "part":
            match = self._match(candidate)  # such as torques of a gripper, too
        if match is None or not set(joints) <= set(match.joints):
            return None
        return candidate.only([match.columns[match.joints.index(name)] for name in joints])

    def _beyond(self, candidate: Candidate, match: Match) -> int:
        """How many joints go beyond their limits in radians and metres."""
        return beyond_limits(self.robot, match.joints, self._values(candidate.only(match.columns)))

    def _values(self, candidate: Candidate) -> Array:
        """Numbers of a candidate's columns, shape (samples, columns)."""
        if candidate not in self.read:
            self.read[candidate] = candidate.values()
        return self.read[candidate]

    def _tell_choice(self, key: str, taken: Candidate, pool: Sequence[Candidate], why: str) -> None:
        """A note on other columns that could have been meant, or a question where those taken were commanded."""
        if taken.quality is Quality.COMMANDED:
            self.questions.append(which(key, [taken], taken, self.paths, "choose-commanded"))
        asked = any(question.key == key and question.code == "choose-columns" for question in self.questions)
        if not asked:
            self.findings += passed_over(key, taken, pool, why, self.paths)


def quantities(paths: Sequence[Path], robot: Robot, answers: Answers, progress: Progress) -> Choice:
    """Find out what is where by the names of columns and files, and by numbers where names leave several.

    Args:
        paths: Files of one recording.
        robot: The robot.
        answers: What was stated.
        progress: Callback; receives a short description of each step.

    Raises:
        RecordingError: If a file cannot be read.
        InvalidRequestError: If what was stated does not fit the files or the robot.
    """
    everything = [joint.name for joint in robot.independent_joints]
    joints = [name for name in everything if name not in answers.lock]
    alone = len(paths) == 1
    found = [one for path in paths for one in candidates_in(path, everything, answers, progress, alone=alone)]
    chooser = Chooser(paths, robot, joints, answers, found)
    if not found and alone and not is_bag(paths[0]) and not has_names(source_of(paths[0])):
        found, question = by_width(paths[0], len(source_of(paths[0]).names), robot, joints)
        chooser = Chooser(paths, robot, joints, answers, found)
        stated_all = {"position", "torque"} <= set(answers.columns)
        chooser.questions += [question] if question is not None and not stated_all else []
    return chooser.choice()


def _are_alike(one: Array, other: Array) -> bool:
    spread = np.nanmax(one, axis=0) - np.nanmin(one, axis=0)
    return bool(np.all(np.nanmax(np.abs(one - other), axis=0) <= THRESHOLDS.alike * np.maximum(spread, 1e-6)))


def _simplicity(one: Candidate) -> tuple[int, int, int]:
    """Plain names before longer ones."""
    return one.rank, len(one.words), min((int(k) for k in one.columns if isinstance(k, int)), default=0)


_LEVELS = {Quality.MEASURED: 0.0, Quality.PLAIN: 1.0, Quality.FILTERED: 2.0, Quality.ESTIMATED: 5.0}


def _preference(one: Candidate) -> float:
    """Measured torques, then measured currents, then torques that were estimated or commanded."""
    return _LEVELS.get(one.quality, 6.0) + (2.0 if one.role == "current" and one.quality < Quality.ESTIMATED else 0.0)


def _clock_preference(time: Candidate, file: Path) -> int:
    """A file of its own is best for time, then that of positions."""
    return 0 if time.names is None or len(time.names) == 1 else 1 if time.file == file else 2
