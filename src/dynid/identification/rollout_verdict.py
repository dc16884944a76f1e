"""The verdict on a result that was identified from commands: rollouts are judged, beside the command itself.

There is no torque to predict, so what counts is where the simulated robot is. The yardstick is the naive model, a robot
that is where it is commanded to be: the relative error of a rollout is the share of that distance which the model does
not explain. The robot file's own values are the second yardstick.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dynid.identification.answers import Answer, Use, worst
from dynid.identification.records import CommandRecord, RolloutRecord, as_share, in_thousandths
from dynid.identification.verdict_thresholds import RolloutThresholds

TRADED = {
    "delay-confounded": "delay, armature and viscous friction trade off",
    "law-form-undecided": "the logs do not show how the law acts",
    "parameters-confounded": "some parameters are known only in combination",
    "parameters-undetermined": "some parameters are undetermined",
    "output-error-failed": "output error could not refine the regression",
}
"""Findings that rollouts under the same controller do not mind, and another controller does, with their words."""


@dataclass(frozen=True)
class RolloutCase:
    """What is judged of rollouts.

    Attributes:
        found: What was identified from commands.
        unseen: Rollouts of held-out logs; None where none was given.
        samples: Number of held-out samples.
        codes: Codes of all findings on the result.
        errors: What is said where findings report errors; empty where none does.
        limits: What decides.
    """

    found: CommandRecord
    unseen: RolloutRecord | None
    samples: int
    codes: Collection[str]
    errors: str
    limits: RolloutThresholds

    def by_errors(self) -> tuple[Answer, str]:
        """What errors of rollouts say, and in words."""
        if self.unseen is None:
            grades = (self.limits.rough, Answer.FITS), (self.limits.useless, Answer.CARE)
            return self._graded(self.found.rollout, *grades), f"{self._beside(self.found.rollout)}, on its own logs"
        answer = self._graded(self.unseen, (self.limits.good, Answer.YES), (self.limits.useless, Answer.CARE))
        doubt = self._doubt(self.unseen)
        if doubt:
            return worst(answer, Answer.CARE), f"{doubt}; {self._on_unseen(self.unseen)}"
        return answer, self._on_unseen(self.unseen)

    def uses(self) -> tuple[Use, ...]:
        """What the model can be trusted for."""
        return self._similar(), self._other(), self._controller(), self._values()

    def improvements(self) -> Iterator[str]:
        """What should be improved beside what findings advise."""
        own, unseen = self.found.rollout, self.unseen
        if unseen is None:
            yield "Validate it on a held-out log: dynid validate RESULT OTHER_LOG."
        elif unseen.relative_error > self.limits.good and unseen.rmse > self.limits.far_above * own.rmse:
            yield (
                "The fit does not carry over to motions that it has not seen: identify from several logs, with faster "
                "and larger commands (dynid excite), or with other friction terms."
            )

    def _graded(self, rollout: RolloutRecord, *grades: tuple[float, Answer]) -> Answer:
        if rollout.ended:
            return Answer.NO
        return next((answer for limit, answer in grades if rollout.relative_error <= limit), Answer.NO)

    def _doubt(self, rollout: RolloutRecord) -> str:
        """What speaks against a model whose rollouts are near on the whole; empty where nothing does."""
        if rollout.ended:
            return f"simulated rollouts of {', '.join(rollout.ended)} fly off"
        for joint in rollout.furthest:
            least = self.limits.good * rollout.typical_command(joint.unit)  # a joint that hardly moves is no matter
            if joint.relative_error > self.limits.joint and joint.rmse > least:
                size = f"{in_thousandths(joint.rmse)} m{joint.unit}"
                return f"rollouts of joint '{joint.name}' are {size} off, further than its command"
        if rollout.robot_file is not None and rollout.rmse > self.limits.file_nearer * rollout.robot_file:
            return "the robot file's own values are nearer than the identified ones"
        return ""

    def _beside(self, rollout: RolloutRecord, *others: str) -> str:
        """The error of rollouts beside other errors, the robot file's and that of the command."""
        file = "" if rollout.robot_file is None else f"robot file {in_thousandths(rollout.robot_file)}"
        command = f"command itself {in_thousandths(rollout.command)}"
        beside = ", ".join(part for part in (*others, file, command) if part)
        return f"rollout RMSE {in_thousandths(rollout.rmse)} {rollout.unit} ({beside})"

    def _on_unseen(self, unseen: RolloutRecord) -> str:
        own = f"own logs {in_thousandths(self.found.rollout.rmse)}"
        return f"{self._beside(unseen, own)} on held-out logs"

    def _similar(self) -> Use:
        rollout = self.found.rollout
        answer = self._graded(rollout, (self.limits.good, Answer.YES), (self.limits.rough, Answer.CARE))
        far = rollout.furthest[0]
        reason = (
            f"{as_share(rollout.relative_error)} of the distance between command and robot remain unexplained; worst "
            f"joint: {far.name} with {in_thousandths(far.rmse)} m{far.unit}, {as_share(far.relative_error)}"
        )
        purpose = "Rollouts on trajectories like the logged ones"
        return Use(purpose, worst(answer, Answer.CARE) if self.errors else answer, reason)

    def _other(self) -> Use:
        purpose = "Rollouts on other trajectories"
        if self.errors:
            return Use(purpose, Answer.NO, self.errors)
        if self.unseen is None:
            return Use(purpose, Answer.FITS, "no held-out log was given; add --validate LOG")
        answer = self._graded(self.unseen, (self.limits.good, Answer.YES), (self.limits.rough, Answer.CARE))
        doubt = self._doubt(self.unseen)
        reason = f"{self._on_unseen(self.unseen)} ({self.samples} held-out samples)"
        return Use(purpose, worst(answer, Answer.CARE) if doubt else answer, f"{reason}; {doubt}" if doubt else reason)

    def _controller(self) -> Use:
        """Simulation under another controller: what rollouts under the same one hide matters there."""
        purpose, other = "Simulation under other gains, rates or delays", self._other()
        if self.errors:
            return Use(purpose, Answer.NO, self.errors)
        traded = [words for code, words in TRADED.items() if code in self.codes]
        if traded:
            return Use(purpose, worst(other.answer, Answer.CARE), "; ".join(traded))
        known = "validated under the logged gains" if self.unseen is not None else "not validated"
        return Use(purpose, other.answer, f"parameters are determined apart from each other; {known}")

    def _values(self) -> Use:
        purpose, rows, largest = "Individual parameter values", self.found.sizes, self.limits.largest_std
        sure = sum(row.state == "determined" and row.std <= 0.01 * largest * abs(row.value) for row in rows)
        states = [
            f"{count} {words}"
            for state, words in (("undetermined", "undetermined"), ("bound", "at a bound"))
            if (count := sum(row.state == state for row in self.found.parameters))
        ]
        reason = "; ".join(
            [f"{sure} of {len(rows)} parameters have a standard deviation of {largest:g} % or less", *states]
        )
        if self.errors:
            return Use(purpose, Answer.NO, f"{reason}, but {self.errors}")
        share = sure / max(len(rows), 1)
        low = Answer.CARE if share >= self.limits.few_determined else Answer.NO
        return Use(purpose, Answer.YES if share >= self.limits.determined_share else low, reason)
