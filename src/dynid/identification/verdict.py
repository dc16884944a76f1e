"""The verdict: whether a result can be trusted, judged from its errors, what it predicts, and what was noticed.

Logs that were held out speak first, then blocks of time that were held out from the fit, then the fit itself. The
answer is monotone: a lower error, or one finding less, never makes it worse. What was identified from commands is
judged by rollouts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dynid.findings import Finding, Severity, grouped
from dynid.identification.answers import Answer, Use, Verdict, worst
from dynid.identification.records import Record, RolloutRecord
from dynid.identification.rollout_verdict import RolloutCase
from dynid.identification.verdict_thresholds import ROLLOUT_THRESHOLDS, THRESHOLDS, VerdictThresholds


@dataclass(frozen=True)
class Unseen:
    """How well a result predicts logs that it was not made from.

    Attributes:
        relative_error: Error of the base parameters.
        physical: Error of the physically consistent links; None where there are none.
        samples: Number of samples.
        worst_joint: The joint that is predicted worst, by whichever of both is better.
        worst_error: Its error.
        noticed: What is certainly wrong with these logs themselves, in words; empty where nothing is.
        rollout: Rollouts of these logs, where the result was identified from commands, and they have commands.
    """

    relative_error: float
    physical: float | None
    samples: int
    worst_joint: str = ""
    worst_error: float = 0.0
    noticed: str = ""
    rollout: RolloutRecord | None = None


def judge(
    record: Record, findings: Sequence[Finding], unseen: Unseen | None = None, limits: VerdictThresholds = THRESHOLDS
) -> Verdict:
    """Judge a result.

    Args:
        record: What was found.
        findings: What was noticed about the robot file, the logs, the estimate and the residuals.
        unseen: How well held-out logs are predicted; None where none was given.
        limits: What decides.
    """
    case = _Case.of(record, findings, unseen, limits)
    rollouts = case.rollouts(findings)
    by_errors, why = case.by_errors() if rollouts is None else rollouts.by_errors()
    by_findings = Answer.NO if case.wrong else Answer.CARE if case.doubts else Answer.YES
    answer = worst(by_errors, by_findings)
    reasons = [(finding.brief, finding.said) for finding in (*case.wrong, *case.doubts)[:1]]
    if by_errors.rank > by_findings.rank or not reasons:
        reasons = [(why, why)]
    elif unseen is not None and by_errors.rank >= Answer.CARE.rank:
        reasons.insert(0 if by_errors is by_findings else 1, (why, why))
    reason, said = ("; ".join(parts) for parts in zip(*reasons, strict=True))
    return Verdict(
        answer=answer,
        headline=f"{HEADS[answer]}: {said}.",
        reason=f"{reason}.",
        uses=(case.similar(), case.other(), case.dynamics(), case.values()) if rollouts is None else rollouts.uses(),
        improvements=(*case.advice(), *(case.improvements() if rollouts is None else rollouts.improvements())),
        causes=tuple(dict.fromkeys(finding.code for finding in (*case.wrong, *case.doubts))),
    )


HEADS = {
    Answer.YES: "This model can be trusted",
    Answer.FITS: "This model fits its own logs and is not validated yet",
    Answer.CARE: "This model can be used with care",
    Answer.NO: "This model should not be trusted yet",
}
"""How headlines begin."""

ERRORS = "the findings report errors in the model or the data"


@dataclass(frozen=True)
class _Noticed:
    """A finding that decides."""

    code: str
    brief: str
    said: str

    @staticmethod
    def of(finding: Finding, record: Record) -> "_Noticed":
        about = finding.about(record.logs if finding.logs else 0)
        brief, said = (f"{about}: {text.rstrip('.')}" for text in (finding.evidence, finding.text))
        return _Noticed(finding.code, brief, said)


@dataclass(frozen=True)
class _Case:
    """Everything that is judged."""

    record: Record
    unseen: Unseen | None
    wrong: tuple[_Noticed, ...]
    doubts: tuple[_Noticed, ...]
    limits: VerdictThresholds

    @staticmethod
    def of(record: Record, findings: Sequence[Finding], unseen: Unseen | None, limits: VerdictThresholds) -> "_Case":
        settled = _settled(unseen, limits)
        found = [finding for finding in findings if finding.severity is Severity.ERROR or finding.code not in settled]
        warnings = [finding for finding in found if finding.severity is Severity.WARNING]
        doubts = [*sorted(warnings, key=lambda one: one.code in limits.filters), *_drift(record, found, limits)]
        wrong = [finding for finding in found if finding.severity is Severity.ERROR]
        certain, likely = (tuple(_Noticed.of(one, record) for one in grouped(each)) for each in (wrong, doubts))
        return _Case(record, unseen, certain, likely, limits)

    @property
    def blocks_error(self) -> float | None:
        """Error on blocks of time that were held out from the fit; None where none were."""
        blocks = self.record.held_out_blocks
        return None if blocks is None else _least(blocks.relative_error, blocks.physical_relative_error)

    def graded(self, error: float, *limits: tuple[float, Answer]) -> Answer:
        """The first answer whose limit an error does not exceed, else no."""
        return next((answer for limit, answer in limits if error <= limit), Answer.NO)

    def by_errors(self) -> tuple[Answer, str]:
        """What errors say, and in words."""
        limits, unseen = self.limits, self.unseen
        if unseen is not None:
            error = _least(unseen.relative_error, unseen.physical)
            grades = (limits.good_error, Answer.YES), (limits.useless_error, Answer.CARE)
            answer = self.graded(error, *grades)
            if unseen.worst_error > limits.joint_error:
                worse = f"joint '{unseen.worst_joint}' leaves {unseen.worst_error:.0%} of its torque on held-out logs"
                return worst(answer, Answer.CARE), f"{worse}, more than no prediction at all; {self.on_unseen(unseen)}"
            return answer, self.on_unseen(unseen)
        grades = (limits.rough_error, Answer.FITS), (limits.useless_error, Answer.CARE)
        errors = [self.record.relative_error, *([] if self.blocks_error is None else [self.blocks_error])]
        return worst(*(self.graded(error, *grades) for error in errors)), self.on_own_logs()

    def on_unseen(self, unseen: Unseen) -> str:
        """Errors on held-out logs beside those of the fit."""
        own = f"{self.record.relative_error:.1%} on the logs it was identified from"
        error, links = unseen.relative_error, unseen.physical
        if links is not None and error > self.limits.links_better * links:
            held_out = f"{links:.1%} of its physically consistent links on held-out logs"
            return f"relative error {held_out} (base parameters: {error:.1%}), {own}"
        if error <= self.limits.good_error and not unseen.noticed:
            return f"relative error {error:.1%} on held-out logs, {own}"
        far = "; the fit does not carry over" if error > self.limits.far_above * self.record.relative_error else ""
        cause = f"; in the held-out logs, {unseen.noticed}" if unseen.noticed else far
        return f"relative error {error:.1%} on held-out logs, {own}{cause}"

    def on_own_logs(self) -> str:
        """Errors of the fit, and of blocks that were held out from it."""
        own = f"relative error {self.record.relative_error:.1%} on the logs it was identified from"
        blocks = self.record.held_out_blocks
        if blocks is None:
            return own
        links = blocks.physical_relative_error
        if links is not None and blocks.relative_error > self.limits.links_better * links:
            held_out = f"{links:.1%} of its physically consistent links (base parameters: {blocks.relative_error:.1%})"
        else:
            held_out = f"{blocks.relative_error:.1%}"
        return f"{own}, {held_out} on blocks of them that were held out from the fit"

    def similar(self) -> Use:
        """Torques on motions like the logged ones."""
        record, limits = self.record, self.limits
        blocks = self.blocks_error
        fit = max((joint.relative_error, joint.name) for joint in record.joints)
        grades = (limits.close_error, Answer.YES), (limits.rough_error, Answer.CARE)
        answer = self.graded(record.relative_error if blocks is None else max(blocks, record.relative_error), *grades)
        held_out = "" if blocks is None else f", {blocks:.1%} on held-out blocks"
        reason = f"relative error {record.relative_error:.1%}{held_out}; worst joint: {fit[1]} with {fit[0]:.1%}"
        purpose = "Torque prediction on trajectories like the logged ones"
        return Use(purpose, worst(answer, Answer.CARE) if self.wrong else answer, reason)

    def other(self) -> Use:
        """Torques on other motions."""
        purpose, limits, unseen = "Torque prediction on other trajectories", self.limits, self.unseen
        poor = self.record.condition_number > limits.condition_number
        excitation = f"poor excitation: condition number {self.record.condition_number:.3g}"
        if self.wrong:
            return Use(purpose, Answer.NO, ERRORS)
        if unseen is not None:
            grades = (limits.good_error, Answer.YES), (limits.rough_error, Answer.CARE)
            answer = self.graded(_least(unseen.relative_error, unseen.physical), *grades)
            answer = worst(answer, Answer.CARE) if unseen.worst_error > limits.joint_error else answer
            poor = poor and answer is not Answer.YES
            reason = f"{self.on_unseen(unseen)} ({unseen.samples} held-out samples)"
            return Use(purpose, Answer.NO if poor else answer, f"{reason}; {excitation}" if poor else reason)
        if poor:
            return Use(purpose, Answer.NO, excitation)
        blocks = self.blocks_error
        if blocks is None:
            return Use(purpose, Answer.FITS, "no held-out log was given; add --validate LOG")
        answer = self.graded(blocks, (limits.rough_error, Answer.FITS), (limits.useless_error, Answer.CARE))
        reason = f"no held-out log was given (add --validate LOG); {blocks:.1%} on held-out blocks of its own logs"
        return Use(purpose, answer, reason)

    def dynamics(self) -> Use:
        """Simulation and control, with the physically consistent links."""
        purpose, physical, limits = "Simulation and model-based control", self.record.physical, self.limits
        if physical is None:
            reason = (
                "no physically consistent links were fitted (physical.fit = false, or torque constants are unknown)"
            )
            return Use(purpose, Answer.NO, reason)
        links = None if self.unseen is None else self.unseen.physical
        if links is not None:
            answer = self.graded(links, (limits.good_error, Answer.YES), (limits.rough_error, Answer.CARE))
            reason = f"relative error of the physically consistent model: {links:.1%} on held-out logs"
        else:
            error = physical.relative_error
            answer = self.graded(error, (limits.rough_error, Answer.FITS), (limits.useless_error, Answer.CARE))
            reason = f"relative error of the physically consistent model: {error:.1%} on its own logs; not validated"
        if self.wrong:
            return Use(purpose, Answer.NO, f"{reason}, but {ERRORS}")
        if self.doubts:
            return Use(purpose, worst(answer, Answer.CARE), f"{reason}; see the warnings first")
        return Use(purpose, answer, reason)

    def values(self) -> Use:
        """Individual parameters."""
        rows, purpose, limits = self.record.parameters, "Individual parameter values", self.limits
        largest = limits.largest_std
        count = sum(row.honest_std <= 0.01 * largest * abs(row.value) for row in rows)
        share = count / max(len(rows), 1)
        reason = f"{count} of {len(rows)} base parameters have a standard deviation of {largest:g} % or less"
        if self.wrong:
            return Use(purpose, Answer.NO, f"{reason}, but {ERRORS}")
        low = Answer.CARE if share >= limits.few_determined else Answer.NO
        return Use(purpose, Answer.YES if share >= limits.determined_share else low, reason)

    def rollouts(self, findings: Sequence[Finding]) -> RolloutCase | None:
        """What is judged of rollouts; None where torques are judged."""
        commands, unseen = self.record.commands, self.unseen
        if commands is None or (unseen is not None and unseen.rollout is None):
            return None
        codes, samples = {finding.code for finding in findings}, 0 if unseen is None else unseen.samples
        errors = ERRORS if self.wrong else ""
        rollout = None if unseen is None else unseen.rollout
        return RolloutCase(commands, rollout, samples, codes, errors, ROLLOUT_THRESHOLDS)

    def advice(self) -> Iterator[str]:
        """What the findings that decide advise."""
        for finding in (*self.wrong, *self.doubts):
            yield f"{finding.said}."

    def improvements(self) -> Iterator[str]:
        """What should be improved beside that."""
        blocks, limits = self.blocks_error, self.limits
        unseen = blocks if self.unseen is None else _least(self.unseen.relative_error, self.unseen.physical)
        limit = limits.rough_error if self.unseen is None else limits.good_error
        if unseen is not None and unseen > max(limit, limits.far_above * self.record.relative_error):
            yield (
                "The fit does not carry over to motions that it has not seen: identify from a longer log or a more "
                "exciting trajectory (dynid excite), or with fewer terms."
            )
        if self.unseen is None:
            yield "Validate it on a held-out log: dynid validate RESULT OTHER_LOG."


def _least(base: float, links: float | None) -> float:
    """The smaller of the errors of base parameters and links."""
    return base if links is None else min(base, links)


def _settled(unseen: Unseen | None, limits: VerdictThresholds) -> frozenset[str]:
    """Codes of warnings that do not count, because held-out logs are predicted well in spite of them."""
    if unseen is None:
        return frozenset()
    if unseen.rollout is not None:
        rollout, of_rollouts = unseen.rollout, ROLLOUT_THRESHOLDS
        is_good = not rollout.ended and rollout.relative_error <= of_rollouts.good
        return of_rollouts.settled if is_good else frozenset()
    links = unseen.physical is not None and unseen.physical <= limits.good_error
    is_good = _least(unseen.relative_error, unseen.physical) <= limits.good_error
    return (limits.settled if is_good else frozenset()) | (limits.settled_by_links if links else frozenset())


def _drift(record: Record, findings: Sequence[Finding], limits: VerdictThresholds) -> Iterator[Finding]:
    """A finding where notes say of most joints that they drift."""
    drifting = {finding.subject: finding for finding in findings if finding.code in limits.drifts}
    joints, total = len(drifting), max(len(record.joints), 1)
    if joints > limits.drifting_share * total:
        shares = {subject: float(finding.values.get("share", 0.0)) for subject, finding in drifting.items()}
        yield Finding.of("drift-on-most-joints", "residuals", count=joints, total=total, joints=shares)
