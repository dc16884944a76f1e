"""Mimic joints: who follows whom, in the end."""

from __future__ import annotations

from dataclasses import replace

from dynid.errors import RobotFileError, UnknownNameError
from dynid.findings import Finding, Severity
from dynid.robot.description import Description, JointDescription, MimicDescription


def resolve_mimics(description: Description) -> Description:
    """Let every mimic joint follow an independent joint directly.

    A joint that follows a joint that does not exist becomes independent, with a finding.

    Raises:
        RobotFileError: If joints follow each other in a circle, or a joint has more than one degree of freedom.
    """
    joints = {joint.name: joint for joint in description.joints}
    findings: list[Finding] = []
    for joint in description.joints:
        if joint.mimic is not None and joint.mimic.leader not in joints:
            missing = UnknownNameError("joint", joint.mimic.leader, joints)
            text = f"it is taken as independent, for it should follow a joint, but {missing}"
            findings.append(Finding(Severity.ERROR, f"joint '{joint.name}'", text))
            joints[joint.name] = replace(joint, mimic=None)
    resolved = tuple(_resolved(joints[joint.name], joints, description.source) for joint in description.joints)
    return replace(description, joints=resolved, findings=(*description.findings, *findings))


def _resolved(joint: JointDescription, joints: dict[str, JointDescription], source: str) -> JointDescription:
    """Replace the leader by the leader's leader until that one is independent."""
    path = [joint.name]
    while joint.mimic is not None and (above := joints[joint.mimic.leader].mimic) is not None:
        path.append(joint.mimic.leader)
        if path[-1] in path[:-1] or above.leader == joint.name:
            circle = " -> ".join(f"'{name}'" for name in path)
            raise RobotFileError(source, f"mimic joints follow each other in a circle: {circle}", joint.line)
        below = joint.mimic
        ratio = below.ratio * above.ratio
        offset = below.ratio * above.offset + below.offset
        joint = replace(joint, mimic=MimicDescription(above.leader, ratio, offset))
    if joint.mimic is not None:
        for end in (joint, joints[joint.mimic.leader]):
            if end.kind.nq > 1:
                problem = f"joint '{end.name}' is {end.kind.value}; only joints of one degree of freedom can mimic"
                raise RobotFileError(source, problem, joint.line)
    return joint
