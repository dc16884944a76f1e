"""Terms that logs do not determine on some joints: simpler ones take their place there, with a finding."""

from collections.abc import Sequence

from dynid.estimation.term_choice.term_options import joints_with_data, linear_part
from dynid.findings import Finding
from dynid.logs import PreparedLog
from dynid.model import DynamicModel, Term
from dynid.model.terms import TERMS, TermOfJoints
from dynid.robot import Robot


def determined_terms(
    model: DynamicModel, logs: Sequence[PreparedLog], names: Sequence[str]
) -> tuple[tuple[Term, ...], tuple[Finding, ...]] | None:
    """The terms of a model without those that logs do not determine; None where that changes nothing.

    Terms of joints that never move, or whose torque was not measured, are left out there. Where parameters of
    nonlinear friction, or of friction that depends on load, are among those that are not determined, the joint keeps
    the linear part.

    Args:
        model: The model.
        logs: The logs.
        names: Parameters that are not determined.
    """
    with_data = joints_with_data(model.robot, logs)
    terms: list[Term] = []
    findings: list[Finding] = []
    for term in model.terms:
        kept, notes = _on_joints(term, model.robot, with_data, names)
        terms += kept
        findings += notes
    return (tuple(terms), tuple(findings)) if findings else None


def _on_joints(
    term: Term, robot: Robot, with_data: Sequence[str | int] | None, names: Sequence[str]
) -> tuple[list[Term], list[Finding]]:
    """A term on the joints that determine it, what takes its place on the others, and what to say of it."""
    if not isinstance(term, TermOfJoints):
        return [term], []
    joints = term.joints_of(robot)
    silent = [joint for joint in joints if with_data is not None and joint.number not in with_data]
    lost = {p.joint for p in term.parameters(robot) if p.name in names} if _is_nonlinear(term, robot) else set()
    unclear = [joint for joint in joints if joint.name in lost and joint not in silent]
    if not silent and not unclear:
        return [term], []
    left = [joint.number for joint in joints if joint not in silent and joint not in unclear]
    kept: list[Term] = [term.on(left)] if left else []
    kept += linear_part(term, [joint.number for joint in unclear])
    name = next((name for name, kind in TERMS.items() if type(term) is kind), type(term).__name__)
    findings = [Finding.of("term-left-out-at-rest", f"joint '{joint.name}'", term=name) for joint in silent]
    findings += [Finding.of("term-left-out-undetermined", f"joint '{joint.name}'", term=name) for joint in unclear]
    return kept, findings


def _is_nonlinear(term: TermOfJoints, robot: Robot) -> bool:
    return bool(term.nonlinear(robot)) or term.needs_links
