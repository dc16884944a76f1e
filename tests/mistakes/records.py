"""Cases of the sweep with what was said of them, and how that is scored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.mistakes.catalogue import GOOD, Case, expected
from tests.mistakes.judging import WRONG, Judgement, Named, absurd, judge
from tests.mistakes.vocabulary import ALL_TORQUES, CAUSES, GLOBAL, PAYLOAD, REPAIRED

BY_FILE = frozenset(PAYLOAD | ALL_TORQUES)
"""Codes of mistakes that the residual need not show: the robot's file does."""

UNSEEN = 0.005
"""Growth of the squared residual below which no test on one log of half a minute is sure: a thousandth is chance, and
residuals of some thousand independent rows vary by twice that."""


@dataclass(frozen=True)
class Record:
    """A case and what was said of it.

    Attributes:
        case: The case.
        judgement: What was said.
        joints: Joints that the mistake is about.
        untellable: Why no data can show it.
        absurd: Causes that cannot be.
        excess: Growth of the squared relative residual against the same log without the mistake, each joint's over its
            own; None where that is not known.
    """

    case: Case
    judgement: Judgement
    joints: tuple[str, ...] = ()
    untellable: str = ""
    absurd: tuple[str, ...] = ()
    excess: float | None = None

    @staticmethod
    def of(case: Case, *, mend: bool = True) -> "Record":
        """Make a case and judge it."""
        made = case.made()
        judgement = judge(made, mend=mend)
        placements = [joint.placement[:3, 3] for joint in made.recording.robot.joints]
        reach = float(sum((x @ x) ** 0.5 for x in placements))
        return Record(case, judgement, made.joints, made.untellable, tuple(absurd(judgement, reach)))

    @property
    def is_wrong(self) -> bool:
        """Whether the parameters are wrong, or there are none because the log was refused."""
        return self.judgement.outside > WRONG

    @property
    def is_blind(self) -> bool:
        """Whether no data can show the mistake: for a stated reason, or because the residual does not grow."""
        unchanged = self.excess is not None and abs(self.excess) < UNSEEN
        return bool(self.untellable) or (unchanged and not expected(self.case.kind) & BY_FILE)

    def names(self, finding: Named) -> bool:
        """Whether a finding names the mistake, and its joint."""
        said = f"{finding.subject} {dict(finding.values)}"
        at = not self.joints or finding.code in GLOBAL or any(joint in said for joint in self.joints)
        return finding.code in expected(self.case.kind) and at

    @property
    def outcome(self) -> str:
        """One of: right, hint, other cause, harmless, trusted but wrong, blind; for good logs: good, care, no."""
        judgement, causes = self.judgement, self.judgement.causes
        if self.case.kind == GOOD:
            return "good" if judgement.trusted and not causes else "no" if judgement.answer == "no" else "care"
        refused = judgement.answer == "refused" and any(joint in judgement.message for joint in self.joints)
        if refused or (causes and self.names(causes[0])):
            return "right"
        noted = {one.code for one in judgement.named if self.names(one)}
        if judgement.trusted and not causes:
            if self.is_wrong:
                return "blind" if self.is_blind else "trusted but wrong"
            return "right" if noted & REPAIRED else "hint" if noted else "harmless"
        rivals = {rival for one in causes for rival in one.rivals}
        return "hint" if noted or rivals & expected(self.case.kind) else "other cause"

    @property
    def false_causes(self) -> list[str]:
        """Causes that are not there."""
        right = self.case.named_by_nuisance | expected(self.case.kind)
        return [one.code for one in self.judgement.causes if one.code in CAUSES and one.code not in right]

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        case = {
            "robot": self.case.robot,
            "kind": self.case.kind,
            "motion": self.case.motion,
            "nuisance": list(self.case.nuisance),
        }
        more = {"joints": list(self.joints), "untellable": self.untellable, "absurd": list(self.absurd)}
        return {**case, "outcome": self.outcome, "excess": self.excess, **more, **self.judgement.to_dict()}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "Record":
        """What `to_dict` gave."""
        case = Case(data["robot"], data["kind"], data["motion"], tuple(data["nuisance"]))
        named = tuple(Named(**{**one, "rivals": tuple(one["rivals"])}) for one in data["named"])
        keys = ("answer", "relative_error", "outside", "condition", "seconds", "message")
        by_joint = {key: tuple(data.get(key, ())) for key in ("rmse", "errors")}
        judgement = Judgement(named=named, **by_joint, **{key: data[key] for key in keys})
        joints, strange = tuple(data["joints"]), tuple(data["absurd"])
        return Record(case, judgement, joints, data["untellable"], strange, data["excess"])
