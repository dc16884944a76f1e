"""Rows of the dynamics that count in no log, because a contact that acts on them was not measured."""

from __future__ import annotations

from collections.abc import Sequence

from dynid.errors import DynidError
from dynid.estimation import NotIdentifiableError
from dynid.logs import Log, LogSource
from dynid.model import DynamicModel
from dynid.robot import place_of_body

NAMED = 12
"""How many rows an error names before it leaves the others out."""


class UncountedRowsError(NotIdentifiableError):
    """The data do not determine all parameters, and rows do not count because a contact was not measured.

    Attributes:
        uncounted: Names of these rows.
        bodies: The bodies whose contacts were not measured.
    """

    def __init__(self, error: NotIdentifiableError, uncounted: Sequence[str], bodies: Sequence[str], base: str) -> None:
        self.names, self.rows, self.problem, self.noticed = error.names, error.rows, error.problem, error.noticed
        self.uncounted = tuple(uncounted)
        self.bodies = tuple(bodies)
        shown = ", ".join(uncounted[:NAMED]) + (", ..." if len(uncounted) > NAMED else "")
        names = ", ".join(error.names[:8]) + (", ..." if len(error.names) > 8 else "")
        contacts = " and ".join(f"'{body}'" for body in bodies)
        DynidError.__init__(
            self,
            f"the logs do not determine all parameters ({names}): rows of {shown} count in none of them, because the "
            f"wrench on {contacts}, which acts on these, was not measured; measure it, hang the robot at its base "
            f'instead (contacts = [Contact("{base}")]), or, where it rests all the time, take a robot file whose fixed '
            f'base is {contacts} (lock = ["base"] where the base itself was held)',
        )


def uncounted_rows(model: DynamicModel, logs: Sequence[Log | LogSource]) -> tuple[list[str], list[str]]:
    """Rows of a model that count in no log, though contacts alone keep them from it, and the bodies of these contacts.

    Args:
        model: The model of a robot with a floating base.
        logs: All logs.
    """
    robot = model.robot
    counting, taken, bodies = set[int](), set[int](), dict[str, None]()
    for log in logs:
        contacts = (log.contacts if isinstance(log, Log) else log.contact) or ()
        has_torques = log.has_torques if isinstance(log, Log) else log.torque is not None
        rows = set(range(robot.nv if has_torques else 6))
        silent = [contact.body for contact in contacts if contact.wrench is None]
        for body in silent:
            beyond = {k for i in robot.chain(place_of_body(robot, body)[0]) for k in range(robot.nv)[robot.joints[i].v]}
            taken |= rows & beyond
            rows -= beyond
        counting |= rows
        bodies |= dict.fromkeys(silent)
    names = [name for row, name in zip(model.row_indices, model.row_names, strict=True) if row in taken - counting]
    return names, list(bodies)


def explained_by_contacts(
    error: NotIdentifiableError, model: DynamicModel, logs: Sequence[Log | LogSource]
) -> UncountedRowsError | None:
    """What the data do not determine, with the rows that contacts keep from counting; None where there are none."""
    if not model.robot.has_floating_base:
        return None
    rows, bodies = uncounted_rows(model, logs)
    return UncountedRowsError(error, rows, bodies, model.robot.links[0].name) if rows else None
